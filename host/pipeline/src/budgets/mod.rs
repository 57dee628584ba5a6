//! Rate limits and pacing of connectors that gateways share.
//!
//! A rate limit is a budget of calls in a period, and the gateways that share a database share it.
//! Each of them holds units of the budget. A unit allows one call in a period, so a call that
//! finds a free unit in its own gateway costs no statement ([`egress::Budget`]). Units move
//! between gateways through the database, in an exchange ([`store::Store::exchange_budgets`]) that
//! each gateway makes every few seconds for all its budgets, and at once when a call finds no
//! unit.
//!
//! # Why no window has more calls than the budget
//!
//! 1. The units of all rows in the database never add up to more than the budget. Exchanges are
//!    made one after the other (a lock of the transaction), and one only takes what is free.
//! 2. A gateway never uses more units than its row has. It gives units away before it reports so,
//!    and it uses those that it gets after it has the answer. If the answer is lost, the row has
//!    more than the gateway uses. A report that comes late has a lower number and no effect, so
//!    the row is never lower than what a later answer allowed.
//! 3. A gateway gives away only units whose last call is older than a period. So whoever gets them
//!    may use them immediately: each unit, whoever holds it, allows one call in any period.
//! 4. A gateway uses its units for [`LEASE`] after it began the last exchange that was answered.
//!    Then its calls are refused with the problem `store-unavailable`. The others free its units
//!    once they have seen it silent for the lease and a period, when its last call is older than a
//!    period.
//! 5. Nobody compares clocks. A gateway measures its own lease, and the silence of others from the
//!    moment at which it saw their last exchange, with a clock that does not jump. The database
//!    keeps the longest silence that a gateway has measured, so it is not measured again after
//!    a restart.
//!
//! # How tenants share a budget
//!
//! In its own gateway, a tenant that was refused has a claim ([`egress::Quotas`]). While a budget
//! is contended, gateways report what each tenant needs. An exchange divides the budget among the
//! tenants of all gateways first, and then the units of each tenant among its gateways
//! (`store::budgets::fair`). Units move as they always do, so a newcomer has its share after a
//! period.
//!
//! # Queues
//!
//! The queue of a paced upstream is a single unit, which moves in the same exchange
//! ([`egress::PacedQueue`]). The gateway that holds it starts calls as if it were alone:
//!
//! 1. It gives the unit away only when none of its calls runs and the interval since the last start
//!    has passed. So whoever gets the unit may start a call immediately.
//! 2. It starts no call after its lease ([`egress::QUEUE_LEASE`]), and ends those that run then.
//!    The others free the unit of a silent gateway after its lease and the interval. So a gateway
//!    that stands still keeps the upstream from the others for a few seconds, however long its
//!    calls may take.
//! 3. Each gateway reports for how long its first call has waited. The unit is for the one whose
//!    call has waited for longest. The times are compared in the clock of the database, which
//!    decides on the order only.
//!
//! The simulation (`simulation`) checks all this with gateways that are killed, cut off and
//! stand still.
//!
//! - [`ledger`]: what a gateway reports, and what it makes of the answer

mod ledger;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

pub use self::ledger::{Ledger, LiveBudget};
use store::Store;

/// Time for which a gateway uses its units after an exchange.
pub const LEASE: Duration = Duration::from_secs(20);

/// The longest time for which a call waits for units.
const ASK: Duration = Duration::from_secs(1);

/// Time until an exchange is tried again after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// Asks for units. Clones share it.
#[derive(Clone, Default)]
pub struct Budgets {
    shared: Option<Arc<Shared>>,
}

struct Shared {
    wake: Arc<Notify>,
    begun: AtomicU64,
    /// The last exchange failed, so that the next one may fail too.
    is_failing: AtomicBool,
    ended: watch::Sender<u64>,
}

impl Budgets {
    /// Budgets of the gateways that share this database, or of one gateway alone.
    pub fn new(store: &Store) -> Self {
        match store.database().is_shared() {
            true => Self::shared(),
            false => Self::default(),
        }
    }

    /// Budgets of gateways that share a database.
    pub fn shared() -> Self {
        let shared = Shared {
            wake: Arc::default(),
            begun: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
            ended: watch::Sender::new(0),
        };
        Self { shared: Some(Arc::new(shared)) }
    }

    /// Counts a call, as `check` does. If this gateway has no unit left, and others may have some,
    /// asks for them once and counts again.
    ///
    /// # Errors
    /// No call remains.
    pub async fn count<'a, T>(
        &self,
        check: impl Fn() -> Result<T, egress::Refused<'a>>,
    ) -> Result<T, egress::Refused<'a>> {
        match check() {
            Err(refused) if refused.may_ask => {
                self.ask().await;
                check()
            }
            counted => counted,
        }
    }

    /// The signal by which a call asks for an exchange with the other gateways. `None` if no other
    /// gateway shares the budgets.
    pub fn exchange(&self) -> Option<Arc<Notify>> {
        self.shared.as_ref().map(|shared| Arc::clone(&shared.wake))
    }

    /// Waits for the end of an exchange that began after now.
    async fn ask(&self) {
        let Some(shared) = &self.shared else { return };
        if shared.is_failing.load(Ordering::Relaxed) {
            return;
        }
        let begun = shared.begun.load(Ordering::Acquire);
        shared.wake.notify_one();
        let mut ended = shared.ended.subscribe();
        // An error is the end of the wait: the call is counted with what the gateway has.
        let _ = timeout(ASK, ended.wait_for(|ended| *ended > begun)).await;
    }

    /// Exchanges units with the other gateways until the future is dropped. `live` lists the
    /// budgets of all live connectors.
    pub async fn share(&self, ledger: &mut Ledger, live: impl Fn() -> Vec<LiveBudget>) {
        let Some(shared) = &self.shared else { return };
        loop {
            let exchange = shared.begun.fetch_add(1, Ordering::AcqRel) + 1;
            let exchanged = ledger.exchange(live()).await;
            shared.is_failing.store(exchanged.is_err(), Ordering::Relaxed);
            shared.ended.send_replace(exchange);
            let pause = match exchanged {
                Ok(pause) => pause,
                // `/readyz` reports that the database does not answer.
                Err(error) => {
                    tracing::debug!(%error, "the rate limits could not be shared; the gateway tries again");
                    // Calls that ask meanwhile must not make the gateway try all the time.
                    sleep(RETRY).await;
                    continue;
                }
            };
            // If it is time and a call asks, one exchange serves both.
            tokio::select! {
                biased;
                () = shared.wake.notified() => {}
                () = sleep(pause) => {}
            }
        }
    }
}
