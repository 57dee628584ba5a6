//! A database: one SQLite file in `data_dir`, or a PostgreSQL database.
//!
//! Several processes may use one database at the same time: the command line changes rows while the
//! gateway serves, and gateways on several machines share one PostgreSQL database.
//!
//! This crate knows no table. Its user gives it the [`Tables`], and statements on them.
//!
//! # Invariants
//!
//! - A write is one transaction. Once it has returned `Ok`, its data survives a kill of the process
//!   at any moment. Data that the gateway could not restore also survives a power loss
//!   ([`connection::Durability`]).
//! - Both databases run the same statements. The tests run on both
//!   (`testing::on_every_database`). Otherwise the two databases could behave differently.
//!
//! # Layout
//!
//! - [`connection`]: the trait that both databases implement
//! - [`value`]: parameters, columns and rows, in the types that both databases have
//! - [`conditions`]: the `WHERE` clause of a list with filters
//! - [`tables`]: the migrations of the tables
//! - [`sqlite`]: the SQLite database
//! - [`postgres`]: the PostgreSQL database
//! - [`pool`]: idle connections, and the threads that database work runs on
//! - [`process_lock`]: a lock that one process at a time holds
//! - [`inspect`]: the version of a database, which is read without opening it
//! - [`health`]: the failures of the database and the ended leases that this process has seen
//! - [`simulated`]: a database for deterministic tests
//! - [`time`]: times as the databases store them
//! - [`error`]: [`StoreError`], with messages for the operator
//! - [`digest`]: SHA-256, as bytes and as hexadecimal digits
//! - [`id`]: random ids
//! - [`sweep`]: deleting rows that are too old

pub mod conditions;
pub mod connection;
pub mod digest;
mod error;
pub mod health;
pub mod id;
mod inspect;
mod pool;
mod postgres;
pub mod process_lock;
#[doc(hidden)]
pub mod simulated;
mod sqlite;
mod sweep;
mod tables;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod value;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::SecretString;

pub use self::error::StoreError;
pub use self::inspect::DatabaseState;
pub use self::postgres::PostgresError;
pub use self::tables::Tables;

use self::connection::{Connection, Durability};
use self::health::Health;
use self::postgres::Postgres;
use self::simulated::Simulated;
use self::sqlite::Sqlite;

/// Name of the SQLite database in the data directory.
pub const FILE: &str = "gateway.db";

/// Selects the database.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder of the SQLite database.
    pub data_dir: PathBuf,
    /// URL of a PostgreSQL database, which replaces the SQLite database. Secret, because it may
    /// contain a password.
    pub database_url: Option<SecretString>,
}

impl Settings {
    /// Returns `true` if there is a database that [`Database::connect`] would not have to create.
    pub fn is_there(&self) -> bool {
        self.database_url.is_some() || self.data_dir.join(FILE).is_file()
    }
}

/// The database. Clones share its connections.
#[derive(Clone, Debug)]
pub struct Database {
    backend: Backend,
    tables: &'static Tables,
    health: Arc<Health>,
}

#[derive(Clone, Debug)]
enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
    Simulated(Simulated),
}

impl Database {
    /// Opens the database that the settings select, and migrates it to the current version.
    ///
    /// # Errors
    /// Fails if the data directory cannot be created or written, if the database is locked, damaged
    /// or of a newer version, or if the PostgreSQL server cannot be reached or refuses the
    /// connection.
    pub async fn connect(settings: &Settings, tables: &'static Tables) -> Result<Self, StoreError> {
        match &settings.database_url {
            None => Self::open(&settings.data_dir, tables).await,
            Some(url) => Ok(Self::new(Backend::Postgres(Postgres::open(url, tables).await?), tables)),
        }
    }

    /// Selects a PostgreSQL database that cannot be reached now. Each use tries to connect, and the
    /// first connection migrates the database.
    ///
    /// # Errors
    /// If the URL is malformed.
    pub fn connect_later(database_url: &SecretString, tables: &'static Tables) -> Result<Self, StoreError> {
        Ok(Self::new(Backend::Postgres(Postgres::unconnected(database_url, tables)?), tables))
    }

    /// Opens the SQLite database in a data directory. Creates the directory and the database if
    /// they are missing.
    ///
    /// # Errors
    /// As [`Database::connect`].
    pub async fn open(data_dir: &Path, tables: &'static Tables) -> Result<Self, StoreError> {
        create_private_folder(data_dir).map_err(|source| StoreError::DataDir { path: data_dir.to_owned(), source })?;
        Ok(Self::new(Backend::Sqlite(Sqlite::open(&data_dir.join(FILE), tables).await?), tables))
    }

    fn new(backend: Backend, tables: &'static Tables) -> Self {
        Self { backend, tables, health: Arc::default() }
    }

    /// Returns `true` if gateways on several machines may share the database.
    pub fn is_shared(&self) -> bool {
        !matches!(self.backend, Backend::Sqlite(_))
    }

    /// The failures and the ended leases that this process has seen.
    pub fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Checks that the database answers.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.read(|connection| connection.query("SELECT now_ms()", &[]).map(drop)).await
    }

    /// Moves the content of SQLite's write-ahead log into the database file, so that a copy of this
    /// one file is complete. Does not wait for other users of the database: what they still read
    /// stays in the log until the next time. Does nothing on PostgreSQL.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        self.checkpoint_with("PRAGMA wal_checkpoint(PASSIVE)").await
    }

    /// As [`Database::checkpoint`], but waits for other users of the database, and empties the log.
    /// For a graceful shutdown.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn checkpoint_at_end(&self) -> Result<(), StoreError> {
        self.checkpoint_with("PRAGMA wal_checkpoint(TRUNCATE)").await
    }

    async fn checkpoint_with(&self, statement: &'static str) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.checkpoint(statement).await,
            Backend::Postgres(_) | Backend::Simulated(_) => Ok(()),
        }
    }

    /// Copies the SQLite database to a new file, while gateways use it. The copy has all
    /// changes up to one moment.
    ///
    /// # Errors
    /// If the file exists or cannot be written, or if the database cannot be read. `NotAFile` for
    /// PostgreSQL, which has its own tools.
    pub async fn copy_to(&self, target: &Path) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.copy_to(target.to_owned()).await,
            Backend::Postgres(_) | Backend::Simulated(_) => Err(StoreError::NotAFile),
        }
    }

    /// Runs statements that only read. Each statement sees the data at its own start: rows may
    /// change between two statements.
    ///
    /// # Errors
    /// Fails if the database does not answer, or if `read` fails.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let used = self.health.begin();
        let result = match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.read(read).await,
            Backend::Postgres(postgres) => postgres.read(read).await,
            Backend::Simulated(simulated) => simulated.run(false, read).await,
        };
        used.end(&result);
        result
    }

    /// Runs statements in one transaction. If `write` fails, no statement has an effect. The
    /// transaction is finished even if the caller drops the future.
    ///
    /// # Errors
    /// Fails if the database does not answer, or if `write` fails.
    pub async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_by(durability, write, false).await
    }

    /// As [`Database::write`], for writes of which many may come at the same time, each of which may
    /// wait some milliseconds for others. On SQLite, they share a transaction and its flush to disk,
    /// which cost more than their statements. A write that comes alone does not wait.
    ///
    /// # Errors
    /// As [`Database::write`].
    pub async fn write_together<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_by(durability, write, true).await
    }

    async fn write_by<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
        waits_for_others: bool,
    ) -> Result<T, StoreError> {
        let used = self.health.begin();
        let result = match &self.backend {
            Backend::Sqlite(sqlite) if waits_for_others => sqlite.write_together(durability, write).await,
            Backend::Sqlite(sqlite) => sqlite.write(durability, write).await,
            Backend::Postgres(postgres) => postgres.write(durability, write).await,
            Backend::Simulated(simulated) => simulated.run(true, write).await,
        };
        used.end_write(&result);
        result
    }
}

/// Creates a folder that only its owner can read, because it will hold secrets. An existing folder
/// keeps its mode.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
