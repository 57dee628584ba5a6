//! The sender: takes deliveries that are due, and attempts a limited number of them at the same
//! time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at, timeout};

use super::attempt::TIMEOUT;
use super::{WebhookError, Webhooks};
use store::ClaimLimits;

/// Time between two searches for deliveries that are due, if nothing wakes the sender.
const TICK: Duration = Duration::from_secs(1);

/// Time between two searches for leases that the database made before its clock was set back.
const CLOCK_TICK: Duration = Duration::from_secs(60);

/// Concurrent attempts of this gateway.
const ATTEMPTS: usize = 64;

/// Concurrent attempts of one tenant, on all gateways. It is half of one gateway's attempts, so
/// that one tenant does not delay the others.
const ATTEMPTS_OF_TENANT: u32 = 32;

/// Concurrent attempts at one receiver, on all gateways. A receiver that never answers occupies
/// this many for 20 s each.
const ATTEMPTS_OF_RECEIVER: u32 = 8;

/// Size of the bodies that are held for running attempts.
const BODY_BYTES: u32 = 32 << 20;

/// Duration of a lease. It is longer than an attempt and the write of its result, so that no
/// second gateway attempts the same delivery at the same time. After the death of a gateway, its
/// deliveries wait for the end of their leases.
const LEASE: Duration = Duration::from_secs(30);

/// Longest wait for running attempts at shutdown. An attempt that is cut off is repeated by the
/// next gateway.
const MAX_SHUTDOWN: Duration = Duration::from_secs(5);

// Ten seconds are left for the store.
const _: () = assert!(LEASE.as_secs() >= TIMEOUT.as_secs() + 10, "a lease must outlive an attempt");

/// The capacity that running attempts take.
struct Occupied {
    slots: Arc<Semaphore>,
    bytes: Arc<AtomicU32>,
}

impl Webhooks {
    /// Attempts deliveries that are due. Runs until it is dropped.
    pub async fn send(self) {
        let occupied = Occupied { slots: Arc::new(Semaphore::new(ATTEMPTS)), bytes: Arc::default() };
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut clock_ticks = interval_at(Instant::now() + CLOCK_TICK, CLOCK_TICK);
        clock_ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_failing = false;
        loop {
            let result = tokio::select! {
                biased;
                _ = clock_ticks.tick() => self.shorten_leases().await,
                _ = ticks.tick() => self.send_due(&occupied).await,
                () = self.due.notified() => self.send_due(&occupied).await,
            };
            match result {
                Ok(()) => is_failing = false,
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::error!(%error, "webhooks are not sent, because the store fails");
                }
                Err(_) => {}
            }
        }
    }

    /// Starts attempts of the deliveries that are due, as many as there is room for.
    async fn send_due(&self, occupied: &Occupied) -> Result<(), WebhookError> {
        let limits = ClaimLimits {
            of_receiver: ATTEMPTS_OF_RECEIVER,
            of_tenant: ATTEMPTS_OF_TENANT,
            of_claim: u32::try_from(occupied.slots.available_permits()).unwrap_or(u32::MAX),
            bytes: BODY_BYTES.saturating_sub(occupied.bytes.load(Ordering::Relaxed)),
        };
        for claimed in self.store.webhooks().claim_deliveries(LEASE, limits).await? {
            // Only this loop takes slots, so that each claimed delivery finds one.
            let Ok(slot) = Arc::clone(&occupied.slots).acquire_owned().await else { return Ok(()) };
            let size = u32::try_from(claimed.payload.sealed.bytes.len()).unwrap_or(u32::MAX);
            let (this, bytes) = (self.clone(), Arc::clone(&occupied.bytes));
            bytes.fetch_add(size, Ordering::Relaxed);
            let attempt = async move {
                this.attempt(claimed).await;
                bytes.fetch_sub(size, Ordering::Relaxed);
                drop(slot);
                this.wake();
            };
            self.tasks.spawn(clock::inherit(attempt));
        }
        Ok(())
    }

    /// Makes deliveries due that would otherwise wait for the clock of the database, because it was set
    /// back.
    async fn shorten_leases(&self) -> Result<(), WebhookError> {
        let deliveries = self.store.webhooks().shorten_leases(LEASE).await?;
        if deliveries > 0 {
            tracing::warn!(deliveries, "the clock of the database was set back; these webhooks do not wait for it");
        }
        Ok(())
    }

    /// Waits a short time for running attempts, and for events that are being stored, at shutdown.
    pub async fn shut_down(&self) {
        self.tasks.close();
        if timeout(MAX_SHUTDOWN, self.tasks.wait()).await.is_err() {
            tracing::info!("attempts of webhooks are cut off; the next gateway repeats them under the same id");
        }
    }
}
