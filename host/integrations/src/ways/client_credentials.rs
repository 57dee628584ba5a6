//! The account brings its own OAuth client (RFC 6749, section 4.4).

use serde_json::json;

use crate::credentials_form::{CredentialsForm, FieldKind, kept_sealed, name, scopes, secret};
use egress::SHORTEST_SECRET;

/// The id and the secret of the client.
pub(super) fn form() -> CredentialsForm {
    CredentialsForm {
        required: vec!["client_id", "client_secret"],
        properties: json!({
            "client_id": name("The id of the account's own OAuth client."),
            "client_secret": secret(SHORTEST_SECRET, "The secret of the client."),
            "scopes": scopes(),
        }),
        description: kept_sealed("The account's own OAuth client."),
        dependent: None,
        shown: vec![("client_id", FieldKind::Text), ("client_secret", FieldKind::Secret)],
    }
}
