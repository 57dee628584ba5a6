//! The queue of jobs, which all gateways on one database share.
//!
//! A gateway that runs a job has a lease on it, which it renews. The clock of the database says
//! when a lease ends. A job is taken from its gateway once this process has seen the lease
//! abandoned ([`database::health`]). Each lease has a number, the fence, which is higher than that
//! of every earlier lease of the job. A write with an old fence has no effect, so a slow gateway
//! cannot end a job that another one has taken up since.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use database::connection::Durability;
use database::time::millis;
use database::value::{Value, values};

use super::types::COLUMNS;
use super::{FullShares, Job, JobValue, queries};
use crate::handles::Jobs;
use crate::{Sealed, Stored};

/// The condition of pending jobs that may be taken. A job that was never taken was due when it was
/// added, also if the clock of the database was set back since.
const IS_DUE: &str = "(due_at <= now_ms() OR started_at IS NULL)";

impl Jobs<'_> {
    /// Lets a gateway take the next pending job for the time `life`, or returns `None` if there is
    /// none. Tenants take turns, and each tenant's oldest job is first. Jobs of tenants and
    /// connectors that have their share of the workers are skipped.
    pub async fn take(self, gateway: &str, life: Duration, full: FullShares) -> Stored<Option<Job>> {
        let FullShares { tenants: full, connectors } = full;
        // An ordinary queue has no full connector, and the same text of the statement each time.
        let of_others = |first: usize| match connectors.len() {
            0 => String::new(),
            count => {
                let names: Vec<_> = (first..first + count).map(|number| format!("${number}")).collect();
                format!("AND connector NOT IN ({})", names.join(", "))
            }
        };
        let (waits, oldest_of_others) = (of_others(1), of_others(2));
        let skipped: Vec<Value> = connectors.iter().map(Value::from).collect();
        let waiting = format!(
            "SELECT tenant FROM job_turns WHERE EXISTS
                 (SELECT 1 FROM jobs WHERE jobs.tenant = job_turns.tenant AND status = 'pending' AND {IS_DUE} {waits})
             ORDER BY turn, tenant"
        );
        // An idle gateway polls often, and must not hold the write lock.
        let waiting: Vec<String> = self.0.read_all(waiting, &skipped).await?;
        let tenants: Vec<String> = waiting.into_iter().filter(|tenant| !full.contains(tenant)).collect();
        if tenants.is_empty() {
            return Ok(None);
        }
        let gateway = gateway.to_owned();
        // After a power loss a job that changes data must not look as if it had never begun.
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let oldest = format!(
                    "SELECT id FROM jobs WHERE tenant = $1 AND status = 'pending' AND {IS_DUE} {oldest_of_others}
                 ORDER BY id LIMIT 1 {}",
                    connection.skip_locked()
                );
                for tenant in &tenants {
                    let names = iter::once(tenant).chain(&connectors);
                    let parameters: Vec<Value> = names.map(Value::from).collect();
                    let Some(id): Option<String> = connection.optional(&oldest, &parameters)? else { continue };
                    connection.execute(
                        "UPDATE job_turns SET turn = (SELECT max(turn) + 1 FROM job_turns) WHERE tenant = $1",
                        values![tenant],
                    )?;
                    return connection.optional(
                        &format!(
                            "UPDATE jobs SET status = 'running', leased_until = now_ms() + $1, fence = fence + 1,
                             attempts = attempts + 1, started_at = COALESCE(started_at, now_ms()), gateway = $3
                         WHERE id = $2 RETURNING {COLUMNS}"
                        ),
                        values![millis(life), &id, &gateway],
                    );
                }
                Ok(None)
            })
            .await
    }

    /// Renews the leases of jobs, given by id and fence, for the time `life`. Returns the ids of
    /// the jobs that were neither taken up nor ended in the meantime. A lease that has ended is
    /// renewed too, unless another worker has taken up the job.
    pub async fn renew(self, jobs: Vec<(String, i64)>, life: Duration) -> Stored<Vec<String>> {
        self.0
            .write(Durability::ProcessKill, move |connection| {
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
    pub async fn save_progress(self, id: &str, fence: i64, progress: Sealed) -> Stored<()> {
        let id = id.to_owned();
        self.0
            .write(Durability::ProcessKill, move |connection| {
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
    pub async fn put_back(self, id: &str, fence: i64, delay: Duration) -> Stored<bool> {
        let put_back = "UPDATE jobs
             SET status = 'pending', due_at = now_ms() + $1, attempts = attempts - 1, leased_until = NULL
             WHERE id = $2 AND fence = $3 AND status = 'running'";
        Ok(self.0.execute(Durability::PowerLoss, put_back, values![millis(delay), id, fence]).await? > 0)
    }

    /// Takes jobs from gateways that died. Those that only read go back into the queue. Returns
    /// their number, and the others, which must not be run again: jobs that change data, and those
    /// that have begun `max_attempts` times. `life` is the time of a lease. A gateway is taken for
    /// dead once this process has seen its leases abandoned, so callers repeat the call.
    pub async fn take_lost(self, life: Duration, max_attempts: u32, limit: u32) -> Stored<(u64, Vec<Job>)> {
        // A lease that would last longer than `life` is the trace of a clock that was set back.
        const ENDED: &str = "status = 'running' AND (leased_until <= now_ms() OR leased_until > now_ms() + $1)";
        // Gateways look often, and must not hold the write lock for nothing.
        let has_ended = format!("SELECT EXISTS (SELECT 1 FROM jobs WHERE {ENDED})");
        if !self.0.read_one::<bool>(has_ended, values![millis(life)]).await? {
            return Ok((0, Vec::new()));
        }
        let health = Arc::clone(self.0.database.health());
        // While the database takes no writes, no one can renew. The look at the leases fails then,
        // because it is in a transaction that locks their rows. A gateway that only read would take
        // the jobs as soon as it can write, before those that run them can.
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let ended: Vec<(Job, i64)> = connection.all(
                    &format!(
                        "SELECT {COLUMNS}, leased_until FROM jobs WHERE {ENDED}
                     ORDER BY leased_until LIMIT {limit} {}",
                        connection.skip_locked()
                    ),
                    values![millis(life)],
                )?;
                let (mut put_back, mut lost) = (0, Vec::new());
                for (job, until) in ended {
                    if !health.is_abandoned(&job.id, job.fence, until) {
                        continue;
                    }
                    if job.changes_data || job.attempts >= u64::from(max_attempts) {
                        lost.push(job);
                        continue;
                    }
                    put_back += connection.execute(
                        "UPDATE jobs SET status = 'pending', due_at = now_ms(), leased_until = NULL WHERE id = $1",
                        values![&job.id],
                    )?;
                }
                Ok((put_back, lost))
            })
            .await
    }

    /// Returns the number of pending jobs of all tenants.
    pub async fn count_pending(self) -> Stored<u64> {
        self.0.read_one("SELECT count(*) FROM jobs WHERE status = 'pending'", &[]).await
    }
}
