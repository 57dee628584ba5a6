//! What outlives the process.
//!
//! One SQLite file in `data_dir`, or a PostgreSQL database. Several processes may use either: the command line changes keys while
//! the gateway serves, and gateways on many machines share one database. What was committed survives the process being
//! killed at any moment; what nobody can make again also survives the machine losing power.
//!
//! What is stored, each with its type, if it has one to itself, and its statements:
//! - [`api_key`], [`keys`]: API keys
//! - [`grants`]: hosts that connectors may reach
//! - [`storage`]: what connectors keep
//! - [`integration`], [`integrations`], [`leases`]: users' accounts, and who refreshes their credentials
//! - [`authorization`], [`authorizations`]: authorizations under way
//! - [`caps`]: how many of these a holder may have
//! - [`data_key`], [`data_keys`], [`sealed_rows`]: what secrets are sealed under, and exchanging it
//! - [`claim`]: work that one process at a time may do
//!
//! Where it is stored:
//! - [`session`]: what a database must do; above it there is one code for both
//! - [`sqlite`], [`postgres`]: the two, each with its migrations
//! - [`pool`]: connections, and threads that may block
//! - [`error`]: what can go wrong, in words for the operator

mod api_key;
mod authorization;
mod authorizations;
mod caps;
mod claim;
mod data_key;
mod data_keys;
mod error;
pub mod files;
mod grants;
mod id;
mod integration;
mod integrations;
mod keys;
mod leases;
mod pool;
mod postgres;
mod sealed_rows;
mod session;
mod sqlite;
mod storage;
pub mod vault;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use secrecy::SecretString;

pub use self::api_key::{ApiKey, KeyHash, KeyId, KeyOrigin, NewApiKey};
pub use self::authorization::{Authorization, StateHash, Taken};
pub use self::claim::Claim;
pub use self::data_key::{DataKey, Sealed, Wrap};
pub use self::error::StoreError;
pub use self::grants::Grant;
pub use self::integration::{Account, AuthType, Details, Holder, Integration, Status};
pub use self::keys::{Adopted, Revoked};
pub use self::postgres::PostgresError;
pub use self::sealed_rows::{Place, SealedRow};
pub use self::storage::{MAX_KEY_BYTES, MAX_KEYS, MAX_VALUE_BYTES, StorageError, StorageScope};

use self::postgres::Postgres;
use self::session::{Durability, Session};
use self::sqlite::Sqlite;

/// The database's name in the data directory.
const FILE: &str = "gateway.db";

/// Where the data is stored.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder of the SQLite database.
    pub data_dir: PathBuf,
    /// URL of a PostgreSQL database, which replaces the SQLite database. Secret, because it may contain a password.
    pub database_url: Option<SecretString>,
}

/// The database. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    backend: Backend,
}

#[derive(Clone, Debug)]
enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Store {
    /// Opens the database that the settings name and migrates it to the current version.
    ///
    /// # Errors
    /// When the data directory cannot be made or written, when the database is locked, damaged or of a newer version, and when
    /// the server cannot be reached or refuses.
    pub async fn connect(settings: &Settings) -> Result<Self, StoreError> {
        match &settings.database_url {
            None => Self::open(&settings.data_dir).await,
            Some(url) => Ok(Self { backend: Backend::Postgres(Postgres::open(url).await?) }),
        }
    }

    /// Opens the SQLite database in a data directory, which is made if it is not there.
    ///
    /// # Errors
    /// As [`Store::connect`].
    pub async fn open(data_dir: &Path) -> Result<Self, StoreError> {
        make_private(data_dir).map_err(|source| StoreError::DataDir { path: data_dir.to_owned(), source })?;
        Ok(Self { backend: Backend::Sqlite(Sqlite::open(&data_dir.join(FILE)).await?) })
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.read(|session| session.query("SELECT now_ms()", &[]).map(drop)).await
    }

    /// Brings SQLite's file up to date with the log beside it, so that a copy of the one file is whole. For a graceful end.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.checkpoint().await,
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Reads. What is read may change between two statements.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.read(read).await,
            Backend::Postgres(postgres) => postgres.read(read).await,
        }
    }

    /// Runs a transaction, to its end even if the caller goes away: all of it is done once this returns `Ok`, and nothing
    /// of it otherwise.
    async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.write(durability, write).await,
            Backend::Postgres(postgres) => postgres.write(durability, write).await,
        }
    }
}

/// A folder that holds secrets is nobody else's to read. One that is there already keeps the mode it was given.
fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn to_millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn from_millis(millis: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
