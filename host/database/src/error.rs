//! The errors of the database, and of statements on it, with messages for the operator.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use thiserror::Error;

use crate::postgres::PostgresError;

/// Time between two log lines about a database that fails.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

/// A failure of the store. The message says what to do, if the operator can do something.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The data directory cannot be created.
    #[error("cannot create the data directory {}: {source}; let this user create it, or set `data_dir`", path.display())]
    DataDir {
        /// The directory.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The database file cannot be opened or written.
    #[error("cannot write the database {}: {reason}; give this user write access to it and its directory, or set `data_dir`", path.display())]
    NotWritable {
        /// The database file, or a lock file next to it.
        path: PathBuf,
        /// The error of SQLite or of the file system.
        reason: String,
    },
    /// Another process held a lock for longer than the store waits.
    #[error("the database {} is locked by another process; end that process, or try again", path.display())]
    Locked {
        /// The database file.
        path: PathBuf,
    },
    /// The file's content is no longer a valid database.
    #[error("the database {} is damaged ({reason}); restore it from a backup", path.display())]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// The error of SQLite.
        reason: String,
    },
    /// The file is a database, but not of the gateway.
    #[error("{} is the database of another program; set another `data_dir`", path.display())]
    OtherProgram {
        /// The database file.
        path: PathBuf,
    },
    /// A newer version of the gateway has changed the tables.
    #[error(
        "the database {database} was written by a newer version of the gateway (tables {found}, this version supports {known}); start that version, or restore the database from a backup"
    )]
    Newer {
        /// The database file, or the address of the server.
        database: String,
        /// Version of its tables.
        found: i64,
        /// Version of the tables that this gateway creates.
        known: i64,
    },
    /// The database file was removed or moved while the gateway used it.
    #[error("the database {} is gone; put it back, or restart the gateway to begin with an empty one", path.display())]
    Missing {
        /// The database file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("the disk with the database {} is full; free some space", path.display())]
    Full {
        /// The database file.
        path: PathBuf,
    },
    /// A key with the same hash is already stored.
    #[error("this key is already stored")]
    Duplicate,
    /// The PostgreSQL server failed or refused.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// The holder has the maximum number of authorizations in progress.
    #[error("the holder has {limit} authorizations in progress and may not have more")]
    TooManyAuthorizations {
        /// The maximum number.
        limit: u64,
    },
    /// The tenant has the maximum number of links that can be used.
    #[error("the tenant has {limit} links that can be used and may not have more")]
    TooManyLinks {
        /// The maximum number.
        limit: u64,
    },
    /// The tenant has the maximum number of triggers.
    #[error("the tenant has {limit} triggers and may not have more")]
    TooManyTriggers {
        /// The maximum number.
        limit: u64,
    },
    /// The tenant has the maximum number of tool sets.
    #[error("the tenant has {limit} tool sets and may not have more")]
    TooManyToolSets {
        /// The maximum number.
        limit: u64,
    },
    /// The tenant has the maximum number of agent sessions.
    #[error("the tenant has {limit} agent sessions and may not have more")]
    TooManyAgentSessions {
        /// The maximum number.
        limit: u64,
    },
    /// The tenant has the maximum number of calls that wait for a confirmation.
    #[error("the tenant has {limit} calls that wait for a confirmation and may not have more")]
    TooManyConfirmations {
        /// The maximum number.
        limit: u64,
    },
    /// The holder has the maximum number of integrations.
    #[error("the holder has {limit} integrations and may not have more")]
    TooManyIntegrations {
        /// The maximum number.
        limit: u64,
    },
    /// The integration under the name of an account that is connected is not the one that may be
    /// overwritten. It was changed since it was read.
    #[error("the integration was changed by another process")]
    IntegrationChanged,
    /// The tenant has stored as much as it may.
    #[error("the tenant has stored {limit} bytes and may not store more")]
    TenantFull {
        /// The maximum number of bytes.
        limit: u64,
    },
    /// The tenant has the maximum number of pending jobs.
    #[error("the tenant has {limit} pending jobs and may not have more")]
    TooManyJobs {
        /// The maximum number.
        limit: u64,
    },
    /// A data key cannot be deleted because a secret is sealed under it, or a secret cannot be
    /// stored because its data key was deleted.
    #[error("the data key is in use, or was deleted")]
    DataKeyInUse,
    /// A text of a statement has a zero byte, which text in PostgreSQL cannot have. The statement was
    /// not sent. SQLite takes such texts.
    #[error("a text has a zero byte, which the database cannot store")]
    ZeroByte,
    /// The operating system failed to provide random numbers.
    #[error("the operating system provides no random numbers")]
    NoRandomness,
    /// The database returned data that the gateway never writes.
    #[error("the database contains data that this version does not understand: {0}")]
    Unexpected(&'static str),
    /// The process started without its database, and has not reached it since.
    #[error("the database has not been reached since the start")]
    NotReached,
    /// The database is a PostgreSQL database, and only a SQLite file can be copied.
    #[error("the database is not a SQLite file; copy it with the tools of its server, such as `pg_dump`")]
    NotAFile,
    /// The gateway is shutting down.
    #[error("the store is closed")]
    Closed,
    /// Any other failure of SQLite.
    #[error("the database failed: {0}")]
    Database(#[source] rusqlite::Error),
}

impl StoreError {
    /// Returns whether the database server could not be reached, or accepts no connection now. The
    /// same connection may succeed later.
    pub fn is_unreachable(&self) -> bool {
        use crate::PostgresError::{TooManyConnections, Unreachable};
        matches!(self, Self::Postgres(Unreachable { .. } | TooManyConnections { .. }))
    }

    /// Returns whether the database failed. All other errors come from a database that works. One of
    /// them is a statement that the server refuses because of its values: other processes do not meet
    /// this error.
    pub fn is_failure(&self) -> bool {
        !matches!(
            self,
            Self::Duplicate
                | Self::ZeroByte
                | Self::Postgres(PostgresError::Rejected { .. })
                | Self::TooManyAuthorizations { .. }
                | Self::TooManyIntegrations { .. }
                | Self::IntegrationChanged
                | Self::TooManyLinks { .. }
                | Self::TooManyToolSets { .. }
                | Self::TooManyAgentSessions { .. }
                | Self::TooManyTriggers { .. }
                | Self::TooManyConfirmations { .. }
                | Self::TooManyJobs { .. }
                | Self::TenantFull { .. }
                | Self::DataKeyInUse
                | Self::NoRandomness
        )
    }

    /// Returns whether a transaction that failed with this error may have been committed nevertheless:
    /// the connection broke, so that the answer to COMMIT may be lost.
    pub fn may_have_written(&self) -> bool {
        matches!(self, Self::Postgres(PostgresError::Failed { .. }) | Self::Closed)
    }

    /// Logs why the database failed, at most once per second: while the database does not answer,
    /// every call fails with it. A text that a caller has sent is no failure, and not logged.
    pub fn log_failure(&self) {
        if matches!(self, Self::ZeroByte) {
            return;
        }
        static LAST_LINE: Mutex<Option<Instant>> = Mutex::new(None);
        let mut last_line = LAST_LINE.lock();
        if last_line.is_none_or(|at| at.elapsed() >= BETWEEN_LINES) {
            *last_line = Some(Instant::now());
            tracing::error!(error = %self, "the database failed");
        }
    }
}
