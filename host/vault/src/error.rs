//! The errors of the vault, with messages for the operator. No message contains a secret.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use database::StoreError;

/// A failure to open the vault, or to seal or unseal a secret.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The master key file is missing, and stored data keys need it.
    #[error("the master key {} is missing, and stored secrets can be read only with it; put a copy of it there, or set `master_key_file`", path.display())]
    Missing {
        /// The path at which it was expected.
        path: PathBuf,
    },
    /// The store is empty, but another one depended on the master key.
    #[error(
        "the database is empty, but another one depended on the master key {}: it may have been lost, moved or copied without its `-wal` \
         file; restore it from a backup, or begin a new one with `connector-gateway serve --new-database`",
        path.display()
    )]
    NoDatabase {
        /// The master key file.
        path: PathBuf,
    },
    /// The file has another master key than the one that the stored data keys need. It comes from
    /// another installation, or from before or after a rotation.
    #[error("the master key in {} is the wrong one: it is {found}, but the stored secrets need {needed}; put a copy of the right one there, or set `master_key_file`", path.display())]
    Wrong {
        /// The master key file.
        path: PathBuf,
        /// Ids of the master keys in the file.
        found: String,
        /// Ids of the master keys that one of the data keys is sealed under.
        needed: String,
    },
    /// The master key file has a line that is not a key.
    #[error("the master key {} is damaged: line {line} is not 32 bytes in base64; put a copy of it there", path.display())]
    Malformed {
        /// The master key file.
        path: PathBuf,
        /// The first such line, counted from 1.
        line: usize,
    },
    /// The master key file is empty.
    #[error("the master key {} is empty; put a copy of it there", path.display())]
    Empty {
        /// The master key file.
        path: PathBuf,
    },
    /// Other users of the machine can read the master key file, and this process cannot change its
    /// mode.
    #[error("the master key {} can be read by other users (mode {mode:03o}), and this user cannot change that: {source}; set its mode to 600", path.display())]
    Exposed {
        /// The master key file.
        path: PathBuf,
        /// The mode of the file.
        mode: u32,
        /// The error of the attempt to change the mode.
        source: io::Error,
    },
    /// The master key file cannot be read.
    #[error("cannot read the master key {}: {source}; give this user access to it, or set `master_key_file`", path.display())]
    Unreadable {
        /// The master key file.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The master key file cannot be written.
    #[error("cannot write the master key {}: {source}; give this user write access to its folder, or set `master_key_file`", path.display())]
    Unwritable {
        /// The master key file.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// A secret is sealed under a data key that is not stored, or that this gateway cannot unseal.
    #[error(
        "a stored secret needs the data key {key_id}, which is missing or is sealed under another master key; if the master key was rotated on another machine, copy its file here; if the database was restored from a backup, restore the master key file of that time"
    )]
    UnknownKey {
        /// Id of the data key.
        key_id: String,
    },
    /// A secret was altered, or moved to another row.
    #[error("a stored secret cannot be unsealed: it was altered, or it belongs to another row")]
    Altered,
    /// A stored data key was altered.
    #[error("the data key {key_id} is damaged in the database; restore the database from a backup")]
    DamagedKey {
        /// Id of the data key.
        key_id: String,
    },
    /// A rotation was begun on another machine, whose master key file has a key that this machine's
    /// file does not have.
    #[error("a rotation to the master key {master_id} was begun elsewhere, and {} does not have this key; copy the file with this key here, then run the command again", path.display())]
    BegunElsewhere {
        /// The master key file of this machine.
        path: PathBuf,
        /// Id of the missing master key.
        master_id: String,
    },
    /// The secret is longer than the cipher allows.
    #[error("the secret is too long to be sealed")]
    TooLong,
    /// Another process is rotating the keys.
    #[error("another process is rotating the keys; wait until it has finished")]
    Busy,
    /// The operating system failed to provide random numbers.
    #[error("the operating system provides no random numbers")]
    NoRandomness,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
