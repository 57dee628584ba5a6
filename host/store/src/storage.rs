//! What connectors keep: the `storage` interface of the contract, with its limits.

use std::time::Duration;

use thiserror::Error;

use super::session::{Durability, Session, values};
use super::{Store, StoreError, millis};

/// Keys in one scope.
pub const MAX_KEYS: usize = 1024;

/// Length of a key, in bytes.
pub const MAX_KEY_BYTES: usize = 256;

/// Length of a value, in bytes.
pub const MAX_VALUE_BYTES: usize = 64 << 10;

/// A longer time to live is none.
const FOR_EVER: Duration = Duration::from_secs(10_000 * 365 * 24 * 3600);

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
        let value = self.read(move |session| {
            session.optional(
                "SELECT value FROM connector_storage
                 WHERE connector = $1 AND integration = $2 AND key = $3 AND (expires_at IS NULL OR expires_at > now_ms())",
                values![&scope.connector, integration(&scope), &key],
            )
        });
        Ok(value.await?)
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
        let is_set =
            self.write(Durability::Process, move |session| set(session, &scope, &key, &value, time_to_live)).await?;
        if is_set { Ok(()) } else { Err(StorageError::Full) }
    }

    /// Removes a value, if there is one.
    ///
    /// # Errors
    /// When the key is not acceptable, or the database does not answer.
    pub async fn storage_delete(&self, scope: &StorageScope, key: &str) -> Result<(), StorageError> {
        check_key(key)?;
        let (scope, key) = (scope.clone(), key.to_owned());
        self.write(Durability::Process, move |session| {
            session.execute(
                "DELETE FROM connector_storage WHERE connector = $1 AND integration = $2 AND key = $3",
                values![&scope.connector, integration(&scope), &key],
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
    pub async fn storage_sweep(&self) -> Result<u64, StoreError> {
        self.write(Durability::Process, |session| {
            session.execute("DELETE FROM connector_storage WHERE expires_at <= now_ms()", &[])
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

/// Removes all that a connector keeps for an integration.
pub(super) fn clear(session: &mut dyn Session, connector: &str, integration: &str) -> Result<(), StoreError> {
    session.execute(
        "DELETE FROM connector_storage WHERE connector = $1 AND integration = $2",
        values![connector, integration],
    )?;
    Ok(())
}

/// Whether there was room.
fn set(
    session: &mut dyn Session,
    scope: &StorageScope,
    key: &str,
    value: &[u8],
    time_to_live: Option<Duration>,
) -> Result<bool, StoreError> {
    let (connector, integration) = (&scope.connector, integration(scope));
    // Two that count at once would each find room for one more.
    session.lock(&format!("storage {connector} {integration}"))?;
    session.execute(
        "DELETE FROM connector_storage WHERE connector = $1 AND integration = $2 AND expires_at <= now_ms()",
        values![connector, integration],
    )?;
    let others: u64 = session.one(
        "SELECT count(*) FROM connector_storage WHERE connector = $1 AND integration = $2 AND key <> $3",
        values![connector, integration, key],
    )?;
    if others >= MAX_KEYS as u64 {
        return Ok(false);
    }
    // A time beyond all bounds is for ever.
    let life = time_to_live.filter(|life| *life < FOR_EVER).map(millis);
    session.execute(
        "INSERT INTO connector_storage (connector, integration, key, value, expires_at)
         VALUES ($1, $2, $3, $4, now_ms() + $5)
         ON CONFLICT (connector, integration, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
        values![connector, integration, key, value, life],
    )?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Site, on_every_database};

    on_every_database!(
        no_scope_sees_what_another_keeps,
        deleting_what_is_not_there_is_no_error,
        keys_and_values_over_the_limits_are_refused,
        a_full_scope_takes_new_values_for_its_keys_but_no_new_keys_until_one_expires,
        a_value_is_gone_after_its_time_and_a_new_one_has_its_own,
        a_key_is_any_text,
        a_time_to_live_beyond_all_bounds_is_for_ever,
    );

    fn scope(connector: &str, integration: Option<&str>) -> StorageScope {
        StorageScope { connector: connector.into(), integration: integration.map(str::to_owned) }
    }

    async fn no_scope_sees_what_another_keeps(site: Site) {
        let store = &site.store;
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

    async fn deleting_what_is_not_there_is_no_error(site: Site) {
        let store = &site.store;
        store.storage_delete(&scope("a", None), "key").await.unwrap();
    }

    async fn keys_and_values_over_the_limits_are_refused(site: Site) {
        let store = &site.store;
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

    async fn a_full_scope_takes_new_values_for_its_keys_but_no_new_keys_until_one_expires(site: Site) {
        let store = &site.store;
        let full = scope("a", None);
        let filling = store.write(Durability::Process, {
            let full = full.clone();
            move |session| {
                for number in 1..MAX_KEYS {
                    set(session, &full, &number.to_string(), b"", None)?;
                }
                set(session, &full, "short-lived", b"", Some(Duration::from_secs(3600)))
            }
        });
        assert!(filling.await.unwrap());
        assert!(matches!(store.storage_set(&full, "new", vec![], None).await, Err(StorageError::Full)));
        store.storage_set(&full, "1", vec![1], None).await.unwrap();
        store.storage_set(&scope("b", None), "new", vec![], None).await.unwrap();
        site.execute("UPDATE connector_storage SET expires_at = expires_at - 3600000").await;
        store.storage_set(&full, "new", vec![], None).await.unwrap();
    }

    async fn a_value_is_gone_after_its_time_and_a_new_one_has_its_own(site: Site) {
        let store = &site.store;
        let at = scope("a", None);
        let life = Some(Duration::from_secs(3600));
        store.storage_set(&at, "key", b"old".to_vec(), life).await.unwrap();
        store.storage_set(&at, "other", vec![], life).await.unwrap();
        assert_eq!(store.storage_get(&at, "key").await.unwrap().as_deref(), Some(&b"old"[..]));
        site.execute("UPDATE connector_storage SET expires_at = expires_at - 3600000").await;
        assert_eq!(store.storage_get(&at, "key").await.unwrap(), None);
        assert_eq!(store.storage_sweep().await.unwrap(), 2);
        store.storage_set(&at, "key", b"new".to_vec(), life).await.unwrap();
        assert_eq!(store.storage_get(&at, "key").await.unwrap().as_deref(), Some(&b"new"[..]));
        // A value without an end takes the place of one that had one.
        store.storage_set(&at, "key", b"kept".to_vec(), None).await.unwrap();
        site.execute("UPDATE connector_storage SET expires_at = expires_at - 3600000").await;
        assert_eq!(store.storage_get(&at, "key").await.unwrap().as_deref(), Some(&b"kept"[..]));
    }

    async fn a_key_is_any_text(site: Site) {
        let store = &site.store;
        let at = scope("a", None);
        for (number, key) in (0..).zip(["\0", "\0\0", "é", "'", "%"]) {
            store.storage_set(&at, key, vec![number], None).await.unwrap();
        }
        assert_eq!(store.storage_get(&at, "\0").await.unwrap(), Some(vec![0]));
        assert_eq!(store.storage_get(&at, "%").await.unwrap(), Some(vec![4]));
    }

    async fn a_time_to_live_beyond_all_bounds_is_for_ever(site: Site) {
        let store = &site.store;
        let at = scope("a", None);
        store.storage_set(&at, "key", vec![1], Some(Duration::MAX)).await.unwrap();
        assert!(store.storage_get(&at, "key").await.unwrap().is_some());
    }
}
