//! The secrets of webhooks as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use clock::timestamp::Timestamp;
use store::{Shown, WebhookSecret};

/// A new secret.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NewWebhookSecret")]
pub struct NewSecretRecord<'a> {
    pub id: &'a str,
    /// The secret of Standard Webhooks: `whsec_`, and the key in base64. It is shown only here.
    #[schemars(with = "String", regex(pattern = "^whsec_[A-Za-z0-9+/]+=*$"))]
    pub secret: Shown<'a>,
    pub created_at: Timestamp,
}

/// A valid secret, without the secret itself.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookSecret")]
pub struct SecretRecord<'a> {
    pub id: &'a str,
    pub created_at: Timestamp,
    /// Null for the current secret.
    pub expires_at: Option<Timestamp>,
}

/// The valid secrets of a tenant.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookSecrets")]
pub struct SecretsRecord<'a> {
    #[schemars(length(max = 2))]
    pub secrets: Vec<SecretRecord<'a>>,
}

/// The answer to the end of a secret.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookSecretDeleted")]
pub struct SecretDeletedRecord {
    #[schemars(extend("const" = true))]
    pub deleted: bool,
}

impl<'a> From<&'a WebhookSecret> for SecretRecord<'a> {
    fn from(secret: &'a WebhookSecret) -> Self {
        Self {
            id: &secret.id,
            created_at: secret.created_at.into(),
            expires_at: secret.expires_at.map(Timestamp::from),
        }
    }
}
