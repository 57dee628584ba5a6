//! The live connectors, and how they change.
//!
//! Each file `{identifier}.wasm` in the folders `shipped_dir` and `modules_dir` is a live connector. The registry compiles, describes and checks a
//! new or changed file first. Then it replaces the previous version in one atomic exchange of the table that calls read. A call
//! holds the version that it began with until it ends. A file that is refused changes nothing: the previous version keeps
//! serving, also after a restart.
//!
//! A module is checked without the lock of [`Files`]. Only its change of the table takes the lock. So a module that takes long to
//! compile holds up no other one.
//!
//! - here: the table; [`derived`]: values that are made from it; [`folders`]: the two folders; [`scan`]: their files; [`mod@load`]: from bytes to a connector; [`change`]: changes of versions by the operator;
//!   [`grants`]: of grants; [`mod@trust`]: whose modules may be live; [`asks`]: updates that ask for more
//! - [`connector`]: one connector; [`places`]: its concurrent calls; [`reach`], [`settings`], [`token_hosts`], [`provider_names`]: parts of its check
//! - [`versions`]: former versions; [`history`]: the same for the operator; [`journal`]: who changed what; [`mod@watch`]: notices changes of the folders

mod asks;
mod change;
mod connector;
mod derived;
mod folders;
mod grants;
mod history;
mod journal;
mod load;
mod places;
mod provider_names;
mod reach;
mod refusal;
mod scan;
mod settings;
mod token_hosts;
mod trust;
mod unused_settings;
mod versions;
mod watch;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use arc_swap::{ArcSwap, Guard};
use serde_json::json;
use tokio::sync::{Mutex, watch as watched};

pub use self::change::{ChangeError, Installation};
pub use self::connector::{Connector, Operation};
pub use self::derived::Derived;
pub use self::folders::present_module;
pub use self::grants::{GrantState, HostGrant, follow_grants};
pub use self::history::StoredVersion;
pub use self::journal::Actor;
pub use self::load::{AuthorSettings, try_schemas};
pub use self::places::{NoPlace, Permit};
pub use self::reach::{GRANT_COMMAND, Service};
pub use self::refusal::{Refusal, Refused};
pub use self::trust::signature_of;
pub use self::watch::watch;

use self::folders::{Folders, identifier_of};
use self::places::Places;
use self::scan::Files;
use self::versions::Versions;
use self::watch::POLL;
use crate::config::{Config, ConfigError, Problem};
use crate::metrics::{Metrics, OutcomeLabels};
use crate::webhooks::{EventKind, Events};
use sandbox::Sandbox;
use store::Store;

/// The live connectors by identifier.
pub type Live = HashMap<String, Arc<Connector>>;

/// The part of the sandbox's slots that one tenant may have while others need them.
const SHARE_OF_SLOTS: f64 = 0.5;

/// Maximum number of refused files that are listed. The oldest ones are left out.
const MAX_REFUSED: usize = 256;

/// The live connectors, and the operations that change them.
pub struct Registry {
    live: ArcSwap<Live>,
    refused: ArcSwap<Vec<Refused>>,
    files: Mutex<Files>,
    /// The names of files that are being loaded.
    loading: watched::Sender<Vec<String>>,
    /// `true` once the files that the folders had at the start are loaded.
    has_started: AtomicBool,
    /// The number of changes of grants. A connector that was made of former grants is made again.
    grants_changed: AtomicU64,
    /// The slots of the sandbox. Tenants share them as they share the places of one connector.
    slots: Arc<Places>,
    folders: Folders,
    versions: Versions,
    config: Arc<Config>,
    sandbox: Sandbox,
    store: Store,
    metrics: Arc<Metrics>,
    events: Events,
}

impl Registry {
    /// A registry without live connectors. [`Registry::load_folders`] loads those of the folders.
    ///
    /// # Errors
    /// If a configured folder of modules is missing, or the folder of versions cannot be created.
    pub fn new(
        config: Arc<Config>,
        sandbox: Sandbox,
        store: Store,
        metrics: Arc<Metrics>,
        events: Events,
    ) -> io::Result<Self> {
        Ok(Self {
            folders: Folders::open(&config)?,
            versions: Versions::open(&config.data_dir)?,
            live: ArcSwap::default(),
            refused: ArcSwap::default(),
            files: Mutex::default(),
            loading: watched::Sender::default(),
            has_started: AtomicBool::new(false),
            grants_changed: AtomicU64::new(0),
            slots: Places::new(config.sandbox.instances as usize, SHARE_OF_SLOTS),
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

    /// Takes a permit for one invocation of a tenant, whatever the connector.
    ///
    /// # Errors
    /// If all slots of the sandbox are taken, or if the tenant has its share of them.
    pub fn admit_invocation(&self, tenant: &str) -> Result<Permit, NoPlace> {
        self.slots.take(tenant)
    }

    /// Files in the folders that were refused.
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

    /// The files that the folders had at the start and that are not loaded yet. `None` once all of them are loaded or refused.
    pub fn missing(&self) -> Option<Vec<String>> {
        (!self.has_started.load(Ordering::Relaxed)).then(|| self.loading.borrow().clone())
    }

    /// Makes a connector live, in place of its previous version.
    fn activate(&self, candidate: Connector, module: &[u8], outcome: &'static str) -> Arc<Connector> {
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
                live.remove(&**misnamed.name());
            }
            live
        });
        if let Some(misnamed) = misnamed {
            let name = misnamed.name();
            let reason = Refusal::Module(provider_names::refusal(name));
            self.refuse(&self.folders.foreign(name), misnamed.digest().to_owned(), reason);
        }
        if let Some(path) = self.folders.file(connector.origin(), &identifier) {
            self.forget_refusal(&path);
        }
        self.count(&identifier, outcome);
        let signature = connector.signed().map(|signed| signed.signature.as_str());
        let stored = self.versions.activated(&identifier, connector.origin(), connector.digest(), module, signature);
        if let Err(error) = stored {
            tracing::warn!(connector = identifier, %error, "this version could not be stored, so a rollback to it is not possible");
        }
        tracing::info!(
            connector = identifier,
            version = connector.manifest().version,
            sha256 = connector.digest(),
            publisher = connector.signed().and_then(|signed| signed.publisher.as_deref()),
            operations = connector.operations().count(),
            missing_grants = connector.missing_hosts().join(" "),
            us = started.elapsed().as_micros() as u64,
            "connector {outcome}"
        );
        if let Some(replaced) = replaced.filter(|replaced| replaced.digest() != connector.digest()) {
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

    /// Removes a connector from the live ones. The last call that uses it drops it.
    fn retire(&self, identifier: &str) {
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
        let identifier = identifier_of(path);
        let serving = self.get(identifier).map(|live| live.digest().to_owned());
        let mut reason = refusal.to_string();
        if refusal.is_passing() {
            reason.push_str(&format!("; the gateway tries it again every {} s", POLL.as_secs()));
            tracing::warn!(file, path = %path.display(), sha256 = digest, reason, serving, "module not checked yet");
            self.count(identifier, "postponed");
        } else {
            tracing::warn!(file, path = %path.display(), sha256 = digest, reason, serving, "module refused");
            self.count(identifier, "refused");
            self.events.tell(
                EventKind::ConnectorRefused,
                json!({"file": file, "sha256": digest, "reason": reason, "serving": serving}),
            );
        }
        let wrong_settings = match refusal {
            Refusal::Settings(problems) => problems,
            Refusal::Module(_) | Refusal::Store(_) | Refusal::Passing(_) => Vec::new(),
        };
        let (path, at) = (path.to_owned(), SystemTime::now());
        let refused = Refused { file, path, digest, reason, wrong_settings, at, serving };
        self.refused.rcu(|known| {
            let mut known: Vec<Refused> = known.iter().filter(|other| other.path != refused.path).cloned().collect();
            known.push(refused.clone());
            known.drain(..known.len().saturating_sub(MAX_REFUSED));
            known
        });
    }

    fn forget_refusal(&self, path: &Path) {
        self.refused.rcu(|known| known.iter().filter(|refused| refused.path != path).cloned().collect::<Vec<_>>());
    }

    fn count(&self, connector: &str, outcome: &str) {
        let labels = OutcomeLabels { connector: connector.to_owned(), outcome: outcome.to_owned() };
        self.metrics.swaps.get_or_create_owned(&labels).inc();
        let live = i64::try_from(self.live().len()).unwrap_or(i64::MAX);
        self.metrics.connectors.set(live);
    }
}
