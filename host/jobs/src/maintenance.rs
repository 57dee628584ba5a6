//! Renews the leases of running jobs, and takes up or ends the jobs of gateways that died.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{Failure, JobError, Jobs, LEASE, Parts};

/// Time between two renewals. A gateway notices at a renewal that another one has cancelled a job.
const RENEWAL: Duration = Duration::from_secs(1);

/// Renewals between two searches for lost jobs.
const SEARCH_EVERY: u32 = 3;

/// Renewals between two deletions of expired jobs, if one deletes all of them.
const DELETE_EVERY: u32 = 60;

/// A job that only reads is begun at most this often. A job that itself ends the gateway must not
/// do so again and again.
const MAX_ATTEMPTS: u32 = 30;

/// Lost jobs that are looked at together.
const BATCH: u32 = 100;

impl Jobs {
    /// Renews leases, ends lost jobs and deletes expired ones. Runs until it is dropped.
    pub async fn maintain(self: Arc<Self>) {
        let mut ticks = interval(RENEWAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut renewed_at = Instant::now();
        let (mut is_failing, mut has_expired) = (false, false);
        for tick in 0_u32.. {
            ticks.tick().await;
            let mut result = self.renew(&mut renewed_at).await;
            if tick.is_multiple_of(SEARCH_EVERY) && result.is_ok() {
                result = self.search_lost().await;
            }
            if (has_expired || tick.is_multiple_of(DELETE_EVERY)) && result.is_ok() {
                let deleted = self.parts.store.jobs().delete_expired().await;
                result = deleted.map(|has_more| has_expired = has_more).map_err(JobError::from);
            }
            match result {
                Ok(()) => is_failing = false,
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::error!(%error, "the leases of jobs are not renewed, because the store fails");
                }
                Err(_) => {}
            }
        }
    }

    /// Renews all leases, and abandons jobs that another gateway has ended or taken up.
    async fn renew(&self, renewed_at: &mut Instant) -> Result<(), JobError> {
        let mut held: Vec<(String, i64)> =
            self.running.lock().iter().map(|(id, running)| (id.clone(), running.fence)).collect();
        // Transactions that lock rows in one order do not deadlock.
        held.sort();
        if held.is_empty() {
            *renewed_at = Instant::now();
            return Ok(());
        }
        let began_at = Instant::now();
        let renewed = self.parts.store.jobs().renew(held.clone(), LEASE).await;
        let running = self.running.lock();
        let abandon = |lost: &(String, i64)| {
            if let Some(running) = running.get(&lost.0).filter(|running| running.fence == lost.1) {
                running.abandon.cancel();
            }
        };
        match renewed {
            Ok(renewed) => {
                *renewed_at = began_at;
                held.iter().filter(|(id, _)| !renewed.contains(id)).for_each(abandon);
                Ok(())
            }
            // Another gateway may have taken up the jobs that only read. They should not run twice
            // at the same time. This gateway keeps jobs that change data, and what it knows of
            // their end.
            Err(error) => {
                if renewed_at.elapsed() >= LEASE {
                    let only_reads = |(id, _): &&(String, i64)| running.get(id).is_some_and(|job| !job.changes_data);
                    held.iter().filter(only_reads).for_each(abandon);
                }
                Err(error.into())
            }
        }
    }

    /// Puts lost reads back into the queue, and ends lost jobs that must not be run again.
    async fn search_lost(&self) -> Result<(), JobError> {
        let Parts { store, metrics, .. } = &self.parts;
        let (put_back, ended) = store.jobs().take_lost(LEASE, MAX_ATTEMPTS, BATCH).await?;
        if put_back > 0 {
            tracing::warn!(jobs = put_back, "jobs of a gateway that died are taken up again");
            self.wake.notify_one();
        }
        for job in ended {
            let failure = Failure::CutOff { attempts: job.attempts, changes_data: job.changes_data };
            tracing::warn!(job = job.id, connector = job.connector, "a job of a gateway that died has failed");
            // A job whose values cannot be read must not block the others.
            if let Err(error) = self.end(&job, &self.explain(&job, Err(failure))).await {
                tracing::error!(job = job.id, %error, "the end of a job cannot be stored; it is tried again");
            }
        }
        let pending = store.jobs().count_pending().await?;
        metrics.jobs_pending.set(i64::try_from(pending).unwrap_or(i64::MAX));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_a_gateway_that_died_is_taken_up_within_forty_seconds() {
        let search = RENEWAL * SEARCH_EVERY;
        // The end of the lease is seen by the next search. From then on, searches see it ended, and
        // the first one after the grace takes the job.
        let longest = LEASE + search + store::LEASE_GRACE + search;
        assert!(longest <= Duration::from_secs(40), "{longest:?}");
    }
}
