//! A key that a user brings from the service.

use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use contract::KeyPlacement;
use egress::{Credential, EgressError};

/// Longer than any key in use, and short enough for a header.
const MAX_CHARACTERS: usize = 4096;

/// A key, or a username with a password.
#[derive(Clone)]
pub struct Key {
    username: Option<String>,
    secret: SecretString,
}

/// As it comes in a body, and as it is sealed. Names stay as they are, since they stand in every database.
#[derive(Default, Serialize, Deserialize)]
struct Written<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    api_key: Option<&'a str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    username: Option<&'a str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    password: Option<&'a str>,
}

impl Key {
    /// What a caller sends as `credentials`.
    pub fn schema(placement: &KeyPlacement) -> Value {
        let secret = |shortest: usize, description: &str| {
            json!({
                "type": "string", "minLength": shortest, "maxLength": MAX_CHARACTERS, "writeOnly": true,
                "description": description,
            })
        };
        let (required, properties) = match placement {
            KeyPlacement::Header(_) | KeyPlacement::Query(_) => {
                (json!(["api_key"]), json!({"api_key": secret(1, "The user's key at the service.")}))
            }
            KeyPlacement::Basic => (
                json!(["username"]),
                json!({
                    // RFC 7617 ends the name at the first colon.
                    "username": {"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS, "pattern": "^[^:]*$",
                        "description": "The user's name at the service, or the key where it takes one in place of a name."},
                    "password": secret(0, "The user's password at the service; may be absent where the name is a key."),
                }),
            ),
        };
        json!({
            "type": "object", "additionalProperties": false, "required": required, "properties": properties,
            "description": "What the user has from the service. It is sealed, and never shown again.",
        })
    }

    /// Reads `credentials` that [`Key::schema`] has accepted, or what [`Key::to_bytes`] wrote.
    ///
    /// # Errors
    /// When it is something else.
    pub fn from_bytes(json: &[u8]) -> Result<Self, NoKey> {
        // Owned, since a string with an escape cannot be borrowed.
        let members: std::collections::HashMap<String, String> = serde_json::from_slice(json).map_err(|_| NoKey)?;
        let member = |name: &str| members.get(name).map(String::as_str);
        match (member("api_key"), member("username")) {
            (Some(key), None) => Ok(Self { username: None, secret: key.into() }),
            (None, Some(name)) => {
                Ok(Self { username: Some(name.to_owned()), secret: member("password").unwrap_or_default().into() })
            }
            _ => Err(NoKey),
        }
    }

    /// JSON text, to be sealed.
    pub fn to_bytes(&self) -> SecretSlice<u8> {
        let secret = self.secret.expose_secret();
        let written = match &self.username {
            None => Written { api_key: Some(secret), ..Written::default() },
            Some(name) => Written { username: Some(name), password: Some(secret), ..Written::default() },
        };
        // Strings are always JSON.
        serde_json::to_vec(&written).unwrap_or_default().into()
    }

    /// The key as requests carry it.
    ///
    /// # Errors
    /// When it cannot stand where the service wants it, or the placement wants another kind of key.
    pub fn credential(&self, placement: &KeyPlacement) -> Result<Credential, EgressError> {
        match (placement, &self.username) {
            (KeyPlacement::Header(header), None) => {
                Credential::header(&header.name, &header.prefix, self.secret.clone())
            }
            (KeyPlacement::Query(name), None) => Ok(Credential::query(name, self.secret.clone())),
            (KeyPlacement::Basic, Some(username)) => Credential::basic(username, self.secret.clone()),
            _ => Err(EgressError::InvalidRequest {
                detail: "the connector now wants another kind of key than the one that is stored".to_owned(),
            }),
        }
    }
}

/// The bytes hold no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what was stored holds no key")]
pub struct NoKey;

#[cfg(test)]
mod tests {
    use super::*;
    use contract::KeyHeader;

    #[test]
    fn a_key_is_stored_and_read_again() {
        for text in [r#"{"api_key":"s3cr\"et"}"#, r#"{"username":"me","password":"s3cret"}"#] {
            let key = Key::from_bytes(text.as_bytes()).unwrap();
            assert_eq!(key.to_bytes().expose_secret(), text.as_bytes());
        }
        assert_eq!(Key::from_bytes(b"{}").err(), Some(NoKey));
        assert_eq!(Key::from_bytes(br#"{"api_key":1}"#).err(), Some(NoKey));
    }

    #[test]
    fn a_key_goes_where_the_manifest_says_and_nowhere_else() {
        let header = KeyPlacement::Header(KeyHeader { name: "X-Key".to_owned(), prefix: "Token ".to_owned() });
        let key = Key::from_bytes(br#"{"api_key":"s3cret-and-long"}"#).unwrap();
        assert!(format!("{:?}", key.credential(&header).unwrap()).contains("header"));
        assert!(format!("{:?}", key.credential(&KeyPlacement::Query("key".to_owned())).unwrap()).contains("query"));
        assert!(key.credential(&KeyPlacement::Basic).is_err());
        let broken = Key::from_bytes(br#"{"api_key":"a\nb"}"#).unwrap();
        assert!(broken.credential(&header).is_err());
    }
}
