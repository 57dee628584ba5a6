//! Why a trigger cannot be made, changed or read.

use std::time::Duration;

use thiserror::Error;

use integrations::ConnectAgain;
use store::StoreError;
use store::vault::VaultError;
use webhooks::{CallbackError, WebhookError};

/// Why a trigger cannot be made, changed or read.
#[derive(Debug, Error)]
pub enum TriggerError {
    /// There is no such connector or type. The text is a sentence for the caller.
    #[error("{0}")]
    UnknownType(String),
    /// Members of the body are wrong: a JSON Pointer and a sentence for each.
    #[error("the body is wrong")]
    Invalid(Vec<(String, String)>),
    /// The URLs are not allowed, or there is no secret to sign with.
    #[error(transparent)]
    Urls(#[from] CallbackError),
    /// The account cannot be used, or the service refuses.
    #[error(transparent)]
    Call(#[from] pipeline::Error),
    /// The grant of the account lacks scopes that the type needs.
    #[error("the grant lacks scopes")]
    ScopesMissing {
        /// The connector.
        connector: String,
        /// The account, and how the user connects it again.
        again: ConnectAgain,
        /// The scopes.
        scopes: Vec<String>,
    },
    /// A read was requested so soon after the last one.
    #[error("the last read was a moment ago")]
    TooSoon(Duration),
    /// The service offers nothing to read, because it sends its events.
    #[error("there is nothing to read")]
    NothingToRead,
    /// Events that are to be sent again are no longer kept.
    #[error("the events are no longer kept")]
    NotKept,
    /// An inbox has two secrets.
    #[error("the inbox has two secrets")]
    TooManySecrets,
    /// The connector is not loaded yet. The gateway has just started.
    #[error("the connector `{0}` is not loaded yet")]
    Starting(String),
    /// The database failed, or refused because of a limit.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A value cannot be sealed or unsealed.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// A webhook cannot be read or stored.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// The trigger was made or changed, and what follows failed, such as reading its record.
    #[error("{0}")]
    AfterChange(Box<TriggerError>),
    /// A stored value is damaged.
    #[error("a stored value is damaged: {0}")]
    Damaged(String),
}

impl TriggerError {
    /// The same error, of a step after the trigger was made or changed.
    pub(super) fn after_change(self) -> Self {
        Self::AfterChange(Box::new(self))
    }

    /// Returns `true` if a stored value cannot be read, now or later, although the store and the
    /// vault work.
    pub(super) fn is_damage(&self) -> bool {
        use VaultError::{Altered, DamagedKey, UnknownKey};
        matches!(self, Self::Damaged(_) | Self::Vault(Altered | DamagedKey { .. } | UnknownKey { .. }))
    }

    /// Returns `true` if the database cannot be reached.
    pub(super) fn is_unreachable(&self) -> bool {
        match self {
            Self::Store(error) | Self::Vault(VaultError::Store(error)) => error.is_unreachable(),
            _ => false,
        }
    }
}

impl From<serde_json::Error> for TriggerError {
    fn from(error: serde_json::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}
