//! The gateway of the configuration, by its folders and its store.

use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use crate::api;
use crate::api::records::{ChangeRecord, ConnectorsRecord, GrantRecord, InstalledRecord, VersionRecord};
use crate::cli::connectors::ConnectorsError;
use crate::cli::database;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::registry::{Actor, ChangeError, Installation, Registry};
use crate::serve::open_registry;
use crate::webhooks::Events;
use store::vault::Vault;

/// The registry of a gateway that this process does not serve.
pub(in crate::cli) struct Local {
    registry: Arc<Registry>,
    actor: Actor,
    modules: PathBuf,
    data: PathBuf,
}

impl Local {
    pub(super) async fn open(config: Config) -> Result<Self, ConnectorsError> {
        let store = database::open(&config).await?;
        let vault = Vault::open(&config.master_key_path(), &store).await?;
        let config = Arc::new(config);
        let registry = open_registry(&config, store, &vault, &Arc::new(Metrics::default()), Events::default())?;
        // The command works without these names, for example for a user that the machine does not know.
        let unknown = || "unknown".to_owned();
        let actor = Actor::CommandLine {
            user: whoami::username().unwrap_or_else(|_| unknown()),
            host: whoami::hostname().unwrap_or_else(|_| unknown()),
        };
        let full = |folder: &Path| absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Ok(Self { registry, actor, modules: full(&config.modules_dir), data: full(&config.data_dir) })
    }

    /// The modules folder and the data folder.
    pub(super) fn folders(&self) -> (&Path, &Path) {
        (&self.modules, &self.data)
    }

    pub(super) async fn add(&self, module: Vec<u8>, word: Installation<'_>) -> Result<InstalledRecord, ChangeError> {
        let installed = self.registry.install(module.into(), word, &self.actor).await?;
        Ok(InstalledRecord::from(&*installed))
    }

    pub(super) async fn list(&self) -> Result<ConnectorsRecord, ChangeError> {
        self.registry.load_folders().await?;
        Ok(api::connectors_record(&self.registry, true))
    }

    pub(super) async fn remove(&self, id: &str) -> Result<(), ChangeError> {
        self.registry.remove(id, &self.actor).await
    }

    pub(super) async fn rollback(&self, id: &str, to: Option<&str>) -> Result<InstalledRecord, ChangeError> {
        let live = self.registry.rollback(id, to, &self.actor).await?;
        Ok(InstalledRecord::from(&*live))
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
        let changes = self.registry.history(id, limit).await?;
        match id {
            Some(id) if changes.is_empty() => Err(ChangeError::Unknown(id.to_owned())),
            _ => Ok(changes.into_iter().map(ChangeRecord::from).collect()),
        }
    }
}
