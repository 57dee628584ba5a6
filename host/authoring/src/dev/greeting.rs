//! The lines that tell an author how to call the gateway.

use connector_gateway::{Connector, KeyForm};
use serde_json::{Value, json};

use super::provider::Provider;
use contract::AuthScheme;
use store::Shown;

/// The requests to try.
pub(super) fn text(address: &str, key: Shown<'_>, connector: &Connector, provider: Option<&Provider>) -> String {
    let name = connector.name();
    let curl = |path: &str, body: &Value| {
        // The end of the quotes, a quoted quote, and the quotes again.
        let body = body.to_string().replace('\'', r"'\''");
        format!(
            "  curl -s {address}/connectors/{name}/{path} \\\n    -H \"Authorization: Bearer {key}\" -H 'Content-Type: \
             application/json' \\\n    -d '{body}'\n"
        )
    };
    let mut text = format!("\nThe gateway is at {address}, until this command ends. Its API key is {key}\n");
    match (&connector.manifest().auth, provider) {
        (AuthScheme::None, _) => {}
        (AuthScheme::Oauth2(_), Some(provider)) => {
            let body = with_address(json!({"auth_type": "oauth2", "callback_url": provider.page()}), connector);
            text += "\nConnect an account, and open the `authorization_url` of the answer in a browser or with curl -sL:\n\n";
            text += &curl("integrations", &body);
        }
        (AuthScheme::Oauth2(_), None) => {
            text += "\nUsers need an account. Try it with --oauth, or with a token of yours in --credential-file.\n";
        }
        (AuthScheme::ApiKey(scheme), _) => {
            let form = KeyForm::of(scheme, connector.auth_additions());
            let credentials = form.members_of(match form {
                KeyForm::ApiKey => "YOUR KEY",
                KeyForm::Login => "YOUR NAME:YOUR PASSWORD",
                KeyForm::Aws | KeyForm::Signing { needs_id: true } => "YOUR KEY ID:YOUR SECRET",
                KeyForm::Signing { needs_id: false } => "YOUR SECRET",
            });
            text += "\nUsers need an account. Connect one, unless --credential-file has done it:\n\n";
            let body = with_address(json!({"auth_type": "api_key", "credentials": credentials}), connector);
            text += &curl("integrations", &body);
        }
    }
    let mut operations: Vec<_> = connector.operations().collect();
    operations.sort_by_key(|operation| operation.manifest.example.is_none());
    if let Some(operation) = operations.first() {
        let example = operation.manifest.example.as_deref().and_then(|text| serde_json::from_str(text).ok());
        text += "\nTry:\n\n";
        text += &curl(&operation.manifest.path, &example.unwrap_or_else(|| json!({})));
    }
    text
}

/// The body with the parts of the account's address that the user gives.
fn with_address(mut body: Value, connector: &Connector) -> Value {
    for part in connector.address_parts().iter().filter(|part| part.is_from_user()) {
        body["address"][&part.name] = format!("YOUR {}", part.name.to_uppercase()).into();
    }
    body
}
