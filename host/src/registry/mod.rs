//! The live connectors, and how they change.
//!
//! Each file `{identifier}.wasm` in the folder `modules_dir` is a live connector. The registry compiles, describes and checks a
//! new or changed file first. Then it replaces the previous version in one atomic exchange of the table that calls read. A call
//! holds the version that it began with until it ends. A file that is refused changes nothing: the previous version keeps
//! serving, also after a restart.

mod change;
mod connector;
mod provider_names;
mod reach;
mod refusal;
mod settings;
mod token_hosts;
mod unused_settings;
mod versions;
mod watch;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::{ArcSwap, Guard};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::Instrument;

pub use self::change::ChangeError;
pub use self::connector::{Connector, Operation};
pub use self::reach::Service;
pub use self::refusal::{Refusal, Refused};
pub use self::watch::watch;

use self::versions::Versions;
use crate::config::{Config, ConfigError, Problem};
use crate::metrics::{CacheLabels, Metrics, OutcomeLabels};
use crate::webhooks::{EventKind, Events};
use sandbox::Sandbox;
use store::Store;
use store::digest::sha256_hex;

/// The live connectors by identifier.
pub type Live = HashMap<String, Arc<Connector>>;

/// The list of shipped modules in `modules_dir`, in lines of `sha256  file name`. Shipped connectors need no grants.
const SHIPPED: &str = "SHIPPED";

/// The state of a file when the registry last looked, to notice that it changed.
#[derive(Clone, PartialEq, Eq)]
struct Seen {
    modified: SystemTime,
    length: u64,
    inode: u64,
}

/// The state that one change at a time may use.
#[derive(Default)]
struct Files {
    /// Files that were loaded or refused, in this state.
    settled: HashMap<PathBuf, Seen>,
    /// Files that changed since the previous scan. They are loaded when they no longer change.
    changing: HashMap<PathBuf, Seen>,
}

/// The live connectors, and the operations that change them.
pub struct Registry {
    live: ArcSwap<Live>,
    refused: ArcSwap<Vec<Refused>>,
    files: Mutex<Files>,
    versions: Versions,
    config: Arc<Config>,
    sandbox: Sandbox,
    store: Store,
    metrics: Arc<Metrics>,
    events: Events,
}

impl Registry {
    /// A registry without live connectors. [`Registry::scan`] loads those of the folder.
    ///
    /// # Errors
    /// If the modules folder is missing, or the folder of versions cannot be created.
    pub fn new(
        config: Arc<Config>,
        sandbox: Sandbox,
        store: Store,
        metrics: Arc<Metrics>,
        events: Events,
    ) -> io::Result<Self> {
        let folder = &config.modules_dir;
        if !folder.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!(
                    "the modules folder `{}` does not exist; make it, or set `modules_dir` (`make build` fills `modules`)",
                    folder.display()
                ),
            ));
        }
        Ok(Self {
            versions: Versions::open(&config.data_dir)?,
            live: ArcSwap::default(),
            refused: ArcSwap::default(),
            files: Mutex::default(),
            config,
            sandbox,
            store,
            metrics,
            events,
        })
    }

    /// The connectors that are live at this moment.
    pub fn live(&self) -> Guard<Arc<Live>> {
        self.live.load()
    }

    /// The live connector with this identifier. The returned value stays the same version after a swap.
    pub fn get(&self, identifier: &str) -> Option<Arc<Connector>> {
        self.live.load().get(identifier).cloned()
    }

    /// Files in the folder that were refused.
    pub fn refused(&self) -> Arc<Vec<Refused>> {
        self.refused.load_full()
    }

    /// Checks that no module was refused because of the operator's settings for it.
    ///
    /// # Errors
    /// `Invalid` with all wrong and unknown settings.
    pub fn check_settings(&self) -> Result<(), ConfigError> {
        let refused = self.refused();
        let mut problems: Vec<Problem> = refused.iter().flat_map(|refused| refused.wrong_settings.clone()).collect();
        problems.sort();
        if problems.is_empty() { Ok(()) } else { Err(ConfigError::Invalid { problems }) }
    }

    /// Compares the folder with the live connectors and loads, swaps or removes those that differ. With `patient`, a file that
    /// changed since the previous scan waits for the next one, because it may be incomplete. Returns `true` if such files are left.
    ///
    /// # Errors
    /// If the folder cannot be read. Then nothing changes.
    pub async fn scan(&self, patient: bool) -> io::Result<bool> {
        let mut files = self.files.lock().await;
        let found = list(&self.config.modules_dir)?;
        for path in files.settled.keys().filter(|path| !found.contains_key(*path)).cloned().collect::<Vec<_>>() {
            files.settled.remove(&path);
            self.retire(&path);
        }
        files.changing.retain(|path, _| found.contains_key(path));
        for (path, seen) in found {
            if files.settled.get(&path) == Some(&seen) {
                continue;
            }
            if patient && files.changing.get(&path) != Some(&seen) {
                files.changing.insert(path, seen);
                continue;
            }
            files.changing.remove(&path);
            files.settled.insert(path.clone(), seen);
            self.take_file(&path).await;
        }
        Ok(!files.changing.is_empty())
    }

    /// Loads a module without making it live.
    ///
    /// # Errors
    /// The reason why the module would be refused.
    pub async fn check(&self, module: &[u8]) -> Result<Connector, Refusal> {
        self.load(module, None, None).await
    }

    /// Loads a file of the folder and makes it live, or refuses it.
    async fn take_file(&self, path: &Path) {
        let Some(identifier) = path.file_stem().and_then(|stem| stem.to_str()) else {
            return;
        };
        let module = match fs::read(path) {
            Ok(module) => module,
            // The file was removed in the meantime. The next scan notices.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.refuse(path, String::new(), format!("it cannot be read: {error}").into()),
        };
        let digest = sha256_hex(&module);
        match self.load(&module, Some(identifier), None).await {
            Ok(candidate) => {
                let outcome = if self.get(identifier).is_some() { "swapped" } else { "added" };
                self.activate(path, candidate, &module, outcome);
            }
            Err(refusal) => {
                if self.get(identifier).is_none() {
                    self.bring_back(path, identifier, &digest).await;
                }
                self.refuse(path, digest, refusal);
            }
        }
    }

    /// Makes the last valid version live after a restart, if the file in the folder is refused.
    async fn bring_back(&self, path: &Path, identifier: &str, refused: &str) {
        let Ok(Some(module)) = self.versions.before(identifier, Some(refused)) else {
            return;
        };
        if let Ok(candidate) = self.load(&module, Some(identifier), None).await {
            self.activate(path, candidate, &module, "brought_back");
        }
    }

    /// Compiles, describes and checks a module. `expected` is the identifier in the name of its file.
    async fn load(
        &self,
        module: &[u8],
        expected: Option<&str>,
        grants: Option<&[String]>,
    ) -> Result<Connector, Refusal> {
        let digest = sha256_hex(module);
        let loaded = self.sandbox.load(module, &digest).await.map_err(|error| error.to_string())?;
        let outcome = if loaded.cached { "hit" } else { "miss" };
        self.metrics.module_cache.get_or_create_owned(&CacheLabels { outcome }).inc();
        let limits = &self.config.connector(expected.unwrap_or_default()).limits;
        let call = sandbox::Call::for_description(
            Instant::now() + Duration::from_secs(limits.timeout_s),
            Duration::from_millis(limits.cpu_ms),
        );
        let describing = self.sandbox.describe(&loaded.module, call, connector::limits(limits));
        let described = describing.instrument(tracing::error_span!("describe", module = digest)).await;
        let manifest = described.map_err(|failure| format!("`describe` failed: {failure}"))?;
        let violations: Vec<String> = contract::check(&manifest).iter().map(ToString::to_string).collect();
        if !violations.is_empty() {
            return Err(Refusal::Module(format!("its manifest breaks rules: {}", violations.join("; "))));
        }
        if let Some(expected) = expected
            && manifest.identifier != expected
        {
            return Err(Refusal::Module(format!(
                "it describes itself as `{0}`, but its file is named `{expected}.wasm`; name the file `{0}.wasm`",
                manifest.identifier
            )));
        }
        let shipped = self.is_shipped(&digest);
        if !shipped {
            provider_names::check(&manifest.identifier, &self.live())?;
        }
        let granted = match grants {
            Some(grants) => grants.to_vec(),
            None => self
                .store
                .grants(&manifest.identifier)
                .await
                .map_err(|error| format!("its grants cannot be read: {error}"))?,
        };
        let predecessor = self.get(&manifest.identifier);
        Connector::build(connector::Candidate {
            manifest,
            module: loaded.module,
            digest,
            shipped,
            granted,
            config: &self.config,
            metrics: &self.metrics,
            predecessor: predecessor.as_deref(),
        })
    }

    /// Makes a connector live, in place of its previous version.
    fn activate(&self, path: &Path, candidate: Connector, module: &[u8], outcome: &'static str) -> Arc<Connector> {
        let connector = Arc::new(candidate);
        let identifier = connector.manifest().identifier.clone();
        let started = Instant::now();
        // A shipped connector may bring the name of a provider that a foreign connector already has as identifier.
        let replaced = self.get(&identifier);
        let misnamed = provider_names::provider_of(&connector)
            .and_then(|provider| self.get(provider))
            .filter(|other| !other.is_shipped());
        self.live.rcu(|live| {
            let mut live = Live::clone(live);
            live.insert(identifier.clone(), Arc::clone(&connector));
            if let Some(misnamed) = &misnamed {
                live.remove(&*misnamed.name());
            }
            live
        });
        if let Some(misnamed) = misnamed {
            let name = misnamed.name();
            let reason = Refusal::Module(provider_names::refusal(&name));
            self.refuse(&self.path(&name), misnamed.digest().to_owned(), reason);
        }
        self.forget_refusal(path);
        self.count(&identifier, outcome);
        if let Err(error) = self.versions.activated(&identifier, connector.digest(), module) {
            tracing::warn!(connector = identifier, %error, "this version could not be stored, so a rollback to it is not possible");
        }
        tracing::info!(
            connector = identifier,
            version = connector.manifest().version,
            sha256 = connector.digest(),
            operations = connector.operations().count(),
            missing_grants = connector.missing_hosts().join(" "),
            us = started.elapsed().as_micros() as u64,
            "connector {outcome}"
        );
        if let Some(replaced) = replaced {
            self.events.tell(
                EventKind::ConnectorSwapped,
                json!({
                    "connector": identifier,
                    "version": connector.manifest().version,
                    "sha256": connector.digest(),
                    "replaced": {"version": replaced.manifest().version, "sha256": replaced.digest()},
                }),
            );
        }
        connector
    }

    /// Removes the connector of a file from the live ones. The last call that uses it drops it.
    fn retire(&self, path: &Path) {
        self.forget_refusal(path);
        let Some(identifier) = path.file_stem().and_then(|stem| stem.to_str()) else {
            return;
        };
        if self.get(identifier).is_none() {
            return;
        }
        self.live.rcu(|live| {
            let mut live = Live::clone(live);
            live.remove(identifier);
            live
        });
        self.count(identifier, "removed");
        tracing::info!(connector = identifier, "connector removed");
    }

    fn refuse(&self, path: &Path, digest: String, refusal: Refusal) {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let identifier = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let serving = self.get(identifier).map(|live| live.digest().to_owned());
        let reason = refusal.to_string();
        tracing::warn!(file, sha256 = digest, reason, serving, "module refused");
        self.count(identifier, "refused");
        self.events.tell(
            EventKind::ConnectorRefused,
            json!({"file": file, "sha256": digest, "reason": reason, "serving": serving}),
        );
        let wrong_settings = match refusal {
            Refusal::Module(_) => Vec::new(),
            Refusal::Settings(problems) => problems,
        };
        let refused = Refused { file, digest, reason, wrong_settings, at: SystemTime::now(), serving };
        self.refused.rcu(|known| {
            let mut known: Vec<Refused> = known.iter().filter(|other| other.file != refused.file).cloned().collect();
            known.push(refused.clone());
            known
        });
    }

    fn forget_refusal(&self, path: &Path) {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        self.refused.rcu(|known| known.iter().filter(|refused| refused.file != file).cloned().collect::<Vec<_>>());
    }

    fn count(&self, connector: &str, outcome: &str) {
        let labels = OutcomeLabels { connector: connector.to_owned(), outcome: outcome.to_owned() };
        self.metrics.swaps.get_or_create_owned(&labels).inc();
        let live = i64::try_from(self.live().len()).unwrap_or(i64::MAX);
        self.metrics.connectors.set(live);
    }

    fn path(&self, identifier: &str) -> PathBuf {
        self.config.modules_dir.join(format!("{identifier}.wasm"))
    }

    fn is_shipped(&self, digest: &str) -> bool {
        // The list is missing in a folder without shipped connectors.
        fs::read_to_string(self.config.modules_dir.join(SHIPPED))
            .is_ok_and(|list| list.lines().any(|line| line.split_whitespace().next() == Some(digest)))
    }
}

/// The modules of a folder. Hidden files are ignored, because programs use such names for incomplete files.
fn list(folder: &Path) -> io::Result<HashMap<PathBuf, Seen>> {
    let mut found = HashMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden || path.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                found.insert(path, seen(&metadata)?);
            }
            Ok(_) => {}
            // The file was removed after the folder was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn seen(metadata: &fs::Metadata) -> io::Result<Seen> {
    Ok(Seen { modified: metadata.modified()?, length: metadata.len(), inode: metadata.ino() })
}
