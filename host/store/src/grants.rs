//! Grants: the hosts that the operator allows a connector to reach.

use crate::connection::Durability;
use crate::value::values;
use crate::{Store, StoreError};

impl Store {
    /// Returns the hosts that are granted to a connector, in alphabetical order.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn grants(&self, connector: &str) -> Result<Vec<String>, StoreError> {
        let connector = connector.to_owned();
        self.read(move |connection| {
            connection.all("SELECT host FROM grants WHERE connector = $1 ORDER BY host", values![&connector])
        })
        .await
    }

    /// Grants exactly these hosts to a connector. A host that was granted before keeps the time of its grant.
    ///
    /// # Errors
    /// Fails if the database does not answer. The previous grants then stay.
    pub async fn set_grants(&self, connector: &str, hosts: &[String]) -> Result<(), StoreError> {
        let connector = connector.to_owned();
        let hosts = hosts.to_vec();
        self.write(Durability::PowerLoss, move |connection| {
            connection.lock(&format!("grants {connector}"))?;
            let former: Vec<String> =
                connection.all("SELECT host FROM grants WHERE connector = $1", values![&connector])?;
            for host in former.iter().filter(|host| !hosts.contains(host)) {
                connection
                    .execute("DELETE FROM grants WHERE connector = $1 AND host = $2", values![&connector, host])?;
            }
            for host in &hosts {
                connection.execute(
                    "INSERT INTO grants (connector, host, granted_at) VALUES ($1, $2, now_ms()) ON CONFLICT DO NOTHING",
                    values![&connector, host],
                )?;
            }
            Ok(())
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Site, on_every_database};

    on_every_database!(setting_grants_replaces_them_and_keeps_the_time_of_those_that_stay);

    fn hosts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    async fn setting_grants_replaces_them_and_keeps_the_time_of_those_that_stay(site: Site) {
        let store = &site.store;
        store.set_grants("demo", &hosts(&["b.example", "a.example"])).await.unwrap();
        store.set_grants("other", &hosts(&["a.example"])).await.unwrap();
        assert_eq!(site.execute("UPDATE grants SET granted_at = 1").await, 3);
        store.set_grants("demo", &hosts(&["c.example", "b.example"])).await.unwrap();
        assert_eq!(store.grants("demo").await.unwrap(), ["b.example", "c.example"]);
        assert_eq!(store.grants("other").await.unwrap(), ["a.example"]);
        let kept = site.execute("DELETE FROM grants WHERE host = 'b.example' AND granted_at = 1").await;
        assert_eq!(kept, 1);
        store.set_grants("demo", &[]).await.unwrap();
        assert!(store.grants("demo").await.unwrap().is_empty());
    }
}
