//! Metrics of what the gateways of one database share: work that waits, keys that expire, and the
//! gateways themselves. Every gateway shows the same numbers, so that alerts work with any of them.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::Gateway;
use metrics::StateLabels;
use store::{SUBSCRIPTION_STATES, StoreError};

/// Time between two readings. Prometheus usually asks every fifteen seconds.
const INTERVAL: Duration = Duration::from_secs(10);

/// A refresh that was due this long ago is overdue, as in the list of integrations.
const OVERDUE: Duration = Duration::from_secs(60);

/// The time before its end from which on a key counts as expiring.
const SOON: Duration = Duration::from_secs(14 * 24 * 3600);

/// The states of gateways. A state without a gateway is shown with 0, so that alerts end.
const STATES: [&str; 4] = ["starting", "ready", "draining", AWAY];
const AWAY: &str = "away";

/// Keeps the metrics up to date. Runs until it is dropped.
pub async fn measure(gateway: Gateway) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let is_answering = gateway.store.database().is_answering().await;
        gateway.metrics.database_answers.set(i64::from(is_answering));
        // The last numbers stay while the database does not answer, which has its own metric.
        if is_answering && let Err(error) = read(&gateway).await {
            tracing::debug!(%error, "the metrics of the database could not be read; the gateway tries again");
        }
    }
}

async fn read(gateway: &Gateway) -> Result<(), StoreError> {
    let metrics = &gateway.metrics;
    let shown = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let now = clock::now();
    let backlog = gateway.store.backlog(now.checked_sub(OVERDUE).unwrap_or(now), SOON).await?;
    metrics.refreshes_overdue.set(shown(backlog.overdue_refreshes));
    metrics.webhooks_pending.set(shown(backlog.pending_webhooks));
    metrics.keys_expiring.set(shown(backlog.expiring_keys));
    metrics.trigger_lag.set(shown(backlog.trigger_lag.as_secs()));
    for (state, count) in SUBSCRIPTION_STATES.into_iter().zip(backlog.subscriptions) {
        metrics.subscriptions.get_or_create_owned(&StateLabels { state }).set(shown(count));
    }
    let stored = gateway.store.stored_bytes().await?;
    metrics.stored_bytes.set(shown(stored.total));
    metrics.stored_bytes_largest.set(shown(stored.largest));
    let gateways = gateway.store.gateways().list().await?;
    for state in STATES {
        let is_in_state = |row: &&store::GatewayRow| if row.is_away { state == AWAY } else { row.state == state };
        let count = gateways.iter().filter(is_in_state).count();
        metrics.fleet_gateways.get_or_create_owned(&StateLabels { state }).set(shown(count as u64));
    }
    Ok(())
}
