//! The API key of an account, or its user name and password.

use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::Serialize;
use serde_json::{Value, json};

use contract::KeyPlacement;
use egress::{Credential, EgressError, SHORTEST_SECRET};

/// Longest accepted key: longer than any in use, and short enough for a header.
pub(super) const MAX_CHARACTERS: usize = 4096;

/// An API key, or a user name with a password.
#[derive(Clone)]
pub struct Key {
    /// Set if the service uses HTTP Basic authentication.
    username: Option<String>,
    /// The API key or the password.
    secret: SecretString,
}

/// The JSON form, in a request body and in the database. The names never change, because every
/// database contains them.
#[derive(Default, Serialize)]
struct KeyJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<&'a str>,
}

impl Key {
    /// The JSON Schema of the member `credentials`.
    pub fn schema(placement: &KeyPlacement) -> Value {
        let secret = |shortest: usize, description: &str| {
            json!({
                "type": "string", "minLength": shortest, "maxLength": MAX_CHARACTERS, "writeOnly": true,
                "description": description,
            })
        };
        let (required, properties) = match placement {
            KeyPlacement::Header(_) | KeyPlacement::Query(_) => {
                (json!(["api_key"]), json!({"api_key": secret(SHORTEST_SECRET, "The user's key at the service.")}))
            }
            KeyPlacement::Basic => (
                json!(["username"]),
                json!({
                    // RFC 7617: the name ends at the first colon.
                    "username": {"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS, "pattern": "^[^:]*$",
                        "description": "The user's name at the service, or the key if the service takes it as the name. A key has at least \
                            8 bytes."},
                    "password": secret(0, "The user's password at the service, at least 8 bytes. Optional if the name is a key."),
                }),
            ),
        };
        json!({
            "type": "object", "additionalProperties": false, "required": required, "properties": properties,
            "description": "The key that the user got from the service. The gateway stores it sealed and never shows it again.",
        })
    }

    /// Reads `credentials` that [`Key::schema`] accepts, or bytes that [`Key::to_bytes`] wrote.
    ///
    /// # Errors
    /// If the bytes have another form.
    pub fn from_bytes(json: &[u8]) -> Result<Self, NoKey> {
        // Owned strings, because a string with an escape cannot be borrowed.
        let members: std::collections::HashMap<String, String> = serde_json::from_slice(json).map_err(|_| NoKey)?;
        let member = |name: &str| members.get(name).map(String::as_str);
        let secret = |name: &str| member(name).map(SecretString::from);
        Self::new(secret("api_key"), member("username").map(str::to_owned), secret("password")).ok_or(NoKey)
    }

    /// A key, or a user name with or without a password. `None` if it is neither.
    pub fn new(
        api_key: Option<SecretString>,
        username: Option<String>,
        password: Option<SecretString>,
    ) -> Option<Self> {
        match (api_key, username) {
            (Some(secret), None) => Some(Self { username: None, secret }),
            (None, Some(name)) => Some(Self { username: Some(name), secret: password.unwrap_or_default() }),
            _ => None,
        }
    }

    /// The name of the member that is too short to be masked in responses. `None` if the key is
    /// long enough.
    pub fn too_short(&self) -> Option<&'static str> {
        let password = self.secret.expose_secret();
        let (member, secret) = match &self.username {
            None => ("api_key", password),
            // Some services take the key as the name, without a password.
            Some(name) if password.is_empty() => ("username", name.as_str()),
            Some(_) => ("password", password),
        };
        (secret.len() < SHORTEST_SECRET).then_some(member)
    }

    /// The JSON text to seal.
    pub fn to_bytes(&self) -> SecretSlice<u8> {
        let secret = self.secret.expose_secret();
        let json = match &self.username {
            None => KeyJson { api_key: Some(secret), ..KeyJson::default() },
            Some(name) => KeyJson { username: Some(name), password: Some(secret), ..KeyJson::default() },
        };
        // Strings can always be written as JSON.
        serde_json::to_vec(&json).unwrap_or_default().into()
    }

    /// The credential that requests carry at this place.
    ///
    /// # Errors
    /// If the key contains characters that the place cannot carry, or if the placement needs
    /// another kind of key.
    pub fn credential(&self, placement: &KeyPlacement) -> Result<Credential, EgressError> {
        match (placement, &self.username) {
            (KeyPlacement::Header(header), None) => {
                Credential::header(&header.name, &header.prefix, self.secret.clone())
            }
            (KeyPlacement::Query(name), None) => Ok(Credential::query(name, self.secret.clone())),
            (KeyPlacement::Basic, Some(username)) => Credential::basic(username, self.secret.clone()),
            _ => Err(EgressError::InvalidRequest {
                detail: "the connector needs another kind of key than the stored one; connect the account again"
                    .to_owned(),
            }),
        }
    }
}

/// The bytes contain no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored bytes contain no key")]
pub struct NoKey;

#[cfg(test)]
mod tests {
    use super::*;
    use contract::KeyHeader;

    #[test]
    fn a_key_survives_storing_and_reading() {
        for text in [r#"{"api_key":"s3cr\"et"}"#, r#"{"username":"me","password":"s3cret"}"#] {
            let key = Key::from_bytes(text.as_bytes()).unwrap();
            assert_eq!(key.to_bytes().expose_secret(), text.as_bytes());
        }
        assert_eq!(Key::from_bytes(b"{}").err(), Some(NoKey));
        assert_eq!(Key::from_bytes(br#"{"api_key":1}"#).err(), Some(NoKey));
    }

    #[test]
    fn a_key_that_cannot_be_masked_is_too_short() {
        let too_short = |text: &str| Key::from_bytes(text.as_bytes()).unwrap().too_short();
        assert_eq!(too_short(r#"{"api_key":"1234567"}"#), Some("api_key"));
        assert_eq!(too_short(r#"{"api_key":"12345678"}"#), None);
        assert_eq!(too_short(r#"{"username":"me","password":"1234567"}"#), Some("password"));
        assert_eq!(too_short(r#"{"username":"me","password":"12345678"}"#), None);
        assert_eq!(too_short(r#"{"username":"1234567"}"#), Some("username"));
        assert_eq!(too_short(r#"{"username":"12345678","password":""}"#), None);
    }

    #[test]
    fn a_key_is_placed_where_the_manifest_says_and_nowhere_else() {
        let header = KeyPlacement::Header(KeyHeader { name: "X-Key".to_owned(), prefix: "Token ".to_owned() });
        let key = Key::from_bytes(br#"{"api_key":"s3cret-and-long"}"#).unwrap();
        assert!(format!("{:?}", key.credential(&header).unwrap()).contains("header"));
        assert!(format!("{:?}", key.credential(&KeyPlacement::Query("key".to_owned())).unwrap()).contains("query"));
        assert!(key.credential(&KeyPlacement::Basic).is_err());
        let broken = Key::from_bytes(br#"{"api_key":"a\nb"}"#).unwrap();
        assert!(broken.credential(&header).is_err());
    }
}
