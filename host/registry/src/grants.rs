//! The grants of connectors in the store: hosts that the operator allows a connector to reach.
//!
//! Grants belong to the present version of a connector. If another version replaces it, the store
//! keeps its grants for a rollback.

use std::collections::{BTreeMap, HashMap};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;

use super::grant_form::is_grant;
use super::last_served::LastServed;
use super::{ChangeError, Connector};
use store::{GrantSwap, Store, StoreError};

/// A host of a connector, and whether the connector may reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostGrant {
    /// The connector's identifier.
    pub connector: String,
    /// The host, as grants write it.
    pub host: String,
    /// Its state.
    pub state: GrantState,
}

/// The state of a host of a connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantState {
    /// The operator granted it.
    Granted,
    /// The configuration allows it, or the manifest of a shipped connector.
    Configured,
    /// The connector needs it, and it is not granted.
    Missing,
    /// The operator granted it, and the connector does not name it.
    Unnamed,
}

/// The changes of grants that this process made or noticed so far. A candidate is made of the
/// present grants if the changes for its connector are the same as before it was made.
#[derive(Clone, Debug, Default)]
pub(super) struct GrantChanges {
    of_unknown_connectors: u64,
    of: HashMap<String, u64>,
}

impl GrantChanges {
    /// Returns `true` if the grants of a connector may have changed between these changes and the
    /// other ones.
    pub(super) fn differ_for(&self, identifier: &str, other: &Self) -> bool {
        self.of_unknown_connectors != other.of_unknown_connectors || self.of.get(identifier) != other.of.get(identifier)
    }
}

/// The grants in the store, with a count of their changes.
pub(super) struct Grants {
    store: Store,
    changes: Mutex<GrantChanges>,
    /// The grants before the start. `None` once the store was read.
    last_served: ArcSwapOption<LastServed>,
}

impl Grants {
    /// `last_served` takes the place of the store until the store was read for the first time.
    pub(super) fn new(store: Store, last_served: Option<LastServed>) -> Self {
        let last_served = ArcSwapOption::from_pointee(last_served);
        Self { store, changes: Mutex::default(), last_served }
    }

    /// The changes so far.
    pub(super) fn changes(&self) -> GrantChanges {
        self.changes.lock().clone()
    }

    /// Counts a change for a connector, so that a candidate that is being made of the previous
    /// grants is made again.
    pub(super) fn count_change(&self, identifier: &str) {
        let mut changes = self.changes.lock();
        *changes.of.entry(identifier.to_owned()).or_default() += 1;
    }

    /// As [`Grants::count_change`], for a change of which only the time is known.
    pub(super) fn count_change_of_unknown(&self) {
        self.changes.lock().of_unknown_connectors += 1;
    }

    /// The hosts that are granted to a connector. If the gateway started without its database and
    /// has not reached it since, these are the hosts that were granted before.
    pub(super) async fn granted(&self, identifier: &str) -> Result<Vec<String>, StoreError> {
        let read = self.store.grants().of(identifier).await;
        let last_served = self.last_served.load();
        let Some(last) = &*last_served else { return read };
        if read.is_ok() {
            self.last_served.store(None);
        }
        read.or_else(|error| last.grants(identifier).map(<[String]>::to_vec).ok_or(error))
    }

    /// The grants that a version had when another one replaced it. `None` if they are not known.
    pub(super) async fn of_version(&self, identifier: &str, digest: &str) -> Result<Option<Vec<String>>, StoreError> {
        self.store.grants().previous(identifier, digest).await
    }

    /// A number that grows when any process changes grants.
    pub(super) async fn revision(&self) -> Result<i64, StoreError> {
        self.store.grants().revision().await
    }

    /// Changes the grants, as a change that has no entry in the history.
    pub(super) async fn swap(&self, identifier: &str, swap: GrantSwap) -> Result<(), StoreError> {
        self.store.grants().swap(identifier, swap).await
    }

    /// The hosts of a connector with their states, sorted by host.
    pub(super) async fn states(&self, connector: &Connector) -> Result<Vec<HostGrant>, StoreError> {
        let name = connector.name().to_string();
        let granted = self.granted(&name).await?;
        let mut hosts: BTreeMap<&str, GrantState> =
            granted.iter().map(|host| (host.as_str(), GrantState::Unnamed)).collect();
        hosts.extend(connector.granted_hosts().into_iter().map(|host| (host, GrantState::Configured)));
        hosts.extend(connector.missing_hosts().into_iter().map(|host| (host, GrantState::Missing)));
        let named = connector.named_hosts();
        for host in granted.iter().filter(|host| named.contains(*host)) {
            hosts.insert(host, GrantState::Granted);
        }
        let row =
            |(host, state): (&str, GrantState)| HostGrant { connector: name.clone(), host: host.to_owned(), state };
        Ok(hosts.into_iter().map(row).collect())
    }
}

/// Checks the form of hosts.
pub(super) fn check_form(hosts: &[String]) -> Result<(), ChangeError> {
    match hosts.iter().find(|host| !is_grant(host)) {
        Some(host) => Err(ChangeError::InvalidHost(host.clone())),
        None => Ok(()),
    }
}

/// Checks that a connector names hosts, so that a grant with a spelling mistake does not seem to
/// work.
pub(super) fn check_named(connector: &Connector, hosts: &[String]) -> Result<(), ChangeError> {
    let named = connector.named_hosts();
    let Some(host) = hosts.iter().find(|host| !named.contains(*host)) else { return Ok(()) };
    let list = named.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Err(ChangeError::UnnamedHost {
        connector: connector.name().to_string(),
        host: host.clone(),
        named: if list.is_empty() { "it names no hosts".to_owned() } else { format!("it names {list}") },
    })
}
