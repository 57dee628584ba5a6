//! Storing, listing and revoking API keys.

use super::api_key::{ApiKey, KeyHash, KeyId, KeyOrigin, NewApiKey};
use super::session::{Durability, Session, values};
use super::{Store, StoreError};

/// Held by whoever looks which keys there are before writing one.
const LOCK: &str = "api_keys";

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
        let created = self.write(Durability::Power, move |session| insert(session, &key, KeyOrigin::Command)).await?;
        if created { Ok(()) } else { Err(StoreError::Duplicate) }
    }

    /// Stores a key if no key was ever stored, and says whether it did.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn create_first_key(&self, key: NewApiKey) -> Result<bool, StoreError> {
        self.write(Durability::Power, move |session| {
            session.lock(LOCK)?;
            let is_empty: bool = session.one("SELECT count(*) = 0 FROM api_keys", &[])?;
            Ok(is_empty && insert(session, &key, KeyOrigin::FirstStart)?)
        })
        .await
    }

    /// Accepts the key that the environment sets, and revokes the one it set before, if it was another.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn adopt_key(&self, key: NewApiKey) -> Result<Adopted, StoreError> {
        self.write(Durability::Power, move |session| adopt(session, &key)).await
    }

    /// All keys, the oldest first; those that were revoked too.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(list).await
    }

    /// All keys, and the revision they were read at.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn keys_at_revision(&self) -> Result<(i64, Vec<ApiKey>), StoreError> {
        // The revision first: a change between the two is then seen again at the next look, and never missed.
        self.read(|session| Ok((revision(session)?, list(session)?))).await
    }

    /// Grows with every change of a key, by whatever process.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn keys_revision(&self) -> Result<i64, StoreError> {
        self.read(revision).await
    }

    /// Revokes a key for good.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn revoke_key(&self, id: &KeyId) -> Result<Revoked, StoreError> {
        let id = id.clone();
        self.write(Durability::Power, move |session| {
            session.lock(LOCK)?;
            let key: Option<ApiKey> = session.optional(&select("WHERE id = $1"), values![&id])?;
            // One that gave way to a new value of the variable keeps its time, and is from now on revoked for good.
            session.execute(
                "UPDATE api_keys SET revoked_at = coalesce(revoked_at, now_ms()), revoked_by_person = TRUE WHERE id = $1",
                values![&id],
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
    pub async fn note_keys_used(&self, mut ids: Vec<KeyId>) -> Result<(), StoreError> {
        // In one order, so that two gateways never wait for each other.
        ids.sort_by(|left, right| left.0.cmp(&right.0));
        self.write(Durability::Process, move |session| {
            ids.iter().try_for_each(|id| {
                session.execute("UPDATE api_keys SET last_used_at = now_ms() WHERE id = $1", values![id]).map(drop)
            })
        })
        .await
    }
}

fn revision(session: &mut dyn Session) -> Result<i64, StoreError> {
    session.one("SELECT number FROM revisions WHERE subject = 'api_keys'", &[])
}

fn list(session: &mut dyn Session) -> Result<Vec<ApiKey>, StoreError> {
    session.all(&select("ORDER BY created_at, id"), &[])
}

/// Whether the key was not there before.
fn insert(session: &mut dyn Session, key: &NewApiKey, origin: KeyOrigin) -> Result<bool, StoreError> {
    let added = session.execute(
        "INSERT INTO api_keys (id, name, tenant, subject, scopes, hash, prefix, origin, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now_ms()) ON CONFLICT (hash) DO NOTHING",
        values![&key.id, &key.name, &key.tenant, &key.subject, &key.scopes, &key.hash, &key.prefix, origin],
    )?;
    Ok(added > 0)
}

fn adopt(session: &mut dyn Session, key: &NewApiKey) -> Result<Adopted, StoreError> {
    session.lock(LOCK)?;
    let former = by_hash(session, &key.hash)?;
    if let Some(former) = &former {
        let is_as_wide = former.scopes == key.scopes && former.tenant == key.tenant && former.subject == key.subject;
        if !is_as_wide {
            return Ok(Adopted::Narrower(former.id.clone()));
        }
        if session.one("SELECT revoked_by_person FROM api_keys WHERE id = $1", values![&former.id])? {
            return Ok(Adopted::Revoked);
        }
    }
    session.execute(
        "UPDATE api_keys SET revoked_at = now_ms() WHERE origin = $1 AND hash <> $2 AND revoked_at IS NULL",
        values![KeyOrigin::Environment, &key.hash],
    )?;
    match former {
        Some(former) if former.revoked_at.is_some() => {
            session.execute("UPDATE api_keys SET revoked_at = NULL WHERE id = $1", values![&former.id])?;
        }
        Some(_) => {}
        None => {
            insert(session, key, KeyOrigin::Environment)?;
        }
    }
    Ok(Adopted::Accepted)
}

fn by_hash(session: &mut dyn Session, hash: &KeyHash) -> Result<Option<ApiKey>, StoreError> {
    session.optional(&select("WHERE hash = $1"), values![hash])
}

fn select(condition: &str) -> String {
    format!(
        "SELECT id, name, tenant, subject, scopes, hash, prefix, origin, created_at, revoked_at, last_used_at
         FROM api_keys {condition}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StorageScope;
    use crate::testing::{Site, on_every_database};

    on_every_database!(
        a_key_comes_back_as_it_was_stored,
        the_same_key_is_not_stored_twice,
        the_revision_grows_with_changes_of_keys_and_with_nothing_else,
        the_first_key_is_made_once_even_if_it_is_revoked,
        an_adopted_key_takes_the_place_of_the_one_before_and_can_come_back,
        an_adopted_key_that_a_person_revoked_does_not_come_back,
        a_key_of_fewer_rights_is_not_widened_by_being_adopted,
    );

    fn key(id: &str) -> NewApiKey {
        NewApiKey {
            id: KeyId(id.into()),
            name: "test".into(),
            tenant: "default".into(),
            subject: None,
            scopes: "operate integrate admin".to_owned(),
            hash: [id.as_bytes()[0]; 32],
            prefix: "cgw_test".into(),
        }
    }

    /// The identifiers of those that are not revoked, in the alphabet's order.
    async fn good(store: &Store) -> Vec<String> {
        let keys = store.keys().await.unwrap().into_iter();
        let mut good: Vec<_> = keys.filter(|key| key.revoked_at.is_none()).map(|key| key.id.0).collect();
        good.sort();
        good
    }

    async fn a_key_comes_back_as_it_was_stored(site: Site) {
        let store = &site.store;
        let new = NewApiKey { subject: Some("ann".into()), scopes: "operate admin".to_owned(), ..key("a") };
        store.create_key(new.clone()).await.unwrap();
        let stored = store.keys().await.unwrap().remove(0);
        assert_eq!((stored.id, stored.subject, stored.scopes), (new.id, new.subject, new.scopes));
        assert_eq!((stored.hash, stored.origin, stored.revoked_at), (new.hash, KeyOrigin::Command, None));
        assert!(stored.created_at.elapsed().unwrap().as_secs() < 60);
    }

    async fn the_same_key_is_not_stored_twice(site: Site) {
        let store = &site.store;
        store.create_key(key("a")).await.unwrap();
        assert!(matches!(store.create_key(key("a2")).await, Err(StoreError::Duplicate)));
    }

    async fn the_revision_grows_with_changes_of_keys_and_with_nothing_else(site: Site) {
        let store = &site.store;
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

    async fn the_first_key_is_made_once_even_if_it_is_revoked(site: Site) {
        let store = &site.store;
        assert!(store.create_first_key(key("a")).await.unwrap());
        assert!(!store.create_first_key(key("b")).await.unwrap());
        store.revoke_key(&KeyId("a".into())).await.unwrap();
        assert!(!store.create_first_key(key("b")).await.unwrap());
    }

    async fn an_adopted_key_takes_the_place_of_the_one_before_and_can_come_back(site: Site) {
        let store = &site.store;
        store.create_key(key("c")).await.unwrap();
        for (id, expected) in [("a", ["a", "c"]), ("a", ["a", "c"]), ("b", ["b", "c"]), ("a", ["a", "c"])] {
            assert_eq!(store.adopt_key(key(id)).await.unwrap(), Adopted::Accepted);
            assert_eq!(good(store).await, expected);
        }
    }

    async fn an_adopted_key_that_a_person_revoked_does_not_come_back(site: Site) {
        let store = &site.store;
        store.adopt_key(key("a")).await.unwrap();
        assert!(matches!(store.revoke_key(&KeyId("a".into())).await.unwrap(), Revoked::Now(_)));
        assert_eq!(store.adopt_key(key("a")).await.unwrap(), Adopted::Revoked);
        assert!(good(store).await.is_empty());
        // Nor one that had given way before it was revoked.
        store.adopt_key(key("b")).await.unwrap();
        store.adopt_key(key("c")).await.unwrap();
        assert!(matches!(store.revoke_key(&KeyId("b".into())).await.unwrap(), Revoked::Before(_)));
        assert_eq!(store.adopt_key(key("b")).await.unwrap(), Adopted::Revoked);
        assert_eq!(good(store).await, ["c"]);
    }

    async fn a_key_of_fewer_rights_is_not_widened_by_being_adopted(site: Site) {
        let store = &site.store;
        store.create_key(NewApiKey { tenant: "acme".into(), ..key("a") }).await.unwrap();
        assert_eq!(store.adopt_key(key("a")).await.unwrap(), Adopted::Narrower(KeyId("a".into())));
        assert_eq!(store.keys().await.unwrap()[0].tenant, "acme");
    }
}
