//! Changes of grants by the operator.
//!
//! The grants of a connector are those of its present version. If another version takes its place, they are kept for a rollback. A
//! running gateway looks once a second whether grants were changed by a command or by another gateway.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::change::refused;
use super::folders::Origin;
use super::journal::{Action, Actor};
use super::load::{Arrival, Grants};
use super::trust::signature_of;
use super::{ChangeError, Connector, Registry, connector};
use store::{GrantChange, StoreError};

/// Time between two looks for changed grants.
const POLL: Duration = Duration::from_secs(1);

/// A host of a connector, and if the connector may reach it.
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
    /// The connector needs it, and nobody granted it.
    Missing,
    /// The operator granted it, and the connector does not name it.
    Unnamed,
}

impl Registry {
    /// Grants hosts to a connector, besides those that are granted already. A running gateway notices it within two seconds.
    ///
    /// # Errors
    /// If the connector is not installed or is a shipped one, or if it does not name a host. Nothing has changed then.
    pub async fn grant(&self, identifier: &str, hosts: &[String], by: &Actor) -> Result<Connector, ChangeError> {
        check_hosts(hosts)?;
        let path = self.foreign_module(identifier)?;
        let (module, signature) = (fs::read(&path)?, signature_of(&path)?);
        let arrival = Arrival::Foreign(signature.as_deref());
        let granted = self.load(&module, Some(identifier), Grants::Added(hosts), arrival).await.map_err(refused)?;
        check_named(&granted, hosts)?;
        self.note(&granted, Action::Granted, by, hosts.join(", ")).await?;
        self.grants_changed.fetch_add(1, Ordering::Release);
        self.store.change_grants(identifier, GrantChange::Add(hosts)).await?;
        self.renew().await?;
        Ok(granted)
    }

    /// Takes grants from a connector. A running gateway notices it within two seconds.
    ///
    /// # Errors
    /// If one of the hosts is not granted. Nothing has changed then.
    pub async fn revoke(&self, identifier: &str, hosts: &[String], by: &Actor) -> Result<(), ChangeError> {
        let granted = self.store.grants(identifier).await?;
        if let Some(host) = hosts.iter().find(|host| !granted.contains(host)) {
            return Err(ChangeError::NotGranted { connector: identifier.to_owned(), host: host.clone() });
        }
        self.note_revocation(identifier, by, hosts.join(", ")).await?;
        self.grants_changed.fetch_add(1, Ordering::Release);
        self.store.change_grants(identifier, GrantChange::Remove(hosts)).await?;
        self.renew().await?;
        Ok(())
    }

    /// The hosts of a live connector, or of all those that need grants.
    ///
    /// # Errors
    /// If the connector is not live, or if the store does not answer.
    pub async fn host_grants(&self, identifier: Option<&str>) -> Result<Vec<HostGrant>, ChangeError> {
        let live = Arc::clone(&self.live());
        if let Some(identifier) = identifier.filter(|identifier| !live.contains_key(*identifier)) {
            return Err(ChangeError::Unknown(identifier.to_owned()));
        }
        let mut connectors: Vec<&Arc<Connector>> =
            live.values().filter(|live| identifier.map_or(!live.is_shipped(), |id| **live.name() == *id)).collect();
        connectors.sort_by_key(|connector| connector.name());
        let mut rows = Vec::new();
        for connector in connectors {
            rows.extend(self.hosts_of(connector).await?);
        }
        Ok(rows)
    }

    /// The hosts of a connector, which need not be live.
    ///
    /// # Errors
    /// If the store does not answer.
    pub async fn hosts_of(&self, connector: &Connector) -> Result<Vec<HostGrant>, StoreError> {
        let name = connector.name().to_string();
        let granted = self.store.grants(&name).await?;
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

    /// Forgets the grants of a connector that was removed.
    pub(super) async fn forget_grants(&self, identifier: &str) -> Result<(), StoreError> {
        self.grants_changed.fetch_add(1, Ordering::Release);
        self.store.forget_grants(identifier).await
    }

    /// Keeps the grants of the version that a changed file replaces. Its successor has the same ones.
    pub(super) async fn keep_grants(&self, candidate: &Connector) {
        let name = candidate.name();
        let Some(replaced) = self.get(name).filter(|live| live.digest() != candidate.digest()) else { return };
        let unchanged = GrantChange::Add(&[]);
        if let Err(error) = self.store.swap_grants(name, Some(replaced.digest()), candidate.digest(), unchanged).await {
            tracing::warn!(connector = %name, %error, "the grants of the former version could not be kept for a rollback");
        }
    }

    /// The digest of the version that a connector has now: the live one, or the last one that was. `None` if it is not installed.
    pub(super) fn present(&self, identifier: &str) -> Option<String> {
        if let Some(live) = self.get(identifier) {
            return Some(live.digest().to_owned());
        }
        let is_installed = |origin| self.folders.file(origin, identifier).is_some();
        if !is_installed(Origin::Foreign) && !is_installed(Origin::Shipped) {
            return None;
        }
        Some(self.versions.newest_first(identifier).ok()?.into_iter().next()?.digest)
    }

    /// The file with the module of a foreign connector: that of its present version, else the one in the folder.
    fn foreign_module(&self, identifier: &str) -> Result<PathBuf, ChangeError> {
        let unknown = || ChangeError::Unknown(identifier.to_owned());
        if contract_rules::name::identifier(identifier).is_err() {
            return Err(unknown());
        }
        let Some(file) = self.folders.file(Origin::Foreign, identifier) else {
            return Err(match self.folders.shipped(identifier) {
                Some(_) => ChangeError::NeedsNoGrants(identifier.to_owned()),
                None => unknown(),
            });
        };
        let present = self.present(identifier).unwrap_or_default();
        let stored = self.versions.file(identifier, Origin::Foreign, &present);
        Ok(if stored.is_file() { stored } else { file })
    }

    /// Loads the refused files again: a grant may have been what they lacked.
    async fn retry_refused(self: &Arc<Self>) {
        let mut files = self.files.lock().await;
        for refused in self.refused().iter() {
            // As a file that has not changed since the previous scan, so that the next one loads it.
            if let Some(seen) = files.settled.remove(&refused.path) {
                files.changing.insert(refused.path.clone(), seen);
            }
        }
        drop(files);
        if let Err(error) = self.scan(true).await {
            tracing::debug!(%error, "the folders of modules cannot be read; they are read again");
        }
    }

    /// Makes those live connectors again whose grants have changed. Returns `false` if one of them has to wait for its changed file.
    async fn renew(&self) -> Result<bool, StoreError> {
        let live = self.live();
        let mut is_done = true;
        for former in live.values().filter(|live| !live.is_shipped()) {
            let identifier = former.name();
            if self.store.grants(identifier).await? == former.operator_grants() {
                continue;
            }
            let path = self.folders.foreign(identifier);
            let in_folder = self.digest_of(&path).await.unwrap_or_default();
            let is_refused = self.refused().iter().any(|refused| refused.path == path && refused.digest == in_folder);
            if in_folder != former.digest() && !is_refused {
                is_done = false;
                continue;
            }
            is_done &= self.renew_one(former).await;
        }
        Ok(is_done)
    }

    /// Returns `false` if it cannot be made now.
    async fn renew_one(&self, former: &Arc<Connector>) -> bool {
        let identifier = former.name();
        let path = self.versions.file(identifier, Origin::Foreign, former.digest());
        let (Ok(module), Ok(signature)) = (fs::read(&path), signature_of(&path)) else {
            return true;
        };
        let arrival = Arrival::Foreign(signature.as_deref());
        loop {
            let version = self.grants_version();
            let candidate = self.load(&module, Some(identifier), Grants::Stored, arrival).await;
            let _files = self.files.lock().await;
            if !self.get(identifier).is_some_and(|live| Arc::ptr_eq(&live, former)) {
                return true;
            }
            if self.grants_version() != version {
                continue;
            }
            match candidate {
                Ok(candidate) => {
                    self.activate(candidate, &module, "regranted");
                }
                Err(refusal) if refusal.is_passing() => return false,
                // A grant that was revoked must not be used any longer.
                Err(refusal) => {
                    self.retire(identifier);
                    self.refuse(&self.folders.foreign(identifier), former.digest().to_owned(), refusal);
                }
            }
            return true;
        }
    }
}

/// Follows changes of grants, until the future is dropped. `seen` is their revision before the first connector was loaded.
pub async fn follow_grants(registry: Arc<Registry>, seen: i64) {
    let (mut renewed, mut retried) = (seen, seen);
    loop {
        tokio::time::sleep(POLL).await;
        let follow = async {
            let revision = registry.store.grants_revision().await?;
            if renewed == revision {
                return Ok(());
            }
            // A load that has read the former grants reads them again.
            registry.grants_changed.fetch_add(1, Ordering::Release);
            if registry.renew().await? {
                renewed = revision;
            }
            if retried != revision {
                registry.retry_refused().await;
                retried = revision;
            }
            Ok::<_, StoreError>(())
        };
        // `/readyz` says that the database does not answer.
        if let Err(error) = follow.await {
            tracing::debug!(%error, "the grants cannot be read; they are read again");
        }
    }
}

/// Checks the form of hosts.
pub(super) fn check_hosts(hosts: &[String]) -> Result<(), ChangeError> {
    match hosts.iter().find(|host| !connector::is_grant(host)) {
        Some(host) => Err(ChangeError::InvalidHost(host.clone())),
        None => Ok(()),
    }
}

/// Checks that a connector names hosts, so that a grant with a spelling mistake does not seem to work.
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
