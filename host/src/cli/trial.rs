//! A gateway's registry in a folder of its own, for commands that try a module apart from all files of a gateway.

use std::fs;
use std::io;
use std::sync::Arc;

use ring::rand::{SecureRandom, SystemRandom};
use secrecy::SecretBox;
use tempfile::TempDir;

use super::connectors::ConnectorsError;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::registry::Registry;
use crate::serve::ServeError;
use crate::webhooks::Events;
use sandbox::Sandbox;
use store::Store;

/// A registry in a folder, which is removed with it.
pub(super) struct Trial {
    pub(super) registry: Arc<Registry>,
    pub(super) config: Arc<Config>,
    pub(super) store: Store,
    pub(super) metrics: Arc<Metrics>,
    folder: TempDir,
}

impl Trial {
    /// A trial that knows the grants of the gateway's store, if there is one.
    pub(super) async fn beside(config: &Config) -> Result<Self, ConnectorsError> {
        Self::open(config, config.store().is_there()).await
    }

    /// A trial that knows nothing of a gateway but its configuration.
    pub(super) async fn apart(config: &Config) -> Result<Self, ConnectorsError> {
        Self::open(config, false).await
    }

    async fn open(config: &Config, takes_store: bool) -> Result<Self, ConnectorsError> {
        let folder = TempDir::new()?;
        let modules_dir = folder.path().join("modules");
        fs::create_dir(&modules_dir)?;
        let data_dir = folder.path().to_owned();
        let store = if takes_store { Store::connect(&config.store()).await? } else { Store::open(&data_dir).await? };
        let config = Arc::new(Config { data_dir, modules_dir, master_key_file: None, ..config.clone() });
        // Nothing that this key authenticates outlives the trial.
        let mut key = Box::new([0; 32]);
        SystemRandom::new()
            .fill(&mut *key)
            .map_err(|_| io::Error::other("the operating system gives no random numbers"))?;
        let sandbox = Sandbox::start(config.sandbox_setup(), &SecretBox::new(key))
            .map_err(|error| ConnectorsError::Start(error.into()))?;
        let metrics = Arc::new(Metrics::default());
        let registry =
            Registry::new(Arc::clone(&config), sandbox, store.clone(), Arc::clone(&metrics), Events::default())
                .map_err(|error| ConnectorsError::Start(ServeError::Io(error)))?;
        Ok(Self { registry: Arc::new(registry), config, store, metrics, folder })
    }

    /// Size of the native code of all modules that were tried.
    pub(super) fn compiled_bytes(&self) -> io::Result<u64> {
        fs::read_dir(self.folder.path().join("compiled"))?.map(|entry| Ok(entry?.metadata()?.len())).sum()
    }
}
