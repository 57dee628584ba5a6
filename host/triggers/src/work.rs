//! Takes subscriptions that are due and works on them, as many at a time as the configuration
//! allows.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use super::readers::Readers;
use super::{TriggerError, Triggers};
use store::Subscription;

/// Time between two searches for subscriptions that are due, if nothing wakes the gateway.
const TICK: Duration = Duration::from_secs(1);

/// Longest time of one step.
const STEP: Duration = Duration::from_secs(120);

/// Duration of a lease. It is longer than a step and the write of its result, and a step that
/// stores what it has read renews it.
pub(super) const LEASE: Duration = Duration::from_secs(150);

/// Longest wait for running steps at shutdown. A step that is cut off is repeated by the next
/// gateway.
const MAX_SHUTDOWN: Duration = Duration::from_secs(5);

/// Time between two sweeps of events and records, and between two searches for leases that the
/// database made before its clock was set back. The first ones are at the start, because a gateway
/// may always end before this time.
const SWEEP: Duration = Duration::from_secs(60);

/// Time for which the requests of services are kept.
const KEEP_REQUESTS: Duration = Duration::from_secs(7 * 24 * 3600);

/// The most requests of services that are kept. A service may send hundreds in a second.
const MAX_REQUESTS: u32 = 1_000_000;

impl Triggers {
    /// Works on subscriptions that are due, until [`Triggers::stop`].
    pub async fn work(self: Arc<Self>) {
        let readers = Readers::new(self.parts.config.triggers.readers.max(1));
        let mut is_failing = false;
        let mut swept = None;
        let mut is_told = false;
        let mut next_turn = Instant::now() + TICK;
        loop {
            // After a failure, a wake-up must not lead to the next failure immediately.
            let is_turn = tokio::select! {
                biased;
                () = self.stopping.cancelled() => return,
                () = sleep_until(next_turn) => true,
                () = self.due.notified(), if !is_failing => true,
                () = self.freed.notified(), if !is_failing => false,
            };
            if !is_told {
                is_told = self.find_moved().await;
            }
            let worked = match is_turn {
                true => self.turn(&readers).await,
                false => self.take_due(&readers).await,
            };
            if is_turn {
                next_turn = Instant::now() + TICK;
            }
            match worked {
                Ok(()) => is_failing = false,
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::error!(%error, "a part of the work on triggers fails, and is tried again");
                }
                Err(_) => {}
            }
            self.write_requests().await;
            if swept.is_none_or(|at: Instant| at.elapsed() >= SWEEP) {
                swept = Some(Instant::now());
                self.shorten_leases().await;
                self.sweep().await;
            }
        }
    }

    /// Makes work due on subscriptions whose services know another URL of the gateway. Returns
    /// `false` if the store fails.
    async fn find_moved(&self) -> bool {
        let Some(base) = self.base() else { return true };
        match self.parts.store.subscriptions().wake_moved(&base).await {
            Ok(0) => true,
            Ok(subscriptions) => {
                tracing::info!(subscriptions, "services are told the new URL of the gateway (`hooks.public_url`)");
                true
            }
            Err(_) => false,
        }
    }

    /// Everything that is due now. A part that fails, as at a damaged row, does not keep the next
    /// ones from their work.
    async fn turn(self: &Arc<Self>, readers: &Readers) -> Result<(), TriggerError> {
        let mut failed = None;
        keep(&mut failed, self.end_expired().await)?;
        keep(&mut failed, self.take_due(readers).await)?;
        keep(&mut failed, self.tell_changes().await)?;
        keep(&mut failed, self.tell_ended().await)?;
        keep(&mut failed, self.tell_refused().await)?;
        keep(&mut failed, self.tell_others().await)?;
        keep(&mut failed, self.queue_backlog().await)?;
        failed.map_or(Ok(()), Err)
    }

    /// Starts a step of each subscription that is due, as many as there is room for.
    async fn take_due(self: &Arc<Self>, readers: &Readers) -> Result<(), TriggerError> {
        let room = readers.free();
        if room == 0 {
            return Ok(());
        }
        for subscription in self.parts.store.subscriptions().take(LEASE, room, &readers.running()).await? {
            // Only this loop takes readers, so that each subscription finds one.
            let Some(reader) = readers.take(&subscription.tenant) else { return Ok(()) };
            let this = Arc::clone(self);
            let work = async move {
                this.work_on(&subscription, Instant::now() + STEP).await;
                drop(reader);
                // Another subscription may wait for a reader, or this one is due again.
                this.freed.notify_one();
            };
            self.tasks.spawn(clock::inherit(work));
        }
        Ok(())
    }

    /// Makes work due on subscriptions that would otherwise wait for the clock of the database, because
    /// it was set back while gateways had leases.
    async fn shorten_leases(&self) {
        match self.parts.store.subscriptions().shorten_leases(LEASE).await {
            Ok(0) => {}
            Ok(subscriptions) => {
                tracing::warn!(
                    subscriptions,
                    "the clock of the database was set back; work on these triggers does not wait for it"
                )
            }
            Err(error) => tracing::debug!(%error, "leases of subscriptions are looked at later"),
        }
    }

    /// One step, with its failure in the log. Returns if the subscription ended at the service:
    /// `Some(None)` if nothing was to be ended, and `None` if the step did not come to its end.
    pub(super) async fn work_on(&self, subscription: &Subscription, deadline: Instant) -> Option<Option<bool>> {
        let Subscription { id, tenant, connector, .. } = subscription;
        let step = Box::pin(self.step(subscription, deadline));
        match tokio::time::timeout_at(deadline + Duration::from_secs(10), step).await {
            Ok(Ok(ended)) => Some(ended),
            Ok(Err(error)) => {
                tracing::error!(subscription = id, tenant, connector, %error, "a step of a subscription failed; it is repeated");
                None
            }
            Err(_) => {
                tracing::warn!(
                    subscription = id,
                    tenant,
                    connector,
                    "a step of a subscription took too long; it is repeated"
                );
                None
            }
        }
    }

    /// Makes work begin at once. For callers that have stored something that is due.
    pub fn wake(&self) {
        self.due.notify_one();
    }

    async fn sweep(&self) {
        let store = &self.parts.store;
        let inboxes = store.inboxes();
        for swept in [
            store.events().sweep().await,
            inboxes.sweep_requests(KEEP_REQUESTS, MAX_REQUESTS).await,
            inboxes.sweep_asked().await,
        ] {
            if let Err(error) = swept {
                tracing::debug!(%error, "old events are deleted later");
            }
        }
    }

    /// Begins no further step.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Waits a short time for running steps, at shutdown.
    pub async fn shut_down(&self) {
        self.stop();
        self.tasks.close();
        if timeout(MAX_SHUTDOWN, self.tasks.wait()).await.is_err() {
            tracing::info!("steps of subscriptions are cut off; the next gateway repeats them");
        }
    }
}

/// Keeps the first error of the parts of a turn.
///
/// # Errors
/// If the database cannot be reached. The other parts would only wait for it too.
fn keep(failed: &mut Option<TriggerError>, part: Result<(), TriggerError>) -> Result<(), TriggerError> {
    match part {
        Err(error) if error.is_unreachable() => Err(error),
        Err(error) => {
            failed.get_or_insert(error);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
