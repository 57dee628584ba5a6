//! The key-value storage that connectors use, with its limits.
//!
//! It is the `storage` interface of the contract.

use std::time::Duration;

use database::connection::{Connection, Durability};
use database::digest::sha256_hex;
use database::time::millis;
use database::value::values;
use thiserror::Error;
use vault::{Sealed, Vault, VaultError};

use crate::handles::Storage;
use crate::records::record;
use crate::stored_bytes::Quota;
use crate::{StoreError, Stored};
use contract_rules::limit::{STORAGE_KEY_BYTES, STORAGE_KEYS, STORAGE_VALUE_BYTES};

/// A value with a longer time to live never expires. The limit keeps the sum with the current time
/// in range.
const MAX_TIME_TO_LIVE: Duration = Duration::from_secs(10_000 * 365 * 24 * 3600);

/// The first part of the context with which values are sealed.
pub(crate) const CONTEXT: &str = "connector_storage";

record! {
    /// The owner of keys. A scope never sees the keys of another scope.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct StorageScope {
        /// Identifier of the connector.
        pub connector: String,
        /// Separates the values of one account from the values of others: the id of the integration, or the
        /// tenant if the connector needs no account.
        pub partition: String,
    }
}

impl StorageScope {
    /// The id of the row of a key. The value is sealed for this row, so that it cannot be moved to
    /// another one.
    pub(crate) fn id_of(&self, key: &[u8]) -> String {
        let Self { connector, partition } = self;
        let owner = format!("{}:{connector}{}:{partition}", connector.len(), partition.len());
        sha256_hex(&[owner.as_bytes(), key].concat())
    }
}

/// The reason for which a value was not read or written.
#[derive(Debug, Error)]
pub enum StorageError {
    /// The key or the value breaks a limit. The text names the limit.
    #[error("{0}")]
    Invalid(String),
    /// The scope already has the maximum number of keys, or the tenant has stored as much as it may.
    #[error(
        "there are already {STORAGE_KEYS} keys, or the tenant may not store more; delete a key, or let keys expire"
    )]
    Full,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The value was not sealed or unsealed.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl Storage<'_> {
    /// Returns the value of a key, or `None` if it was never set, was deleted or has expired.
    ///
    /// # Errors
    /// Fails with [`StorageError::Invalid`] if the key breaks a limit. Fails too if the value cannot
    /// be unsealed.
    pub async fn get(self, vault: &Vault, scope: &StorageScope, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        check_key(key)?;
        let id = scope.id_of(key.as_bytes());
        let get = "SELECT data_key, value FROM connector_storage
             WHERE connector = $1 AND integration = $2 AND key = $3 AND (expires_at IS NULL OR expires_at > now_ms())";
        let values = values![&scope.connector, &scope.partition, key];
        match self.0.read_optional::<(Option<String>, Vec<u8>)>(get, values).await? {
            None => Ok(None),
            // A previous gateway stored it, and `seal_plain_values` has not run yet.
            Some((None, plain)) => Ok(Some(plain)),
            Some((Some(key_id), bytes)) => {
                Ok(Some(vault.unseal_content(&[CONTEXT, &id], &Sealed { key_id, bytes }).await?))
            }
        }
    }

    /// Seals and sets the value of a key. With `time_to_live` the value expires after that time.
    ///
    /// # Errors
    /// Fails if a limit is broken. The previous value then stays.
    pub async fn set(
        self,
        vault: &Vault,
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
        let id = scope.id_of(key.as_bytes());
        let sealed = vault.seal(&[CONTEXT, &id], &value).await?;
        let (scope, key, quota) = (scope.clone(), key.to_owned(), self.0.quota);
        // Connectors may write often, and can fetch again the values that a power loss undoes.
        let is_set = self
            .0
            .write(Durability::ProcessKill, move |connection| {
                set_value(connection, quota, &scope, &key, (&id, &sealed), time_to_live)
            })
            .await;
        match is_set {
            Ok(true) => Ok(()),
            Ok(false) | Err(StoreError::TenantFull { .. }) => Err(StorageError::Full),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes the value of a key, if there is one.
    ///
    /// # Errors
    /// Fails with [`StorageError::Invalid`] if the key breaks a limit.
    pub async fn delete(self, scope: &StorageScope, key: &str) -> Result<(), StorageError> {
        check_key(key)?;
        let delete = "DELETE FROM connector_storage WHERE connector = $1 AND integration = $2 AND key = $3";
        let values = values![&scope.connector, &scope.partition, key];
        self.0.execute(Durability::ProcessKill, delete, values).await?;
        Ok(())
    }

    /// Deletes the expired values of all connectors, and returns their number. Expired values are
    /// already invisible before. This frees their space.
    pub async fn sweep(self) -> Stored<u64> {
        // The condition is there twice, because a connector may set a value anew in between.
        let sweep = "DELETE FROM connector_storage WHERE expires_at <= now_ms() AND (connector, integration, key) IN
             (SELECT connector, integration, key FROM connector_storage WHERE expires_at <= now_ms() ORDER BY expires_at LIMIT $1)";
        self.0.delete_in_batches(sweep, &[]).await
    }
}

fn check_key(key: &str) -> Result<(), StorageError> {
    if (1..=STORAGE_KEY_BYTES).contains(&key.len()) {
        return Ok(());
    }
    Err(StorageError::Invalid(format!("the key has {} bytes and must have 1 to {STORAGE_KEY_BYTES}", key.len())))
}

/// Deletes all values of a connector for an integration.
pub(crate) fn clear_values(connection: &mut dyn Connection, connector: &str, partition: &str) -> Stored<()> {
    connection
        .run("DELETE FROM connector_storage WHERE connector = $1 AND integration = $2", values![connector, partition])
}

/// Returns `false` if the scope has no room for another key.
fn set_value(
    connection: &mut dyn Connection,
    quota: Quota,
    scope: &StorageScope,
    key: &str,
    (id, sealed): (&str, &Sealed),
    time_to_live: Option<Duration>,
) -> Stored<bool> {
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
    let tenant: String =
        connection.one("SELECT coalesce((SELECT tenant FROM integrations WHERE id = $1), $1)", values![partition])?;
    quota.check(connection, &tenant)?;
    let life = time_to_live.filter(|life| *life < MAX_TIME_TO_LIVE).map(millis);
    connection.execute(
        "INSERT INTO connector_storage (connector, integration, key, value, expires_at, id, data_key, tenant)
         VALUES ($1, $2, $3, $4, now_ms() + $5, $6, $7, $8)
         ON CONFLICT (connector, integration, key) DO UPDATE
         SET value = excluded.value, expires_at = excluded.expires_at, id = excluded.id, data_key = excluded.data_key,
             tenant = excluded.tenant",
        values![connector, partition, key, &sealed.bytes, life, id, &sealed.key_id, &tenant],
    )?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Site, on_every_database};

    on_every_database!(
        a_scope_sees_only_its_own_values,
        a_value_is_sealed_for_its_row_and_an_older_plain_value_stays_readable,
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
        let (store, vault) = (&site.store, site.vault().await);
        let scopes = [scope("a", ""), scope("b", ""), scope("a", "1"), scope("a", "2")];
        for (number, scope) in (0..).zip(&scopes) {
            store.storage().set(&vault, scope, "key", vec![number], None).await.unwrap();
        }
        store.storage().delete(&scopes[3], "key").await.unwrap();
        let mut found = Vec::new();
        for scope in &scopes {
            found.push(store.storage().get(&vault, scope, "key").await.unwrap());
        }
        assert_eq!(found, [Some(vec![0]), Some(vec![1]), Some(vec![2]), None]);
    }

    async fn a_value_is_sealed_for_its_row_and_an_older_plain_value_stays_readable(site: Site) {
        let (store, vault) = (&site.store, site.vault().await);
        let at = scope("a", "1");
        store.storage().set(&vault, &at, "key", b"private".to_vec(), None).await.unwrap();
        let bytes = store.read(|connection| connection.one::<Vec<u8>>("SELECT value FROM connector_storage", &[]));
        assert!(!bytes.await.unwrap().windows(7).any(|window| window == b"private"));
        site.execute("UPDATE connector_storage SET integration = '2'").await;
        let moved = store.storage().get(&vault, &scope("a", "2"), "key").await;
        assert!(matches!(moved, Err(StorageError::Vault(_))), "{moved:?}");
        let plain = store.write(Durability::ProcessKill, |connection| {
            connection.execute(
                "UPDATE connector_storage SET integration = '1', id = NULL, data_key = NULL, value = $1",
                values![&b"older".to_vec()],
            )
        });
        plain.await.unwrap();
        assert_eq!(store.storage().get(&vault, &at, "key").await.unwrap().as_deref(), Some(&b"older"[..]));
        store.storage().set(&vault, &at, "key", b"newer".to_vec(), None).await.unwrap();
        assert_eq!(store.storage().get(&vault, &at, "key").await.unwrap().as_deref(), Some(&b"newer"[..]));
        let plain: u64 = store
            .read(|connection| connection.one("SELECT count(*) FROM connector_storage WHERE data_key IS NULL", &[]))
            .await
            .unwrap();
        assert_eq!(plain, 0);
    }

    async fn deleting_a_missing_key_is_no_error(site: Site) {
        let store = &site.store;
        store.storage().delete(&scope("a", ""), "key").await.unwrap();
    }

    async fn keys_and_values_over_the_limits_are_refused(site: Site) {
        let (store, vault) = (&site.store, site.vault().await);
        let scope = scope("a", "");
        let set = |key: String, length: usize| {
            store.storage().set(&vault, &scope, Box::leak(key.into_boxed_str()), vec![0; length], None)
        };
        set("k".repeat(256), STORAGE_VALUE_BYTES).await.unwrap();
        let message = set("k".repeat(257), 1).await.unwrap_err().to_string();
        assert_eq!(message, "the key has 257 bytes and must have 1 to 256");
        let message = set("k".into(), STORAGE_VALUE_BYTES + 1).await.unwrap_err().to_string();
        assert_eq!(message, "the value has 65537 bytes and may have at most 65536");
        assert!(matches!(store.storage().get(&vault, &scope, "").await, Err(StorageError::Invalid(_))));
    }

    async fn a_full_scope_accepts_new_values_for_its_keys_but_no_new_key_until_one_expires(site: Site) {
        let (store, vault) = (&site.store, site.vault().await);
        let full = scope("a", "");
        let filling = store.write(Durability::ProcessKill, {
            let full = full.clone();
            let sealed = vault.seal(&[CONTEXT], b"").await.unwrap();
            move |connection| {
                for number in 1..STORAGE_KEYS {
                    let key = number.to_string();
                    set_value(connection, Quota(u64::MAX), &full, &key, (&key, &sealed), None)?;
                }
                let life = Some(Duration::from_secs(3600));
                set_value(connection, Quota(u64::MAX), &full, "short-lived", ("short-lived", &sealed), life)
            }
        });
        assert!(filling.await.unwrap());
        assert!(matches!(store.storage().set(&vault, &full, "new", vec![], None).await, Err(StorageError::Full)));
        store.storage().set(&vault, &full, "1", vec![1], None).await.unwrap();
        store.storage().set(&vault, &scope("b", ""), "new", vec![], None).await.unwrap();
        site.execute("UPDATE connector_storage SET expires_at = expires_at - 3600000").await;
        store.storage().set(&vault, &full, "new", vec![], None).await.unwrap();
    }

    async fn a_value_expires_after_its_time_and_a_new_value_has_its_own_time(site: Site) {
        let (store, vault) = (&site.store, site.vault().await);
        let at = scope("a", "");
        let life = Some(Duration::from_secs(3600));
        store.storage().set(&vault, &at, "key", b"old".to_vec(), life).await.unwrap();
        store.storage().set(&vault, &at, "other", vec![], life).await.unwrap();
        assert_eq!(store.storage().get(&vault, &at, "key").await.unwrap().as_deref(), Some(&b"old"[..]));
        site.execute("UPDATE connector_storage SET expires_at = expires_at - 3600000").await;
        assert_eq!(store.storage().get(&vault, &at, "key").await.unwrap(), None);
        assert_eq!(store.storage().sweep().await.unwrap(), 2);
        store.storage().set(&vault, &at, "key", b"new".to_vec(), life).await.unwrap();
        assert_eq!(store.storage().get(&vault, &at, "key").await.unwrap().as_deref(), Some(&b"new"[..]));
        // A value without a time to live replaces one that had one.
        store.storage().set(&vault, &at, "key", b"kept".to_vec(), None).await.unwrap();
        site.execute("UPDATE connector_storage SET expires_at = expires_at - 3600000").await;
        assert_eq!(store.storage().get(&vault, &at, "key").await.unwrap().as_deref(), Some(&b"kept"[..]));
    }

    async fn a_key_may_be_any_text(site: Site) {
        let (store, vault) = (&site.store, site.vault().await);
        let at = scope("a", "");
        for (number, key) in (0..).zip(["\0", "\0\0", "é", "'", "%"]) {
            store.storage().set(&vault, &at, key, vec![number], None).await.unwrap();
        }
        assert_eq!(store.storage().get(&vault, &at, "\0").await.unwrap(), Some(vec![0]));
        assert_eq!(store.storage().get(&vault, &at, "%").await.unwrap(), Some(vec![4]));
    }

    async fn a_value_with_the_longest_time_to_live_never_expires(site: Site) {
        let (store, vault) = (&site.store, site.vault().await);
        let at = scope("a", "");
        store.storage().set(&vault, &at, "key", vec![1], Some(Duration::MAX)).await.unwrap();
        assert!(store.storage().get(&vault, &at, "key").await.unwrap().is_some());
    }
}
