//! The credentials that an account brings, and from which the gateway gets access tokens again and
//! again.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::secret_text::SealedText;
use config::{OauthApp, OauthClient};
use store::GrantType;

/// The credentials of an account.
#[derive(Clone, Debug)]
pub enum AccountGrant {
    /// The account's own OAuth client (RFC 6749, section 4.4).
    ClientCredentials {
        /// The client. It has a secret.
        client: OauthClient,
        /// The scopes to request. `None` for the scopes of the connector.
        scopes: Option<Vec<String>>,
    },
    /// A service account that signs assertions (RFC 7523, section 2.1).
    ServiceAccount {
        /// The key of the service account.
        key: ServiceAccountKey,
        /// The user for whom it acts.
        subject: Option<String>,
        /// The scopes to request. `None` for the scopes of the connector.
        scopes: Option<Vec<String>>,
    },
    /// An installation of an application.
    AppInstallation {
        /// The id of the installation.
        installation_id: String,
        /// The account's own application. `None` for the application of the configuration.
        app: Option<OauthApp>,
    },
}

/// The key of a service account.
#[derive(Clone, Debug)]
pub struct ServiceAccountKey {
    /// The claim `iss` of assertions.
    pub client_email: String,
    /// The private key, an RSA key in PEM.
    pub private_key: SecretString,
    /// The id by which the provider finds the public key.
    pub private_key_id: Option<String>,
    /// The token URL that the key file names. It is compared with the connector's, never called and
    /// not stored.
    pub token_uri: Option<String>,
}

/// The JSON has no credentials of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there are no credentials of this kind")]
pub struct NoGrant;

/// The JSON form, in a request body and, with `type`, in the sealed secret. The names never change,
/// because databases contain them.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct GrantJson {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    grant_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<SealedText<'static>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_file: Option<KeyFileJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    installation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    private_key: Option<SealedText<'static>>,
}

/// The members of a service account's key file that the gateway needs.
#[derive(Serialize, Deserialize)]
struct KeyFileJson {
    client_email: String,
    private_key: SealedText<'static>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    private_key_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_uri: Option<String>,
}

impl AccountGrant {
    /// The kind of the credentials.
    pub fn grant_type(&self) -> GrantType {
        match self {
            Self::ClientCredentials { .. } => GrantType::ClientCredentials,
            Self::ServiceAccount { .. } => GrantType::ServiceAccount,
            Self::AppInstallation { .. } => GrantType::AppInstallation,
        }
    }

    /// Reads the `credentials` of a request body.
    ///
    /// # Errors
    /// If they are not of this kind.
    pub fn from_json(grant_type: GrantType, json: &[u8]) -> Result<Self, NoGrant> {
        Self::of_kind(grant_type, serde_json::from_slice(json).map_err(|_| NoGrant)?)
    }

    /// Reads the sealed form, which names its kind.
    pub(super) fn from_sealed(mut json: GrantJson) -> Result<Self, NoGrant> {
        let name = json.grant_type.take().ok_or(NoGrant)?;
        let grant_type = GrantType::ALL.into_iter().find(|known| known.name() == name).ok_or(NoGrant)?;
        Self::of_kind(grant_type, json)
    }

    fn of_kind(grant_type: GrantType, json: GrantJson) -> Result<Self, NoGrant> {
        let GrantJson {
            client_id, client_secret, key_file, subject, scopes, installation_id, app_id, private_key, ..
        } = json;
        Ok(match grant_type {
            GrantType::ClientCredentials => Self::ClientCredentials {
                client: OauthClient {
                    client_id: client_id.ok_or(NoGrant)?,
                    client_secret: Some(client_secret.ok_or(NoGrant)?.into()),
                },
                scopes,
            },
            GrantType::ServiceAccount => {
                let KeyFileJson { client_email, private_key, private_key_id, token_uri } = key_file.ok_or(NoGrant)?;
                let key =
                    ServiceAccountKey { client_email, private_key: private_key.into(), private_key_id, token_uri };
                Self::ServiceAccount { key, subject, scopes }
            }
            GrantType::AppInstallation => Self::AppInstallation {
                installation_id: installation_id.filter(|id| is_installation_id(id)).ok_or(NoGrant)?,
                app: match (app_id, private_key) {
                    (Some(id), Some(private_key)) => Some(OauthApp { id, private_key: private_key.into() }),
                    (None, None) => None,
                    _ => return Err(NoGrant),
                },
            },
        })
    }

    /// The form to seal.
    pub(super) fn to_sealed(&self) -> GrantJson {
        let text = |secret: &SecretString| SealedText::from(secret.clone());
        let json = GrantJson { grant_type: Some(self.grant_type().name().to_owned()), ..GrantJson::default() };
        match self {
            Self::ClientCredentials { client, scopes } => GrantJson {
                client_id: Some(client.client_id.clone()),
                client_secret: client.client_secret.as_ref().map(text),
                scopes: scopes.clone(),
                ..json
            },
            Self::ServiceAccount { key, subject, scopes } => GrantJson {
                key_file: Some(KeyFileJson {
                    client_email: key.client_email.clone(),
                    private_key: text(&key.private_key),
                    private_key_id: key.private_key_id.clone(),
                    token_uri: None,
                }),
                subject: subject.clone(),
                scopes: scopes.clone(),
                ..json
            },
            Self::AppInstallation { installation_id, app } => GrantJson {
                installation_id: Some(installation_id.clone()),
                app_id: app.as_ref().map(|app| app.id.clone()),
                private_key: app.as_ref().map(|app| text(&app.private_key)),
                ..json
            },
        }
    }

    /// Reads the form that an export has, which names its kind.
    ///
    /// # Errors
    /// If it has another form.
    pub fn from_export(json: &str) -> Result<Self, NoGrant> {
        Self::from_sealed(serde_json::from_str(json).map_err(|_| NoGrant)?)
    }

    /// The form that [`AccountGrant::from_export`] reads. It has the secrets.
    pub fn to_export(&self) -> Value {
        // Texts can always be written as JSON.
        serde_json::to_value(self.to_sealed()).unwrap_or_default()
    }

    /// The private key that the account brings, if it brings one.
    pub fn private_key(&self) -> Option<&SecretString> {
        match self {
            Self::ServiceAccount { key, .. } => Some(&key.private_key),
            Self::AppInstallation { app, .. } => app.as_ref().map(|app| &app.private_key),
            Self::ClientCredentials { .. } => None,
        }
    }

    /// The scopes that the account brings. `None` for the scopes of the connector.
    pub fn scopes(&self) -> Option<&[String]> {
        match self {
            Self::ClientCredentials { scopes, .. } | Self::ServiceAccount { scopes, .. } => scopes.as_deref(),
            Self::AppInstallation { .. } => None,
        }
    }
}

/// Returns `true` for an id that is one segment of a path.
fn is_installation_id(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_survive_storing_and_reading_without_the_token_url_of_the_file() {
        let key_file = r#"{"type":"service_account","client_email":"a@b","private_key":"k","private_key_id":"1","token_uri":"https://x"}"#;
        for (grant_type, json) in [
            (GrantType::ClientCredentials, r#"{"client_id":"id","client_secret":"s3cret","scopes":["a"]}"#.to_owned()),
            (GrantType::ServiceAccount, format!(r#"{{"key_file":{key_file},"subject":"ada@example.com"}}"#)),
            (GrantType::AppInstallation, r#"{"installation_id":"1","app_id":"2","private_key":"k"}"#.to_owned()),
            (GrantType::AppInstallation, r#"{"installation_id":"1"}"#.to_owned()),
        ] {
            let grant = AccountGrant::from_json(grant_type, json.as_bytes()).unwrap();
            let sealed = serde_json::to_string(&grant.to_sealed()).unwrap();
            assert!(!sealed.contains("https://x"), "{sealed}");
            let read = AccountGrant::from_sealed(serde_json::from_str(&sealed).unwrap()).unwrap();
            assert_eq!(read.grant_type(), grant_type);
            assert_eq!(serde_json::to_string(&read.to_sealed()).unwrap(), sealed);
        }
    }

    #[test]
    fn credentials_of_another_kind_are_refused() {
        let client = br#"{"client_id":"id","client_secret":"s3cret"}"#;
        assert!(AccountGrant::from_json(GrantType::ServiceAccount, client).is_err());
        assert!(AccountGrant::from_json(GrantType::AppInstallation, client).is_err());
        assert!(AccountGrant::from_json(GrantType::ClientCredentials, br#"{"client_id":"id"}"#).is_err());
        let outside = br#"{"installation_id":"../user"}"#;
        assert!(AccountGrant::from_json(GrantType::AppInstallation, outside).is_err());
        let half = br#"{"installation_id":"1","app_id":"2"}"#;
        assert!(AccountGrant::from_json(GrantType::AppInstallation, half).is_err());
    }

    #[test]
    fn no_secret_is_in_the_debug_text() {
        let grant = AccountGrant::from_json(
            GrantType::ServiceAccount,
            br#"{"key_file":{"client_email":"a@b","private_key":"hunter2"}}"#,
        );
        assert!(!format!("{grant:?}").contains("hunter2"));
    }
}
