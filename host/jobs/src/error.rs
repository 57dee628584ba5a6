//! Why a job has no result, and other failures of jobs.

use thiserror::Error;

use auth::KeyRefusal;
use store::StoreError;
use store::vault::VaultError;
use webhooks::WebhookError;

/// Why a job has no result.
#[derive(Debug, Error)]
pub enum Failure {
    /// The operation failed, as it would have failed for a caller that waits.
    #[error(transparent)]
    Call(#[from] pipeline::Error),
    /// The job did not end in time, or its connector used too much CPU time.
    #[error("the job went over `{limit}`")]
    Limit {
        /// The key of the configuration that sets the limit.
        limit: &'static str,
        /// `true` if the operation may have changed data.
        changes_data: bool,
    },
    /// The caller cancelled the job.
    #[error("the job was cancelled")]
    Cancelled {
        /// `true` if the operation may have changed data.
        changes_data: bool,
    },
    /// The gateway that ran the job ended in the middle of it.
    #[error("the job was cut off {attempts} times")]
    CutOff {
        /// How often the job was begun.
        attempts: u64,
        /// `true` if the operation may have changed data.
        changes_data: bool,
    },
    /// The connector was removed, or its new version lacks the operation.
    #[error("the operation `{operation}` is not there any more")]
    Gone {
        /// The operation.
        operation: String,
    },
    /// The key that added the job may no longer call the operation.
    #[error("the key that added the job may not call it now: {0}")]
    NotAllowed(KeyRefusal),
    /// The gateway itself failed.
    #[error(transparent)]
    Failed(#[from] JobError),
}

/// A failure of the gateway itself.
#[derive(Debug, Error)]
pub enum JobError {
    /// The database failed, or refused because of a limit.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database failed while a job was added, and again when it was asked for. The job may be in
    /// the queue.
    #[error("the job may have been added: {0}")]
    MayBeAdded(#[source] StoreError),
    /// A value cannot be sealed or unsealed.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The webhooks that announce the end cannot be made.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// The memory for calls has no room for the result.
    #[error("there is no memory left to read the result of the job")]
    NoMemory,
    /// A value was unsealed, but is not usable.
    #[error("a stored value of the job cannot be used: {0}")]
    Value(String),
}

impl JobError {
    /// Returns `true` if a stored value cannot be read, now or later, although the store and the
    /// vault work.
    pub(super) fn is_damage(&self) -> bool {
        use VaultError::{Altered, DamagedKey, UnknownKey};
        matches!(self, Self::Value(_) | Self::Vault(Altered | DamagedKey { .. } | UnknownKey { .. }))
    }
}

impl From<serde_json::Error> for JobError {
    fn from(error: serde_json::Error) -> Self {
        Self::Value(error.to_string())
    }
}
