//! `connector-gateway serve`: opens everything that a gateway needs and runs it until a signal
//! stops it.
//!
//! - here: the start and the stop
//! - `parts`: opens the parts of the gateway
//! - `lifecycle`: the tasks of the gateway, and the order in which they end
//! - `upkeep`: what a gateway does for its store and its rate limits until it stops

mod lifecycle;
mod parts;
mod upkeep;

use std::io;
use std::sync::Arc;
use std::time::Instant;

use rustix::process::Signal;
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};

use self::lifecycle::Lifecycle;
use self::parts::Parts;
use crate::signals;
use api::server::{self, Cores, Listeners};
use auth::BootstrapError;
use config::{Config, ConfigError};
use egress::{EgressError, Transport};
use integrations::IntegrationError;
use metrics::Metrics;
use registry::Registry;
use sandbox::{CompiledModules, StartError};
use store::vault::VaultError;
use store::{ShownOnce, StoreError};
use tls::{Certificates, TlsError};

pub use self::parts::{open_egress, start_registry};

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
pub type Ready = Box<dyn FnOnce(&Config, &Registry, Option<&ShownOnce>) + Send>;

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
    config.hooks.listen = listeners.hooks_address()?;
    let config = Arc::new(config);
    let metrics = Arc::new(Metrics::default());
    let certificates = Certificates::open(&config, &metrics)?;
    let listeners = listeners.presenting(&certificates);
    let mut parts = Parts::open(Arc::clone(&config), metrics, transport, new_database, compiled).await?;
    let (gateway, first_key) = (parts.gateway.clone(), parts.first_key.take());
    let registry = &gateway.registry;
    tracing::info!(listen = %config.listen, admin_listen = config.admin_listen.map(display), "loading the modules");
    // This runs before the first call, whose answer says if its connector is missing or not
    // loaded yet.
    registry.begin_loading().await?;
    // The cores run until the last task that a call began has ended.
    let cores = Cores::start(&gateway).await?;
    let mut lifecycle = Lifecycle::start(parts, certificates).await?;
    let mut signals = signals::Stop::new()?;
    let mut failure = None;
    let mut drained_at = tokio::time::Instant::now();
    let stop = async {
        let stop_signal = signals.wait();
        tokio::pin!(stop_signal);
        // The port is open while modules compile. `/readyz` says which of them are missing.
        tokio::select! {
            () = &mut stop_signal => {}
            loaded = connectors_loaded(registry) => match loaded {
                Ok(()) => {
                    tracing::info!(
                        address = %config.public_url,
                        listen = %config.listen,
                        admin_listen = config.admin_listen.map(display),
                        hooks_listen = config.hooks.listen.map(display),
                        connectors = registry.live().len(),
                        ms = started.elapsed().as_millis() as u64,
                        "serving"
                    );
                    ready(&config, registry, first_key.as_ref());
                    lifecycle.start_with_connectors();
                    stop_signal.await;
                }
                Err(error) => failure = Some(error),
            },
        }
        // Jobs and calls with an idempotency key have the same time to end as requests.
        drained_at = tokio::time::Instant::now() + config.drain;
        gateway.jobs.stop(drained_at);
        gateway.triggers.stop();
    };
    server::serve(&gateway, &cores, listeners, stop).await;
    lifecycle.stop(drained_at).await;
    failure.map_or(Ok(()), Err)
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
