//! The stored data keys: adding, replacing and deleting them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::{FromRow, Row, values};
use database::{Database, StoreError};

use crate::sealed_rows::SealedColumn;
use crate::types::{DataKey, Wrap};

/// Name of the lock for transactions that decide which data key is the current one.
const LOCK: &str = "data_keys";

/// The tables that have the secrets of a vault. The database also has the tables of the data keys,
/// `data_keys` and `data_key_wraps`.
pub trait SealedTables: Sync {
    /// The database with the tables.
    fn database(&self) -> &Database;

    /// Every column that holds sealed secrets. A rotation could not replace the data keys of secrets
    /// in a column that is missing here.
    fn sealed_columns(&self) -> &'static [SealedColumn];

    /// Adds the entries of a rotation to the audit, in the name of the one who begins the rotation.
    fn rotation_notes(&self) -> Notes;
}

/// Adds an entry with this detail, in the transaction of the step.
pub type Notes = Arc<dyn Fn(&mut dyn Connection, &str) -> Result<(), StoreError> + Send + Sync>;

/// The stored data keys, and the secrets that are sealed under them.
#[derive(Clone)]
pub(crate) struct DataKeys {
    pub(crate) database: Database,
    pub(crate) columns: &'static [SealedColumn],
}

impl DataKeys {
    /// Those of these tables.
    pub(crate) fn of(tables: &impl SealedTables) -> Self {
        Self { database: tables.database().clone(), columns: tables.sealed_columns() }
    }

    /// Returns all data keys: first the current one, then the retired ones, the newest first.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub(crate) async fn list(&self) -> Result<Vec<DataKey>, StoreError> {
        self.database.read(list_data_keys).await
    }

    /// Stores a data key if there is none. Returns `false` if there was one.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub(crate) async fn create_first(&self, id: &str, wraps: Vec<Wrap>) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.database
            .write(Durability::PowerLoss, move |connection| {
                connection.lock(LOCK)?;
                let is_empty: bool = connection.one("SELECT count(*) = 0 FROM data_keys", &[])?;
                if is_empty {
                    insert_data_key(connection, &id, &wraps)?;
                }
                Ok(is_empty)
            })
            .await
    }

    /// Stores a data key as the current one, and retires the others.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub(crate) async fn replace(&self, id: &str, wraps: Vec<Wrap>, notes: Notes) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.database
            .write(Durability::PowerLoss, move |connection| {
                connection.lock(LOCK)?;
                notes(connection, "new secrets are sealed under a new key")?;
                connection.execute("UPDATE data_keys SET retired_at = now_ms() WHERE retired_at IS NULL", &[])?;
                insert_data_key(connection, &id, &wraps)
            })
            .await
    }

    /// Stores copies of data keys, given by their ids, that are sealed under a further master key.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub(crate) async fn add_wraps(&self, wraps: Vec<(String, Wrap)>) -> Result<(), StoreError> {
        self.database
            .write(Durability::PowerLoss, move |connection| {
                for (id, wrap) in &wraps {
                    insert_wrap(connection, id, wrap)?;
                }
                Ok(())
            })
            .await
    }

    /// Deletes the copies of data keys that are sealed under other master keys than this one.
    /// Returns `false` and deletes nothing if a data key has no copy under this master key, because
    /// nothing could unseal it afterwards.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub(crate) async fn keep_one_master(&self, master_id: &str, notes: Notes) -> Result<bool, StoreError> {
        let master_id = master_id.to_owned();
        self.database
            .write(Durability::PowerLoss, move |connection| {
                connection.lock(LOCK)?;
                let opens_all: bool = connection.one(
                    "SELECT count(*) = 0 FROM data_keys WHERE NOT EXISTS
                     (SELECT 1 FROM data_key_wraps WHERE data_key = data_keys.id AND master_id = $1)",
                    values![&master_id],
                )?;
                if opens_all {
                    let deleted =
                        connection.execute("DELETE FROM data_key_wraps WHERE master_id <> $1", values![&master_id])?;
                    if deleted > 0 {
                        notes(connection, "the previous key unseals nothing any more")?;
                    }
                }
                Ok(opens_all)
            })
            .await
    }

    /// Deletes data keys that have been retired for this long and that no secret is sealed under.
    /// Returns their number.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub(crate) async fn drop_retired(&self, retired_for: Duration) -> Result<u64, StoreError> {
        let columns = self.columns;
        let deleted = self
            .database
            .write(Durability::PowerLoss, move |connection| {
                let unused: String = columns
                    .iter()
                    .map(|SealedColumn { table, data_key, .. }| {
                        format!(" AND NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.{data_key} = data_keys.id)")
                    })
                    .collect();
                connection.execute(
                    &format!("DELETE FROM data_keys WHERE retired_at <= now_ms() - $1{unused}"),
                    values![millis(retired_for)],
                )
            })
            .await;
        match deleted {
            // A secret was stored under one of them while the statement ran.
            Err(StoreError::DataKeyInUse) => Ok(0),
            other => other,
        }
    }
}

fn list_data_keys(connection: &mut dyn Connection) -> Result<Vec<DataKey>, StoreError> {
    let rows: Vec<WrapRow> = connection.all(
        "SELECT id, retired_at, master_id, bytes FROM data_keys JOIN data_key_wraps ON data_key = id
         ORDER BY retired_at IS NOT NULL, created_at DESC, id, master_id",
        &[],
    )?;
    let mut keys: Vec<DataKey> = Vec::new();
    for WrapRow { id, retired_at, wrap } in rows {
        match keys.last_mut() {
            Some(key) if key.id == id => key.wraps.push(wrap),
            _ => keys.push(DataKey { id, wraps: vec![wrap], retired_at }),
        }
    }
    Ok(keys)
}

fn insert_data_key(connection: &mut dyn Connection, id: &str, wraps: &[Wrap]) -> Result<(), StoreError> {
    connection.execute("INSERT INTO data_keys (id, created_at) VALUES ($1, now_ms())", values![id])?;
    wraps.iter().try_for_each(|wrap| insert_wrap(connection, id, wrap))
}

fn insert_wrap(connection: &mut dyn Connection, id: &str, wrap: &Wrap) -> Result<(), StoreError> {
    connection.execute(
        "INSERT INTO data_key_wraps (data_key, master_id, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        values![id, &wrap.master_id, &wrap.bytes],
    )?;
    Ok(())
}

/// One row of the list: a data key under one of its master keys.
struct WrapRow {
    id: String,
    retired_at: Option<SystemTime>,
    wrap: Wrap,
}

impl FromRow for WrapRow {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self { id: row.read()?, retired_at: row.read()?, wrap: Wrap { master_id: row.read()?, bytes: row.read()? } })
    }
}
