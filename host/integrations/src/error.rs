//! Errors of integrations.

use std::time::Duration;

use thiserror::Error;

use super::key::NoKey;
use super::reason::Reason;
use egress::EgressError;
use oauth::{NoTokens, NotConfigured, TokenError};
use store::vault::VaultError;
use store::{AccountAddress, StoreError};
use webhooks::WebhookError;

/// A failure of the gateway itself.
#[derive(Debug, Error)]
pub enum IntegrationError {
    /// The database failed, or refused because of a limit.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database failed during a refresh, so the credential was not refreshed.
    #[error("the database failed while the credential was refreshed")]
    RefreshNotStored,
    /// The disk has no room for new tokens, so the credential was not refreshed.
    #[error("the disk has no room for the tokens of a refresh")]
    NoRoomForTokens,
    /// The link on whose page the account was to be connected has ended.
    #[error("the link has ended")]
    LinkEnded,
    /// Other processes changed the integration each time that it was read.
    #[error("the integration kept changing while it was being read")]
    KeptChanging,
    /// A secret cannot be sealed or unsealed.
    #[error(transparent)]
    Vault(VaultError),
    /// A secret was unsealed, but is not usable.
    #[error("the stored credential cannot be used: {0}")]
    Secret(String),
    /// The operating system failed to provide random numbers.
    #[error("the operating system provides no random numbers")]
    NoRandomness,
    /// The gateway is about to stop.
    #[error("the gateway is about to stop")]
    Stopping,
}

impl IntegrationError {
    /// Logs the error with what the gateway could not do. A failure of the database is at most one
    /// line per second.
    pub fn log(&self, consequence: &str) {
        match self {
            Self::Store(error) => error.log_failure(),
            error => tracing::error!(%error, "{consequence}"),
        }
    }
}

impl From<VaultError> for IntegrationError {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Store(error) => Self::Store(error),
            error => Self::Vault(error),
        }
    }
}

impl From<WebhookError> for IntegrationError {
    fn from(error: WebhookError) -> Self {
        match error {
            WebhookError::Store(error) | WebhookError::SecretMayBeStored(error) => Self::Store(error),
            WebhookError::Vault(error) => error.into(),
            WebhookError::NoRandomness => Self::NoRandomness,
            WebhookError::DamagedSecret | WebhookError::DamagedDelivery => Self::Secret(error.to_string()),
        }
    }
}

impl From<NoTokens> for IntegrationError {
    fn from(error: NoTokens) -> Self {
        Self::Secret(error.to_string())
    }
}

impl From<NoKey> for IntegrationError {
    fn from(error: NoKey) -> Self {
        Self::Secret(error.to_string())
    }
}

impl From<EgressError> for IntegrationError {
    fn from(error: EgressError) -> Self {
        Self::Secret(error.to_string())
    }
}

/// How the user connects an account again.
#[derive(Debug)]
pub struct ConnectAgain {
    /// The integration.
    pub user_identifier: String,
    /// The `auth_type` with which the user connects it.
    pub auth_type: &'static str,
    /// The parts of its address that the user gives.
    pub address: AccountAddress,
}

/// Why an operation has no credential to run with.
#[derive(Debug, Error)]
pub enum AccessError {
    /// The holder has not connected the account.
    #[error("the user has connected no account{}", named.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default())]
    Required {
        /// The identifier that the caller named.
        named: Option<String>,
        /// Identifiers of accounts that the holder has connected, limited in number.
        candidates: Vec<String>,
    },
    /// The holder has connected several accounts. The caller named no account, and no account is
    /// selected.
    #[error("the user has connected several accounts, and none is selected")]
    Ambiguous {
        /// Their identifiers, limited in number, so that the caller can name one.
        candidates: Vec<String>,
    },
    /// The user can connect no account, before the operator has changed a setting.
    #[error(transparent)]
    NotConfigured(#[from] NotConfigured),
    /// The user has to authorize again.
    #[error("the user has to authorize again: {}", detail)]
    Reauthorize {
        /// The integration, and how the user connects it again.
        again: ConnectAgain,
        /// A sentence that says why.
        detail: String,
    },
    /// The credential has expired or was refused, and a new one could not be fetched yet.
    #[error("the credential cannot be refreshed now: {}", reason.detail)]
    NotRefreshed {
        /// The integration.
        user_identifier: String,
        /// The cause, and who can fix it.
        reason: Reason,
        /// Time until the next attempt.
        retry_after: Duration,
    },
    /// The gateway itself failed.
    #[error(transparent)]
    Failed(#[from] IntegrationError),
}

impl AccessError {
    /// The account that cannot be used, if one was named or chosen.
    pub fn user_identifier(&self) -> Option<&str> {
        match self {
            Self::Required { named, .. } => named.as_deref(),
            Self::Reauthorize { again, .. } => Some(&again.user_identifier),
            Self::NotRefreshed { user_identifier, .. } => Some(user_identifier),
            Self::Ambiguous { .. } | Self::NotConfigured(_) | Self::Failed(_) => None,
        }
    }
}

impl From<StoreError> for AccessError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Why no account is connected, and no authorization was started.
#[derive(Debug, Error)]
pub enum BeginError {
    /// The credentials of the request cannot be used, or the service refuses them.
    #[error("the credentials cannot be used: {detail}")]
    Credentials {
        /// JSON Pointer into the credentials.
        pointer: String,
        /// A sentence that says what to do.
        detail: String,
    },
    /// Settings or grants for the provider are missing.
    #[error(transparent)]
    NotConfigured(#[from] NotConfigured),
    /// The provider gave no token or no device code.
    #[error(transparent)]
    Provider(#[from] TokenError),
    /// The access token cannot be sent, or not be masked in responses.
    #[error("the provider's access token cannot be used: {0}")]
    UnusableToken(String),
    /// The gateway itself failed.
    #[error(transparent)]
    Failed(#[from] IntegrationError),
}
