//! Storing, listing and revoking API keys.

use database::conditions::Conditions;
use database::connection::{Connection, Durability};
use database::value::values;

use super::types::KeyOrigin;
use super::{ApiKey, KeyAdoption, KeyFilter, KeyHash, KeyId, KeyRevocation, KeyStatus, NewApiKey};
use crate::audit::{self, Acting, AuditAction};
use crate::handles::Keys;
use crate::{StoreError, Stored};

/// Name of the lock for transactions that write a key depending on the keys they have read.
const LOCK: &str = "api_keys";

impl Keys<'_> {
    /// Stores a key that a command has created.
    ///
    /// # Errors
    /// Fails with [`StoreError::Duplicate`] if the key is already stored.
    pub async fn create(self, key: NewApiKey) -> Stored<()> {
        let by = Acting::current();
        let create = move |connection: &mut dyn Connection| insert_key(connection, &by, &key, KeyOrigin::Command);
        if self.0.write(Durability::PowerLoss, create).await? { Ok(()) } else { Err(StoreError::Duplicate) }
    }

    /// Stores a key if no key was ever stored. Returns `false` if there is one, even a revoked one.
    pub async fn create_first(self, key: NewApiKey) -> Stored<bool> {
        let by = Acting::current();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                connection.lock(LOCK)?;
                let is_empty: bool = connection.one("SELECT count(*) = 0 FROM api_keys", &[])?;
                Ok(is_empty && insert_key(connection, &by, &key, KeyOrigin::FirstStart)?)
            })
            .await
    }

    /// Accepts the key from the environment, and revokes other keys that came from there.
    pub async fn adopt(self, key: NewApiKey) -> Stored<KeyAdoption> {
        let by = Acting::current();
        self.0.write(Durability::PowerLoss, move |connection| adopt(connection, &by, &key)).await
    }

    /// Returns all keys, the oldest first, including revoked ones.
    pub async fn all(self) -> Stored<Vec<ApiKey>> {
        self.0.read(list_keys).await
    }

    /// Returns a page of keys, the newest first, including revoked ones.
    pub async fn page(self, filter: KeyFilter) -> Stored<Vec<ApiKey>> {
        let mut conditions = Conditions::with_limit(filter.limit);
        conditions.equal("name", filter.name);
        conditions.with("substr(prefix, 1, length(CAST(? AS TEXT))) = ?", filter.prefix);
        conditions.equal("tenant", filter.tenant);
        conditions.equal("coalesce(subject, '')", filter.subject);
        conditions.add(filter.status.map_or("", KeyStatus::condition));
        conditions.compare("expires_at <", filter.expires_before);
        conditions.after("created_at, id", filter.before);
        let (clause, values) = conditions.finish();
        let page = select(&format!("{clause} ORDER BY created_at DESC, id DESC LIMIT $1"));
        self.0.read_all(page, &values).await
    }

    /// Returns the key with an id, if there is one. It may be revoked.
    pub async fn get(self, id: &KeyId) -> Stored<Option<ApiKey>> {
        self.0.read_optional(select("WHERE id = $1"), values![id]).await
    }

    /// Returns all keys, and the revision at which they were read.
    pub async fn at_revision(self) -> Stored<(i64, Vec<ApiKey>)> {
        // The revision is read first. A key that changes between the two statements is then read
        // again at the next check. In the other order the change could be missed.
        self.0.read(|connection| Ok((revision(connection)?, list_keys(connection)?))).await
    }

    /// Returns a number that grows with every change of a key by any process. A use of a key is not
    /// a change.
    pub async fn revision(self) -> Stored<i64> {
        self.0.read(revision).await
    }

    /// Revokes a key. `store.keys().adopt` does not bring it back.
    pub async fn revoke(self, id: &KeyId) -> Stored<KeyRevocation> {
        let (id, by) = (id.clone(), Acting::current());
        self.0.write(Durability::PowerLoss, move |connection| {
            connection.lock(LOCK)?;
            let key: Option<ApiKey> = connection.optional(&select("WHERE id = $1"), values![&id])?;
            // A key that a newer value of the environment variable has replaced keeps its time, but
            // cannot be adopted again.
            connection.execute(
                "UPDATE api_keys SET revoked_at = coalesce(revoked_at, now_ms()), revoked_by_person = TRUE WHERE id = $1",
                values![&id],
            )?;
            if let Some(key) = key.as_ref().filter(|key| key.revoked_at.is_none()) {
                audit::note(connection, &by, AuditAction::KeyRevoked, &id.0, &key.tenant, &key.name)?;
            }
            Ok(match key {
                None => KeyRevocation::Unknown,
                Some(key) if key.revoked_at.is_some() => KeyRevocation::AlreadyRevoked(key),
                Some(key) => KeyRevocation::Revoked(key),
            })
        })
        .await
    }

    /// Writes the current time as the last use of these keys.
    pub async fn note_used(self, mut ids: Vec<KeyId>) -> Stored<()> {
        // All gateways write the rows in the same order, so that two of them never wait for each
        // other's rows.
        ids.sort_by(|left, right| left.0.cmp(&right.0));
        self.0
            .write(Durability::ProcessKill, move |connection| {
                let note = "UPDATE api_keys SET last_used_at = now_ms() WHERE id = $1";
                ids.iter().try_for_each(|id| connection.run(note, values![id]))
            })
            .await
    }
}

fn revision(connection: &mut dyn Connection) -> Stored<i64> {
    connection.one("SELECT number FROM revisions WHERE subject = 'api_keys'", &[])
}

fn list_keys(connection: &mut dyn Connection) -> Stored<Vec<ApiKey>> {
    connection.all(&select("ORDER BY created_at, id"), &[])
}

/// Returns `false` if the key was already stored.
fn insert_key(connection: &mut dyn Connection, by: &Acting, key: &NewApiKey, origin: KeyOrigin) -> Stored<bool> {
    let NewApiKey { id, name, tenant, subject, scopes, hash, prefix, allow, effects, confirm, expires_at } = key;
    let actor = by.actor();
    let added = connection.execute(
        "INSERT INTO api_keys (id, name, tenant, subject, scopes, hash, prefix, origin, allowed, effects, confirm, expires_at,
             created_by, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, now_ms()) ON CONFLICT (hash) DO NOTHING",
        values![id, name, tenant, subject, scopes, hash, prefix, origin, allow, effects, *confirm, *expires_at, actor],
    )?;
    if added > 0 {
        audit::note(connection, by, AuditAction::KeyCreated, &id.0, tenant, name)?;
    }
    Ok(added > 0)
}

fn adopt(connection: &mut dyn Connection, by: &Acting, key: &NewApiKey) -> Stored<KeyAdoption> {
    connection.lock(LOCK)?;
    let previous = by_hash(connection, &key.hash)?;
    if let Some(previous) = &previous {
        // A key that may call some operations only, or that expires, would not be the one that is
        // promised.
        let same_rights = previous.scopes == key.scopes
            && previous.tenant == key.tenant
            && previous.subject == key.subject
            && previous.allow == key.allow
            && previous.effects == key.effects
            && previous.expires_at == key.expires_at;
        if !same_rights {
            return Ok(KeyAdoption::OtherRights(previous.id.clone()));
        }
        if connection.one("SELECT revoked_by_person FROM api_keys WHERE id = $1", values![&previous.id])? {
            return Ok(KeyAdoption::Revoked);
        }
    }
    connection.execute(
        "UPDATE api_keys SET revoked_at = now_ms() WHERE origin = $1 AND hash <> $2 AND revoked_at IS NULL",
        values![KeyOrigin::Environment, &key.hash],
    )?;
    match previous {
        Some(previous) if previous.revoked_at.is_some() => {
            connection.execute("UPDATE api_keys SET revoked_at = NULL WHERE id = $1", values![&previous.id])?;
        }
        Some(_) => {}
        None => {
            insert_key(connection, by, key, KeyOrigin::Environment)?;
        }
    }
    Ok(KeyAdoption::Accepted)
}

fn by_hash(connection: &mut dyn Connection, hash: &KeyHash) -> Stored<Option<ApiKey>> {
    connection.optional(&select("WHERE hash = $1"), values![hash])
}

fn select(condition: &str) -> String {
    format!(
        "SELECT id, name, tenant, subject, scopes, hash, prefix, allowed, effects, confirm, expires_at, created_by,
             created_at, revoked_at, last_used_at
         FROM api_keys {condition}"
    )
}
