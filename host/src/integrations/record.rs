//! The record of an integration, as callers see it. It never holds a credential.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::freshness::{Reason, status};
use store::Integration;

/// The record as it is true at a moment.
pub fn record(integration: &Integration, now: SystemTime) -> Value {
    let details = &integration.details;
    json!({
        "connector": integration.holder.connector,
        "user_identifier": integration.user_identifier,
        "auth_type": integration.auth_type.name(),
        "status": status(details, now).name(),
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
        "reason": Reason::of(details, now),
    })
}

/// A time as all answers write it.
pub fn time(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}
