//! Takes jobs from the queue and runs them, as many at a time as the configuration allows.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Jobs, LEASE, Running};
use store::{FullShares, Job, StoreError};

/// Time between two searches for jobs that other gateways added, or whose backoff has passed.
const POLL: Duration = Duration::from_secs(1);

/// Longest wait at shutdown for a job that is being taken. A busy database answers within seconds.
const LAST_TAKE: Duration = Duration::from_secs(5);

impl Jobs {
    /// Takes and runs jobs until [`Jobs::stop`].
    pub async fn work(self: Arc<Self>) {
        let workers = Arc::new(Semaphore::new(self.parts.config.workers));
        let mut is_failing = false;
        loop {
            let free = tokio::select! {
                biased;
                () = self.stopping.cancelled() => return,
                free = Arc::clone(&workers).acquire_owned() => free,
            };
            // The semaphore is never closed.
            let Ok(permit) = free else { return };
            // A job that is taken while the gateway stops is run: `Jobs::shut_down` waits for it.
            let _taking = self.tasks.token();
            let taken = tokio::select! {
                biased;
                taken = self.take() => taken,
                () = self.stopped_for(LAST_TAKE) => return,
            };
            match taken {
                Ok(Some(job)) => {
                    is_failing = false;
                    let worker = self.begin(&job, permit);
                    let run = async move { Box::pin(worker.jobs.run(job, &worker.abandon)).await };
                    self.tasks.spawn(clock::inherit(run));
                    continue;
                }
                Ok(None) => is_failing = false,
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::error!(%error, "no jobs are taken from the queue, because the store fails");
                }
                Err(_) => {}
            }
            drop(permit);
            tokio::select! {
                biased;
                () = self.stopping.cancelled() => return,
                // After a failure, a wake-up must not lead to the next failure immediately.
                () = tokio::time::sleep(POLL), if is_failing => {}
                _ = timeout(POLL, self.wake.notified()), if !is_failing => {}
            }
        }
    }

    /// Ends this time after [`Jobs::stop`].
    async fn stopped_for(&self, time: Duration) {
        self.stopping.cancelled().await;
        tokio::time::sleep(time).await;
    }

    /// Takes the next job whose tenant and connector have not all of their share of the workers.
    async fn take(&self) -> Result<Option<Job>, StoreError> {
        if self.stopping.is_cancelled() {
            return Ok(None);
        }
        let full = {
            let running = self.running.lock();
            let workers = self.parts.config.workers;
            FullShares {
                tenants: with_all(share_of_tenant(workers), running.values().map(|running| &*running.tenant)),
                connectors: with_all(share_of_connector(workers), running.values().map(|running| &*running.connector)),
            }
        };
        self.parts.store.jobs().take(&self.parts.gateway, LEASE, full).await
    }

    /// Notes that a job runs here, until the worker is dropped.
    fn begin(self: &Arc<Self>, job: &Job, permit: OwnedSemaphorePermit) -> Worker {
        let abandon = CancellationToken::new();
        let running = Running {
            fence: job.fence,
            tenant: job.tenant.clone(),
            connector: job.connector.clone(),
            changes_data: job.changes_data,
            abandon: abandon.clone(),
        };
        let mut all = self.running.lock();
        all.insert(job.id.clone(), running);
        self.parts.metrics.jobs_running.set(all.len() as i64);
        Worker { jobs: Arc::clone(self), job: job.id.clone(), fence: job.fence, abandon, _permit: permit }
    }
}

/// A worker that has a job. Dropping it frees the worker, also if the run panics. The lease of the
/// job then ends by itself.
struct Worker {
    jobs: Arc<Jobs>,
    job: String,
    fence: i64,
    abandon: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut all = self.jobs.running.lock();
        // A job that was put back may already run here again.
        if all.get(&self.job).is_some_and(|running| running.fence == self.fence) {
            all.remove(&self.job);
        }
        self.jobs.parts.metrics.jobs_running.set(all.len() as i64);
        drop(all);
        // The job's tenant or connector may have had all that it may have.
        self.jobs.wake.notify_one();
    }
}

/// The most workers that one tenant has. The others stay free for tenants that come later, because
/// jobs may run for long.
const fn share_of_tenant(workers: usize) -> usize {
    workers.div_ceil(2)
}

/// The most workers that one connector has. A quarter stays free for other connectors: the jobs of
/// one whose service hangs may hold their workers for as long as a job may run. Of one worker and
/// of two, a connector may have all.
const fn share_of_connector(workers: usize) -> usize {
    if workers < 3 { workers } else { workers - workers.div_ceil(4) }
}

/// The names that occur at least `share` times.
fn with_all<'a>(share: usize, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    counts.into_iter().filter(|(_, count)| *count >= share).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_half_of_the_workers_and_at_least_one() {
        assert_eq!([1, 2, 3, 8].map(share_of_tenant), [1, 1, 2, 4]);
    }

    #[test]
    fn a_connector_leaves_a_quarter_of_the_workers_to_others() {
        assert_eq!([1, 2, 3, 4, 8, 9].map(share_of_connector), [1, 2, 2, 3, 6, 6]);
        assert_eq!(with_all(2, ["mail", "chat", "mail"].into_iter()), ["mail"]);
    }
}
