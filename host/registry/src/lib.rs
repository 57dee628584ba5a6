//! The live connectors, and how they change.
//!
//! Each file `{identifier}.wasm` in the folders `shipped_dir` and `modules_dir` is a live
//! connector. The registry compiles, describes and checks a new or changed file first. Then it
//! replaces the previous version in one atomic exchange of the table that calls read. A call uses
//! the version that it began with until it ends. A file that is refused changes nothing: the
//! previous version keeps serving, also after a restart.
//!
//! A module has one name for each of its states: a file, a module (its bytes), loaded (linked in
//! the sandbox), described (with its manifest), a candidate (a connector that is not live), live.
//!
//! Changes, each of which prepares a candidate and commits it:
//!
//! - [`commit`]: the one place where live connectors change, and the order of the steps
//! - [`live`]: the table of live connectors, and the list of refused files
//! - [`install`]: the operator installs a module
//! - [`remove`]: the operator removes a connector
//! - [`rollback`]: the operator goes back to an earlier version, or to the shipped connector
//! - [`mod@load_file`]: a file of a folder becomes live
//! - [`follow`]: another gateway or a command has changed the modules of the service
//! - [`renew`]: the grants of a live connector have changed
//! - [`grant`]: the operator grants and revokes hosts
//! - [`change_error`]: why a change was not made
//!
//! From a module to a candidate:
//!
//! - [`mod@load`]: compiles, describes and checks a module
//! - [`mod@answer_schemas`]: the schemas of answers that a module has next to its manifest
//! - [`connector`]: one connector, made of a module that was described
//! - [`operation`]: one operation of a connector
//! - [`reach`]: the upstreams and hosts of a connector
//! - [`account_upstreams`]: the upstreams as an account has them
//! - [`token_hosts`]: the hosts that receive tokens
//! - [`endpoints`]: the addresses that a connector needs, for operators
//! - [`settings`]: the values of the connector's settings
//! - [`provider_names`]: identifiers that foreign connectors must not have
//! - [`mod@trust`]: signatures of publishers
//! - [`permissions`]: updates that request more permissions
//! - [`grant_form`]: the form of hosts in grants
//! - [`refusal`]: why a module is refused
//! - [`concurrency`]: limits of concurrent calls
//!
//! Records:
//!
//! - [`service`]: the modules that all gateways on one database serve, with their generations
//! - [`standings`]: what this gateway made of the modules of the service
//! - [`last_served`]: what a gateway serves that starts while its database is away
//! - [`record`]: the durable part of a live connector
//! - [`origin`]: shipped or foreign
//! - [`folders`]: the two folders of modules, and the operator's marks
//! - [`mod@present_module`]: the file of the module that a gateway serves
//! - [`versions`]: the folder of versions for a rollback
//! - [`version_list`]: lists the versions for the operator
//! - [`grants`]: the grants in the store
//! - [`history`]: the actor and the time of each change
//!
//! Work in the background, and the rest:
//!
//! - [`mod@watch`]: notices changes of the folders
//! - [`scan`]: compares the folders with the live connectors
//! - [`module_file`]: reads the file of a module
//! - [`files`]: the files that the gateway knows or is loading
//! - [`derived`]: values that are computed from the live connectors
//! - [`unused_settings`]: warns of sections of the configuration without a connector
//!
//! # The life of a module
//! 1. **Arrival.** `watch` notices a file in `shipped_dir` or `modules_dir`, and `load_file` loads
//!    it. Or `POST /admin/connectors` or `connectors add` brings a module for `modules_dir`
//!    (`install`). A module in `shipped_dir` is shipped, and the gateway never writes to this
//!    folder. `files::read_regular` opens each file without blocking and refuses what is not a
//!    regular file inside its folder. Such an entry costs only itself. `folders` refuses a foreign
//!    module with the identifier of a shipped connector, unless the operator replaced that
//!    connector with this module. If the configuration has publishers, `trust` refuses a foreign
//!    module without a signature of one of them, before it is compiled. The signature is checked
//!    over the bytes that are loaded. It is kept next to the module, in `modules_dir` and among the
//!    versions.
//! 2. **Compile.** `sandbox::compile` compiles the module in a child process with limits of memory
//!    and CPU time (`sandbox::child`). No lock is held, so other modules can change at the same
//!    time. Loads of the same module take turns (`sandbox::turns`), so it is compiled once. At the
//!    start, the port is open while modules compile; `/readyz` names the missing ones.
//! 3. **Check.** `load` runs the checks. `sandbox::module` refuses imports that the contract does
//!    not offer. `describe` runs, and `contract::check` refuses a manifest that breaks a rule.
//!    `schema::trial` compiles and tries the schemas in a limited process, and `schema::cost`
//!    bounds what they may cost. `connector` computes which hosts are granted and which are
//!    missing, and checks the operator's settings. Only then is the compiled form stored in
//!    `data_dir/compiled` with a message authentication code (`sandbox::cache`), because native
//!    code must come from this gateway. The code's key is derived from the master key
//!    (`store::vault`). Commands of authors have another folder and another key, which belong to
//!    the user alone (`authoring::compile_cache`). The result is a candidate. `permissions`
//!    compares a foreign candidate with the version that the operator has accepted. If it requests
//!    more permissions, it is refused until the operator accepts it.
//! 4. **Commit.** `commit` is the one place where live connectors change. It takes the lock, and
//!    checks that nothing has changed since the candidate was prepared; otherwise the candidate is
//!    prepared again. It then changes the store in one transaction (`store::modules`): the module
//!    with its next generation, the entry in the history, and the grants. Then it writes the
//!    version into `versions`, so that a rollback can use it, and the operator's marks, the
//!    signature and the module. Last, `live` (`activate`) replaces the table of live connectors in
//!    one atomic step (`ArcSwap`). A call in progress holds an `Arc` of its version and ends on it.
//!    A module that is refused changes nothing, with two exceptions. If no version of the connector
//!    is live, its last valid version becomes live. A live connector that is refused after its
//!    grants have changed is no longer live.
//! 5. **Following.** Gateways on one PostgreSQL database are one service. `follow` reads a number
//!    in the database once a second. If it has grown, the gateway fetches each module whose
//!    generation is higher than the one that it serves: from `versions`, from `modules_dir`, or
//!    from the store. It loads the module with all checks and its own `[trust]`, and commits it to
//!    its folders. So folder and store keep the same record, and a restart needs no download. A
//!    refusal is kept in `service`, and the previous version keeps serving. `heartbeat` stores what
//!    the gateway serves (`standings`), with its sign of life.
//! 6. **Grants.** `grant` changes the grants of a connector. `renew` makes a live connector again
//!    when its grants have changed. It checks once a second if a command or another gateway changed
//!    the revision of the grants (`store::grants`). The store keeps the grants of a version that
//!    another one replaces.
//! 7. **End.** The last call of the old version drops it. A rollback (`rollback`) takes its file
//!    from `versions` and restores its grants. `remove` removes a connector and deletes its grants.
//!
//! `history` has the entry of each change, with its actor. A command or a route adds its entry
//! before it makes the change. A gateway that finds a new file adds an entry when it makes the file
//! live. If the history already has the change, no entry is added.

mod account_upstreams;
mod answer_schemas;
mod change_error;
mod commit;
mod concurrency;
mod connector;
mod derived;
mod endpoints;
mod files;
mod folders;
mod follow;
mod grant;
mod grant_form;
mod grants;
mod history;
mod install;
mod last_served;
mod live;
mod load;
mod load_file;
mod module_file;
mod operation;
mod origin;
mod permissions;
mod present_module;
mod provider_names;
mod reach;
mod record;
mod refusal;
mod remove;
mod renew;
mod rollback;
mod scan;
mod service;
mod settings;
#[cfg(feature = "simulation")]
pub mod simulated;
mod standings;
mod token_hosts;
mod trust;
mod unused_settings;
mod version_list;
mod versions;
mod watch;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwap, Guard};
use tokio::sync::{Mutex, Notify, Semaphore};

pub use self::account_upstreams::RefusedPart;
pub use self::change_error::ChangeError;
pub use self::concurrency::{NoPermit, Permit};
pub use self::connector::Connector;
pub use self::derived::Derived;
pub use self::endpoints::Endpoint;
pub use self::follow::follow_modules;
pub use self::grant_form::is_grant;
pub use self::grants::{GrantState, HostGrant};
pub use self::history::Actor;
pub use self::install::{Installation, Installed};
pub use self::last_served::{has_served, keep_last_served};
pub use self::live::Swapped;
pub use self::load::{AuthorSettings, try_schemas};
pub use self::operation::Operation;
pub use self::present_module::present_module;
pub use self::reach::{GRANT_COMMAND, Service, Upstreams, grant_command};
pub use self::refusal::{Refusal, Refused};
pub use self::remove::Removed;
pub use self::renew::follow_grants;
pub use self::trust::{file as signature_file, fits as signature_fits, key_id_of as key_id_of_signature, signature_of};
pub use self::version_list::StoredVersion;
pub use self::watch::watch;

use self::concurrency::ConcurrencyLimit;
use self::files::{KnownFiles, LoadingFiles};
use self::folders::Folders;
use self::grants::Grants;
use self::history::History;
use self::last_served::LastServed;
use self::origin::Origin;
use self::service::Service as SharedService;
use self::versions::Versions;
use config::{Config, ConfigError, Problem};
use metrics::Metrics;
use sandbox::Sandbox;
use store::{Change, Store, StoreError};
use webhooks::Events;

/// The live connectors by identifier.
pub type Live = HashMap<String, Arc<Connector>>;

/// The part of the sandbox's slots that one tenant may have while others need them.
const SHARE_OF_SLOTS: f64 = 0.5;

/// The live connectors, and the operations that change them.
pub struct Registry {
    live: ArcSwap<Live>,
    changes: tokio::sync::watch::Sender<()>,
    refused: ArcSwap<Vec<Refused>>,
    /// Its lock is the lock of all changes of live connectors.
    files: Mutex<KnownFiles>,
    loading: LoadingFiles,
    /// `true` once the files that the folders had at the start are loaded.
    has_started: AtomicBool,
    /// The slots of the sandbox. Tenants share them in the same way as the permits of one
    /// connector.
    slots: Arc<ConcurrencyLimit>,
    folders: Folders,
    versions: Versions,
    grants: Grants,
    history: History,
    /// The modules of all gateways on the same database.
    service: SharedService,
    /// Permits for modules of the service that are loaded at the same time.
    following: Arc<Semaphore>,
    /// Asks for an exchange with the gateways that share the budgets of connectors. `None` if this
    /// one has them alone.
    exchange: Option<Arc<Notify>>,
    config: Arc<Config>,
    sandbox: Sandbox,
    metrics: Arc<Metrics>,
    events: Events,
}

impl Registry {
    /// A registry without live connectors. [`Registry::load_folders`] loads the folders of modules.
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
        let last_served = store.database().is_shared().then(|| LastServed::read(&config.data_dir)).flatten();
        Ok(Self {
            folders: Folders::open(&config)?,
            versions: Versions::open(&config.data_dir)?,
            live: ArcSwap::default(),
            changes: tokio::sync::watch::Sender::default(),
            refused: ArcSwap::default(),
            files: Mutex::default(),
            loading: LoadingFiles::default(),
            has_started: AtomicBool::new(false),
            slots: ConcurrencyLimit::new(config.sandbox.instances as usize, SHARE_OF_SLOTS),
            grants: Grants::new(store.clone(), last_served.clone()),
            history: History::new(store.clone()),
            service: SharedService::new(store, last_served),
            following: Arc::new(Semaphore::new(scan::PARALLEL_LOADS)),
            exchange: None,
            config,
            sandbox,
            metrics,
            events,
        })
    }

    /// Returns the registry with connectors that share their rate limits and pacing with the connectors
    /// of other gateways. `exchange` asks for an exchange with them.
    pub fn sharing_budgets(self, exchange: Arc<Notify>) -> Self {
        Self { exchange: Some(exchange), ..self }
    }

    /// The connectors that are live at this moment.
    pub fn live(&self) -> Guard<Arc<Live>> {
        self.live.load()
    }

    /// Is told after each change of the live connectors.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// The live connector with this identifier. The returned value stays the same version after a
    /// swap.
    pub fn get(&self, identifier: &str) -> Option<Arc<Connector>> {
        self.live.load().get(identifier).cloned()
    }

    /// Takes a permit for one invocation of a tenant, of any connector.
    ///
    /// # Errors
    /// If all slots of the sandbox are taken, or if the tenant has its share of them.
    pub fn admit_invocation(&self, tenant: &str) -> Result<Permit, NoPermit> {
        self.slots.acquire(tenant)
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

    /// The files that the folders had at the start and that are not loaded yet. `None` once all of
    /// them are loaded or refused.
    pub fn missing(&self) -> Option<Vec<String>> {
        (!self.has_started.load(Ordering::Relaxed)).then(|| self.loading.names())
    }

    /// Returns `true` if a connector that is not live may become live before the start is over: its
    /// file is not loaded yet, or the modules of the service are not read yet.
    pub fn may_become_live(&self, identifier: &str) -> bool {
        let file = format!("{identifier}.wasm");
        self.missing().is_some_and(|missing| self.service.is_shared() || missing.contains(&file))
    }

    /// The last changes of one connector, or of all of them. The newest is first. A removed
    /// connector keeps its history.
    ///
    /// # Errors
    /// If the store does not answer, or if the connector has no history.
    pub async fn history(&self, identifier: Option<&str>, limit: u32) -> Result<Vec<Change>, ChangeError> {
        let changes = self.history.list(identifier, limit).await?;
        match identifier {
            Some(identifier) if changes.is_empty() => Err(ChangeError::Unknown(identifier.to_owned())),
            _ => Ok(changes),
        }
    }

    /// The digest of the present version of a connector: the live one, or the last one that was
    /// live. `None` if the connector is not installed.
    async fn present_digest(&self, identifier: &str) -> Result<Option<String>, StoreError> {
        if self.service.is_shared()
            && let Some(live) = self.service.store().modules().live_of(identifier).await?
            && live.digest.is_some()
        {
            return Ok(live.digest);
        }
        Ok(self.digest_in_folders(identifier))
    }

    fn digest_in_folders(&self, identifier: &str) -> Option<String> {
        if let Some(live) = self.get(identifier) {
            return Some(live.digest().to_owned());
        }
        let is_installed = |origin| self.folders.file(origin, identifier).is_some();
        if !is_installed(Origin::Foreign) && !is_installed(Origin::Shipped) {
            return None;
        }
        Some(self.versions.newest_first(identifier).ok()?.into_iter().next()?.digest)
    }
}
