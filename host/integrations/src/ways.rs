//! The ways in which accounts of a connector can be connected: the one of its auth scheme, and
//! those that it declares with `auth-additions`.

use serde_json::{Value, json};

use super::account_secret::auth_type;
use super::device::DEVICE_CODE;
use super::key::MAX_CHARACTERS;
use config::Config;
use contract::words::{nearest, shortened};
use contract::{AddressPart, AuthAdditions, AuthScheme};
use egress::SHORTEST_SECRET;
use registry::Connector;
use store::GrantType;

/// Longest private key in PEM: more than a key of 4096 bits has.
const MAX_KEY_CHARACTERS: usize = 16 << 10;

/// A way to connect an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The way of the connector's auth scheme.
    Scheme,
    /// With credentials from which the gateway gets access tokens.
    Grant(GrantType),
    /// With a code that the user enters on another device.
    Device,
}

impl Way {
    /// The ways of a connector, the one of its scheme first. The gateway does not ask the service
    /// about an account that brings its credentials, so users must know every part of its address.
    pub fn of(connector: &Connector, config: &Config) -> Vec<Self> {
        let knows_address = connector.address_parts().iter().all(AddressPart::is_from_user);
        let grants = grant_types(connector.auth_additions()).filter(|_| knows_address).map(Self::Grant);
        let scheme = is_scheme_offered(connector, config).then_some(Self::Scheme);
        let device = connector.auth_additions().device_code.as_ref().map(|_| Self::Device);
        scheme.into_iter().chain(grants).chain(device).collect()
    }

    /// The name of the way for an auth scheme.
    pub fn name(self, scheme: &AuthScheme) -> &'static str {
        match self {
            Self::Scheme => auth_type(scheme).name(),
            Self::Grant(grant_type) => grant_type.auth_type(),
            Self::Device => DEVICE_CODE,
        }
    }
}

/// A sentence about the name of a way that a connector does not have, with the nearest one that it
/// has. `None` for a way of the connector.
pub fn unknown_way(connector: &Connector, config: &Config, named: &str) -> Option<String> {
    let scheme = &connector.manifest().auth;
    let names: Vec<_> = Way::of(connector, config).into_iter().map(|way| way.name(scheme)).collect();
    (!names.contains(&named)).then(|| unknown_name(named, &names))
}

fn unknown_name(named: &str, names: &[&str]) -> String {
    let question = nearest(named, names.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    let question = question.as_deref().unwrap_or(".");
    format!(
        "`{}` is no auth type of this connector{question} The auth types are: {}.",
        shortened(named),
        names.join(", ")
    )
}

/// The kinds of credentials that a connector takes.
pub(super) fn grant_types(additions: &AuthAdditions) -> impl Iterator<Item = GrantType> {
    let AuthAdditions { client_credentials, service_account, app_installation, .. } = additions;
    let client_credentials = client_credentials.then_some(GrantType::ClientCredentials);
    let service_account = service_account.as_ref().map(|_| GrantType::ServiceAccount);
    let app_installation = app_installation.as_ref().map(|_| GrantType::AppInstallation);
    [client_credentials, service_account, app_installation].into_iter().flatten()
}

/// Returns `false` if no user can authorize: neither the manifest nor the operator has a page for
/// it, and there are other ways.
fn is_scheme_offered(connector: &Connector, config: &Config) -> bool {
    let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return true };
    let set = config.connector(connector.name()).oauth.authorization_url.is_some();
    set || !scheme.authorization_url.is_empty() || !connector.auth_additions().has_way()
}

/// The JSON Schema of `credentials` for credentials of a kind.
pub(super) fn credentials_schema(grant_type: GrantType, additions: &AuthAdditions) -> Value {
    let text = |description: &str| json!({"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS, "description": description});
    let private_key = |description: &str| {
        json!({
            "type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS, "writeOnly": true,
            "description": description,
        })
    };
    let scopes = json!({
        "type": "array", "maxItems": 256, "items": {"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS},
        "description": "The scopes to request, in place of the connector's.",
    });
    let (required, properties, about) = match grant_type {
        GrantType::ClientCredentials => (
            vec!["client_id", "client_secret"],
            json!({
                "client_id": text("The id of the account's own OAuth client."),
                "client_secret": {
                    "type": "string", "minLength": SHORTEST_SECRET, "maxLength": MAX_CHARACTERS, "writeOnly": true,
                    "description": "The secret of the client.",
                },
                "scopes": scopes,
            }),
            "The account's own OAuth client.",
        ),
        GrantType::ServiceAccount => {
            let needs_subject = additions.service_account.as_ref().is_some_and(|declared| declared.needs_subject);
            let required = if needs_subject { vec!["key_file", "subject"] } else { vec!["key_file"] };
            let key_file = json!({
                "type": "object", "required": ["client_email", "private_key"],
                "properties": {
                    "client_email": text("The name of the service account, the claim `iss` of its assertions."),
                    "private_key": private_key("The RSA key in PEM."),
                    "private_key_id": text("The id of the key, the header `kid` of its assertions."),
                    "token_uri": text("If it is there, it is the connector's token URL."),
                },
                "description": "The key file of the service account, as the provider issued it. Other members are not used.",
            });
            let subject = text("The user for whom the service account acts, such as an email address.");
            let properties = json!({"key_file": key_file, "subject": subject, "scopes": scopes});
            (required, properties, "The key of a service account.")
        }
        GrantType::AppInstallation => (
            vec!["installation_id"],
            json!({
                "installation_id": {
                    "type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$",
                    "description": "The id that the service gave the installation.",
                },
                "app_id": text("The id of your own application, in place of the operator's."),
                "private_key": private_key("The private key of your own application: RSA, in PEM."),
            }),
            "An installation of an application.",
        ),
    };
    let mut schema = json!({
        "type": "object", "additionalProperties": false, "required": required, "properties": properties,
        "description": format!("{about} The gateway stores it sealed, gets access tokens with it, and never shows it again."),
    });
    if grant_type == GrantType::AppInstallation {
        schema["dependentRequired"] = json!({"app_id": ["private_key"], "private_key": ["app_id"]});
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::unknown_name;

    #[test]
    fn an_unknown_way_is_told_with_the_nearest_one_and_all_of_them() {
        assert_eq!(
            unknown_name("oauth2_device", &["oauth2", "oauth2_device_code"]),
            "`oauth2_device` is no auth type of this connector; did you mean `oauth2_device_code`? \
             The auth types are: oauth2, oauth2_device_code."
        );
        assert_eq!(
            unknown_name("password", &["api_key"]),
            "`password` is no auth type of this connector. The auth types are: api_key."
        );
    }
}
