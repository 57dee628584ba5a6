//! The account is a service account, whose key signs assertions (RFC 7523).

use serde_json::json;

use crate::credentials_form::{CredentialsForm, FieldKind, kept_sealed, name, private_key, scopes, text};
use contract::ServiceAccount;

/// The key file, and the user for whom the service account acts.
pub(super) fn form(declared: Option<&ServiceAccount>) -> CredentialsForm {
    let needs_subject = declared.is_some_and(|declared| declared.needs_subject);
    let key_file = json!({
        "type": "object", "required": ["client_email", "private_key"],
        "properties": {
            "client_email": name("The name of the service account, the claim `iss` of its assertions."),
            "private_key": private_key("The RSA key in PEM."),
            "private_key_id": text("The id of the key, the header `kid` of its assertions."),
            "token_uri": text("If it is there, it is the connector's token URL."),
        },
        "description": "The key file of the service account, as the provider issued it. Other members are not used.",
    });
    let subject = name("The user for whom the service account acts, such as an email address.");
    CredentialsForm {
        required: if needs_subject { vec!["key_file", "subject"] } else { vec!["key_file"] },
        properties: json!({"key_file": key_file, "subject": subject, "scopes": scopes()}),
        description: kept_sealed("The key of a service account."),
        dependent: None,
        shown: vec![("key_file", FieldKind::File), ("subject", FieldKind::Text)],
    }
}
