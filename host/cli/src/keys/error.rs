//! Why a command `keys …` failed.

use std::io;

use authoring::gateway::GatewayError;
use connector_gateway::NoRandomness;
use thiserror::Error;

use store::vault::VaultError;
use store::{KeyId, StoreError};

/// Why a command failed. The messages say what to do.
#[derive(Debug, Error)]
pub(crate) enum KeysError {
    /// The key does not exist.
    #[error("there is no key with the id {0}; `connector-gateway keys list` shows the ids")]
    Unknown(KeyId),
    /// The running gateway refused, or did not respond.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// There are no random numbers for a key.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The master key was not replaced.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The result cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}
