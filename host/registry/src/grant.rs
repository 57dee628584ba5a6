//! Grants and revocations by the operator, and the list of grants.

use std::path::PathBuf;
use std::sync::Arc;

use super::grants::{self, HostGrant};
use super::history::{self, Action, Actor};
use super::load::{GrantSource, ModuleSource};
use super::origin::Origin;
use super::trust::signature_of;
use super::{ChangeError, Connector, Registry, renew};
use store::{GrantChange, GrantStep, GrantSwap, NewChange, StoreError};

impl Registry {
    /// Grants hosts to a connector, in addition to those that are granted already. A running
    /// gateway notices it within two seconds.
    ///
    /// # Errors
    /// If the connector is not installed, if it is shipped, or if it does not name a host. Nothing
    /// has changed then, except with `AfterChange`.
    pub async fn grant(&self, identifier: &str, hosts: &[String], by: &Actor) -> Result<Connector, ChangeError> {
        grants::check_form(hosts)?;
        let path = foreign_module(self, identifier).await?;
        let (module, signature) = (self.read_module(&path)?, signature_of(&path)?);
        let source = ModuleSource::Foreign(signature.as_deref());
        let granted = self.load(&module, Some(identifier), GrantSource::StoredAnd(hosts), source).await?;
        grants::check_named(&granted, hosts)?;
        let entry = history::entry(&granted, Action::Granted, by, hosts.join(", "));
        self.change_grants(identifier, entry, GrantChange::Add(hosts)).await?;
        Ok(granted)
    }

    /// Revokes grants of a connector. A running gateway notices it within two seconds.
    ///
    /// # Errors
    /// If one of the hosts is not granted. Nothing has changed then, except with `AfterChange`.
    pub async fn revoke(&self, identifier: &str, hosts: &[String], by: &Actor) -> Result<(), ChangeError> {
        let granted = self.grants.granted(identifier).await?;
        if let Some(host) = hosts.iter().find(|host| !granted.contains(host)) {
            return Err(ChangeError::NotGranted { connector: identifier.to_owned(), host: host.clone() });
        }
        let live = self.get(identifier);
        let entry = self.history.revocation(identifier, live.as_deref(), by, hosts.join(", ")).await?;
        self.change_grants(identifier, entry, GrantChange::Remove(hosts)).await
    }

    /// Changes the grants of a connector with the entry in the history, and makes the live connectors
    /// of this process again whose grants have changed.
    async fn change_grants(
        &self,
        identifier: &str,
        entry: NewChange,
        change: GrantChange<'_>,
    ) -> Result<(), ChangeError> {
        self.grants.count_change(identifier);
        self.history.add(entry, GrantStep::Swap(GrantSwap::of_present(change))).await?;
        renew::all(self).await.map(drop).map_err(|error| ChangeError::Store(error).after_change())
    }

    /// The hosts of a live connector, or of all live connectors that need grants.
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
            rows.extend(self.grants.states(connector).await?);
        }
        Ok(rows)
    }

    /// The hosts of a connector, which need not be live.
    ///
    /// # Errors
    /// If the store does not answer.
    pub async fn hosts_of(&self, connector: &Connector) -> Result<Vec<HostGrant>, StoreError> {
        self.grants.states(connector).await
    }
}

/// The file with the module of a foreign connector: the stored file of its present version, else
/// the file in `modules_dir`.
async fn foreign_module(registry: &Registry, identifier: &str) -> Result<PathBuf, ChangeError> {
    let unknown = || ChangeError::Unknown(identifier.to_owned());
    if contract_rules::name::identifier(identifier).is_err() {
        return Err(unknown());
    }
    registry.mirror_versions(identifier).await?;
    let present = registry.present_digest(identifier).await?.unwrap_or_default();
    let stored = registry.versions.file(identifier, Origin::Foreign, &present);
    if registry.service.is_shared() && stored.is_file() {
        return Ok(stored);
    }
    let Some(file) = registry.folders.file(Origin::Foreign, identifier) else {
        return Err(match registry.folders.shipped(identifier) {
            Some(_) => ChangeError::NeedsNoGrants(identifier.to_owned()),
            None => unknown(),
        });
    };
    Ok(if stored.is_file() { stored } else { file })
}
