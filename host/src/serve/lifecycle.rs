//! The tasks of a gateway that serves: when each begins, and the order in which they end.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::ServeError;
use super::parts::Parts;
use super::upkeep::{catch_up, checkpoint, share_budgets, sweep_storage};
use gateway::{Gateway, ask_about_devices, backlog, heartbeat};
use metrics::samples;
use pipeline::budgets::Ledger;
use store::new_gateway_id;
use store::vault::Vault;
use tls::Certificates;

/// Longest time for leaving the rate limits to the other gateways when the gateway stops.
const LAST_EXCHANGE: Duration = Duration::from_secs(5);

/// Longest time for storing the last records of calls when the gateway stops.
const LAST_RECORDS: Duration = Duration::from_secs(2);

/// The tasks that run while a gateway serves, in the order in which they end.
pub(super) struct Lifecycle {
    gateway: Gateway,
    vault: Vault,
    /// The id of this gateway among those on the database.
    id: String,
    /// Tasks that are aborted once the last job has ended.
    background: Vec<JoinHandle<()>>,
    /// The exchange of rate limits, which ends once the last call has ended.
    sharing: JoinHandle<()>,
    stop_sharing: CancellationToken,
    /// The writers of records of calls and of usage. At their end they store what the last calls left.
    call_writers: JoinHandle<()>,
    /// Tasks that tell others of this gateway, until everything else has ended.
    presence: [JoinHandle<()>; 2],
}

impl Lifecycle {
    /// Starts the tasks that need no connector.
    ///
    /// # Errors
    /// If the database does not answer.
    pub(super) async fn start(parts: Parts, certificates: Certificates) -> Result<Self, ServeError> {
        let Parts { gateway, vault, is_reached, first_key: _, call_writers } = parts;
        let id = new_gateway_id()?;
        let call_writers = tokio::spawn(call_writers.run());
        let presence = [
            tokio::spawn(heartbeat::beat(gateway.clone(), id.clone())),
            tokio::spawn(backlog::measure(gateway.clone())),
        ];
        let Gateway { config, store, registry, integrations, .. } = &gateway;
        let stop_sharing = CancellationToken::new();
        let ledger = Ledger::new(store.clone(), id.clone());
        let sharing = share_budgets(gateway.budgets.clone(), ledger, Arc::clone(registry), stop_sharing.clone());
        let sharing = tokio::spawn(sharing);
        let grants_revision = if is_reached { Some(store.grants().revision().await?) } else { None };
        let authenticator = Arc::clone(&gateway.authenticator);
        let (samples, memory) = (Arc::clone(&gateway.samples), gateway.egress.memory().clone());
        let mut background = vec![
            tokio::spawn(certificates.follow()),
            tokio::spawn(registry::watch(Arc::clone(registry))),
            tokio::spawn(registry::follow_modules(Arc::clone(registry))),
            tokio::spawn(registry::follow_grants(Arc::clone(registry), grants_revision)),
            tokio::spawn(registry::keep_last_served(Arc::clone(registry))),
            tokio::spawn(samples::take(samples, Arc::clone(&gateway.metrics), memory)),
            tokio::spawn(async move { authenticator.watch().await }),
        ];
        if !is_reached {
            let (store, vault, integrations) = (store.clone(), vault.clone(), Arc::clone(integrations));
            background.push(tokio::spawn(catch_up(Arc::clone(config), store, vault, integrations)));
        }
        Ok(Self { gateway, vault, id, background, sharing, stop_sharing, call_writers, presence })
    }

    /// Starts the tasks that need the connectors.
    pub(super) fn start_with_connectors(&mut self) {
        let Gateway { config, store, integrations, jobs, triggers, webhooks, .. } = &self.gateway;
        self.background.extend([
            tokio::spawn(Arc::clone(integrations).sweep()),
            tokio::spawn(ask_about_devices(self.gateway.clone())),
            tokio::spawn(Arc::clone(jobs).work()),
            tokio::spawn(Arc::clone(jobs).maintain()),
            tokio::spawn(Arc::clone(triggers).work()),
            tokio::spawn(webhooks.clone().send()),
            tokio::spawn(sweep_storage(store.clone(), self.vault.clone(), Arc::clone(config))),
            tokio::spawn(checkpoint(store.clone())),
        ]);
    }

    /// Ends everything, once no caller is connected. Work that callers began may run until
    /// `drained_at`.
    pub(super) async fn stop(self, drained_at: Instant) {
        let Gateway {
            jobs, triggers, idempotency, integrations, webhooks, calls, telemetry, store, authenticator, ..
        } = &self.gateway;
        jobs.shut_down().await;
        triggers.shut_down().await;
        abort(self.background);
        idempotency.shut_down(drained_at).await;
        integrations.shut_down().await;
        webhooks.shut_down().await;
        // All calls have ended.
        self.stop_sharing.cancel();
        if timeout(LAST_EXCHANGE, self.sharing).await.is_err() {
            tracing::warn!("the rate limits could not be left to other gateways in time; they get them later");
        }
        calls.stop();
        if timeout(LAST_RECORDS, self.call_writers).await.is_err() {
            tracing::warn!("the last records of calls, or the last usage, could not be stored in time");
        }
        telemetry.stop(drained_at).await;
        abort(self.presence);
        if let Err(error) = store.gateways().forget(&self.id).await {
            tracing::debug!(%error, "the gateway could not be taken from the list of gateways");
        }
        if let Err(error) = authenticator.note_use().await {
            tracing::warn!(%error, "the last use of some API keys could not be stored");
        }
        if let Err(error) = store.database().checkpoint_at_end().await {
            tracing::warn!(%error, "the SQLite write-ahead log could not be checkpointed; the next start will do it");
        }
        tracing::info!("stopped");
    }
}

fn abort(tasks: impl IntoIterator<Item = JoinHandle<()>>) {
    for task in tasks {
        task.abort();
    }
}
