//! Storing the keys that secrets are sealed under. The store never sees them open.

use std::time::{Duration, SystemTime};

use super::data_key::{DataKey, Wrap};
use super::session::{Durability, FromRow, Row, Session, values};
use super::{Store, StoreError, millis};

/// Held by whoever changes which data key is the current one.
const LOCK: &str = "data_keys";

impl Store {
    /// All data keys, the one that new secrets are sealed under first, then those that are retired, the newest first.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn data_keys(&self) -> Result<Vec<DataKey>, StoreError> {
        self.read(list).await
    }

    /// Stores a data key if there is none, and says whether it did.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn create_first_data_key(&self, id: &str, wraps: Vec<Wrap>) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.write(Durability::Power, move |session| {
            session.lock(LOCK)?;
            let is_empty: bool = session.one("SELECT count(*) = 0 FROM data_keys", &[])?;
            if is_empty {
                insert(session, &id, &wraps)?;
            }
            Ok(is_empty)
        })
        .await
    }

    /// Stores a data key that new secrets are sealed under from now on, and retires the others.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn replace_data_key(&self, id: &str, wraps: Vec<Wrap>) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.write(Durability::Power, move |session| {
            session.lock(LOCK)?;
            session.execute("UPDATE data_keys SET retired_at = now_ms() WHERE retired_at IS NULL", &[])?;
            insert(session, &id, &wraps)
        })
        .await
    }

    /// Stores data keys under a further master key.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn wrap_data_keys(&self, wraps: Vec<(String, Wrap)>) -> Result<(), StoreError> {
        self.write(Durability::Power, move |session| {
            for (id, wrap) in &wraps {
                insert_wrap(session, id, wrap)?;
            }
            Ok(())
        })
        .await
    }

    /// Forgets the data keys under all master keys but one. If one of them could then no longer be opened, nothing is
    /// forgotten, and this says `false`.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn keep_one_master(&self, master_id: &str) -> Result<bool, StoreError> {
        let master_id = master_id.to_owned();
        self.write(Durability::Power, move |session| {
            session.lock(LOCK)?;
            let opens_all: bool = session.one(
                "SELECT count(*) = 0 FROM data_keys WHERE NOT EXISTS
                     (SELECT 1 FROM data_key_wraps WHERE data_key = data_keys.id AND master_id = $1)",
                values![&master_id],
            )?;
            if opens_all {
                session.execute("DELETE FROM data_key_wraps WHERE master_id <> $1", values![&master_id])?;
            }
            Ok(opens_all)
        })
        .await
    }

    /// Drops the data keys that have been retired for so long and that nothing is sealed under, and says how many.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn drop_retired_data_keys(&self, retired_for: Duration) -> Result<u64, StoreError> {
        let dropped = self
            .write(Durability::Power, move |session| {
                session.execute(
                    "DELETE FROM data_keys WHERE retired_at <= now_ms() - $1
                         AND NOT EXISTS (SELECT 1 FROM integrations WHERE data_key = data_keys.id)
                         AND NOT EXISTS (SELECT 1 FROM authorizations WHERE data_key = data_keys.id)",
                    values![millis(retired_for)],
                )
            })
            .await;
        match dropped {
            // Somebody used one in this very moment.
            Err(StoreError::DataKeyInUse) => Ok(0),
            other => other,
        }
    }
}

fn list(session: &mut dyn Session) -> Result<Vec<DataKey>, StoreError> {
    let rows: Vec<WrapRow> = session.all(
        "SELECT id, created_at, retired_at, master_id, bytes FROM data_keys JOIN data_key_wraps ON data_key = id
         ORDER BY retired_at IS NOT NULL, created_at DESC, id, master_id",
        &[],
    )?;
    let mut keys: Vec<DataKey> = Vec::new();
    for WrapRow { id, created_at, retired_at, wrap } in rows {
        match keys.last_mut() {
            Some(key) if key.id == id => key.wraps.push(wrap),
            _ => keys.push(DataKey { id, wraps: vec![wrap], created_at, retired_at }),
        }
    }
    Ok(keys)
}

fn insert(session: &mut dyn Session, id: &str, wraps: &[Wrap]) -> Result<(), StoreError> {
    session.execute("INSERT INTO data_keys (id, created_at) VALUES ($1, now_ms())", values![id])?;
    wraps.iter().try_for_each(|wrap| insert_wrap(session, id, wrap))
}

fn insert_wrap(session: &mut dyn Session, id: &str, wrap: &Wrap) -> Result<(), StoreError> {
    session.execute(
        "INSERT INTO data_key_wraps (data_key, master_id, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        values![id, &wrap.master_id, &wrap.bytes],
    )?;
    Ok(())
}

/// A data key under one of its master keys.
struct WrapRow {
    id: String,
    created_at: SystemTime,
    retired_at: Option<SystemTime>,
    wrap: Wrap,
}

impl FromRow for WrapRow {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.read()?,
            created_at: row.read()?,
            retired_at: row.read()?,
            wrap: Wrap { master_id: row.read()?, bytes: row.read()? },
        })
    }
}
