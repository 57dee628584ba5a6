//! Credentials are renewed ahead of time, so that no call has to wait for it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use futures_util::stream;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::freshness::Freshness;
use super::{IntegrationError, Integrations};
use store::Details;

/// How often is looked for what is due.
const TICK: Duration = Duration::from_secs(2);

/// Renewals that the sweep has under way at once: enough for a thousand in a minute at a slow provider, and few enough not to be
/// taken for an attack.
const PARALLEL: usize = 16;

/// Rows that are taken at a time.
const BATCH: u32 = 256;

impl Integrations {
    /// Renews what is due. Runs until it is dropped.
    pub async fn sweep(self: Arc<Self>) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_failing = false;
        loop {
            ticks.tick().await;
            self.cache.forget_idle();
            self.refresh_limit.tidy();
            match self.refresh_due().await {
                Ok(()) => is_failing = false,
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::error!(%error, "credentials are not renewed ahead of time");
                }
                Err(_) => {}
            }
        }
    }

    async fn refresh_due(self: &Arc<Self>) -> Result<(), IntegrationError> {
        let due = self.store.due_for_refresh(SystemTime::now(), BATCH).await?;
        stream::iter(due)
            .for_each_concurrent(PARALLEL, |id| async move {
                // Accounts that were connected together, and gateways that look at the same rows, drift apart.
                sleep(jitter()).await;
                match self.store.integration_by_id(&id).await {
                    // Another gateway may have done it meanwhile.
                    Ok(Some(row)) if is_due(&row.details) => self.refresh(&id, row.version).await,
                    Ok(_) => {}
                    Err(error) => tracing::warn!(integration = id, %error, "a credential is not renewed ahead of time"),
                }
            })
            .await;
        Ok(())
    }
}

fn is_due(details: &Details) -> bool {
    matches!(Freshness::of(details, SystemTime::now()), Freshness::Due | Freshness::Expired)
}

/// At random, up to a quarter of a tick.
fn jitter() -> Duration {
    let mut byte = [0];
    // Without randomness there is no jitter, and nothing is lost.
    let _ = SystemRandom::new().fill(&mut byte);
    TICK / 4 * u32::from(byte[0]) / u32::from(u8::MAX)
}
