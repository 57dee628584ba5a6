//! Hosts that the operator lets connectors reach.

use std::time::SystemTime;

use super::session::{Durability, FromRow, Row, values};
use super::{Store, StoreError};

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
        self.read(move |session| {
            session.all("SELECT host FROM grants WHERE connector = $1 ORDER BY host", values![&connector])
        })
        .await
    }

    /// All grants, ordered by connector and host.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn all_grants(&self) -> Result<Vec<Grant>, StoreError> {
        self.read(|session| session.all("SELECT connector, host, granted_at FROM grants ORDER BY connector, host", &[]))
            .await
    }

    /// Grants these hosts to a connector, and no others.
    ///
    /// # Errors
    /// When they cannot be written; then the former ones stay.
    pub async fn set_grants(&self, connector: &str, hosts: &[String]) -> Result<(), StoreError> {
        let connector = connector.to_owned();
        let hosts = hosts.to_vec();
        self.write(Durability::Power, move |session| {
            session.lock(&format!("grants {connector}"))?;
            let former: Vec<String> =
                session.all("SELECT host FROM grants WHERE connector = $1", values![&connector])?;
            for host in former.iter().filter(|host| !hosts.contains(host)) {
                session.execute("DELETE FROM grants WHERE connector = $1 AND host = $2", values![&connector, host])?;
            }
            for host in &hosts {
                session.execute(
                    "INSERT INTO grants (connector, host, granted_at) VALUES ($1, $2, now_ms()) ON CONFLICT DO NOTHING",
                    values![&connector, host],
                )?;
            }
            Ok(())
        })
        .await
    }
}

impl FromRow for Grant {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self { connector: row.read()?, host: row.read()?, granted_at: row.read()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Site, on_every_database};

    on_every_database!(setting_grants_replaces_them_and_keeps_the_time_of_those_that_stay);

    fn hosts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    async fn setting_grants_replaces_them_and_keeps_the_time_of_those_that_stay(site: Site) {
        let store = &site.store;
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
