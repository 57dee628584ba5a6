//! Takes jobs from the queue and runs them, as many at a time as the configuration allows.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Jobs, LEASE, Running};
use crate::clock;
use store::{Job, StoreError};

/// Time between two searches for jobs that other gateways added, or whose backoff has passed.
const POLL: Duration = Duration::from_secs(1);

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
            match self.take().await {
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

    /// Takes the next job of a tenant that has not all of its share of the workers.
    async fn take(&self) -> Result<Option<Job>, StoreError> {
        if self.stopping.is_cancelled() {
            return Ok(None);
        }
        let share = share(self.parts.config.workers);
        let mut counts: HashMap<String, usize> = HashMap::new();
        for running in self.running.lock().values() {
            *counts.entry(running.tenant.clone()).or_default() += 1;
        }
        let full = counts.into_iter().filter(|(_, count)| *count >= share).map(|(tenant, _)| tenant).collect();
        self.parts.store.take_job(&self.parts.gateway, LEASE, full).await
    }

    /// Notes that a job runs here, until the worker is dropped.
    fn begin(self: &Arc<Self>, job: &Job, permit: OwnedSemaphorePermit) -> Worker {
        let abandon = CancellationToken::new();
        let running = Running {
            fence: job.fence,
            tenant: job.tenant.clone(),
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
        // The job's tenant may have had all that it may have.
        self.jobs.wake.notify_one();
    }
}

/// The most workers that one tenant has. The others stay free for tenants that come later, because
/// jobs may run for long.
const fn share(workers: usize) -> usize {
    workers.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_half_of_the_workers_and_at_least_one() {
        assert_eq!([1, 2, 3, 8].map(share), [1, 1, 2, 4]);
    }
}
