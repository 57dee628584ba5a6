//! The JSON Schema of the request that connects an account, and the description of a connector's
//! auth scheme.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::destination::MAX_URL_CHARACTERS;
use super::identifier::{IDENTIFIER_PATTERN, MAX_IDENTIFIER_CHARACTERS};
use super::provider::redirect_uri;
use super::record::AuthTypeName;
use super::ways::{Member, Way};
use config::Config;
use contract::{AddressPart, AuthScheme, Oauth2};
use contract_rules::account_address::{authority, is_in_host};
use registry::Connector;

/// The most labels of one integration.
const MAX_LABELS: u32 = 16;

/// Names of labels. They are parts of names in queries.
const LABEL_NAME: &str = "^[A-Za-z0-9_.-]{1,64}$";

/// Longest text of a label.
const MAX_LABEL_CHARACTERS: u32 = 256;

/// The JSON Schema of the body of `POST …/integrations` for one of a connector's ways. For `None`,
/// the body must name one of them.
pub fn init_schema(connector: &Connector, ways: &[Way<'_>], way: Option<Way<'_>>) -> Value {
    if let Some(way) = way {
        return schema_of_way(way, connector);
    }
    let mut schema = schema_of_way(ways.first().copied().unwrap_or(Way::NoSecret), connector);
    schema["properties"]["auth_type"]["enum"] = json!(ways.iter().map(|way| way.name()).collect::<Vec<_>>());
    schema
}

/// The JSON Schema of the body of `POST …/integrations` for one way to connect an account.
fn schema_of_way(way: Way<'_>, connector: &Connector) -> Value {
    let mut required = vec!["auth_type"];
    let mut properties = json!({
        "auth_type": {"type": "string", "enum": [way.name()]},
        "user_identifier": {
            "type": ["string", "null"], "minLength": 1, "maxLength": MAX_IDENTIFIER_CHARACTERS,
            "pattern": IDENTIFIER_PATTERN,
            // Clients take these out of paths.
            "not": {"enum": [".", ".."]},
            "description": "The name of the account. Without it, the email address or id at the service is used.",
        },
        "callback_url": {
            "type": ["string", "null"], "format": "uri", "maxLength": MAX_URL_CHARACTERS,
            "description": "Not used, because the user does not visit a provider.",
        },
    });
    properties["labels"] = labels_schema(true);
    let parts = connector.address_parts();
    if parts.iter().any(AddressPart::is_from_user) {
        required.push("address");
        properties["address"] = address_schema(parts);
    }
    for Member { name, schema, is_required } in way.members(connector) {
        required.extend(is_required.then_some(name));
        properties[name] = schema;
    }
    json!({
        "type": "object", "additionalProperties": false, "required": required, "properties": properties,
    })
}

/// The JSON Schema of the parts of an address that the user gives.
fn address_schema(parts: &[AddressPart]) -> Value {
    let parts = parts.iter().filter(|part| part.is_from_user());
    let properties = parts.clone().map(|part| {
        let AddressPart { name, title, form, max_length, .. } = part;
        let schema = json!({
            "type": "string", "minLength": 1, "maxLength": max_length, "pattern": form.pattern(),
            // These are no segments of a path.
            "not": {"enum": [".", ".."]},
            "title": title, "description": format!("It has {}.", form.words()),
        });
        (name.clone(), schema)
    });
    json!({
        "type": "object", "additionalProperties": false,
        "required": parts.clone().map(|part| part.name.as_str()).collect::<Vec<_>>(),
        "properties": properties.collect::<serde_json::Map<_, _>>(),
        "description": "The parts of the account's address at the service. The gateway sends the account's requests to this address.",
    })
}

/// The JSON Schema of labels.
pub fn labels_schema(may_be_null: bool) -> Value {
    let type_name = if may_be_null { json!(["object", "null"]) } else { json!("object") };
    json!({
        "type": type_name, "maxProperties": MAX_LABELS,
        "propertyNames": {"pattern": LABEL_NAME},
        "additionalProperties": {"type": "string", "maxLength": MAX_LABEL_CHARACTERS},
        "description": "Texts about the account, such as the team that uses it. GET /integrations?label.NAME=TEXT finds them.",
    })
}

/// The answer of `GET …/auth-schema`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuthSchema")]
pub struct AuthSchemaRecord<'a> {
    connector: &'a str,
    required: bool,
    auth_types: Vec<AuthTypeRecord>,
}

/// One way to connect an account. URLs and scopes are the operator's settings, else the
/// manifest's, else null. A URL may have parts of the account's address in braces.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuthTypeSchema")]
struct AuthTypeRecord {
    auth_type: AuthTypeName,
    /// JSON Schema of the body of POST …/integrations.
    #[schemars(extend("type" = "object"))]
    schema: Value,
    #[serde(flatten)]
    oauth2: Option<Oauth2Record>,
}

#[derive(Serialize, JsonSchema)]
struct Oauth2Record {
    authorization_url: Option<String>,
    token_url: Option<String>,
    scopes: Vec<String>,
    /// `S256`, or null without PKCE.
    pkce: Option<&'static str>,
    /// Register exactly this URL with the provider.
    redirect_uri: String,
}

impl<'a> AuthSchemaRecord<'a> {
    /// Describes how users of a connector authenticate.
    pub fn of_connector(connector: &'a Connector, config: &Config) -> Self {
        let scheme = &connector.manifest().auth;
        let entry = |way: Way<'_>| AuthTypeRecord {
            auth_type: way.into(),
            schema: schema_of_way(way, connector),
            oauth2: match way {
                Way::AuthorizationCode(scheme) => Some(Oauth2Record::of_scheme(connector.name(), scheme, config)),
                _ => None,
            },
        };
        let auth_types = Way::of(connector, config).into_iter().map(entry).collect();
        Self { connector: connector.name(), required: !matches!(scheme, AuthScheme::None), auth_types }
    }
}

/// The origin of the page at the provider to which users are sent. `None` if the connector's users
/// are sent nowhere, or if the operator has not set the URL.
pub fn authorization_origin(connector: &Connector, config: &Config) -> Option<String> {
    let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return None };
    let url = Oauth2Record::of_scheme(connector.name(), scheme, config).authorization_url?;
    if is_in_host(&url) {
        let sites = &connector.additions().upstreams.sites;
        let site = sites.iter().find(|(_, site)| authority(&url).ends_with(site.as_str())).or(sites.first());
        return site.map(|(_, site)| format!("https://*.{site}"));
    }
    Some(url::Url::parse(&url).ok()?.origin().ascii_serialization())
}

impl Oauth2Record {
    fn of_scheme(connector: &str, scheme: &Oauth2, config: &Config) -> Self {
        let settings = &config.connector(connector).oauth;
        let url = |setting: &Option<url::Url>, manifest: &str| match setting {
            Some(url) => Some(url.to_string()),
            None => (!manifest.is_empty()).then(|| manifest.to_owned()),
        };
        Self {
            authorization_url: url(&settings.authorization_url, &scheme.authorization_url),
            token_url: url(&settings.token_url, &scheme.token_url),
            scopes: settings.scopes.as_ref().unwrap_or(&scheme.scopes).clone(),
            pkce: scheme.pkce.then_some("S256"),
            redirect_uri: redirect_uri(config, connector),
        }
    }
}
