//! Storing, listing and revoking API keys.

use rusqlite::{Connection, OptionalExtension, Row};

use super::api_key::{ApiKey, KeyHash, KeyId, KeyOrigin, NewApiKey};
use super::sqlite::Durability;
use super::{Store, StoreError, from_millis, now};

/// What became of a key that was to be revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// It is revoked as of now.
    Now(ApiKey),
    /// It had been before.
    Before(ApiKey),
    /// There is no such key.
    Unknown,
}

/// What became of the key that the environment sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adopted {
    /// It is accepted.
    Accepted,
    /// A person revoked it.
    Revoked,
    /// It is a key of other rights.
    Narrower(KeyId),
}

impl Store {
    /// Stores a key.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`], or the database does not answer.
    pub async fn create_key(&self, key: NewApiKey) -> Result<(), StoreError> {
        let created = self
            .sqlite
            .write(Durability::Power, move |transaction| insert(transaction, &key, KeyOrigin::Command))
            .await?;
        if created { Ok(()) } else { Err(StoreError::Duplicate) }
    }

    /// Stores a key if no key was ever stored, and says whether it did.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn create_first_key(&self, key: NewApiKey) -> Result<bool, StoreError> {
        self.sqlite
            .write(Durability::Power, move |transaction| {
                let is_empty = transaction.query_row("SELECT count(*) = 0 FROM api_keys", [], |row| row.get(0))?;
                Ok(is_empty && insert(transaction, &key, KeyOrigin::FirstStart)?)
            })
            .await
    }

    /// Accepts the key that the environment sets, and revokes the one it set before, if it was another.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn adopt_key(&self, key: NewApiKey) -> Result<Adopted, StoreError> {
        self.sqlite.write(Durability::Power, move |transaction| adopt(transaction, &key)).await
    }

    /// All keys, the oldest first; those that were revoked too.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.sqlite.read(list).await
    }

    /// All keys, and the revision they were read at.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn keys_at_revision(&self) -> Result<(i64, Vec<ApiKey>), StoreError> {
        // The revision first: a change between the two is then seen again at the next look, and never missed.
        self.sqlite.read(|connection| Ok((revision(connection)?, list(connection)?))).await
    }

    /// Grows with every change of a key, by whatever process.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn keys_revision(&self) -> Result<i64, StoreError> {
        self.sqlite.read(revision).await
    }

    /// Revokes a key for good.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn revoke_key(&self, id: &KeyId) -> Result<Revoked, StoreError> {
        let id = id.clone();
        self.sqlite
            .write(Durability::Power, move |transaction| {
                let key = transaction.query_row(&select("WHERE id = ?"), [&id], from_row).optional()?;
                // One that gave way to a new value of the variable keeps its time, and is from now on revoked for good.
                transaction.execute(
                    "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?), revoked_by_person = 1 WHERE id = ?",
                    (now(), &id),
                )?;
                Ok(match key {
                    None => Revoked::Unknown,
                    Some(key) if key.revoked_at.is_some() => Revoked::Before(key),
                    Some(key) => Revoked::Now(key),
                })
            })
            .await
    }

    /// Notes that these keys were used by now.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn note_keys_used(&self, ids: Vec<KeyId>) -> Result<(), StoreError> {
        self.sqlite
            .write(Durability::Process, move |transaction| {
                let mut update = transaction.prepare("UPDATE api_keys SET last_used_at = ? WHERE id = ?")?;
                for id in &ids {
                    update.execute((now(), id))?;
                }
                Ok(())
            })
            .await
    }
}

fn revision(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT number FROM revisions WHERE subject = 'api_keys'", [], |row| row.get(0))
}

fn list(connection: &Connection) -> rusqlite::Result<Vec<ApiKey>> {
    connection.prepare(&select("ORDER BY created_at, id"))?.query_map([], from_row)?.collect()
}

fn by_hash(connection: &Connection, hash: &KeyHash) -> rusqlite::Result<Option<ApiKey>> {
    connection.query_row(&select("WHERE hash = ?"), [hash], from_row).optional()
}

/// Whether the key was not there before.
fn insert(connection: &Connection, key: &NewApiKey, origin: KeyOrigin) -> rusqlite::Result<bool> {
    let added = connection.execute(
        "INSERT INTO api_keys (id, name, tenant, subject, scopes, hash, prefix, origin, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING",
        (&key.id, &key.name, &key.tenant, &key.subject, key.scopes, key.hash, &key.prefix, origin, now()),
    )?;
    Ok(added > 0)
}

fn adopt(connection: &Connection, key: &NewApiKey) -> rusqlite::Result<Adopted> {
    let former = by_hash(connection, &key.hash)?;
    if let Some(former) = &former {
        let is_as_wide = former.scopes == key.scopes && former.tenant == key.tenant && former.subject == key.subject;
        if !is_as_wide {
            return Ok(Adopted::Narrower(former.id.clone()));
        }
        let by_person =
            connection
                .query_row("SELECT revoked_by_person FROM api_keys WHERE id = ?", [&former.id], |row| row.get(0))?;
        if by_person {
            return Ok(Adopted::Revoked);
        }
    }
    connection.execute(
        "UPDATE api_keys SET revoked_at = ? WHERE origin = ? AND hash <> ? AND revoked_at IS NULL",
        (now(), KeyOrigin::Environment, key.hash),
    )?;
    match former {
        Some(former) if former.revoked_at.is_some() => {
            connection.execute("UPDATE api_keys SET revoked_at = NULL WHERE id = ?", [&former.id])?;
        }
        Some(_) => {}
        None => {
            insert(connection, key, KeyOrigin::Environment)?;
        }
    }
    Ok(Adopted::Accepted)
}

fn select(condition: &str) -> String {
    format!(
        "SELECT id, name, tenant, subject, scopes, hash, prefix, origin, created_at, revoked_at, last_used_at
         FROM api_keys {condition}"
    )
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    Ok(ApiKey {
        id: row.get(0)?,
        name: row.get(1)?,
        tenant: row.get(2)?,
        subject: row.get(3)?,
        scopes: row.get(4)?,
        hash: row.get(5)?,
        prefix: row.get(6)?,
        origin: row.get(7)?,
        created_at: from_millis(row.get(8)?),
        revoked_at: row.get::<_, Option<i64>>(9)?.map(from_millis),
        last_used_at: row.get::<_, Option<i64>>(10)?.map(from_millis),
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::store::{Scope, Scopes, StorageScope};

    fn key(id: &str) -> NewApiKey {
        NewApiKey {
            id: KeyId(id.into()),
            name: "test".into(),
            tenant: "default".into(),
            subject: None,
            scopes: Scopes::all(),
            hash: [id.as_bytes()[0]; 32],
            prefix: "cgw_test".into(),
        }
    }

    async fn store() -> (Store, TempDir) {
        let folder = TempDir::new().unwrap();
        (Store::open(folder.path()).await.unwrap(), folder)
    }

    /// The identifiers of those that are not revoked, in the alphabet's order.
    async fn good(store: &Store) -> Vec<String> {
        let keys = store.keys().await.unwrap().into_iter();
        let mut good: Vec<_> = keys.filter(|key| key.revoked_at.is_none()).map(|key| key.id.0).collect();
        good.sort();
        good
    }

    #[tokio::test]
    async fn a_key_comes_back_as_it_was_stored() {
        let (store, _folder) = store().await;
        let new = NewApiKey {
            subject: Some("ann".into()),
            scopes: [Scope::Operate, Scope::Admin].into_iter().collect(),
            ..key("a")
        };
        store.create_key(new.clone()).await.unwrap();
        let stored = store.keys().await.unwrap().remove(0);
        assert_eq!((stored.id, stored.subject, stored.scopes), (new.id, new.subject, new.scopes));
        assert_eq!((stored.hash, stored.origin, stored.revoked_at), (new.hash, KeyOrigin::Command, None));
        assert!(stored.created_at.elapsed().unwrap().as_secs() < 60);
    }

    #[tokio::test]
    async fn the_same_key_is_not_stored_twice() {
        let (store, _folder) = store().await;
        store.create_key(key("a")).await.unwrap();
        assert!(matches!(store.create_key(key("a2")).await, Err(StoreError::Duplicate)));
    }

    #[tokio::test]
    async fn the_revision_grows_with_changes_of_keys_and_with_nothing_else() {
        let (store, _folder) = store().await;
        let first = store.keys_revision().await.unwrap();
        store.create_key(key("a")).await.unwrap();
        let created = store.keys_revision().await.unwrap();
        assert!(created > first);
        store.note_keys_used(vec![KeyId("a".into())]).await.unwrap();
        let scope = StorageScope { connector: "demo".into(), integration: None };
        store.storage_set(&scope, "key", vec![], None).await.unwrap();
        assert_eq!(store.keys_revision().await.unwrap(), created);
        assert!(store.keys().await.unwrap()[0].last_used_at.is_some());
        store.revoke_key(&KeyId("a".into())).await.unwrap();
        assert!(store.keys_revision().await.unwrap() > created);
    }

    #[tokio::test]
    async fn the_first_key_is_made_once_even_if_it_is_revoked() {
        let (store, _folder) = store().await;
        assert!(store.create_first_key(key("a")).await.unwrap());
        assert!(!store.create_first_key(key("b")).await.unwrap());
        store.revoke_key(&KeyId("a".into())).await.unwrap();
        assert!(!store.create_first_key(key("b")).await.unwrap());
    }

    #[tokio::test]
    async fn an_adopted_key_takes_the_place_of_the_one_before_and_can_come_back() {
        let (store, _folder) = store().await;
        store.create_key(key("c")).await.unwrap();
        for (id, expected) in [("a", ["a", "c"]), ("a", ["a", "c"]), ("b", ["b", "c"]), ("a", ["a", "c"])] {
            assert_eq!(store.adopt_key(key(id)).await.unwrap(), Adopted::Accepted);
            assert_eq!(good(&store).await, expected);
        }
    }

    #[tokio::test]
    async fn an_adopted_key_that_a_person_revoked_does_not_come_back() {
        let (store, _folder) = store().await;
        store.adopt_key(key("a")).await.unwrap();
        assert!(matches!(store.revoke_key(&KeyId("a".into())).await.unwrap(), Revoked::Now(_)));
        assert_eq!(store.adopt_key(key("a")).await.unwrap(), Adopted::Revoked);
        assert!(good(&store).await.is_empty());
        // Nor one that had given way before it was revoked.
        store.adopt_key(key("b")).await.unwrap();
        store.adopt_key(key("c")).await.unwrap();
        assert!(matches!(store.revoke_key(&KeyId("b".into())).await.unwrap(), Revoked::Before(_)));
        assert_eq!(store.adopt_key(key("b")).await.unwrap(), Adopted::Revoked);
        assert_eq!(good(&store).await, ["c"]);
    }

    #[tokio::test]
    async fn a_key_of_fewer_rights_is_not_widened_by_being_adopted() {
        let (store, _folder) = store().await;
        store.create_key(NewApiKey { tenant: "acme".into(), ..key("a") }).await.unwrap();
        assert_eq!(store.adopt_key(key("a")).await.unwrap(), Adopted::Narrower(KeyId("a".into())));
        assert_eq!(store.keys().await.unwrap()[0].tenant, "acme");
    }
}
