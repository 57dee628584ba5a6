//! What a caller sends to begin, as JSON Schema, and what else there is to know of a connector's way to authenticate.

use serde_json::{Value, json};

use super::account_secret::auth_type;
use super::begin::redirect_uri;
use super::key::Key;
use crate::config::Config;
use contract::{AuthScheme, Oauth2};

/// Longer than any email address, and short enough for a path and a header.
const MAX_IDENTIFIER_CHARACTERS: usize = 256;

/// As long as browsers and providers take.
const MAX_URL_CHARACTERS: usize = 2048;

/// JSON Schema of the body of POST …/integrations.
pub fn init_schema(scheme: &AuthScheme) -> Value {
    let name = auth_type(scheme).name();
    let mut required = vec!["auth_type"];
    let mut properties = json!({
        "auth_type": {"type": "string", "enum": [name]},
        "user_identifier": {
            "type": ["string", "null"], "minLength": 1, "maxLength": MAX_IDENTIFIER_CHARACTERS,
            // A header and a log line hold no control characters, and neither keeps blanks at an end.
            "pattern": r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$",
            "description": "What to call the account; without it, its email address or id at the service.",
        },
        "callback_url": {
            "type": ["string", "null"], "format": "uri", "maxLength": MAX_URL_CHARACTERS,
            "description": "Not used where the user need not be sent anywhere.",
        },
    });
    match scheme {
        AuthScheme::Oauth2(_) => {
            required.push("callback_url");
            properties["callback_url"] = json!({
                "type": "string", "format": "uri", "minLength": 1, "maxLength": MAX_URL_CHARACTERS,
                "description": "Where the user is sent to in the end, with `status` in the query.",
            });
        }
        AuthScheme::ApiKey(key) => {
            required.push("credentials");
            properties["credentials"] = Key::schema(&key.placement);
        }
        AuthScheme::None => {}
    }
    json!({
        "type": "object", "additionalProperties": false, "required": required, "properties": properties,
    })
}

/// The answer of GET …/auth-schema.
pub fn describe(connector: &str, scheme: &AuthScheme, config: &Config) -> Value {
    let mut way = json!({"auth_type": auth_type(scheme).name(), "schema": init_schema(scheme)});
    if let (AuthScheme::Oauth2(oauth2), Value::Object(way)) = (scheme, &mut way)
        && let Value::Object(members) = describe_oauth2(connector, oauth2, config)
    {
        way.extend(members);
    }
    json!({
        "connector": connector,
        "required": !matches!(scheme, AuthScheme::None),
        "auth_types": [way],
    })
}

/// What the operator set, or else the manifest says; null where neither does.
fn describe_oauth2(connector: &str, scheme: &Oauth2, config: &Config) -> Value {
    let set = &config.connector(connector).oauth;
    let url = |set: &Option<url::Url>, manifest: &str| match set {
        Some(url) => Some(url.to_string()),
        None => (!manifest.is_empty()).then(|| manifest.to_owned()),
    };
    json!({
        "authorization_url": url(&set.authorization_url, &scheme.authorization_url),
        "token_url": url(&set.token_url, &scheme.token_url),
        "scopes": set.scopes.as_ref().unwrap_or(&scheme.scopes),
        "pkce": scheme.pkce.then_some("S256"),
        "redirect_uri": redirect_uri(config, connector),
    })
}
