//! The API key of an account, its user name and password, or its key that signs requests.

use std::collections::HashMap;

use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::Serialize;

use super::key_form::{KeyForm, KeyUse};
use contract::KeyPlacement;
use egress::{Credential, EgressError, KeyPair, SHORTEST_SECRET, SignatureScheme, is_too_short};

/// An API key, a user name with a password, or a key that signs requests.
#[derive(Clone)]
pub struct Key {
    form: Form,
    /// The user name, or the id of the key. Empty if there is none.
    id: String,
    /// The API key, the password, or the secret of the key.
    secret: SecretString,
    session_token: Option<SecretString>,
}

/// The members that a key was given in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    ApiKey,
    Login,
    Aws,
    Signing,
}

/// The JSON form, in a request body, in the database and in an export. The names never change,
/// because every database contains them.
#[derive(Default, Serialize)]
struct KeyJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_key_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret_access_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

impl Key {
    /// Reads `credentials` that [`KeyForm::form`](super::KeyForm::form) accepts.
    ///
    /// # Errors
    /// If the bytes have another form.
    pub fn from_bytes(json: &[u8]) -> Result<Self, NoKey> {
        // Owned strings, because a string with an escape cannot be borrowed.
        let members: HashMap<String, SecretString> = serde_json::from_slice::<HashMap<String, String>>(json)
            .map_err(|_| NoKey)?
            .into_iter()
            .map(|(name, text)| (name, text.into()))
            .collect();
        let secret = |name: &str| members.get(name).cloned();
        let text = |name: &str| members.get(name).map(|text| text.expose_secret().to_owned());
        let key = match secret("secret_access_key").or_else(|| secret("secret")) {
            None => Self::new(secret("api_key"), text("username"), secret("password")),
            Some(_) => Self::signing(&members),
        };
        key.ok_or(NoKey)
    }

    /// Reads what [`Key::to_bytes`] wrote, and the vault has unsealed.
    ///
    /// # Errors
    /// If the bytes have another form.
    pub(super) fn from_sealed(unsealed: &SecretSlice<u8>) -> Result<Self, NoKey> {
        Self::from_bytes(unsealed.expose_secret())
    }

    /// Reads a key that an author gives in one line, as [`KeyForm::members_of`] takes it apart.
    ///
    /// # Errors
    /// If the line has no key of this form.
    pub fn from_line(form: KeyForm, line: &SecretString) -> Result<Self, NoKey> {
        let members = SecretString::from(form.members_of(line.expose_secret()).to_string());
        Self::from_bytes(members.expose_secret().as_bytes())
    }

    /// A key, or a user name with or without a password. `None` if it is neither.
    pub fn new(
        api_key: Option<SecretString>,
        username: Option<String>,
        password: Option<SecretString>,
    ) -> Option<Self> {
        let of = |form, id, secret| Some(Self { form, id, secret, session_token: None });
        match (api_key, username) {
            (Some(secret), None) => of(Form::ApiKey, String::new(), secret),
            (None, Some(name)) => of(Form::Login, name, password.unwrap_or_default()),
            _ => None,
        }
    }

    /// A key that signs requests, from the members of its JSON form. `None` if a member is missing.
    pub fn signing(members: &HashMap<String, SecretString>) -> Option<Self> {
        let text = |name: &str| members.get(name).map(|text| text.expose_secret().to_owned());
        if let Some(secret) = members.get("secret_access_key") {
            return Some(Self {
                form: Form::Aws,
                id: text("access_key_id")?,
                secret: secret.clone(),
                session_token: members.get("session_token").cloned(),
            });
        }
        let secret = members.get("secret")?.clone();
        Some(Self { form: Form::Signing, id: text("key_id").unwrap_or_default(), secret, session_token: None })
    }

    /// The name of the member that is too short to be masked in responses. `None` if the key is
    /// long enough.
    pub fn too_short(&self) -> Option<&'static str> {
        if self.session_token.as_ref().is_some_and(is_too_short) {
            return Some("session_token");
        }
        let secret = self.secret.expose_secret();
        let (member, secret) = match self.form {
            Form::ApiKey => ("api_key", secret),
            // Some services take the key as the name, without a password.
            Form::Login if secret.is_empty() => ("username", self.id.as_str()),
            Form::Login => ("password", secret),
            Form::Aws => ("secret_access_key", secret),
            Form::Signing => ("secret", secret),
        };
        (secret.len() < SHORTEST_SECRET).then_some(member)
    }

    /// The JSON text to seal.
    pub fn to_bytes(&self) -> SecretSlice<u8> {
        let secret = Some(self.secret.expose_secret());
        let id = Some(self.id.as_str()).filter(|id| !id.is_empty());
        let json = match self.form {
            Form::ApiKey => KeyJson { api_key: secret, ..KeyJson::default() },
            Form::Login => KeyJson { username: Some(&self.id), password: secret, ..KeyJson::default() },
            Form::Aws => KeyJson {
                access_key_id: id,
                secret_access_key: secret,
                session_token: self.session_token.as_ref().map(ExposeSecret::expose_secret),
                ..KeyJson::default()
            },
            Form::Signing => KeyJson { key_id: id, secret, ..KeyJson::default() },
        };
        // Strings can always be written as JSON.
        serde_json::to_vec(&json).unwrap_or_default().into()
    }

    /// The credential that requests have.
    ///
    /// # Errors
    /// If the key contains characters that a request cannot carry, or if the connector needs another
    /// kind of key.
    pub fn credential(&self, usage: &KeyUse) -> Result<Credential, EgressError> {
        let other = || EgressError::InvalidRequest {
            detail: "the connector needs another kind of key than the stored one; connect the account again".to_owned(),
        };
        match (usage, self.form) {
            (KeyUse::Placed(KeyPlacement::Header(header)), Form::ApiKey) => {
                Credential::header(&header.name, &header.prefix, self.secret.clone())
            }
            (KeyUse::Placed(KeyPlacement::Query(name)), Form::ApiKey) => {
                Ok(Credential::query(name, self.secret.clone()))
            }
            (KeyUse::Placed(KeyPlacement::Basic), Form::Login) => Credential::basic(&self.id, self.secret.clone()),
            (KeyUse::Signed(scheme @ SignatureScheme::Aws(_)), Form::Aws)
            | (KeyUse::Signed(scheme @ SignatureScheme::Hmac { .. }), Form::Signing) => {
                if let SignatureScheme::Hmac { declared, prefix, .. } = scheme
                    && self.id.is_empty()
                    && declared.needs_key_id(prefix)
                {
                    return Err(other());
                }
                let keys = KeyPair {
                    id: self.id.clone(),
                    secret: self.secret.clone(),
                    session_token: self.session_token.clone(),
                };
                Credential::signature(scheme, keys)
            }
            (KeyUse::Placed(_) | KeyUse::Signed(_), _) => Err(other()),
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
    use contract::{AwsSignature, KeyHeader};
    use contract_rules::signature::Region;

    #[test]
    fn a_key_survives_storing_and_reading() {
        for text in [
            r#"{"api_key":"s3cr\"et"}"#,
            r#"{"username":"me","password":"s3cret"}"#,
            r#"{"access_key_id":"AKID","secret_access_key":"s3cret","session_token":"t0ken"}"#,
            r#"{"access_key_id":"AKID","secret_access_key":"s3cret"}"#,
            r#"{"key_id":"me","secret":"s3cret"}"#,
            r#"{"secret":"s3cret"}"#,
        ] {
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
        assert_eq!(too_short(r#"{"key_id":"me","secret":"1234567"}"#), Some("secret"));
        let aws = r#"{"access_key_id":"AKID","secret_access_key":"12345678","session_token":"1234567"}"#;
        assert_eq!(too_short(aws), Some("session_token"));
    }

    #[test]
    fn a_key_is_placed_where_the_manifest_says_and_nowhere_else() {
        let placed = KeyUse::Placed;
        let header = placed(KeyPlacement::Header(KeyHeader { name: "X-Key".to_owned(), prefix: "Token ".to_owned() }));
        let query = placed(KeyPlacement::Query("key".to_owned()));
        let key = Key::from_bytes(br#"{"api_key":"s3cret-and-long"}"#).unwrap();
        assert!(format!("{:?}", key.credential(&header).unwrap()).contains("header"));
        assert!(format!("{:?}", key.credential(&query).unwrap()).contains("query"));
        assert!(key.credential(&placed(KeyPlacement::Basic)).is_err());
        let broken = Key::from_bytes(br#"{"api_key":"a\nb"}"#).unwrap();
        assert!(broken.credential(&header).is_err());
        let signing = Key::from_bytes(br#"{"access_key_id":"AKID","secret_access_key":"s3cret-and-long"}"#).unwrap();
        let region = Region::Fixed("us-east-1".to_owned());
        let aws = KeyUse::Signed(SignatureScheme::Aws(AwsSignature { service: "s3".to_owned(), region }));
        assert!(format!("{:?}", signing.credential(&aws).unwrap()).contains("signature"));
        assert!(signing.credential(&header).is_err() && key.credential(&aws).is_err());
    }
}
