//! The parts of a gateway that serves, opened in the order in which they need each other.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::ServeError;
use api::server;
use auth::{Authenticator, JwtIssuers, Oidc};
use calls::idempotency::Idempotency;
use calls::{CallLog, Writers};
use config::Config;
use doctor::exposure;
use egress::{Egress, EgressError, Transport};
use gateway::heartbeat;
use gateway::{Draining, Gateway, Hooks, RequestIds};
use integrations::Integrations;
use jobs::Jobs;
use mcp::streams::Streams;
use memory::MemoryBudget;
use metrics::Metrics;
use pipeline::budgets::Budgets;
use registry::Registry;
use sandbox::{CompiledModules, Sandbox};
use store::vault::{Vault, VaultError};
use store::{ShownOnce, Store, StoreError};
use telemetry::Telemetry;
use triggers::Triggers;
use webhooks::{Events, Webhooks};

/// A gateway that can begin to serve.
pub(super) struct Parts {
    pub(super) gateway: Gateway,
    pub(super) vault: Vault,
    /// `false` if the database is away. The gateway catches up once it answers.
    pub(super) is_reached: bool,
    /// The first key, if one was made.
    pub(super) first_key: Option<ShownOnce>,
    /// Writes the records of calls. `None` if no call is recorded.
    pub(super) call_writers: Writers,
}

impl Parts {
    /// Opens everything.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub(super) async fn open(
        config: Arc<Config>,
        metrics: Arc<Metrics>,
        transport: Option<Arc<dyn Transport>>,
        new_database: bool,
        compiled: Option<CompiledModules>,
    ) -> Result<Self, ServeError> {
        let (store, is_reached) = connect(&config).await?;
        // It is not a task of `Lifecycle`, because the lock is held until the last refresh has ended.
        tokio::spawn(store.begin_serving().await?.hold());
        let egress = open_egress(&config)?;
        let egress = match transport {
            Some(transport) => egress.with_transport(transport),
            None => egress,
        };
        let telemetry = Telemetry::start(&config.telemetry, &egress, &metrics)?;
        let vault = open_vault(&config, &store, is_reached, new_database).await?;
        let webhooks =
            Webhooks::new(Arc::clone(&config), store.clone(), egress.clone(), vault.clone(), Arc::clone(&metrics));
        let budgets = Budgets::new(&store);
        let registry =
            start_registry(&config, store.clone(), &vault, compiled.as_ref(), &metrics, webhooks.events(), &budgets)?;
        let (authenticator, first_key) = open_authenticator(&config, &store, &egress, &metrics, is_reached).await?;
        let integrations = Arc::new(Integrations::new(
            Arc::clone(&config),
            store.clone(),
            egress.clone(),
            vault.clone(),
            Arc::clone(&registry),
            Arc::clone(&metrics),
            webhooks.events(),
        ));
        if is_reached {
            integrations.store_journaled_tokens().await?;
        }
        let name: Arc<str> = heartbeat::name_of(&config).into();
        let (calls, call_writers) = CallLog::new(&config.calls, &name, &store, &metrics);
        let parts = triggers::Parts {
            gateway: name,
            config,
            calls,
            store,
            vault: vault.clone(),
            egress,
            registry,
            budgets,
            integrations,
            webhooks,
            metrics,
        };
        Ok(Self { gateway: gateway_of(parts, telemetry, authenticator), vault, is_reached, first_key, call_writers })
    }
}

/// The jobs of a gateway, which use the parts that triggers use too.
fn jobs_of(parts: &triggers::Parts, telemetry: &Telemetry) -> Jobs {
    Jobs::new(jobs::Parts {
        gateway: Arc::clone(&parts.gateway),
        calls: parts.calls.clone(),
        config: parts.config.jobs.clone(),
        store: parts.store.clone(),
        vault: parts.vault.clone(),
        egress: parts.egress.clone(),
        registry: Arc::clone(&parts.registry),
        budgets: parts.budgets.clone(),
        integrations: Arc::clone(&parts.integrations),
        webhooks: parts.webhooks.clone(),
        metrics: Arc::clone(&parts.metrics),
        telemetry: telemetry.clone(),
    })
}

fn gateway_of(parts: triggers::Parts, telemetry: Telemetry, authenticator: Arc<Authenticator>) -> Gateway {
    let (jobs, triggers) = (Arc::new(jobs_of(&parts, &telemetry)), Arc::new(Triggers::new(parts.clone())));
    let triggers::Parts {
        gateway: name,
        config,
        calls,
        store,
        vault,
        egress,
        registry,
        budgets,
        integrations,
        webhooks,
        metrics,
    } = parts;
    Gateway {
        name,
        authenticator,
        oidc: config.console_oidc.clone().map(|settings| Arc::new(Oidc::new(settings, egress.clone()))),
        registry,
        budgets,
        integrations,
        jobs,
        triggers,
        idempotency: Arc::new(Idempotency::new(store.clone(), vault)),
        webhooks,
        hooks: Arc::new(Hooks::new(server::connection_limit(&config), &egress, Handle::current())),
        metrics,
        samples: Arc::default(),
        telemetry,
        calls,
        description: Arc::default(),
        typed_description: Arc::default(),
        catalogues: Arc::default(),
        // Streams wait for most of their time. They leave connections to calls.
        streams: Arc::new(Streams::new(config.mcp.max_streams.min(server::connection_limit(&config) / 2))),
        descriptions: Arc::default(),
        typed_descriptions: Arc::default(),
        egress,
        store,
        requests: Arc::new(RequestIds::of_process()),
        draining: Arc::new(Draining::default()),
        background: Handle::current(),
        config,
    }
}

/// Opens a registry with a sandbox. It shares compiled modules with `shared`, if that is given.
///
/// # Errors
/// If the sandbox does not start, or a folder of modules is missing.
pub fn start_registry(
    config: &Arc<Config>,
    store: Store,
    vault: &Vault,
    shared: Option<&CompiledModules>,
    metrics: &Arc<Metrics>,
    events: Events,
    budgets: &Budgets,
) -> Result<Arc<Registry>, ServeError> {
    let sandbox = Sandbox::start(config.sandbox_setup(), &vault.derive("compiled modules")?)?;
    let sandbox = match shared {
        Some(shared) => sandbox.sharing(shared)?,
        None => sandbox,
    };
    let registry = Registry::new(Arc::clone(config), sandbox, store, Arc::clone(metrics), events)?;
    Ok(Arc::new(match budgets.exchange() {
        Some(exchange) => registry.sharing_budgets(exchange),
        None => registry,
    }))
}

/// Opens the HTTP client, with the memory that the configuration gives to calls.
///
/// # Errors
/// If the client cannot be made.
pub fn open_egress(config: &Config) -> Result<Egress, EgressError> {
    Egress::new(&egress::Settings { memory: MemoryBudget::new(config.memory_bytes), ..egress::Settings::default() })
}

/// Connects to the database. A gateway that has served before also starts while a PostgreSQL
/// database is away. `false` says so.
async fn connect(config: &Config) -> Result<(Store, bool), StoreError> {
    let settings = config.store();
    match (Store::connect(&settings).await, &settings.database_url) {
        (Err(error), Some(url)) if error.is_unreachable() && registry::has_served(&config.data_dir) => {
            tracing::warn!(
                %error,
                "the gateway starts without its database: it serves the modules that it served last, to callers with a JWT \
                 or the key in GATEWAY_BOOTSTRAP_KEY, and no accounts"
            );
            Ok((Store::connect_later(url)?.with_quota(config.max_stored_bytes), false))
        }
        (connected, _) => Ok((connected?.with_quota(config.max_stored_bytes), true)),
    }
}

/// Opens the vault. `is_new` is `true` if an empty database next to a master key is no mistake.
async fn open_vault(config: &Config, store: &Store, is_reached: bool, is_new: bool) -> Result<Vault, ServeError> {
    let master_key = config.master_key_path();
    let vault = match (is_reached, is_new) {
        (false, _) => Vault::open_later(&master_key, store),
        (true, true) => Vault::open_new(&master_key, store).await,
        (true, false) => Vault::open(&master_key, store).await,
    };
    if matches!(vault, Err(VaultError::NoDatabase { .. })) {
        // The operator will put the lost file back. A log with content of the empty database must
        // not be next to it then.
        store.database().checkpoint_at_end().await?;
    }
    Ok(vault?)
}

/// Opens the check of callers, and makes the first key if there is none. Warns of what is dangerous
/// about the gateway.
async fn open_authenticator(
    config: &Config,
    store: &Store,
    egress: &Egress,
    metrics: &Arc<Metrics>,
    is_reached: bool,
) -> Result<(Arc<Authenticator>, Option<ShownOnce>), ServeError> {
    let chosen_key = config.bootstrap_key.as_ref();
    chosen_key.map_or(Ok(()), auth::check_first_key)?;
    let first_key = if is_reached { auth::bootstrap(store, chosen_key).await? } else { None };
    exposure::warn(config, is_reached.then_some(store)).await?;
    let issuers = JwtIssuers::new(&config.jwt_issuers, egress)?;
    let authenticator = match is_reached {
        true => Authenticator::new(store.clone(), Arc::clone(metrics), config.keys_max_age).await?,
        false => Authenticator::without_database(store.clone(), Arc::clone(metrics), config.keys_max_age, chosen_key),
    };
    Ok((Arc::new(authenticator.trusting(issuers)), first_key))
}
