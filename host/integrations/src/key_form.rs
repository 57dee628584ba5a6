//! The form of the keys that a connector takes, and their use in requests.

use serde_json::{Value, json};

use super::credentials_form::{CredentialsForm, FieldKind, MAX_CHARACTERS, secret, text};
use contract::{Address, ApiKey, AuthAdditions, KeyPlacement, Signature};
use contract_rules::signature::Region;
use egress::{SHORTEST_SECRET, SignatureScheme};

/// The members that a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// `api_key`.
    ApiKey,
    /// `username` and `password`.
    Login,
    /// `access_key_id`, `secret_access_key` and perhaps `session_token`.
    Aws,
    /// `secret`, and `key_id` if requests have it.
    Signing {
        /// `true` if there must be a `key_id`.
        needs_id: bool,
    },
}

/// The use of a key in requests.
#[derive(Clone, Debug)]
pub enum KeyUse {
    /// Requests carry it at this place.
    Placed(KeyPlacement),
    /// Requests are signed with it.
    Signed(SignatureScheme),
}

impl KeyUse {
    /// The use of the keys of a connector, for an account with this address.
    pub fn of(scheme: &ApiKey, signature: Option<&Signature>, address: &Address) -> Self {
        let Some(signature) = signature else { return Self::Placed(scheme.placement.clone()) };
        Self::Signed(match signature {
            Signature::Aws(declared) => {
                let mut declared = declared.clone();
                if let Region::Part(name) = &declared.region
                    && let Some(region) = address.get(name)
                {
                    declared.region = Region::Fixed(region.clone());
                }
                SignatureScheme::Aws(declared)
            }
            Signature::Hmac(declared) => {
                let (header, prefix) = match &scheme.placement {
                    KeyPlacement::Header(header) => (header.name.clone(), header.prefix.clone()),
                    // A manifest whose signature has no header was refused when the module was loaded.
                    KeyPlacement::Query(_) | KeyPlacement::Basic => Default::default(),
                };
                SignatureScheme::Hmac { declared: declared.clone(), header, prefix }
            }
        })
    }
}

impl KeyForm {
    /// The form of the keys of a connector.
    pub fn of(scheme: &ApiKey, additions: &AuthAdditions) -> Self {
        match (&additions.signature, &scheme.placement) {
            (Some(Signature::Aws(_)), _) => Self::Aws,
            (Some(Signature::Hmac(declared)), KeyPlacement::Header(header)) => {
                Self::Signing { needs_id: declared.needs_key_id(&header.prefix) }
            }
            (Some(Signature::Hmac(declared)), _) => Self::Signing { needs_id: declared.needs_key_id("") },
            (None, KeyPlacement::Basic) => Self::Login,
            (None, KeyPlacement::Header(_) | KeyPlacement::Query(_)) => Self::ApiKey,
        }
    }

    /// The members of a key that an author gives in one line: the key, `user:password`, or
    /// `id:secret`. A token of a session follows after a further colon.
    pub fn members_of(self, text: &str) -> Value {
        let (id, secret) = text.split_once(':').unwrap_or((text, ""));
        match self {
            Self::ApiKey => json!({"api_key": text}),
            Self::Login => json!({"username": id, "password": secret}),
            Self::Aws => match secret.split_once(':') {
                Some((secret, token)) => {
                    json!({"access_key_id": id, "secret_access_key": secret, "session_token": token})
                }
                None => json!({"access_key_id": id, "secret_access_key": secret}),
            },
            Self::Signing { needs_id: true } => json!({"key_id": id, "secret": secret}),
            Self::Signing { needs_id: false } => json!({"secret": text}),
        }
    }

    /// The words for a key in one line.
    pub fn line(self) -> &'static str {
        match self {
            Self::ApiKey => "API key",
            Self::Login => "name and password, as `user:password`",
            Self::Aws => "access key, as `id:secret` or `id:secret:session token`",
            Self::Signing { needs_id: true } => "key, as `id:secret`",
            Self::Signing { needs_id: false } => "secret",
        }
    }

    /// The form of the keys, for applications and for people.
    pub fn form(self) -> CredentialsForm {
        use FieldKind::{Secret, Text};
        let (required, properties, shown) = match self {
            Self::ApiKey => (
                vec!["api_key"],
                json!({"api_key": secret(SHORTEST_SECRET, "The user's key at the service.")}),
                vec![("api_key", Secret)],
            ),
            Self::Login => (
                vec!["username"],
                json!({
                    // RFC 7617: the name ends at the first colon.
                    "username": {"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS, "pattern": "^[^:]*$",
                        "description": "The user's name at the service, or the key if the service takes it as the name. A key has at least \
                            8 bytes."},
                    "password": secret(0, "The user's password at the service, at least 8 bytes. Optional if the name is a key."),
                }),
                vec![("username", Text), ("password", Secret)],
            ),
            Self::Aws => (
                vec!["access_key_id", "secret_access_key"],
                json!({
                    "access_key_id": {"type": "string", "maxLength": MAX_CHARACTERS, "pattern": "^[A-Za-z0-9]+$",
                        "description": "The id of the user's access key."},
                    "secret_access_key": secret(SHORTEST_SECRET, "The secret of the access key. The gateway signs requests with it."),
                    "session_token": secret(SHORTEST_SECRET, "The token of a session, if the access key is temporary."),
                }),
                vec![("access_key_id", Text), ("secret_access_key", Secret), ("session_token", Secret)],
            ),
            Self::Signing { needs_id } => {
                let of_secret =
                    secret(SHORTEST_SECRET, "The secret of the user's key. The gateway signs requests with it.");
                match needs_id {
                    true => (
                        vec!["key_id", "secret"],
                        json!({"key_id": text("The id of the user's key at the service."), "secret": of_secret}),
                        vec![("key_id", Text), ("secret", Secret)],
                    ),
                    false => (vec!["secret"], json!({"secret": of_secret}), vec![("secret", Secret)]),
                }
            }
        };
        let description =
            "The key that the user got from the service. The gateway stores it sealed and never shows it again.";
        CredentialsForm { required, properties, description: description.to_owned(), dependent: None, shown }
    }
}
