//! Why a command of an operator failed.

use std::io;
use std::path::PathBuf;

use authoring::gateway::GatewayError;
use store::StoreError;
use thiserror::Error;

/// Why a command failed. The messages say what to do.
#[derive(Debug, Error)]
pub(crate) enum OperatorError {
    /// The command needs a running gateway.
    #[error("this command needs a running gateway; name it with --url, such as --url http://127.0.0.1:8080")]
    NoUrl,
    /// The file with a secret cannot be read.
    #[error("{}: {error}", file.display())]
    Secret {
        /// The file.
        file: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The gateway refused, or did not respond.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The result cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}
