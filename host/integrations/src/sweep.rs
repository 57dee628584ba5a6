//! The background task that refreshes credentials ahead of time, so that no call has to wait for a
//! refresh. It also marks expired integrations.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::events::Change;
use super::freshness::Freshness;
use super::reason::Reason;
use super::{IntegrationError, Integrations};
use store::{Details, Status};

/// Time between two searches for credentials that are due.
const TICK: Duration = Duration::from_secs(2);

/// Concurrent refreshes of the sweep. This many refresh a thousand accounts in a minute at a slow
/// provider, and are too few to look like an attack.
const PARALLEL: usize = 16;

/// Number of integrations that are read from the store in one query.
const BATCH: u32 = 256;

impl Integrations {
    /// Refreshes credentials that are due, and revokes grants that are not used. Runs until it is
    /// dropped.
    pub async fn sweep(self: Arc<Self>) {
        // A provider that does not answer a revocation must not delay the refreshes.
        tokio::join!(self.refresh_ahead(), self.revoke_in_rounds());
    }

    async fn refresh_ahead(self: &Arc<Self>) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_failing = false;
        loop {
            ticks.tick().await;
            self.cache.forget_idle();
            self.refresh_limit.forget_idle();
            match self.refresh_due().await.and(self.mark_expired().await) {
                Ok(()) => is_failing = false,
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::error!(%error, "credentials are not refreshed ahead of time, because the store fails");
                }
                Err(_) => {}
            }
        }
    }

    async fn refresh_due(self: &Arc<Self>) -> Result<(), IntegrationError> {
        let due = self.store.integrations().due_for_refresh(clock::now(), BATCH).await?;
        stream::iter(due)
            .for_each_concurrent(PARALLEL, |id| async move {
                // The jitter spreads accounts that were connected together, and gateways that
                // share a database.
                sleep(jitter()).await;
                match self.store.integrations().by_id(&id).await {
                    // Another gateway may have refreshed it in the meantime.
                    Ok(Some(integration)) if is_due(&integration.details) => {
                        self.refresh(&id, integration.version).await;
                    }
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(integration = id, %error, "a credential is not refreshed ahead of time");
                    }
                }
            })
            .await;
        Ok(())
    }
}

impl Integrations {
    /// Stores that access tokens without a refresh token have expired, so that the operator is
    /// notified once.
    async fn mark_expired(&self) -> Result<(), IntegrationError> {
        let now = clock::now();
        for id in self.store.integrations().ended_without_refresh(now, BATCH).await? {
            let Some(integration) = self.store.integrations().by_id(&id).await? else { continue };
            let Some(reason) = Reason::at(&integration.details, now) else { continue };
            let details = Details { status: Status::Expired, reason: reason.to_text(), ..integration.details.clone() };
            let event = self
                .event_deliveries(&integration.holder, &integration.user_identifier, Change::Expired(&reason))
                .await?;
            // Another gateway may have stored it in the meantime, or the user has connected the
            // account again.
            if self.store.integrations().update(&id, integration.version, details, event).await?.is_some() {
                self.events.stored();
                self.cache.changed(&integration.holder, &integration.user_identifier).await;
            }
        }
        Ok(())
    }
}

fn is_due(details: &Details) -> bool {
    matches!(Freshness::at(details, clock::now()), Freshness::Due | Freshness::Expired)
}

/// A random delay of up to a quarter of a tick.
fn jitter() -> Duration {
    #[cfg(feature = "simulation")]
    if let Some(byte) = clock::random_byte() {
        return TICK / 4 * u32::from(byte) / u32::from(u8::MAX);
    }
    let mut byte = [0];
    // Without random numbers there is no jitter, which does no harm.
    let _ = SystemRandom::new().fill(&mut byte);
    TICK / 4 * u32::from(byte[0]) / u32::from(u8::MAX)
}
