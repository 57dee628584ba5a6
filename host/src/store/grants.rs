//! Hosts that the operator lets connectors reach.

use std::time::SystemTime;

use super::sqlite::Durability;
use super::{Store, StoreError, from_millis, now};

/// A host that a connector may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Identifier of the connector.
    pub connector: String,
    /// Name of the host, as it was given.
    pub host: String,
    /// When it was granted first.
    pub granted_at: SystemTime,
}

impl Store {
    /// The hosts granted to a connector, in alphabetical order.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn grants(&self, connector: &str) -> Result<Vec<String>, StoreError> {
        let connector = connector.to_owned();
        self.sqlite
            .read(move |connection| {
                connection
                    .prepare("SELECT host FROM grants WHERE connector = ? ORDER BY host")?
                    .query_map([connector], |row| row.get(0))?
                    .collect()
            })
            .await
    }

    /// All grants, ordered by connector and host.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn all_grants(&self) -> Result<Vec<Grant>, StoreError> {
        self.sqlite
            .read(|connection| {
                connection
                    .prepare("SELECT connector, host, granted_at FROM grants ORDER BY connector, host")?
                    .query_map([], |row| {
                        Ok(Grant { connector: row.get(0)?, host: row.get(1)?, granted_at: from_millis(row.get(2)?) })
                    })?
                    .collect()
            })
            .await
    }

    /// Grants these hosts to a connector, and no others.
    ///
    /// # Errors
    /// When they cannot be written; then the former ones stay.
    pub async fn set_grants(&self, connector: &str, hosts: &[String]) -> Result<(), StoreError> {
        let connector = connector.to_owned();
        let hosts = hosts.to_vec();
        self.sqlite
            .write(Durability::Power, move |transaction| {
                let kept = serde_json::Value::from(hosts.clone()).to_string();
                transaction.execute(
                    "DELETE FROM grants WHERE connector = ?1 AND host NOT IN (SELECT value FROM json_each(?2))",
                    (&connector, kept),
                )?;
                let mut insert = transaction.prepare(
                    "INSERT INTO grants (connector, host, granted_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                )?;
                for host in &hosts {
                    insert.execute((&connector, host, now()))?;
                }
                Ok(())
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn hosts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[tokio::test]
    async fn setting_grants_replaces_them_and_keeps_the_time_of_those_that_stay() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        store.set_grants("demo", &hosts(&["b.example", "a.example"])).await.unwrap();
        store.set_grants("other", &hosts(&["a.example"])).await.unwrap();
        let first = store.all_grants().await.unwrap();
        store.set_grants("demo", &hosts(&["c.example", "b.example"])).await.unwrap();
        assert_eq!(store.grants("demo").await.unwrap(), ["b.example", "c.example"]);
        assert_eq!(store.grants("other").await.unwrap(), ["a.example"]);
        let now = store.all_grants().await.unwrap();
        let of_b = |grants: &[Grant]| grants.iter().find(|grant| grant.host == "b.example").cloned();
        assert_eq!(of_b(&now), of_b(&first));
        store.set_grants("demo", &[]).await.unwrap();
        assert!(store.grants("demo").await.unwrap().is_empty());
    }
}
