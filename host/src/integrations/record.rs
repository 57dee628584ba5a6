//! The public record of an integration. It never contains a secret.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::freshness::status_at;
use super::reason::Reason;
use store::Integration;

/// The record at a moment.
pub fn record(integration: &Integration, now: SystemTime) -> Value {
    let details = &integration.details;
    json!({
        "connector": integration.holder.connector,
        "user_identifier": integration.user_identifier,
        "auth_type": integration.auth_type.name(),
        "status": status_at(details, now).name(),
        "selected": integration.selected,
        "account": {
            "id": details.account.id,
            "email": details.account.email,
            "name": details.account.name,
        },
        "scopes": details.scopes,
        "created_at": time(integration.created_at),
        "updated_at": time(integration.updated_at),
        "expires_at": details.expires_at.map(time),
        "last_refreshed_at": details.last_refreshed_at.map(time),
        "next_refresh_at": details.next_refresh_at.map(time),
        "reason": Reason::at(details, now),
    })
}

/// A time in the format of every answer.
pub fn time(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}
