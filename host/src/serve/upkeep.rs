//! The upkeep of the store and the rate limits, until the gateway stops.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::ServeError;
use config::Config;
use integrations::Integrations;
use pipeline::budgets::{Budgets, Ledger, LiveBudget};
use registry::{Connector, Registry};
use store::Store;
use store::vault::Vault;

/// How often the store is searched for records that have expired.
const STORAGE_SWEEP: Duration = Duration::from_secs(3600);

/// Time between two attempts to reach a database that was away at the start.
const CATCH_UP: Duration = Duration::from_secs(1);

/// Time between two checkpoints of the SQLite write-ahead log.
const CHECKPOINT: Duration = Duration::from_secs(5);

/// Does what a start without the database has left out, once the database answers.
pub(super) async fn catch_up(config: Arc<Config>, store: Store, vault: Vault, integrations: Arc<Integrations>) {
    let mut told = String::new();
    loop {
        let caught_up = async {
            store.database().check().await?;
            vault.reach().await?;
            auth::bootstrap(&store, config.bootstrap_key.as_ref()).await?;
            integrations.store_journaled_tokens().await?;
            Ok::<_, ServeError>(())
        };
        match caught_up.await {
            Ok(()) => {
                tracing::info!("the database answers for the first time since the start");
                return;
            }
            // `/readyz` reports that the database does not answer.
            Err(ServeError::Store(error)) => tracing::debug!(%error, "the database does not answer yet"),
            // The operator must act: the master key is another one, or the chosen key was revoked.
            Err(error) if error.to_string() != told => {
                told = error.to_string();
                tracing::error!(%error, "the gateway cannot work with its database");
            }
            Err(_) => {}
        }
        sleep(CATCH_UP).await;
    }
}

/// Keeps the file of a SQLite database complete while the gateway serves, so that a copy of the
/// file alone lacks only the last seconds. Runs until the task is aborted.
pub(super) async fn checkpoint(store: Store) {
    loop {
        sleep(CHECKPOINT).await;
        if let Err(error) = store.database().checkpoint().await {
            tracing::debug!(%error, "the SQLite write-ahead log could not be checkpointed; the gateway tries again");
        }
    }
}

/// Shares the rate limits and the pacing of live connectors with the other gateways until `stop`,
/// and leaves them to the others then.
pub(super) async fn share_budgets(
    budgets: Budgets,
    mut ledger: Ledger,
    registry: Arc<Registry>,
    stop: CancellationToken,
) {
    if budgets.exchange().is_none() {
        return;
    }
    let of_live = || {
        let live = registry.live();
        let of_connector = |connector: &Arc<Connector>| {
            let queues = connector.paced_queues();
            let queues = queues.into_iter().map(|(name, queue)| LiveBudget::of_queue(connector.name(), name, queue));
            LiveBudget::of(connector.name(), connector.quotas()).chain(queues).collect::<Vec<_>>()
        };
        live.values().flat_map(of_connector).collect()
    };
    let _ = stop.run_until_cancelled(budgets.share(&mut ledger, of_live)).await;
    if let Err(error) = ledger.leave().await {
        tracing::warn!(%error, "the rate limits could not be left to other gateways; they get them later");
    }
}

/// Removes what has expired: values of connectors' storage, idempotency keys, the records of
/// old webhooks, and old entries of the audit. Seals the values of connectors' storage that a
/// previous gateway left unsealed. Runs until the task is aborted.
pub(super) async fn sweep_storage(store: Store, vault: Vault, config: Arc<Config>) {
    let mut ticks = tokio::time::interval(STORAGE_SWEEP);
    loop {
        ticks.tick().await;
        match store.storage().seal_plain_values(&vault).await {
            Ok(0) => {}
            Ok(values) => {
                tracing::info!(values, "values of connectors' storage from a previous version are sealed now")
            }
            Err(error) => tracing::warn!(%error, "values of connectors' storage could not be sealed"),
        }
        if let Err(error) = store.storage().sweep().await {
            tracing::warn!(%error, "expired values of connectors' storage could not be removed");
        }
        if let Err(error) = store.idempotency().sweep().await {
            tracing::warn!(%error, "expired idempotency keys could not be removed");
        }
        if let Err(error) = store.webhooks().sweep().await {
            tracing::warn!(%error, "the records of old webhooks could not be removed");
        }
        if let Err(error) = store.oauth_clients().sweep().await {
            tracing::warn!(%error, "replaced OAuth clients could not be removed");
        }
        if let Err(error) = store.fold_stored_bytes().await {
            tracing::warn!(%error, "the bytes that tenants have stored could not be added up");
        }
        if let Err(error) = store.audit().delete_old(config.audit_keep).await {
            tracing::warn!(%error, "old entries of the audit could not be removed");
        }
        if let Err(error) = store.calls().delete_old(config.calls.keep_for).await {
            tracing::warn!(%error, "old records of calls could not be removed");
        }
        if let Err(error) = store.usage().sweep(config.usage_keep).await {
            tracing::warn!(%error, "old usage could not be removed");
        }
        if let Err(error) = store.agent_sessions().sweep().await {
            tracing::warn!(%error, "agent sessions that have expired could not be removed");
        }
    }
}
