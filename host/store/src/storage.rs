//! The key-value storage that connectors use, with its limits.
//!
//! It is the `storage` interface of the contract.

use std::time::Duration;

use thiserror::Error;

use crate::connection::{Connection, Durability};
use crate::time::millis;
use crate::value::values;
use crate::{Store, StoreError};
use contract_rules::limit::{STORAGE_KEY_BYTES, STORAGE_KEYS, STORAGE_VALUE_BYTES};

/// A value with a longer time to live never expires. The limit keeps the sum with the current time
/// in range.
const MAX_TIME_TO_LIVE: Duration = Duration::from_secs(10_000 * 365 * 24 * 3600);

/// The owner of keys. A scope never sees the keys of another scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StorageScope {
    /// Identifier of the connector.
    pub connector: String,
    /// Separates the values of one account from those of others: the id of the integration, or the
    /// tenant if the connector needs no account.
    pub partition: String,
}

/// The reason for which a value was not read or written.
#[derive(Debug, Error)]
pub enum StorageError {
    /// The key or the value breaks a limit. The text names the limit.
    #[error("{0}")]
    Invalid(String),
    /// The scope already has the maximum number of keys.
    #[error("there are already {STORAGE_KEYS} keys; delete one, or let keys expire")]
    Full,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Returns the value of a key, or `None` if it was never set, was deleted or has expired.
    ///
    /// # Errors
    /// Fails with [`StorageError::Invalid`] if the key breaks a limit, or if the database does not
    /// answer.
    pub async fn storage_get(&self, scope: &StorageScope, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        check_key(key)?;
        let (scope, key) = (scope.clone(), key.to_owned());
        let value = self.read(move |connection| {
            connection.optional(
                "SELECT value FROM connector_storage
                 WHERE connector = $1 AND integration = $2 AND key = $3 AND (expires_at IS NULL OR expires_at > now_ms())",
                values![&scope.connector, &scope.partition, &key],
            )
        });
        Ok(value.await?)
    }

    /// Sets the value of a key. With `time_to_live` the value expires after that time.
    ///
    /// # Errors
    /// Fails if a limit is broken, or if the database does not answer. The previous value then
    /// stays.
    pub async fn storage_set(
        &self,
        scope: &StorageScope,
        key: &str,
        value: Vec<u8>,
        time_to_live: Option<Duration>,
    ) -> Result<(), StorageError> {
        check_key(key)?;
        if value.len() > STORAGE_VALUE_BYTES {
            return Err(StorageError::Invalid(format!(
                "the value has {} bytes and may have at most {STORAGE_VALUE_BYTES}",
                value.len()
            )));
        }
        let (scope, key) = (scope.clone(), key.to_owned());
        // Connectors may write often, and can fetch again the values that a power loss undoes.
        let is_set = self
            .write(Durability::ProcessKill, move |connection| set_value(connection, &scope, &key, &value, time_to_live))
            .await?;
        if is_set { Ok(()) } else { Err(StorageError::Full) }
    }

    /// Deletes the value of a key, if there is one.
    ///
    /// # Errors
    /// Fails with [`StorageError::Invalid`] if the key breaks a limit, or if the database does not
    /// answer.
    pub async fn storage_delete(&self, scope: &StorageScope, key: &str) -> Result<(), StorageError> {
        check_key(key)?;
        let (scope, key) = (scope.clone(), key.to_owned());
        self.write(Durability::ProcessKill, move |connection| {
            connection.execute(
                "DELETE FROM connector_storage WHERE connector = $1 AND integration = $2 AND key = $3",
                values![&scope.connector, &scope.partition, &key],
            )
        })
        .await?;
        Ok(())
    }

    /// Deletes the expired values of all connectors, and returns their number. Expired values are
    /// already invisible before. This frees their space.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn storage_sweep(&self) -> Result<u64, StoreError> {
        self.write(Durability::ProcessKill, |connection| {
            connection.execute("DELETE FROM connector_storage WHERE expires_at <= now_ms()", &[])
        })
        .await
    }
}

fn check_key(key: &str) -> Result<(), StorageError> {
    if (1..=STORAGE_KEY_BYTES).contains(&key.len()) {
        return Ok(());
    }
    Err(StorageError::Invalid(format!("the key has {} bytes and must have 1 to {STORAGE_KEY_BYTES}", key.len())))
}

/// Deletes all values of a connector for an integration.
pub(crate) fn clear_values(
    connection: &mut dyn Connection,
    connector: &str,
    partition: &str,
) -> Result<(), StoreError> {
    connection.execute(
        "DELETE FROM connector_storage WHERE connector = $1 AND integration = $2",
        values![connector, partition],
    )?;
    Ok(())
}

/// Returns `false` if the scope has no room for another key.
fn set_value(
    connection: &mut dyn Connection,
    scope: &StorageScope,
    key: &str,
    value: &[u8],
    time_to_live: Option<Duration>,
) -> Result<bool, StoreError> {
    let StorageScope { connector, partition } = scope;
    // Without the lock, two transactions that count at the same time could each add the last key.
    connection.lock(&format!("storage {connector} {partition}"))?;
    connection.execute(
        "DELETE FROM connector_storage WHERE connector = $1 AND integration = $2 AND expires_at <= now_ms()",
        values![connector, partition],
    )?;
    let others: u64 = connection.one(
        "SELECT count(*) FROM connector_storage WHERE connector = $1 AND integration = $2 AND key <> $3",
        values![connector, partition, key],
    )?;
    if others >= STORAGE_KEYS as u64 {
        return Ok(false);
    }
    let life = time_to_live.filter(|life| *life < MAX_TIME_TO_LIVE).map(millis);
    connection.execute(
        "INSERT INTO connector_storage (connector, integration, key, value, expires_at)
         VALUES ($1, $2, $3, $4, now_ms() + $5)
         ON CONFLICT (connector, integration, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
        values![connector, partition, key, value, life],
    )?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Site, on_every_database};

    on_every_database!(
        a_scope_sees_only_its_own_values,
        deleting_a_missing_key_is_no_error,
        keys_and_values_over_the_limits_are_refused,
        a_full_scope_accepts_new_values_for_its_keys_but_no_new_key_until_one_expires,
        a_value_expires_after_its_time_and_a_new_value_has_its_own_time,
        a_key_may_be_any_text,
        a_value_with_the_longest_time_to_live_never_expires,
    );

    fn scope(connector: &str, partition: &str) -> StorageScope {
        StorageScope { connector: connector.into(), partition: partition.into() }
    }

    async fn a_scope_sees_only_its_own_values(site: Site) {
        let store = &site.store;
        let scopes = [scope("a", ""), scope("b", ""), scope("a", "1"), scope("a", "2")];
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

    async fn deleting_a_missing_key_is_no_error(site: Site) {
        let store = &site.store;
        store.storage_delete(&scope("a", ""), "key").await.unwrap();
    }

    async fn keys_and_values_over_the_limits_are_refused(site: Site) {
        let store = &site.store;
        let scope = scope("a", "");
        let set = |key: String, length: usize| {
            store.storage_set(&scope, Box::leak(key.into_boxed_str()), vec![0; length], None)
        };
        set("k".repeat(256), STORAGE_VALUE_BYTES).await.unwrap();
        let message = set("k".repeat(257), 1).await.unwrap_err().to_string();
        assert_eq!(message, "the key has 257 bytes and must have 1 to 256");
        let message = set("k".into(), STORAGE_VALUE_BYTES + 1).await.unwrap_err().to_string();
        assert_eq!(message, "the value has 65537 bytes and may have at most 65536");
        assert!(matches!(store.storage_get(&scope, "").await, Err(StorageError::Invalid(_))));
    }

    async fn a_full_scope_accepts_new_values_for_its_keys_but_no_new_key_until_one_expires(site: Site) {
        let store = &site.store;
        let full = scope("a", "");
        let filling = store.write(Durability::ProcessKill, {
            let full = full.clone();
            move |connection| {
                for number in 1..STORAGE_KEYS {
                    set_value(connection, &full, &number.to_string(), b"", None)?;
                }
                set_value(connection, &full, "short-lived", b"", Some(Duration::from_secs(3600)))
            }
        });
        assert!(filling.await.unwrap());
        assert!(matches!(store.storage_set(&full, "new", vec![], None).await, Err(StorageError::Full)));
        store.storage_set(&full, "1", vec![1], None).await.unwrap();
        store.storage_set(&scope("b", ""), "new", vec![], None).await.unwrap();
        site.execute("UPDATE connector_storage SET expires_at = expires_at - 3600000").await;
        store.storage_set(&full, "new", vec![], None).await.unwrap();
    }

    async fn a_value_expires_after_its_time_and_a_new_value_has_its_own_time(site: Site) {
        let store = &site.store;
        let at = scope("a", "");
        let life = Some(Duration::from_secs(3600));
        store.storage_set(&at, "key", b"old".to_vec(), life).await.unwrap();
        store.storage_set(&at, "other", vec![], life).await.unwrap();
        assert_eq!(store.storage_get(&at, "key").await.unwrap().as_deref(), Some(&b"old"[..]));
        site.execute("UPDATE connector_storage SET expires_at = expires_at - 3600000").await;
        assert_eq!(store.storage_get(&at, "key").await.unwrap(), None);
        assert_eq!(store.storage_sweep().await.unwrap(), 2);
        store.storage_set(&at, "key", b"new".to_vec(), life).await.unwrap();
        assert_eq!(store.storage_get(&at, "key").await.unwrap().as_deref(), Some(&b"new"[..]));
        // A value without a time to live replaces one that had one.
        store.storage_set(&at, "key", b"kept".to_vec(), None).await.unwrap();
        site.execute("UPDATE connector_storage SET expires_at = expires_at - 3600000").await;
        assert_eq!(store.storage_get(&at, "key").await.unwrap().as_deref(), Some(&b"kept"[..]));
    }

    async fn a_key_may_be_any_text(site: Site) {
        let store = &site.store;
        let at = scope("a", "");
        for (number, key) in (0..).zip(["\0", "\0\0", "é", "'", "%"]) {
            store.storage_set(&at, key, vec![number], None).await.unwrap();
        }
        assert_eq!(store.storage_get(&at, "\0").await.unwrap(), Some(vec![0]));
        assert_eq!(store.storage_get(&at, "%").await.unwrap(), Some(vec![4]));
    }

    async fn a_value_with_the_longest_time_to_live_never_expires(site: Site) {
        let store = &site.store;
        let at = scope("a", "");
        store.storage_set(&at, "key", vec![1], Some(Duration::MAX)).await.unwrap();
        assert!(store.storage_get(&at, "key").await.unwrap().is_some());
    }
}
