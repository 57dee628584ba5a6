//! `connector-gateway serve`: opens everything that a gateway needs and runs it until a signal
//! stops it.
//!
//! - here: the start and the stop
//! - `upkeep`: what a gateway does for its store and its rate limits until it stops

mod upkeep;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use secrecy::SecretString;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::upkeep::{catch_up, checkpoint, share_budgets, sweep_storage};
use crate::signals;
use api::server::{self, Cores, Listeners};
use auth::{self, Authenticator, BootstrapError, JwtIssuers, Oidc};
use calls::CallLog;
use calls::idempotency::Idempotency;
use config::{Config, ConfigError};
use doctor::exposure;
use egress::{Egress, EgressError, Transport};
use gateway::backlog;
use gateway::heartbeat;
use gateway::{Draining, Gateway, RequestIds, ask_about_devices};
use integrations::{IntegrationError, Integrations};
use jobs::{self, Jobs};
use mcp::streams::Streams;
use memory::MemoryBudget;
use metrics::Metrics;
use metrics::samples;
use pipeline::budgets::{Budgets, Ledger};
use registry::{self, Registry};
use sandbox::{CompiledModules, Sandbox, StartError};
use store::vault::{Vault, VaultError};
use store::{Store, StoreError};
use telemetry::Telemetry;
use tls::{Certificates, TlsError};
use webhooks::{Events, Webhooks};

/// Longest time for storing the last records of calls when the gateway stops.
const LAST_RECORDS: Duration = Duration::from_secs(2);

/// Longest time for leaving the rate limits to the other gateways when the gateway stops.
const LAST_EXCHANGE: Duration = Duration::from_secs(5);

/// Why the gateway did not start, in one line for the operator.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The address, a folder of modules, or a signal handler.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The certificate of a listener.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The data directory or the database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The master key.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The WebAssembly engine.
    #[error(transparent)]
    Sandbox(#[from] StartError),
    /// The HTTP client.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The settings of connectors.
    #[error(transparent)]
    Settings(#[from] ConfigError),
    /// The accounts.
    #[error(transparent)]
    Integrations(#[from] IntegrationError),
    /// The first key.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
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

/// The parts of a gateway that a command can add.
pub struct Extras {
    /// Takes every request to upstreams and providers in place of the network.
    pub transport: Option<Arc<dyn Transport>>,
    /// `true` if an empty database next to a master key is new, and not a lost one.
    pub new_database: bool,
    /// Compiled modules of the user of this process, which the gateway takes. `None` unless the user
    /// runs this gateway to develop a connector.
    pub compiled: Option<CompiledModules>,
    /// Runs once the gateway serves, with the first key if one was made.
    pub ready: Ready,
}

/// See [`Extras::ready`].
pub type Ready = Box<dyn FnOnce(&Config, &Registry, Option<&SecretString>) + Send>;

/// Serves until SIGTERM, SIGINT or SIGHUP, then waits for running requests to end.
///
/// # Errors
/// See [`ServeError`]. While the gateway serves, no error ends it.
pub async fn serve(mut config: Config, extras: Extras) -> Result<(), ServeError> {
    let Extras { transport, new_database, compiled, ready } = extras;
    let started = Instant::now();
    // Without a handler, a write over the limit of file sizes that the operator has set
    // (`ulimit -f`) ends the process. With a handler, the write fails.
    let _over_file_size = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()))?;
    // This comes first, because a port that is in use is the most frequent mistake.
    let listeners = Listeners::bind(&config)?;
    config.listening_on(listeners.callers_address()?);
    config.admin_listen = listeners.admin_address()?;
    let config = Arc::new(config);
    let metrics = Arc::new(Metrics::default());
    let certificates = Certificates::open(&config, &metrics)?;
    let listeners = listeners.presenting(&certificates);
    let (store, is_reached) = connect(&config).await?;
    // It is not among the tasks below, because the lock is held until the last refresh has ended.
    tokio::spawn(store.begin_serving().await?.hold());
    let egress = Egress::new(&egress::Settings {
        memory: MemoryBudget::new(config.memory_bytes),
        ..egress::Settings::default()
    })?;
    let egress = match transport {
        Some(transport) => egress.with_transport(transport),
        None => egress,
    };
    let telemetry = Telemetry::start(&config.telemetry, &egress, &metrics)?;
    let master_key = config.master_key_path();
    let vault = match (is_reached, new_database) {
        (false, _) => Vault::open_later(&master_key, &store),
        (true, true) => Vault::open_new(&master_key, &store).await,
        (true, false) => Vault::open(&master_key, &store).await,
    };
    if matches!(vault, Err(VaultError::NoDatabase { .. })) {
        // The operator will put the lost file back. A log with content of the empty database must
        // not be next to it then.
        store.checkpoint_at_end().await?;
    }
    let vault = vault?;
    let webhooks =
        Webhooks::new(Arc::clone(&config), store.clone(), egress.clone(), vault.clone(), Arc::clone(&metrics));
    let budgets = Budgets::new(&store);
    let registry =
        start_registry(&config, store.clone(), &vault, compiled.as_ref(), &metrics, webhooks.events(), &budgets)?;
    let chosen_key = config.bootstrap_key.as_ref();
    chosen_key.map_or(Ok(()), auth::check_first_key)?;
    let first_key = if is_reached { auth::bootstrap(&store, chosen_key).await? } else { None };
    exposure::warn(&config, is_reached.then_some(&store)).await?;
    let issuers = JwtIssuers::new(&config.jwt_issuers, &egress)?;
    let authenticator = match is_reached {
        true => Authenticator::new(store.clone(), Arc::clone(&metrics), config.keys_max_age).await?,
        false => Authenticator::without_database(store.clone(), Arc::clone(&metrics), config.keys_max_age, chosen_key),
    };
    let authenticator = Arc::new(authenticator.trusting(issuers));
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
    let (calls, call_writer) = CallLog::new(&config.calls, &name, &store, &metrics);
    let call_writer = call_writer.map(|writer| tokio::spawn(writer.run()));
    let jobs = Arc::new(Jobs::new(jobs::Parts {
        gateway: Arc::clone(&name),
        calls: calls.clone(),
        config: config.jobs.clone(),
        store: store.clone(),
        vault: vault.clone(),
        egress: egress.clone(),
        registry: Arc::clone(&registry),
        budgets: budgets.clone(),
        integrations: Arc::clone(&integrations),
        webhooks: webhooks.clone(),
        metrics: Arc::clone(&metrics),
        telemetry: telemetry.clone(),
    }));
    let idempotency = Arc::new(Idempotency::new(store.clone(), vault.clone()));
    let gateway = Gateway {
        name,
        config: Arc::clone(&config),
        authenticator: Arc::clone(&authenticator),
        oidc: config.console_oidc.clone().map(|settings| Arc::new(Oidc::new(settings, egress.clone()))),
        registry: Arc::clone(&registry),
        budgets: budgets.clone(),
        integrations: Arc::clone(&integrations),
        jobs: Arc::clone(&jobs),
        idempotency: Arc::clone(&idempotency),
        webhooks: webhooks.clone(),
        metrics,
        samples: Arc::default(),
        telemetry: telemetry.clone(),
        calls: calls.clone(),
        description: Arc::default(),
        catalogues: Arc::default(),
        // Streams wait for most of their time. They leave connections to calls.
        streams: Arc::new(Streams::new(config.mcp.max_streams.min(server::connection_limit(&config) / 2))),
        descriptions: Arc::default(),
        egress,
        store: store.clone(),
        requests: Arc::new(RequestIds::new()),
        draining: Arc::new(Draining::default()),
        background: Handle::current(),
    };
    tracing::info!(listen = %config.listen, admin_listen = config.admin_listen.map(display), "loading the modules");
    // This runs before the first call, whose answer says if its connector is missing or not
    // loaded yet.
    registry.begin_loading().await?;
    // The cores run until the last task that a call began has ended.
    let cores = Cores::start(&gateway).await?;
    let gateway_id = Store::new_gateway_id()?;
    let heartbeat = tokio::spawn(heartbeat::beat(gateway.clone(), gateway_id.clone()));
    let stop_sharing = CancellationToken::new();
    let backlog = tokio::spawn(backlog::measure(gateway.clone()));
    let sharing = tokio::spawn({
        let ledger = Ledger::new(store.clone(), gateway_id.clone());
        share_budgets(budgets, ledger, Arc::clone(&registry), stop_sharing.clone())
    });
    let grants_revision = if is_reached { Some(store.grants_revision().await?) } else { None };
    let mut signals = signals::Stop::new()?;
    let mut background = vec![
        tokio::spawn(certificates.follow()),
        tokio::spawn(registry::watch(Arc::clone(&registry))),
        tokio::spawn(registry::follow_modules(Arc::clone(&registry))),
        tokio::spawn(registry::follow_grants(Arc::clone(&registry), grants_revision)),
        tokio::spawn(registry::keep_last_served(Arc::clone(&registry))),
        tokio::spawn(samples::take(
            Arc::clone(&gateway.samples),
            Arc::clone(&gateway.metrics),
            gateway.egress.memory().clone(),
        )),
        tokio::spawn({
            let authenticator = Arc::clone(&authenticator);
            async move { authenticator.watch().await }
        }),
    ];
    if !is_reached {
        let (store, vault, integrations) = (store.clone(), vault.clone(), Arc::clone(&integrations));
        background.push(tokio::spawn(catch_up(Arc::clone(&config), store, vault, integrations)));
    }
    let mut failure = None;
    let mut drained_at = tokio::time::Instant::now();
    let stop = async {
        let stop_signal = signals.wait();
        tokio::pin!(stop_signal);
        // The port is open while modules compile. `/readyz` says which of them are missing.
        tokio::select! {
            () = &mut stop_signal => {}
            loaded = connectors_loaded(&registry) => match loaded {
                Ok(()) => {
                    tracing::info!(
                        address = %config.public_url,
                        listen = %config.listen,
                        admin_listen = config.admin_listen.map(display),
                        connectors = registry.live().len(),
                        ms = started.elapsed().as_millis() as u64,
                        "serving"
                    );
                    ready(&config, &registry, first_key.as_ref());
                    // These need the connectors.
                    background.extend([
                        tokio::spawn(Arc::clone(&integrations).sweep()),
                        tokio::spawn(ask_about_devices(gateway.clone())),
                        tokio::spawn(Arc::clone(&jobs).work()),
                        tokio::spawn(Arc::clone(&jobs).maintain()),
                        tokio::spawn(webhooks.clone().send()),
                        tokio::spawn(sweep_storage(store.clone(), vault.clone(), Arc::clone(&config))),
                        tokio::spawn(checkpoint(store.clone())),
                    ]);
                    stop_signal.await;
                }
                Err(error) => failure = Some(error),
            },
        }
        // Jobs and calls with an idempotency key have the same time to end as requests.
        drained_at = tokio::time::Instant::now() + config.drain;
        jobs.stop(drained_at);
    };
    server::serve(&gateway, &cores, listeners, stop).await;
    jobs.shut_down().await;
    for task in background {
        task.abort();
    }
    idempotency.shut_down(drained_at).await;
    integrations.shut_down().await;
    webhooks.shut_down().await;
    // All calls have ended.
    stop_sharing.cancel();
    if timeout(LAST_EXCHANGE, sharing).await.is_err() {
        tracing::warn!("the rate limits could not be left to other gateways in time; they get them later");
    }
    calls.stop();
    if let Some(call_writer) = call_writer
        && timeout(LAST_RECORDS, call_writer).await.is_err()
    {
        tracing::warn!("the last records of calls could not be stored in time");
    }
    telemetry.stop(drained_at).await;
    heartbeat.abort();
    backlog.abort();
    if let Err(error) = store.forget_gateway(&gateway_id).await {
        tracing::debug!(%error, "the gateway could not be taken from the list of gateways");
    }
    if let Err(error) = authenticator.note_use().await {
        tracing::warn!(%error, "the last use of some API keys could not be stored");
    }
    if let Err(error) = store.checkpoint_at_end().await {
        tracing::warn!(%error, "the SQLite write-ahead log could not be checkpointed; the next start will do it");
    }
    tracing::info!("stopped");
    failure.map_or(Ok(()), Err)
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

/// Waits until the modules of the folders are loaded.
///
/// # Errors
/// If the operator's settings for a connector are wrong.
async fn connectors_loaded(registry: &Arc<Registry>) -> Result<(), ServeError> {
    registry.loaded().await;
    registry.check_settings()?;
    registry.warn_of_unused_settings();
    Ok(())
}
