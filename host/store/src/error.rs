//! What can go wrong with the store, in words for the operator.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::postgres::PostgresError;

/// Why the store did not do what it was asked. Each text says what to do where there is something to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The data directory cannot be made.
    #[error("cannot make the data directory {}: {source}; let this user make it, or set `data_dir`", path.display())]
    DataDir {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database file cannot be opened or written.
    #[error("cannot write the database {}: {reason}; give this user write access to it and its directory, or set `data_dir`", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Another process holds a lock for longer than is waited for.
    #[error("the database {} is locked by another process; end what holds it, or try again", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file's content is no longer a database.
    #[error("the database {} is damaged ({reason}); put a backup in its place", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite found.
        reason: String,
    },
    /// The file is a database, but not the gateway's.
    #[error("{} is the database of another program; set another `data_dir`", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer gateway has changed the tables.
    #[error(
        "the database {database} was written by a newer version of the gateway (tables {found}, this version knows {known}); start that version, or put a backup in its place"
    )]
    Newer {
        /// The file, or the server's address.
        database: String,
        /// Version of its tables.
        found: i64,
        /// Version of the tables that this gateway makes.
        known: i64,
    },
    /// The disk is full.
    #[error("the disk with the database {} is full; make room", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// A key with the same hash is there already.
    #[error("the same key is stored already")]
    Duplicate,
    /// The PostgreSQL server, or what it says.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// The holder has begun as many authorizations as may be under way at once.
    #[error("the holder has {limit} authorizations under way, and may have no more")]
    TooManyAuthorizations {
        /// How many.
        limit: u64,
    },
    /// The holder has connected as many accounts as it may have.
    #[error("the holder has {limit} integrations, and may have no more")]
    TooManyIntegrations {
        /// How many.
        limit: u64,
    },
    /// A data key that something is sealed under was to be dropped, or something sealed under one that is gone to be stored.
    #[error("the data key is in use, or gone")]
    DataKeyInUse,
    /// The operating system has no random numbers to give.
    #[error("the operating system gives no random numbers")]
    NoRandomness,
    /// What the database answered makes no sense.
    #[error("the database holds what this version does not understand: {0}")]
    Unexpected(&'static str),
    /// The gateway is about to end.
    #[error("the store is closed")]
    Closed,
    /// Anything else.
    #[error("the database failed: {0}")]
    Database(#[source] rusqlite::Error),
}

impl StoreError {
    pub(super) fn unexpected(what: &'static str) -> Self {
        Self::Unexpected(what)
    }
}
