//! Errors of webhooks.

use thiserror::Error;

use store::StoreError;
use store::vault::VaultError;

/// A failure of the gateway itself.
#[derive(Debug, Error)]
pub enum WebhookError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database failed while a secret was stored, and again when it was asked for. The secret may
    /// be the current one.
    #[error("the webhook secret may have been stored: {0}")]
    SecretMayBeStored(#[source] StoreError),
    /// A secret or a body cannot be sealed or unsealed.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The operating system failed to provide random numbers.
    #[error("the operating system provides no random numbers")]
    NoRandomness,
    /// A stored secret has another form than the gateway writes.
    #[error("a stored webhook secret is damaged; DELETE /webhooks/secrets/{{id}} removes it")]
    DamagedSecret,
    /// A stored delivery has another form than the gateway writes.
    #[error("a stored webhook is damaged")]
    DamagedDelivery,
}

impl WebhookError {
    /// Returns `true` if a stored value cannot be read, now or later, although the store and the
    /// vault work.
    pub(super) fn is_damage(&self) -> bool {
        use VaultError::{Altered, DamagedKey, UnknownKey};
        matches!(
            self,
            Self::DamagedSecret | Self::DamagedDelivery | Self::Vault(Altered | DamagedKey { .. } | UnknownKey { .. })
        )
    }
}

/// Why the callback URLs of a call are not accepted.
#[derive(Debug, Error)]
pub enum CallbackError {
    /// Some URLs are not allowed: the index of each, and a sentence that says why.
    #[error("a callback URL is not allowed")]
    Invalid(Vec<(usize, String)>),
    /// The tenant has no valid secret to sign the callbacks with.
    #[error("the tenant has no webhook secret")]
    SecretRequired,
    /// The gateway itself failed.
    #[error(transparent)]
    Failed(#[from] WebhookError),
}

impl From<StoreError> for CallbackError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}
