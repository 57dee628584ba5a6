//! What can go wrong with the vault, in words for the operator. No text holds anything secret.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::StoreError;

/// Why a secret was not sealed or opened, or the vault not opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VaultError {
    /// There is no master key, and there are secrets that need it.
    #[error("the master key {} is missing, and secrets are stored that nothing else opens; put a copy of it there, or set `master_key_file`", path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// The master key is of another installation, or of another time.
    #[error("the master key in {} is the wrong one: it is {found}, and the stored secrets need {needed}; put a copy of the right one there, or set `master_key_file`", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Ids of the keys in it.
        found: String,
        /// Ids of the keys that would do.
        needed: String,
    },
    /// The master key's file is not as it was written.
    #[error("the master key {} is damaged: line {line} is not 32 bytes in base64; put a copy of it there", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The first such line, from 1.
        line: usize,
    },
    /// The master key's file has no line.
    #[error("the master key {} is empty; put a copy of it there", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Other users of the machine can read the master key, and this process cannot change that.
    #[error("the master key {} can be read by other users (mode {mode:03o}), and that cannot be changed: {source}; set its mode to 600", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// Why they stay.
        source: io::Error,
    },
    /// The master key's file cannot be read.
    #[error("cannot read the master key {}: {source}; give this user access to it, or set `master_key_file`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The master key's file cannot be written.
    #[error("cannot write the master key {}: {source}; give this user write access to its folder, or set `master_key_file`", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A secret is sealed under a data key that is not at hand.
    #[error(
        "a stored secret needs the data key {key_id}, which is not there or which the master key at hand does not open; was the database put back from a backup, or has the master key been exchanged on another machine?"
    )]
    UnknownKey {
        /// Id of the data key.
        key_id: String,
    },
    /// A secret is not as it was sealed.
    #[error("a stored secret does not open: it was altered, or it belongs to another place")]
    Altered,
    /// A data key is not as it was stored.
    #[error("the data key {key_id} is damaged in the database; put a backup in its place")]
    DamagedKey {
        /// Id of the data key.
        key_id: String,
    },
    /// The master key is being exchanged, and this is not where.
    #[error("the master key is being exchanged for {master_id}, which is not in {}; put a copy of the file here that has it, then run this again", path.display())]
    Elsewhere {
        /// This machine's file.
        path: PathBuf,
        /// Id of the master key that is missing in it.
        master_id: String,
    },
    /// No secret is that long.
    #[error("the secret is too long to be sealed")]
    TooLong,
    /// Another process exchanges the keys.
    #[error("the keys are being exchanged by another process; wait until it is done")]
    Busy,
    /// There is no randomness.
    #[error("the operating system gives no random numbers")]
    NoRandomness,
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}
