//! Adding, finding, ending and deleting jobs.

use database::conditions::Conditions;
use database::connection::{Connection, Durability};
use database::value::{FromRow, Row, values};

use super::types::COLUMNS;
use super::{AnyJobFilter, Ended, Job, JobFilter, JobStatus, JobValue, NewJob};
use crate::audit::{self, Acting, AuditAction};
use crate::handles::Jobs;
use crate::integrations::read_sealed;
use crate::{Sealed, StoreError, Stored, webhooks};

/// Jobs that one transaction deletes, so that it does not delay other writes.
const SWEEP_BATCH: u32 = 500;

impl Jobs<'_> {
    /// Adds a job. A tenant may have at most `max_pending` pending jobs. Concurrent transactions
    /// may together exceed this by a few.
    ///
    /// # Errors
    /// Fails with [`StoreError::TooManyJobs`] over the limit, or if the database does not answer.
    pub async fn add(self, job: NewJob, max_pending: u64) -> Stored<()> {
        let quota = self.0.quota;
        self.0.write(Durability::PowerLoss, move |connection| {
            let pending: u64 = connection
                .one("SELECT count(*) FROM jobs WHERE tenant = $1 AND status = 'pending'", values![&job.tenant])?;
            if pending >= max_pending {
                return Err(StoreError::TooManyJobs { limit: max_pending });
            }
            quota.check(connection, &job.tenant)?;
            // A new tenant is first.
            connection.execute(
                "INSERT INTO job_turns (tenant, turn) VALUES ($1, 0) ON CONFLICT (tenant) DO NOTHING",
                values![&job.tenant],
            )?;
            connection.execute(
                "INSERT INTO jobs (id, tenant, subject, connector, operation, user_identifier, changes_data, key_id, status,
                     due_at, created_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', now_ms(), now_ms())",
                values![
                    &job.id,
                    &job.tenant,
                    &job.subject,
                    &job.connector,
                    &job.operation,
                    &job.user_identifier,
                    job.changes_data,
                    job.key_id.as_ref()
                ],
            )?;
            job.values.iter().try_for_each(|(value, sealed)| put_job_value(connection, &job.id, *value, sealed))
        })
        .await
    }

    /// Returns a job of a user, if there is one that has not expired.
    pub async fn get(self, tenant: &str, subject: &str, id: &str) -> Stored<Option<Job>> {
        let (tenant, subject, id) = (tenant.to_owned(), subject.to_owned(), id.to_owned());
        self.0
            .read(move |connection| {
                connection.optional(
                    &format!(
                        "SELECT {COLUMNS} FROM jobs WHERE id = $1 AND tenant = $2 AND subject = $3
                         AND (expires_at IS NULL OR expires_at > now_ms())"
                    ),
                    values![&id, &tenant, &subject],
                )
            })
            .await
    }

    /// Returns a job of any tenant, if there is one that has not expired.
    pub async fn any(self, id: &str) -> Stored<Option<Job>> {
        let id = id.to_owned();
        self.0
            .read(move |connection| {
                let sql = format!(
                    "SELECT {COLUMNS} FROM jobs WHERE id = $1 AND (expires_at IS NULL OR expires_at > now_ms())"
                );
                connection.optional(&sql, values![&id])
            })
            .await
    }

    /// Returns a page of the jobs of all tenants that have not expired, the newest first.
    pub async fn all(self, filter: AnyJobFilter) -> Stored<Vec<Job>> {
        self.0
            .read(move |connection| {
                let AnyJobFilter { tenant, subject, connector, operation, status, before, limit } = filter;
                let mut conditions = Conditions::with_limit(limit);
                conditions.add("(expires_at IS NULL OR expires_at > now_ms())");
                conditions.equal("tenant", tenant);
                conditions.equal("subject", subject);
                conditions.equal("connector", connector);
                conditions.equal("operation", operation);
                conditions.equal("status", status.map(JobStatus::name));
                conditions.compare("id <", before);
                let (clause, values) = conditions.finish();
                // All rows of a list with a status have the same one. In this order, PostgreSQL reads them
                // by the index of the status, also if a few jobs of many have it.
                let order = if status.is_some() { "status DESC, id DESC" } else { "id DESC" };
                connection.all(&format!("SELECT {COLUMNS} FROM jobs {clause} ORDER BY {order} LIMIT $1"), &values)
            })
            .await
    }

    /// Returns the jobs of a user that have not expired, the newest first.
    pub async fn of(self, tenant: &str, subject: &str, filter: JobFilter) -> Stored<Vec<Job>> {
        let (tenant, subject) = (tenant.to_owned(), subject.to_owned());
        self.0
            .read(move |connection| {
                // Every id begins with `job_`, so `k` sorts after all of them.
                let before = filter.before.as_deref().unwrap_or("k");
                let status = filter.status.map(|status| status.name());
                connection.all(
                    &format!(
                        "SELECT {COLUMNS} FROM jobs WHERE tenant = $1 AND subject = $2 AND id < $3
                         AND (CAST($4 AS TEXT) IS NULL OR status = $4) AND (expires_at IS NULL OR expires_at > now_ms())
                     ORDER BY id DESC LIMIT $5"
                    ),
                    values![&tenant, &subject, before, status, filter.limit],
                )
            })
            .await
    }

    /// Returns a value of a job, if the job has it.
    pub async fn value(self, id: &str, value: JobValue) -> Stored<Option<Sealed>> {
        let row = value.row(id);
        self.0
            .read(move |connection| {
                let found: Option<SealedValue> =
                    connection.optional("SELECT data_key, bytes FROM job_values WHERE id = $1", values![&row])?;
                Ok(found.and_then(|SealedValue(sealed)| sealed))
            })
            .await
    }

    /// Ends a job, for the worker or caller that knows the job with this fence, and stores the
    /// webhooks about it. Returns `false` and writes nothing if the job was taken or ended in the
    /// meantime.
    pub async fn end(self, id: &str, fence: i64, ended: Ended) -> Stored<bool> {
        let (id, by) = (id.to_owned(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let status = if ended.succeeded { JobStatus::Succeeded } else { JobStatus::Failed };
                let written: Option<(String, String, String)> = connection.optional(
                "UPDATE jobs SET status = $1, finished_at = $2, expires_at = $3, fence = fence + 1, leased_until = NULL
                 WHERE id = $4 AND fence = $5 AND status IN ('pending', 'running')
                 RETURNING tenant, connector, operation",
                values![status.name(), ended.finished_at, ended.expires_at, &id, fence],
            )?;
                let Some((tenant, connector, operation)) = written else { return Ok(false) };
                if ended.cancelled {
                    let detail = format!("{connector}/{operation}");
                    audit::note(connection, &by, AuditAction::JobCancelled, &id, &tenant, &detail)?;
                }
                // The database keeps no secret that is no longer needed.
                for value in [JobValue::Input, JobValue::Progress] {
                    connection.execute("DELETE FROM job_values WHERE id = $1", values![value.row(&id)])?;
                }
                for (value, sealed) in &ended.values {
                    put_job_value(connection, &id, *value, sealed)?;
                }
                webhooks::insert_deliveries(connection, &ended.deliveries)?;
                Ok(true)
            })
            .await
    }

    /// Deletes jobs that have expired, and returns their number.
    pub async fn delete_expired(self) -> Stored<u64> {
        let mut deleted = 0;
        loop {
            let batch = self
                .0
                .write(Durability::ProcessKill, |connection| {
                    connection.execute(
                        "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE expires_at <= now_ms() LIMIT $1)",
                        values![SWEEP_BATCH],
                    )
                })
                .await?;
            deleted += batch;
            if batch < u64::from(SWEEP_BATCH) {
                return Ok(deleted);
            }
        }
    }
}

/// Stores a value of a job, and replaces a previous one.
pub(super) fn put_job_value(
    connection: &mut dyn Connection,
    job: &str,
    value: JobValue,
    sealed: &Sealed,
) -> Stored<()> {
    connection.execute(
        "INSERT INTO job_values (id, job, data_key, bytes) VALUES ($1, $2, $3, $4)
         ON CONFLICT (id) DO UPDATE SET data_key = excluded.data_key, bytes = excluded.bytes",
        values![value.row(job), job, &sealed.key_id, &sealed.bytes],
    )?;
    Ok(())
}

struct SealedValue(Option<Sealed>);

impl FromRow for SealedValue {
    fn from_row(row: &mut Row) -> Stored<Self> {
        Ok(Self(read_sealed(row)?))
    }
}
