//! A registry in a temporary folder, for commands that try a module without the files of a gateway.

use std::fs;
use std::io;
use std::sync::Arc;

use connector_gateway::{Config, Registry, ServeError, open_scratch_registry};
use tempfile::TempDir;
use thiserror::Error;

use crate::compile_cache;
use crate::output::remark;
use store::{Store, StoreError};

/// A module of this size takes several seconds to compile.
const LARGE: usize = 1 << 20;

/// A registry in a temporary folder. The folder is removed with it. Compiled modules are in the
/// folder of the user, see [`compile_cache`].
pub(crate) struct ScratchRegistry {
    pub(crate) registry: Arc<Registry>,
    pub(crate) config: Arc<Config>,
    pub(crate) store: Store,
    _folder: TempDir,
}

/// Why there is no registry to try a module in.
#[derive(Debug, Error)]
pub enum ScratchError {
    /// The store does not open.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The sandbox does not start.
    #[error(transparent)]
    Start(#[from] ServeError),
    /// The temporary folder cannot be used.
    #[error(transparent)]
    Folder(#[from] io::Error),
}

impl ScratchRegistry {
    /// A registry that knows the grants of the gateway's store, if there is one.
    ///
    /// # Errors
    /// See [`ScratchError`].
    pub(crate) async fn with_grants(config: &Config) -> Result<Self, ScratchError> {
        Self::open(config, config.store().is_there()).await
    }

    /// A registry that knows only the configuration of a gateway.
    ///
    /// # Errors
    /// See [`ScratchError`].
    pub(crate) async fn without_grants(config: &Config) -> Result<Self, ScratchError> {
        Self::open(config, false).await
    }

    async fn open(config: &Config, takes_store: bool) -> Result<Self, ScratchError> {
        let folder = TempDir::new()?;
        let modules_dir = folder.path().join("modules");
        fs::create_dir(&modules_dir)?;
        let data_dir = folder.path().to_owned();
        let store = if takes_store { Store::connect(&config.store()).await? } else { Store::open(&data_dir).await? };
        let config = Arc::new(Config { data_dir, modules_dir, master_key_file: None, ..config.clone() });
        let registry = open_scratch_registry(&config, store.clone(), compile_cache::open().as_ref())?;
        Ok(Self { registry, config, store, _folder: folder })
    }

    /// Says that a module is going to be compiled, if that takes long.
    pub(crate) fn announce(&self, module: &[u8]) {
        if module.len() >= LARGE && !self.registry.has_compiled(module) {
            let mb = module.len().div_ceil(1 << 20);
            remark(format_args!("Compiling the module of {mb} MiB. The next command uses the compiled module …"));
        }
    }
}
