//! `connector-gateway serve`: puts the parts together and runs them until it is told to stop.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};

use crate::api::server;
use crate::auth::{self, Authenticator, BootstrapError, JwtIssuers};
use crate::config::{Config, ConfigError};
use crate::gateway::Gateway;
use crate::integrations::Integrations;
use crate::metrics::Metrics;
use crate::registry::{self, Registry};
use egress::{Egress, EgressError};
use sandbox::{Sandbox, StartError};
use store::vault::{Vault, VaultError};
use store::{Store, StoreError};

/// Why the gateway did not start, in one line for the operator.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The address, the modules folder, or a signal handler.
    #[error(transparent)]
    Io(#[from] io::Error),
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
    /// The first key.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
}

/// Opens everything that connectors are loaded and run with. Also for the command line, which changes connectors without
/// serving.
///
/// # Errors
/// See [`ServeError`].
pub async fn open_registry(config: &Arc<Config>, metrics: &Arc<Metrics>) -> Result<Registry, ServeError> {
    let store = Store::connect(&config.store()).await?;
    let sandbox = Sandbox::start(config.sandbox_setup())?;
    let egress = Egress::new(&egress::Settings::default())?;
    Ok(Registry::new(Arc::clone(config), sandbox, egress, store, Arc::clone(metrics))?)
}

/// Serves until SIGTERM or SIGINT, then lets requests under way end.
///
/// # Errors
/// See [`ServeError`]; once it serves, it goes on.
pub async fn serve(mut config: Config) -> Result<(), ServeError> {
    let started = Instant::now();
    // Before anything else: a port that is taken is the mistake made most often.
    let listener = server::bind(config.listen).await?;
    config.listening_on(listener.local_addr()?);
    let config = Arc::new(config);
    let metrics = Arc::new(Metrics::default());
    let registry = Arc::new(open_registry(&config, &metrics).await?);
    let store = registry.store().clone();
    let vault = Vault::open(&config.master_key_path(), &store).await?;
    let first_key = auth::bootstrap(&store, config.bootstrap_key.as_ref()).await?;
    let issuers = JwtIssuers::new(&config.jwt_issuers, registry.egress())?;
    let authenticator = Arc::new(Authenticator::new(store.clone()).await?.trusting(issuers));
    registry.scan(false).await?;
    registry.check_settings()?;
    let integrations =
        Arc::new(Integrations::new(Arc::clone(&config), vault, Arc::clone(&registry), Arc::clone(&metrics)));
    let gateway = Arc::new(Gateway::new(
        Arc::clone(&config),
        Arc::clone(&authenticator),
        Arc::clone(&registry),
        Arc::clone(&integrations),
        metrics,
    ));
    tracing::info!(
        address = %config.public_url,
        listen = %config.listen,
        connectors = registry.live().len(),
        ms = started.elapsed().as_millis() as u64,
        "serving"
    );
    welcome(&config, first_key.as_ref());

    let watching = tokio::spawn(registry::watch(Arc::clone(&registry)));
    let following = {
        let authenticator = Arc::clone(&authenticator);
        tokio::spawn(async move { authenticator.watch().await })
    };
    let renewing = tokio::spawn(Arc::clone(&integrations).sweep());
    let sweeping = tokio::spawn(sweep(store.clone()));
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    server::serve(gateway, listener, stop).await;
    for task in [watching, following, renewing, sweeping] {
        task.abort();
    }
    integrations.settle().await;
    if let Err(error) = authenticator.note_use().await {
        tracing::warn!(%error, "which keys were used lately is not noted");
    }
    if let Err(error) = store.checkpoint().await {
        tracing::warn!(%error, "the database's file is not up to date; its log beside it is");
    }
    tracing::info!("stopped");
    Ok(())
}

/// Removes what connectors stored for a time that is over.
async fn sweep(store: Store) {
    let mut hours = tokio::time::interval(Duration::from_secs(3600));
    loop {
        hours.tick().await;
        if let Err(error) = store.storage_sweep().await {
            tracing::warn!(%error, "expired entries of the connectors' storage are not removed");
        }
    }
}

/// For the person at the terminal: the address, the first key (this once, and never in the log), and what to try.
fn welcome(config: &Config, first_key: Option<&SecretString>) {
    let address = config.public_url.as_str().trim_end_matches('/');
    println!("Connector Gateway is at {address}");
    let key = match first_key {
        Some(key) => {
            println!("\nYour first API key, shown this once:\n\n  {}", key.expose_secret());
            key.expose_secret()
        }
        None => "$KEY",
    };
    println!(
        "\nTry:\n\n  curl -s {address}/connectors -H 'Authorization: Bearer {key}'\n\n  \
         curl -s {address}/connectors/preprint_archive/search_papers \\\n    \
         -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' \\\n    \
         -d '{{\"search_query\": \"all:electron\", \"max_results\": 3, \"response_fields\": [\"papers.id\", \"papers.title\"]}}'\n"
    );
}
