//! The account is an installation of an application, which is the operator's or the account's own.

use serde_json::json;

use crate::credentials_form::{CredentialsForm, FieldKind, kept_sealed, private_key, text};

/// The id of the installation. An application of the account's own is for the API: people know the
/// id of an installation.
pub(super) fn form() -> CredentialsForm {
    CredentialsForm {
        required: vec!["installation_id"],
        properties: json!({
            "installation_id": {
                "type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$",
                "description": "The id that the service gave the installation.",
            },
            "app_id": text("The id of your own application, in place of the operator's."),
            "private_key": private_key("The private key of your own application: RSA, in PEM."),
        }),
        description: kept_sealed("An installation of an application."),
        dependent: Some(json!({"app_id": ["private_key"], "private_key": ["app_id"]})),
        shown: vec![("installation_id", FieldKind::Text)],
    }
}
