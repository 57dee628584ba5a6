//! Jobs: operations that run in the background.
//!
//! # Layout
//! - `queue`: adding, finding and cancelling jobs, for their callers
//! - `workers`: takes jobs from the queue, in turns of tenants, as many as the configuration allows
//! - `run`: one job, from its input to its end
//! - `maintenance`: renews leases, and takes up or ends the jobs of gateways that died
//! - `end`: writes the end of a job, together with the webhooks that announce it
//! - `room`: the memory that the end of a job takes
//! - `record`: the public form of a job; `values`: its sealed values
//! - `error`: why a job has no result, and what can fail
//! - `problem`: the problem documents of both
//!
//! # Invariants
//! - A job ends once. Every write to a job names its fence, so a gateway that has lost a job writes
//!   nothing.
//! - The end of a job and its webhooks are stored in one transaction, so the receivers are notified
//!   of each end, and only once.
//! - A job that changes data is never run again after it was cut off.
//! - Input, progress and result are in the database only as sealed values.
//! - A caller sees only the jobs of its own tenant and subject whose operations its key may call.
//!
//! # The life of a job
//! An operation that its manifest marks `background` runs as a job, unless the caller waits
//! (`"waiting": true`).
//!
//! 1. **Acceptance.** `pipeline::submit` validates the body and chooses the account, as for every
//!    call. It then returns the call instead of running it. `webhooks` checks the callback URLs.
//!    `queue` seals the body and adds the job. The caller gets its id.
//! 2. **Taking.** `workers` takes jobs while workers are free. `store::jobs::queue` lets tenants
//!    take turns, and gives a job to one gateway: `FOR UPDATE SKIP LOCKED` on PostgreSQL, the
//!    single writer on SQLite. A tenant has at most half of a gateway's workers, and a connector at
//!    most three quarters.
//! 3. **Running.** `run` sends the body through the pipeline, with the time and CPU limits of
//!    `[jobs]`. Reports of the connector's `progress` interface are stored about once in a second.
//!    A job that finds a limit used up is put back into the queue.
//! 4. **Lease.** `maintenance` renews the leases of running jobs every second. Each lease has a
//!    fence. A job that another gateway has cancelled or taken up is no longer renewed, and its run
//!    is dropped.
//! 5. **End.** `end` writes the state, the sealed result or problem, and the webhooks in one
//!    transaction. The transaction names the fence, so a job ends once. Cancelling a job is such an
//!    end.
//! 6. **Restart.** At shutdown, running jobs have time until `drain_s` is over (`Jobs::shut_down`).
//!    Then a job that only reads goes back into the queue, and a job that changes data fails with
//!    `outcome: "unknown"`. After the death of a gateway, the same happens to its jobs. On SQLite,
//!    the next start frees their leases (`store::serving`). On PostgreSQL, a lease ends after 25
//!    seconds, and another gateway takes the job over once it has seen for some seconds that no one
//!    renews the lease (`database::health`). A job that only reads is begun at most 30 times.
//! 7. **Expiry.** `maintenance` deletes a job `jobs.keep_h` hours after its end.

mod end;
mod error;
mod maintenance;
mod problem;
mod queue;
mod record;
mod room;
mod run;
#[cfg(feature = "simulation")]
mod simulated;
mod values;
mod workers;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::error::{Failure, JobError};
pub use self::problem::job_problem;
pub use self::queue::{JobsOf, NewJob};
pub use self::record::{AnyJobRecord, JobRecord};
use self::room::Room;
pub use self::run::MAX_REQUESTS;

use calls::CallLog;
use egress::Egress;
use integrations::Integrations;
use metrics::Metrics;
use pipeline::Services;
use pipeline::budgets::Budgets;
use registry::Registry;
use store::Store;
use store::vault::Vault;
use telemetry::Telemetry;
use webhooks::Webhooks;

/// Duration of a lease. The jobs of a gateway that died are taken up after it, within 40 seconds
/// with the intervals of `maintenance` and the time in which a lease is seen ended
/// (`database::health`).
const LEASE: Duration = Duration::from_secs(25);

/// The parts of the gateway that jobs use.
#[expect(missing_docs, reason = "the types of the other fields say what they are")]
pub struct Parts {
    /// The name of the gateway.
    pub gateway: Arc<str>,
    pub calls: CallLog,
    pub config: config::Jobs,
    pub store: Store,
    pub vault: Vault,
    pub egress: Egress,
    pub registry: Arc<Registry>,
    pub budgets: Budgets,
    pub integrations: Arc<Integrations>,
    pub webhooks: Webhooks,
    pub metrics: Arc<Metrics>,
    pub telemetry: Telemetry,
}

/// All jobs of this gateway, and the queue that it shares with others.
pub struct Jobs {
    parts: Parts,
    /// The memory for jobs that end.
    room: Room,
    /// The jobs that run here, by id.
    running: Mutex<HashMap<String, Running>>,
    /// The jobs whose connector was missing here, by id: when that was found first, and last.
    gone: Mutex<HashMap<String, (Instant, Instant)>>,
    /// Wakes the workers: a job was added here, or a worker is free.
    wake: Notify,
    /// No further jobs are taken.
    stopping: CancellationToken,
    /// The time until which running jobs may end, once the gateway is about to stop.
    deadline: OnceLock<Instant>,
    /// Jobs that still run are cut off.
    cut_off: CancellationToken,
    tasks: TaskTracker,
}

/// A job that runs in this process.
struct Running {
    fence: i64,
    tenant: String,
    connector: String,
    /// A job that changes data is never run again, so no other gateway takes it up.
    changes_data: bool,
    /// Cancelled to end the run without a result, when the job has ended in another way.
    abandon: CancellationToken,
}

impl Jobs {
    /// The caller runs [`Jobs::work`] and [`Jobs::maintain`] in tasks.
    pub fn new(parts: Parts) -> Self {
        Self {
            room: Room::new(parts.egress.memory().clone()),
            parts,
            running: Mutex::default(),
            gone: Mutex::default(),
            wake: Notify::new(),
            stopping: CancellationToken::new(),
            deadline: OnceLock::new(),
            cut_off: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Takes no further jobs. Those that run have time until `deadline`.
    pub fn stop(&self, deadline: Instant) {
        // The first call counts.
        let _ = self.deadline.set(deadline);
        self.stopping.cancel();
    }

    /// Waits for running jobs to end, until the deadline of [`Jobs::stop`]. Then reads are put back
    /// into the queue, and jobs that change data fail with an unknown outcome.
    pub async fn shut_down(&self) {
        self.tasks.close();
        let deadline = self.deadline.get().copied().unwrap_or_else(Instant::now);
        if timeout_at(deadline, self.tasks.wait()).await.is_err() {
            tracing::warn!(jobs = self.running.lock().len(), "some jobs did not end within `drain_s` and were cut off");
            self.cut_off.cancel();
            // Only the store is written now. If it does not answer, the leases of the jobs end by
            // themselves.
            let _ = timeout(LEASE, self.tasks.wait()).await;
        }
    }

    /// The services that operations use.
    fn services(&self) -> Services<'_> {
        let Parts { store, egress, registry, budgets, integrations, metrics, .. } = &self.parts;
        Services { registry, budgets, integrations, egress, store, metrics }
    }
}
