//! Grants: the hosts that the operator allows a connector to reach.
//!
//! The table `grants` has the grants of the serving version. The table `former_grants` has the
//! grants of replaced versions, so that a rollback restores them. The serving version has no row
//! there.

use database::connection::{Connection, Durability};
use database::value::values;

use crate::handles::Grants;
use crate::{GrantStep, Stored};

/// Maximum number of previous versions of a connector whose grants are kept. It is larger than the
/// number of versions that can be rolled back to.
const MAX_PREVIOUS: i64 = 20;

/// How the grants of a connector change.
#[derive(Clone, Copy, Debug)]
pub enum GrantChange<'a> {
    /// These hosts are granted too.
    Add(&'a [String]),
    /// These hosts are no longer granted.
    Remove(&'a [String]),
    /// Exactly these hosts are granted.
    Set(&'a [String]),
}

impl Grants<'_> {
    /// Returns the hosts that are granted to a connector, in alphabetical order.
    pub async fn of(self, connector: &str) -> Stored<Vec<String>> {
        let connector = connector.to_owned();
        self.0.read(move |connection| granted(connection, &connector)).await
    }

    /// Returns the hosts that were granted to a version when another one replaced it; `None` if
    /// that is not known.
    pub async fn previous(self, connector: &str, version: &str) -> Stored<Option<Vec<String>>> {
        let hosts = "SELECT hosts FROM former_grants WHERE connector = $1 AND version = $2";
        let hosts: Option<String> = self.0.read_optional(hosts, values![connector, version]).await?;
        Ok(hosts.map(|hosts| hosts.split_whitespace().map(str::to_owned).collect()))
    }

    /// Changes the grants of a connector, as a change that has no entry in the history. For one with
    /// an entry see `store.changes().note`.
    pub async fn swap(self, connector: &str, swap: GrantSwap) -> Stored<()> {
        let connector = connector.to_owned();
        self.0.write(Durability::PowerLoss, move |connection| swap_on(connection, &connector, &swap)).await
    }

    /// Returns a number that grows when grants change.
    pub async fn revision(self) -> Stored<i64> {
        self.0.read_one("SELECT number FROM revisions WHERE subject = 'grants'", &[]).await
    }
}

/// The change of the grants when one version replaces another.
#[derive(Clone, Debug)]
pub struct GrantSwap {
    previous: Option<String>,
    present: String,
    exactly: bool,
    added: Vec<String>,
    removed: Vec<String>,
}

impl GrantSwap {
    /// The version `present` replaces `previous`, whose grants are kept for a rollback. A host that
    /// was granted before keeps the time of its grant.
    pub fn new(previous: Option<&str>, present: &str, change: GrantChange<'_>) -> Self {
        let (exactly, added, removed) = match change {
            GrantChange::Add(hosts) => (false, hosts.to_vec(), Vec::new()),
            GrantChange::Remove(hosts) => (false, Vec::new(), hosts.to_vec()),
            GrantChange::Set(hosts) => (true, hosts.to_vec(), Vec::new()),
        };
        let previous = previous.filter(|previous| *previous != present).map(str::to_owned);
        Self { previous, present: present.to_owned(), exactly, added, removed }
    }

    /// The grants of the serving version change.
    pub fn of_present(change: GrantChange<'_>) -> Self {
        Self::new(None, "", change)
    }
}

/// Changes the grants of a connector in the transaction of the change that they belong to.
pub(crate) fn step_on(connection: &mut dyn Connection, connector: &str, step: &GrantStep) -> Stored<()> {
    match step {
        GrantStep::Unchanged => Ok(()),
        GrantStep::Swap(swap) => swap_on(connection, connector, swap),
        GrantStep::Forget => forget_on(connection, connector),
    }
}

/// Swaps the grants of a connector in a transaction.
fn swap_on(connection: &mut dyn Connection, connector: &str, swap: &GrantSwap) -> Stored<()> {
    let GrantSwap { previous, present, exactly, added, removed } = swap;
    connection.lock(&format!("grants {connector}"))?;
    let granted = granted(connection, connector)?;
    if let Some(previous) = previous {
        // Each gateway that notices the swap runs this. The first one stores the grants.
        connection.execute(
            "INSERT INTO former_grants (connector, version, hosts, noted_at) VALUES ($1, $2, $3, now_ms()) \
             ON CONFLICT DO NOTHING",
            values![connector, previous, &granted.join(" ")],
        )?;
        connection.execute(
            "DELETE FROM former_grants WHERE connector = $1 AND version NOT IN (SELECT version FROM former_grants \
             WHERE connector = $1 ORDER BY noted_at DESC, version LIMIT $2)",
            values![connector, MAX_PREVIOUS],
        )?;
    }
    connection
        .execute("DELETE FROM former_grants WHERE connector = $1 AND version = $2", values![connector, present])?;
    for host in granted.iter().filter(|host| removed.contains(host) || *exactly && !added.contains(host)) {
        connection.execute("DELETE FROM grants WHERE connector = $1 AND host = $2", values![connector, host])?;
    }
    for host in added.iter().filter(|host| !granted.contains(host)) {
        connection.execute(
            "INSERT INTO grants (connector, host, granted_at) VALUES ($1, $2, now_ms()) ON CONFLICT DO NOTHING",
            values![connector, host],
        )?;
    }
    Ok(())
}

/// Deletes the grants of a connector in a transaction.
fn forget_on(connection: &mut dyn Connection, connector: &str) -> Stored<()> {
    connection.lock(&format!("grants {connector}"))?;
    connection.execute("DELETE FROM former_grants WHERE connector = $1", values![connector])?;
    connection.run("DELETE FROM grants WHERE connector = $1", values![connector])
}

fn granted(connection: &mut dyn Connection, connector: &str) -> Stored<Vec<String>> {
    connection.all("SELECT host FROM grants WHERE connector = $1 ORDER BY host", values![connector])
}

#[cfg(test)]
mod tests {
    use super::GrantChange::{Add, Remove, Set};
    use super::{Durability, GrantSwap, forget_on};
    use crate::testing::{Site, on_every_database};

    on_every_database!(
        grants_are_added_and_removed_and_keep_their_times,
        a_version_gets_its_grants_back_and_they_are_then_those_of_the_present,
        the_revision_grows_when_a_grant_changes,
        forgotten_grants_are_gone_with_those_of_previous_versions,
        the_grants_of_the_oldest_versions_are_dropped,
    );

    fn hosts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    async fn grants_are_added_and_removed_and_keep_their_times(site: Site) {
        let store = &site.store;
        store.grants().swap("demo", GrantSwap::of_present(Add(&hosts(&["b.example", "a.example"])))).await.unwrap();
        store.grants().swap("other", GrantSwap::of_present(Add(&hosts(&["a.example"])))).await.unwrap();
        assert_eq!(site.execute("UPDATE grants SET granted_at = 1").await, 3);
        store.grants().swap("demo", GrantSwap::of_present(Add(&hosts(&["c.example", "b.example"])))).await.unwrap();
        assert_eq!(store.grants().of("demo").await.unwrap(), ["a.example", "b.example", "c.example"]);
        store.grants().swap("demo", GrantSwap::of_present(Remove(&hosts(&["a.example", "z.example"])))).await.unwrap();
        assert_eq!(store.grants().of("demo").await.unwrap(), ["b.example", "c.example"]);
        assert_eq!(store.grants().of("other").await.unwrap(), ["a.example"]);
        store.grants().swap("demo", GrantSwap::of_present(Set(&hosts(&["b.example", "d.example"])))).await.unwrap();
        assert_eq!(store.grants().of("demo").await.unwrap(), ["b.example", "d.example"]);
        assert_eq!(site.execute("DELETE FROM grants WHERE host = 'b.example' AND granted_at = 1").await, 1);
    }

    async fn a_version_gets_its_grants_back_and_they_are_then_those_of_the_present(site: Site) {
        let store = &site.store;
        store.grants().swap("demo", GrantSwap::of_present(Add(&hosts(&["b.example", "a.example"])))).await.unwrap();
        store.grants().swap("demo", GrantSwap::new(Some("one"), "two", Add(&hosts(&["c.example"])))).await.unwrap();
        // A gateway that notices the swap late does not store the grants of the second version for
        // the first one.
        store.grants().swap("demo", GrantSwap::new(Some("one"), "two", Add(&[]))).await.unwrap();
        assert_eq!(store.grants().previous("demo", "one").await.unwrap(), Some(hosts(&["a.example", "b.example"])));
        assert_eq!(store.grants().previous("demo", "two").await.unwrap(), None);
        let previous = store.grants().previous("demo", "one").await.unwrap().unwrap();
        store.grants().swap("demo", GrantSwap::new(Some("two"), "one", Set(&previous))).await.unwrap();
        assert_eq!(store.grants().of("demo").await.unwrap(), ["a.example", "b.example"]);
        assert_eq!(store.grants().previous("demo", "one").await.unwrap(), None);
        store.grants().swap("demo", GrantSwap::new(Some("one"), "three", Set(&[]))).await.unwrap();
        store.grants().swap("demo", GrantSwap::new(Some("three"), "four", Add(&[]))).await.unwrap();
        assert_eq!(store.grants().previous("demo", "three").await.unwrap(), Some(Vec::new()));
    }

    async fn the_revision_grows_when_a_grant_changes(site: Site) {
        let store = &site.store;
        let first = store.grants().revision().await.unwrap();
        store.grants().swap("demo", GrantSwap::of_present(Add(&hosts(&["a.example"])))).await.unwrap();
        let added = store.grants().revision().await.unwrap();
        assert!(added > first);
        store.grants().swap("demo", GrantSwap::of_present(Add(&hosts(&["a.example"])))).await.unwrap();
        assert_eq!(store.grants().revision().await.unwrap(), added);
        store.grants().swap("demo", GrantSwap::of_present(Remove(&hosts(&["a.example"])))).await.unwrap();
        assert!(store.grants().revision().await.unwrap() > added);
    }

    async fn forgotten_grants_are_gone_with_those_of_previous_versions(site: Site) {
        let store = &site.store;
        for connector in ["demo", "other"] {
            store.grants().swap(connector, GrantSwap::of_present(Add(&hosts(&["a.example"])))).await.unwrap();
            store.grants().swap(connector, GrantSwap::new(Some("one"), "two", Add(&[]))).await.unwrap();
        }
        store.write(Durability::PowerLoss, |connection| forget_on(connection, "demo")).await.unwrap();
        assert!(store.grants().of("demo").await.unwrap().is_empty());
        assert_eq!(store.grants().previous("demo", "one").await.unwrap(), None);
        assert_eq!(store.grants().of("other").await.unwrap(), ["a.example"]);
        assert!(store.grants().previous("other", "one").await.unwrap().is_some());
    }

    async fn the_grants_of_the_oldest_versions_are_dropped(site: Site) {
        let store = &site.store;
        for number in 0..=super::MAX_PREVIOUS {
            let (previous, present) = (format!("{number:02}"), format!("{:02}", number + 1));
            store.grants().swap("demo", GrantSwap::new(Some(&previous), &present, Add(&[]))).await.unwrap();
            site.execute("UPDATE former_grants SET noted_at = noted_at - 1000").await;
        }
        assert_eq!(store.grants().previous("demo", "00").await.unwrap(), None);
        assert_eq!(store.grants().previous("demo", "01").await.unwrap(), Some(Vec::new()));
    }
}
