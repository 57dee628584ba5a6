//! Values of connectors' storage that a previous gateway stored without sealing them.

use database::connection::Durability;
use database::value::{Value, values};
use vault::{Sealed, Vault};

use crate::Stored;
use crate::handles::Storage;
use crate::records::record;
use crate::storage::{CONTEXT, StorageError, StorageScope};

/// Number of values that are sealed in one transaction.
const BATCH: u32 = 100;

/// The columns of each [`PlainValue`].
const PLAIN_VALUES: &str =
    "SELECT connector, integration, key, value FROM connector_storage WHERE data_key IS NULL LIMIT $1";

record! {
    /// A value that is not sealed.
    struct PlainValue {
        scope: StorageScope,
        /// The key as the database has it: SQLite has text, and PostgreSQL has bytes.
        key: Value,
        value: Vec<u8>,
    }
}

impl PlainValue {
    fn id(&self) -> String {
        match &self.key {
            Value::Text(key) => self.scope.id_of(key.as_bytes()),
            Value::Bytes(key) => self.scope.id_of(key),
            _ => self.scope.id_of(b""),
        }
    }
}

impl Storage<'_> {
    /// Seals the values that are not sealed yet, and returns their number. A value that is set or
    /// deleted at the same time keeps what the connector did.
    ///
    /// # Errors
    /// Fails if a value cannot be sealed. Some values may be sealed already when it fails. The others
    /// stay readable, and the next run seals them.
    pub async fn seal_plain_values(self, vault: &Vault) -> Result<u64, StorageError> {
        let mut total = 0;
        loop {
            let mut sealed = Vec::new();
            for plain in self.0.read_all::<PlainValue>(PLAIN_VALUES, values![BATCH]).await? {
                let id = plain.id();
                let under_key = vault.seal(&[CONTEXT, &id], &plain.value).await?;
                sealed.push((plain, id, under_key));
            }
            let written = self.replace_plain_values(sealed).await?;
            if written == 0 {
                return Ok(total);
            }
            total += written;
        }
    }

    async fn replace_plain_values(self, sealed: Vec<(PlainValue, String, Sealed)>) -> Stored<u64> {
        if sealed.is_empty() {
            return Ok(0);
        }
        self.0
            .write(Durability::PowerLoss, move |connection| {
                sealed.iter().try_fold(0, |written, (plain, id, sealed)| {
                    let PlainValue { scope: StorageScope { connector, partition }, key, value } = plain;
                    let replaced = connection.execute(
                        "UPDATE connector_storage SET id = $1, data_key = $2, value = $3
                     WHERE connector = $4 AND integration = $5 AND key = $6 AND data_key IS NULL AND value = $7",
                        values![id, &sealed.key_id, &sealed.bytes, connector, partition, key.clone(), value],
                    )?;
                    Ok(written + replaced)
                })
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Site, on_every_database};

    on_every_database!(values_of_a_previous_gateway_are_readable_and_are_sealed_once);

    async fn values_of_a_previous_gateway_are_readable_and_are_sealed_once(site: Site) {
        let (store, vault) = (&site.store, site.vault().await);
        let scope = |partition: &str| StorageScope { connector: "demo".to_owned(), partition: partition.to_owned() };
        let keys: Vec<String> = (0..BATCH + 1).map(|number| format!("\0é {number}")).collect();
        for key in &keys {
            store.storage().set(&vault, &scope("1"), key, b"new".to_vec(), None).await.unwrap();
        }
        store.storage().set(&vault, &scope("2"), "key", b"sealed".to_vec(), None).await.unwrap();
        // As migration 8 left them.
        let plain = store.write(Durability::ProcessKill, |connection| {
            connection.execute(
                "UPDATE connector_storage SET id = NULL, data_key = NULL, value = $1 WHERE integration = '1'",
                values![&b"older".to_vec()],
            )
        });
        assert_eq!(plain.await.unwrap(), u64::from(BATCH + 1));
        assert_eq!(store.storage().get(&vault, &scope("1"), &keys[0]).await.unwrap().unwrap(), b"older");

        assert_eq!(store.storage().seal_plain_values(&vault).await.unwrap(), u64::from(BATCH + 1));
        assert_eq!(store.storage().seal_plain_values(&vault).await.unwrap(), 0);
        let left = "SELECT count(*) FROM connector_storage WHERE data_key IS NULL OR value = $1";
        let left = store.read(move |connection| connection.one::<u64>(left, values![&b"older".to_vec()]));
        assert_eq!(left.await.unwrap(), 0);
        for key in &keys {
            assert_eq!(store.storage().get(&vault, &scope("1"), key).await.unwrap().unwrap(), b"older");
        }
        assert_eq!(store.storage().get(&vault, &scope("2"), "key").await.unwrap().unwrap(), b"sealed");
    }
}
