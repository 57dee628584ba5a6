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
    pub async fn storage_get(&self, scope: &StorageScope, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
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
            .write(Durability::Process, move |transaction| set(transaction, &scope, &key, &value, time_to_live, now()))
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

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn scope(connector: &str, integration: Option<&str>) -> StorageScope {
        StorageScope { connector: connector.into(), integration: integration.map(str::to_owned) }
    }

    async fn store() -> (Store, TempDir) {
        let folder = TempDir::new().unwrap();
        (Store::open(folder.path()).await.unwrap(), folder)
    }

    #[tokio::test]
    async fn no_scope_sees_what_another_keeps() {
        let (store, _folder) = store().await;
        let scopes = [scope("a", None), scope("b", None), scope("a", Some("1")), scope("a", Some("2"))];
        for (number, scope) in (0..).zip(&scopes) {
            store.storage_set(scope, "key", vec![number], None).await.unwrap();
        }
        store.storage_delete(&scopes[3], "key").await.unwrap();
        let mut found = Vec::new();
        for scope in &scopes {
            found.push(store.storage_get(scope, "key").await.unwrap());
        }
        assert_eq!(found, [Some(vec![0]), Some(vec![1]), Some(vec![2]), None]);
    }

    #[tokio::test]
    async fn deleting_what_is_not_there_is_no_error() {
        let (store, _folder) = store().await;
        store.storage_delete(&scope("a", None), "key").await.unwrap();
    }

    #[tokio::test]
    async fn keys_and_values_over_the_limits_are_refused() {
        let (store, _folder) = store().await;
        let scope = scope("a", None);
        let set = |key: String, length: usize| {
            store.storage_set(&scope, Box::leak(key.into_boxed_str()), vec![0; length], None)
        };
        set("k".repeat(256), MAX_VALUE_BYTES).await.unwrap();
        let message = set("k".repeat(257), 1).await.unwrap_err().to_string();
        assert_eq!(message, "the key has 257 bytes, and must have 1 to 256");
        let message = set("k".into(), MAX_VALUE_BYTES + 1).await.unwrap_err().to_string();
        assert_eq!(message, "the value has 65537 bytes, and may have 65536");
        assert!(matches!(store.storage_get(&scope, "").await, Err(StorageError::Invalid(_))));
    }

    #[tokio::test]
    async fn a_full_scope_takes_new_values_for_its_keys_but_no_new_keys_until_one_expires() {
        let (store, _folder) = store().await;
        let full = scope("a", None);
        let connection = |write: fn(&Connection, &StorageScope) -> rusqlite::Result<bool>| {
            let full = full.clone();
            store.sqlite.write(Durability::Process, move |transaction| write(transaction, &full))
        };
        connection(|connection, full| {
            for number in 1..MAX_KEYS {
                set(connection, full, &number.to_string(), b"", None, 0)?;
            }
            set(connection, full, "short-lived", b"", Some(Duration::from_secs(3600)), now())
        })
        .await
        .unwrap();
        assert!(matches!(store.storage_set(&full, "new", vec![], None).await, Err(StorageError::Full)));
        store.storage_set(&full, "1", vec![1], None).await.unwrap();
        store.storage_set(&scope("b", None), "new", vec![], None).await.unwrap();
        let later = connection(|connection, full| set(connection, full, "new", b"", None, now() + 3_600_001));
        assert!(later.await.unwrap());
    }

    #[tokio::test]
    async fn a_value_is_gone_after_its_time_and_a_new_one_has_its_own() {
        let (store, _folder) = store().await;
        let at = scope("a", None);
        store
            .sqlite
            .write(Durability::Process, {
                let at = at.clone();
                move |connection| {
                    let life = Some(Duration::from_secs(10));
                    set(connection, &at, "key", b"old", life, 0)?;
                    assert_eq!(get(connection, &at, "key", 9_999)?.as_deref(), Some(&b"old"[..]));
                    assert_eq!(get(connection, &at, "key", 10_000)?, None);
                    set(connection, &at, "key", b"new", None, 9_999)?;
                    assert_eq!(get(connection, &at, "key", 10_000)?.as_deref(), Some(&b"new"[..]));
                    set(connection, &at, "other", b"", life, 0)
                }
            })
            .await
            .unwrap();
        assert_eq!(store.storage_sweep().await.unwrap(), 1);
        assert_eq!(store.storage_get(&at, "key").await.unwrap().as_deref(), Some(&b"new"[..]));
    }

    #[tokio::test]
    async fn a_time_to_live_beyond_all_bounds_is_for_ever() {
        let (store, _folder) = store().await;
        let at = scope("a", None);
        store.storage_set(&at, "key", vec![1], Some(Duration::MAX)).await.unwrap();
        assert!(store.storage_get(&at, "key").await.unwrap().is_some());
    }
}
