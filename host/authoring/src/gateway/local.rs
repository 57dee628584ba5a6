//! The gateway of the configuration, by its folders and its store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use connector_gateway::records::{ChangeRecord, ConnectorsRecord, GrantRecord, InstalledRecord, VersionRecord};
use connector_gateway::{
    Actor, ChangeError, Config, Installation, Installed, Registry, Swapped, connectors_record, open_registry,
};

use super::{GatewayError, InService};
use crate::database;
use crate::person::Person;
use sandbox::CompiledModules;
use store::{Store, StoreError};

/// The registry of a gateway that this process does not serve.
pub(super) struct Local {
    registry: Arc<Registry>,
    store: Store,
    actor: Actor,
    modules: PathBuf,
    data: PathBuf,
}

impl Local {
    pub(super) async fn open(config: Config, shared: Option<&CompiledModules>) -> Result<Self, GatewayError> {
        let store = database::open(&config).await?;
        let config = Arc::new(config);
        let registry = open_registry(&config, store.clone(), shared).await?;
        let Person { user, host } = Person::current();
        let actor = Actor::CommandLine { user, host };
        let full = |folder: &Path| absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Ok(Self { registry, store, actor, modules: full(&config.modules_dir), data: full(&config.data_dir) })
    }

    /// The modules folder and the data folder.
    pub(super) fn folders(&self) -> (&Path, &Path) {
        (&self.modules, &self.data)
    }

    pub(super) async fn add(
        &self,
        module: Vec<u8>,
        installation: Installation<'_>,
    ) -> Result<InstalledRecord, ChangeError> {
        let installed = self.registry.install(module.into(), installation, &self.actor).await?;
        let Installed { live, generation, granted } = installed;
        Ok(InstalledRecord { generation, newly_granted: granted, ..InstalledRecord::from(&*live) })
    }

    pub(super) async fn list(&self) -> Result<ConnectorsRecord, ChangeError> {
        self.registry.load_folders().await?;
        Ok(connectors_record(&self.registry, true))
    }

    pub(super) async fn service(&self) -> Result<BTreeMap<String, InService>, StoreError> {
        let mut service = BTreeMap::<String, InService>::new();
        for at in self.store.gateways().connectors().await? {
            service.entry(at.connector).or_default().at(&at.state);
        }
        for name in self.registry.live().keys() {
            service.entry(name.clone()).or_default().generation = self.registry.generation(name);
        }
        Ok(service)
    }

    pub(super) async fn remove(&self, id: &str, replaces: Option<i64>) -> Result<(), ChangeError> {
        self.registry.remove(id, replaces, &self.actor).await.map(drop)
    }

    pub(super) async fn rollback(
        &self,
        id: &str,
        to: Option<&str>,
        replaces: Option<i64>,
    ) -> Result<InstalledRecord, ChangeError> {
        let Swapped { live, generation } = self.registry.rollback(id, to, replaces, &self.actor).await?;
        Ok(InstalledRecord { generation, ..InstalledRecord::from(&*live) })
    }

    pub(super) async fn grant(&self, id: &str, hosts: &[String]) -> Result<Vec<GrantRecord>, ChangeError> {
        let granted = self.registry.grant(id, hosts, &self.actor).await?;
        Ok(self.registry.hosts_of(&granted).await?.iter().map(GrantRecord::from).collect())
    }

    pub(super) async fn revoke(&self, id: &str, hosts: &[String]) -> Result<(), ChangeError> {
        self.registry.revoke(id, hosts, &self.actor).await
    }

    pub(super) async fn grants(&self, id: Option<&str>) -> Result<Vec<GrantRecord>, ChangeError> {
        self.registry.load_folders().await?;
        Ok(self.registry.host_grants(id).await?.iter().map(GrantRecord::from).collect())
    }

    pub(super) async fn versions(&self, id: &str) -> Result<Vec<VersionRecord>, ChangeError> {
        self.registry.load_folders().await?;
        Ok(self.registry.stored_versions(id).await?.iter().map(VersionRecord::from).collect())
    }

    pub(super) async fn history(&self, id: Option<&str>, limit: u32) -> Result<Vec<ChangeRecord>, ChangeError> {
        Ok(self.registry.history(id, limit).await?.into_iter().map(ChangeRecord::from).collect())
    }
}
