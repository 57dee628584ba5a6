//! What can go wrong with integrations.

use std::time::Duration;

use thiserror::Error;

use super::freshness::Reason;
use super::key::NoKey;
use crate::oauth::{NoTokens, NotConfigured};
use egress::EgressError;
use store::StoreError;
use store::vault::VaultError;

/// The gateway's own parts failed.
#[derive(Debug, Error)]
pub enum IntegrationError {
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A secret cannot be sealed or opened.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// What was opened is no credential.
    #[error("the stored credential cannot be used: {0}")]
    Secret(String),
    /// The operating system has no random numbers to give.
    #[error("the operating system gives no random numbers")]
    NoRandomness,
    /// The gateway is about to end.
    #[error("the gateway is about to stop")]
    Stopping,
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

/// Why an operation has no credential to run with.
#[derive(Debug, Error)]
pub enum AccessError {
    /// The caller has no such integration.
    #[error("the user has connected no account{}", named.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default())]
    Required {
        /// The one that was asked for.
        named: Option<String>,
    },
    /// The caller has several, and neither named nor selected one.
    #[error("the user has connected several accounts, and none is selected")]
    Ambiguous {
        /// Their identifiers, oldest first.
        candidates: Vec<String>,
    },
    /// The user has to authorize again.
    #[error("the user has to authorize again: {}", detail)]
    Reauthorize {
        /// The integration.
        user_identifier: String,
        /// Why.
        detail: String,
    },
    /// The credential has expired or was refused, and there is no new one for now.
    #[error("the credential cannot be renewed now: {}", reason.detail)]
    NotRefreshed {
        /// The integration.
        user_identifier: String,
        /// Who must act, and why.
        reason: Reason,
        /// When it is tried again.
        retry_after: Duration,
    },
    /// The gateway's own parts failed.
    #[error(transparent)]
    Failed(#[from] IntegrationError),
}

impl From<StoreError> for AccessError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Why an authorization was not begun.
#[derive(Debug, Error)]
pub enum BeginError {
    /// The operator has not said all that is needed to be the provider's client.
    #[error(transparent)]
    NotConfigured(#[from] NotConfigured),
    /// The gateway's own parts failed.
    #[error(transparent)]
    Failed(#[from] IntegrationError),
}
