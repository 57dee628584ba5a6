//! Why a command of an operator failed.

use std::io;
use std::path::PathBuf;

use authoring::gateway::GatewayError;
use store::StoreError;
use store::vault::VaultError;
use thiserror::Error;

/// Why a command failed. The messages say what to do.
#[derive(Debug, Error)]
pub(crate) enum OperatorError {
    /// An option has a value that the list does not take.
    #[error("--{option}: {detail}")]
    Value {
        /// The name of the option.
        option: &'static str,
        /// A sentence that says what the value must be.
        detail: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The secret that was given is empty.
    #[error("there is no secret; give it on standard input, such as with `< FILE`")]
    NoSecret,
    /// The receiver of forwarded events cannot be called.
    #[error("cannot forward events: {0}")]
    Forward(String),
    /// The gateway refused, or did not respond.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A secret cannot be unsealed.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The answer of the gateway ended before the last line.
    #[error(
        "the gateway stopped after the answers to {answered} lines; look for the reason in its log, and import the file again: lines \
         that were imported are `unchanged` then"
    )]
    CutOff {
        /// The number of lines that were answered.
        answered: u64,
    },
    /// Some lines were refused, and the answer names them.
    #[error("{refused} of {lines} lines were refused; mend them and import the file again")]
    Refused {
        /// The number of refused lines.
        refused: u64,
        /// The number of all lines.
        lines: u64,
    },
    /// Some accounts were not exported, and the output names them.
    #[error("{damaged} accounts were left out; their users must connect them again")]
    Damaged {
        /// The number of accounts.
        damaged: u64,
    },
    /// The result cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}
