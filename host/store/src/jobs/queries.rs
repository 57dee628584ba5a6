//! Adding, finding, ending and deleting jobs.

use std::sync::Arc;

use database::conditions::Conditions;
use database::connection::{Connection, Durability};
use database::value::values;

use super::types::COLUMNS;
use super::{AnyJobFilter, Ended, Job, JobFilter, JobStatus, JobValue, NewJob};
use crate::audit::{self, Acting, AuditAction};
use crate::handles::Jobs;
use crate::{Sealed, StoreError, Stored, webhooks};

/// Jobs that one transaction deletes, so that it does not delay other writes.
const SWEEP_BATCH: u32 = 500;

impl Jobs<'_> {
    /// Adds a job. A tenant may have at most `max_pending` pending jobs. Concurrent transactions
    /// may together exceed this by a few. A job that is there already does not change, so it may be
    /// added again when the answer of the database was lost.
    ///
    /// # Errors
    /// Fails with [`StoreError::TooManyJobs`] over the limit.
    pub async fn add(self, job: impl Into<Arc<NewJob>>, max_pending: u64) -> Stored<()> {
        let (job, quota) = (job.into(), self.0.quota);
        self.0.write(Durability::PowerLoss, move |connection| {
            let is_there: bool =
                connection.one("SELECT EXISTS (SELECT 1 FROM jobs WHERE id = $1)", values![&job.id])?;
            if is_there {
                return Ok(());
            }
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
            let NewJob { id, tenant, subject, connector, operation, user_identifier, key_id, .. } = &*job;
            let (changes_data, key_id) = (job.changes_data, key_id.as_ref());
            // The transaction whose answer was lost may be committed only now.
            let added = connection.execute(
                "INSERT INTO jobs (id, tenant, subject, connector, operation, user_identifier, changes_data, key_id, status,
                     due_at, created_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', now_ms(), now_ms()) ON CONFLICT (id) DO NOTHING",
                values![id, tenant, subject, connector, operation, user_identifier, changes_data, key_id],
            )?;
            if added == 0 {
                return Ok(());
            }
            job.values.iter().try_for_each(|(value, sealed)| put_job_value(connection, &job.id, *value, sealed))
        })
        .await
    }

    /// Returns a job of a user, if there is one that has not expired.
    pub async fn get(self, tenant: &str, subject: &str, id: &str) -> Stored<Option<Job>> {
        // No job has such an id, and PostgreSQL cannot look for it. Agents send ids in JSON.
        if id.contains('\0') {
            return Ok(None);
        }
        let get = format!(
            "SELECT {COLUMNS} FROM jobs WHERE id = $1 AND tenant = $2 AND subject = $3
                 AND (expires_at IS NULL OR expires_at > now_ms())"
        );
        self.0.read_optional(get, values![id, tenant, subject]).await
    }

    /// Returns a job of any tenant, if there is one that has not expired.
    pub async fn any(self, id: &str) -> Stored<Option<Job>> {
        let any = format!("SELECT {COLUMNS} FROM jobs WHERE id = $1 AND (expires_at IS NULL OR expires_at > now_ms())");
        self.0.read_optional(any, values![id]).await
    }

    /// Returns a page of the jobs of all tenants that have not expired, the newest first.
    pub async fn all(self, filter: AnyJobFilter) -> Stored<Vec<Job>> {
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
        let list = format!("SELECT {COLUMNS} FROM jobs {clause} ORDER BY {order} LIMIT $1");
        self.0.read_all(list, &values).await
    }

    /// Returns the jobs of a user that have not expired, the newest first.
    pub async fn of(self, tenant: &str, subject: &str, filter: JobFilter) -> Stored<Vec<Job>> {
        // Every id begins with `job_`, so `k` sorts after all of them.
        let before = filter.before.as_deref().unwrap_or("k");
        let list = format!(
            "SELECT {COLUMNS} FROM jobs WHERE tenant = $1 AND subject = $2 AND id < $3
                 AND (CAST($4 AS TEXT) IS NULL OR status = $4) AND (expires_at IS NULL OR expires_at > now_ms())
             ORDER BY id DESC LIMIT $5"
        );
        let status = filter.status.map(JobStatus::name);
        self.0.read_all(list, values![tenant, subject, before, status, filter.limit]).await
    }

    /// Returns a value of a job, if the job has it.
    pub async fn value(self, id: &str, value: JobValue) -> Stored<Option<Sealed>> {
        let value = value.row(id);
        self.0.read_optional("SELECT data_key, bytes FROM job_values WHERE id = $1", values![value]).await
    }

    /// Returns the size of a sealed value of a job. 0 if the job does not have it.
    pub async fn value_bytes(self, id: &str, value: JobValue) -> Stored<usize> {
        let value = value.row(id);
        let size = "SELECT CAST(length(bytes) AS BIGINT) FROM job_values WHERE id = $1";
        let size: Option<i64> = self.0.read_optional(size, values![value]).await?;
        Ok(size.and_then(|size| usize::try_from(size).ok()).unwrap_or_default())
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

    /// Deletes some of the jobs that have expired. Returns `true` if there may be more. There may be
    /// many after an outage, and their caller renews the leases of its jobs in between.
    pub async fn delete_expired(self) -> Stored<bool> {
        let expired = "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE expires_at <= now_ms() LIMIT $1)";
        let deleted = self.0.execute(Durability::ProcessKill, expired, values![SWEEP_BATCH]).await?;
        Ok(deleted == u64::from(SWEEP_BATCH))
    }
}

/// Stores a value of a job, and replaces a previous one.
pub(super) fn put_job_value(
    connection: &mut dyn Connection,
    job: &str,
    value: JobValue,
    sealed: &Sealed,
) -> Stored<()> {
    connection.run(
        "INSERT INTO job_values (id, job, data_key, bytes) VALUES ($1, $2, $3, $4)
         ON CONFLICT (id) DO UPDATE SET data_key = excluded.data_key, bytes = excluded.bytes",
        values![value.row(job), job, &sealed.key_id, &sealed.bytes],
    )
}
