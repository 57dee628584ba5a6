//! The queue of jobs, which all gateways on one database share.
//!
//! A gateway that runs a job has a lease on it, which it renews. A lease expires, because the
//! gateway may crash. Each lease has a number, the fence, which is higher than the fence of every
//! earlier lease of the job. A write with an old fence has no effect, so a slow gateway cannot end
//! a job that another one has taken up since.

use std::time::Duration;

use super::types::COLUMNS;
use super::{Job, JobValue, queries};
use crate::connection::Durability;
use crate::time::millis;
use crate::value::values;
use crate::{Sealed, Store, StoreError};

impl Store {
    /// Takes the next pending job for the time `life`, or returns `None` if there is none. Tenants
    /// take turns, and each tenant's oldest job is first. Tenants in `except` are skipped.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn take_job(&self, life: Duration, except: Vec<String>) -> Result<Option<Job>, StoreError> {
        // An idle gateway polls often, and must not hold the write lock.
        let waiting: Vec<String> = self
            .read(|connection| {
                connection.all(
                    "SELECT tenant FROM job_turns WHERE EXISTS
                         (SELECT 1 FROM jobs WHERE jobs.tenant = job_turns.tenant AND status = 'pending' AND due_at <= now_ms())
                     ORDER BY turn, tenant",
                    &[],
                )
            })
            .await?;
        let tenants: Vec<String> = waiting.into_iter().filter(|tenant| !except.contains(tenant)).collect();
        if tenants.is_empty() {
            return Ok(None);
        }
        // After a power loss a job that changes data must not look as if it had never begun.
        self.write(Durability::PowerLoss, move |connection| {
            let oldest = format!(
                "SELECT id FROM jobs WHERE tenant = $1 AND status = 'pending' AND due_at <= now_ms()
                 ORDER BY id LIMIT 1 {}",
                connection.skip_locked()
            );
            for tenant in &tenants {
                let Some(id): Option<String> = connection.optional(&oldest, values![tenant])? else { continue };
                connection.execute(
                    "UPDATE job_turns SET turn = (SELECT max(turn) + 1 FROM job_turns) WHERE tenant = $1",
                    values![tenant],
                )?;
                return connection.optional(
                    &format!(
                        "UPDATE jobs SET status = 'running', leased_until = now_ms() + $1, fence = fence + 1,
                             attempts = attempts + 1, started_at = COALESCE(started_at, now_ms())
                         WHERE id = $2 RETURNING {COLUMNS}"
                    ),
                    values![millis(life), &id],
                );
            }
            Ok(None)
        })
        .await
    }

    /// Renews the leases of jobs, given by id and fence, for the time `life`. Returns the ids of
    /// the jobs that were neither taken up nor ended in the meantime. A lease that has ended is
    /// renewed too, unless another worker has taken up the job.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn renew_jobs(&self, jobs: Vec<(String, i64)>, life: Duration) -> Result<Vec<String>, StoreError> {
        self.write(Durability::ProcessKill, move |connection| {
            let mut renewed = Vec::with_capacity(jobs.len());
            for (id, fence) in jobs {
                let rows = connection.execute(
                    "UPDATE jobs SET leased_until = now_ms() + $1 WHERE id = $2 AND fence = $3 AND status = 'running'",
                    values![millis(life), &id, fence],
                )?;
                if rows > 0 {
                    renewed.push(id);
                }
            }
            Ok(renewed)
        })
        .await
    }

    /// Stores the progress of a running job. Does nothing if the job was taken or ended in the
    /// meantime.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn save_job_progress(&self, id: &str, fence: i64, progress: Sealed) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.write(Durability::ProcessKill, move |connection| {
            // Locks the row, so that the job does not end before the progress is stored.
            let running = connection.execute(
                "UPDATE jobs SET leased_until = leased_until WHERE id = $1 AND fence = $2 AND status = 'running'",
                values![&id, fence],
            )?;
            if running > 0 {
                queries::put_job_value(connection, &id, JobValue::Progress, &progress)?;
            }
            Ok(())
        })
        .await
    }

    /// Puts a running job back into the queue, from which it is not taken before `delay` has
    /// passed. This attempt does not count. Returns `false` and writes nothing if the job was taken
    /// or ended in the meantime.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn put_back_job(&self, id: &str, fence: i64, delay: Duration) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.write(Durability::PowerLoss, move |connection| {
            let written = connection.execute(
                "UPDATE jobs SET status = 'pending', due_at = now_ms() + $1, attempts = attempts - 1, leased_until = NULL
                 WHERE id = $2 AND fence = $3 AND status = 'running'",
                values![millis(delay), &id, fence],
            )?;
            Ok(written > 0)
        })
        .await
    }

    /// Puts jobs back into the queue that only read and whose lease has ended, because their
    /// gateway died. Returns their number.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn put_back_lost_jobs(&self, max_attempts: u32) -> Result<u64, StoreError> {
        let condition = "status = 'running' AND leased_until <= now_ms() AND NOT changes_data AND attempts < $1";
        // Gateways poll often, and must not take the write lock if there is nothing to do.
        let is_any: bool = self
            .read(move |connection| {
                connection.one(&format!("SELECT count(*) > 0 FROM jobs WHERE {condition}"), values![max_attempts])
            })
            .await?;
        if !is_any {
            return Ok(0);
        }
        self.write(Durability::PowerLoss, move |connection| {
            connection.execute(
                &format!(
                    "UPDATE jobs SET status = 'pending', due_at = now_ms(), leased_until = NULL WHERE {condition}"
                ),
                values![max_attempts],
            )
        })
        .await
    }

    /// Returns jobs whose lease has ended and that must not be run again.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn lost_jobs(&self, max_attempts: u32, limit: u32) -> Result<Vec<Job>, StoreError> {
        self.read(move |connection| {
            connection.all(
                &format!(
                    "SELECT {COLUMNS} FROM jobs
                     WHERE status = 'running' AND leased_until <= now_ms() AND (changes_data OR attempts >= $1)
                     ORDER BY leased_until LIMIT $2"
                ),
                values![max_attempts, limit],
            )
        })
        .await
    }

    /// Returns the number of pending jobs of all tenants.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn count_pending_jobs(&self) -> Result<u64, StoreError> {
        self.read(|connection| connection.one("SELECT count(*) FROM jobs WHERE status = 'pending'", &[])).await
    }
}
