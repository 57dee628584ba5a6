//! What connectors keep: the `storage` interface of the contract, with its limits.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};
use thiserror::Error;

use super::sqlite::Durability;
use super::{Store, StoreError, now};

/// Keys in one scope.
pub const MAX_KEYS: usize = 1024;

/// Length of a key, in bytes.
pub const MAX_KEY_BYTES: usize = 256;

/// Length of a value, in bytes.
pub const MAX_VALUE_BYTES: usize = 64 << 10;

/// Whose keys these are. No scope sees another's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StorageScope {
    /// Identifier of the connector.
    pub connector: String,
    /// Id of the integration; none where users have none.
    pub integration: Option<String>,
}

/// Why nothing was kept.
#[derive(Debug, Error)]
pub enum StorageError {
    /// The key or the value breaks a limit; the text says which.
    #[error("{0}")]
    Invalid(String),
    /// The scope has [`MAX_KEYS`] keys.
    #[error("there are {MAX_KEYS} keys already; delete one, or let keys expire")]
    Full,
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// A value that was set and has not expired.
    ///
    /// # Errors
    /// When the key is not acceptable, or the database does not answer.
    pub async fn storage_get(
        &self,
        scope: &StorageScope,
        key: &str,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        check_key(key)?;
        let (scope, key) = (scope.clone(), key.to_owned());
        Ok(self.sqlite.read(move |connection| get(connection, &scope, &key, now())).await?)
    }

    /// Sets a value; with `time_to_live` it is gone after that time.
    ///
    /// # Errors
    /// When a limit is broken, or the database does not answer; then the former value stays.
    pub async fn storage_set(
        &self,
        scope: &StorageScope,
        key: &str,
        value: Vec<u8>,
        time_to_live: Option<Duration>,
    ) -> Result<(), StorageError> {
        check_key(key)?;
        if value.len() > MAX_VALUE_BYTES {
            return Err(StorageError::Invalid(format!(
                "the value has {} bytes, and may have {MAX_VALUE_BYTES}",
                value.len()
            )));
        }
        let (scope, key) = (scope.clone(), key.to_owned());
        // A connector can fetch again what it keeps here, and may write often.
        let is_set = self
            .sqlite
            .write(Durability::Process, move |transaction| {
                set(transaction, &scope, &key, &value, time_to_live, now())
            })
            .await?;
        if is_set { Ok(()) } else { Err(StorageError::Full) }
    }

    /// Removes a value, if there is one.
    ///
    /// # Errors
    /// When the key is not acceptable, or the database does not answer.
    pub async fn storage_delete(&self, scope: &StorageScope, key: &str) -> Result<(), StorageError> {
        check_key(key)?;
        let (scope, key) = (scope.clone(), key.to_owned());
        self.sqlite
            .write(Durability::Process, move |transaction| {
                transaction.execute(
                    "DELETE FROM connector_storage WHERE connector = ? AND integration = ? AND key = ?",
                    (&scope.connector, integration(&scope), &key),
                )
            })
            .await?;
        Ok(())
    }

    /// Removes the values of all connectors that have expired, and says how many they were. They are out of sight before; this
    /// gives their room back.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn storage_sweep(&self) -> Result<usize, StoreError> {
        self.sqlite
            .write(Durability::Process, |transaction| {
                transaction.execute("DELETE FROM connector_storage WHERE expires_at <= ?", [now()])
            })
            .await
    }
}

fn check_key(key: &str) -> Result<(), StorageError> {
    if (1..=MAX_KEY_BYTES).contains(&key.len()) {
        return Ok(());
    }
    Err(StorageError::Invalid(format!("the key has {} bytes, and must have 1 to {MAX_KEY_BYTES}", key.len())))
}

fn integration(scope: &StorageScope) -> &str {
    scope.integration.as_deref().unwrap_or_default()
}

fn get(connection: &Connection, scope: &StorageScope, key: &str, now: i64) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .query_row(
            "SELECT value FROM connector_storage
             WHERE connector = ? AND integration = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)",
            (&scope.connector, integration(scope), key, now),
            |row| row.get(0),
        )
        .optional()
}

/// Whether there was room.
fn set(
    connection: &Connection,
    scope: &StorageScope,
    key: &str,
    value: &[u8],
    time_to_live: Option<Duration>,
    now: i64,
) -> rusqlite::Result<bool> {
    connection.execute(
        "DELETE FROM connector_storage WHERE connector = ? AND integration = ? AND expires_at <= ?",
        (&scope.connector, integration(scope), now),
    )?;
    let others: i64 = connection.query_row(
        "SELECT count(*) FROM connector_storage WHERE connector = ? AND integration = ? AND key <> ?",
        (&scope.connector, integration(scope), key),
        |row| row.get(0),
    )?;
    if usize::try_from(others).is_ok_and(|others| others >= MAX_KEYS) {
        return Ok(false);
    }
    let expires_at = time_to_live.map(|life| now.saturating_add(i64::try_from(life.as_millis()).unwrap_or(i64::MAX)));
    connection.execute(
        "INSERT INTO connector_storage (connector, integration, key, value, expires_at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (connector, integration, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
        (&scope.connector, integration(scope), key, value, expires_at),
    )?;
    Ok(true)
}
