//! Adding, finding and cancelling jobs, for their callers.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::record::Viewer;
use super::{Failure, JobError, Jobs, Parts};
use auth::Limits;
use contract::Effect;
use store::{AnyJobFilter, Job, JobFilter, JobStatus, JobValue, KeyId, StoreError, new_job_id};

/// Attempts to cancel a job while workers take it or put it back.
const CANCEL_ATTEMPTS: usize = 10;

/// Pages that are read to find one with a job that the caller's key may see.
const READS_OF_LIST: usize = 10;

/// A job that a caller requests. Body, callback URLs and account have been checked.
pub struct NewJob<'a> {
    /// The tenant of the caller.
    pub tenant: &'a str,
    /// The subject of the caller.
    pub subject: &'a str,
    /// Identifier of the connector.
    pub connector: &'a str,
    /// The operation.
    pub operation: &'a contract::Operation,
    /// The integration that the job runs on. `None` if the connector needs none.
    pub user_identifier: Option<String>,
    /// The API key of the caller. `None` for another token.
    pub key_id: Option<KeyId>,
    /// The body of the call, as the caller sent it.
    pub body: &'a [u8],
    /// URLs that are notified of the end.
    pub callback_urls: Vec<String>,
    /// The name of the span of the call. `None` without telemetry.
    pub trace: Option<String>,
}

/// The jobs that a caller may see and cancel: the jobs of its user whose operations it may call.
#[derive(Clone, Copy)]
pub struct JobsOf<'a> {
    /// The tenant of the caller.
    pub tenant: &'a str,
    /// The subject of the caller.
    pub subject: &'a str,
    /// The limits of the caller's key. `None` if it has none.
    pub limits: Option<&'a Limits>,
    /// The one account that the caller is bound to. `None` if it may use all of its user.
    pub account: Option<&'a str>,
}

/// A page of a list of jobs.
pub struct ListedJobs {
    /// The records.
    pub jobs: Vec<Box<RawValue>>,
    /// The cursor of the next page. `None` on the last page.
    pub next_cursor: Option<String>,
}

impl Jobs {
    /// Adds a job to the queue, and returns its id.
    ///
    /// # Errors
    /// If the tenant has too many pending jobs, or the store or the vault fails.
    pub async fn add(&self, new: NewJob<'_>) -> Result<String, JobError> {
        let id = new_job_id()?;
        let mut values = vec![(JobValue::Input, self.seal(&id, JobValue::Input, new.body).await?)];
        if !new.callback_urls.is_empty() {
            let sealed = self.seal_json(&id, JobValue::Callbacks, &new.callback_urls).await?;
            values.push((JobValue::Callbacks, sealed));
        }
        if let Some(trace) = &new.trace {
            values.push((JobValue::Trace, self.seal(&id, JobValue::Trace, trace.as_bytes()).await?));
        }
        let Parts { config, store, .. } = &self.parts;
        let job = store::NewJob {
            id: id.clone(),
            tenant: new.tenant.to_owned(),
            subject: new.subject.to_owned(),
            connector: new.connector.to_owned(),
            operation: new.operation.path.clone(),
            user_identifier: new.user_identifier,
            changes_data: new.operation.effect != Effect::Read,
            key_id: new.key_id,
            values,
        };
        let (job, limit) = (Arc::new(job), config.max_pending_per_tenant);
        let mut added = store.jobs().add(Arc::clone(&job), limit).await;
        // The database may have stored the job, and its answer was lost. The caller must not be told
        // then that there is no job.
        if added.as_ref().is_err_and(StoreError::may_have_written) {
            added = Ok(store.jobs().add(job, limit).await.map_err(JobError::MayBeAdded)?);
        }
        added?;
        self.wake.notify_one();
        Ok(id)
    }

    /// The text of a job's record, if the caller has this job.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn get(&self, of: JobsOf<'_>, id: &str) -> Result<Option<String>, JobError> {
        match self.find(of, id).await? {
            Some(job) => self.record(&job, Viewer::Caller).await.map(Some),
            None => Ok(None),
        }
    }

    /// A caller's jobs, the newest first: at most `limit`, and only those after the cursor. A page
    /// may be shorter than `limit` if the key of the caller is limited.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn list(
        &self,
        of: JobsOf<'_>,
        status: Option<JobStatus>,
        cursor: Option<String>,
        limit: u32,
    ) -> Result<ListedJobs, JobError> {
        let mut listed = ListedJobs { jobs: Vec::new(), next_cursor: cursor };
        for _ in 0..READS_OF_LIST {
            // One more shows if there is a next page.
            let filter = JobFilter { status, before: listed.next_cursor.take(), limit: limit + 1 };
            let mut found = self.parts.store.jobs().of(of.tenant, of.subject, filter).await?;
            let is_last = found.len() <= limit as usize;
            found.truncate(limit as usize);
            for job in found.iter().filter(|job| self.is_of(of, job)) {
                listed.jobs.push(self.listed_record(job, Viewer::Caller).await?);
            }
            listed.next_cursor = found.last().filter(|_| !is_last).map(|job| job.id.clone());
            if !listed.jobs.is_empty() || is_last {
                break;
            }
        }
        Ok(listed)
    }

    /// Cancels a job. Returns `false` if it has ended before, and `None` if the caller has no such
    /// job.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn cancel(&self, of: JobsOf<'_>, id: &str) -> Result<Option<bool>, JobError> {
        self.cancel_found(id, || self.find(of, id)).await
    }

    async fn find(&self, of: JobsOf<'_>, id: &str) -> Result<Option<Job>, StoreError> {
        let found = self.parts.store.jobs().get(of.tenant, of.subject, id).await?;
        Ok(found.filter(|job| self.is_of(of, job)))
    }

    /// Returns `true` if the limits of the caller's key admit the operation of a job, and the caller
    /// may use its account.
    fn is_of(&self, of: JobsOf<'_>, job: &Job) -> bool {
        let used = job.user_identifier.as_deref();
        if of.account.is_some() && used.is_some() && used != of.account {
            return false;
        }
        let Some(limits) = of.limits else { return true };
        let connector = self.parts.registry.get(&job.connector);
        let live = connector.as_ref().and_then(|connector| connector.operation(&job.operation));
        let effect = match live {
            Some(operation) => operation.manifest.effect,
            // The operation is gone, so that its effect may have been any other one than a read.
            None if job.changes_data => Effect::Destructive,
            None => Effect::Read,
        };
        limits.admit(&job.connector, &job.operation, effect).is_ok()
    }

    /// The text of the record of a job of any tenant, for the operator.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn get_any(&self, id: &str) -> Result<Option<String>, JobError> {
        match self.parts.store.jobs().any(id).await? {
            Some(job) => self.record(&job, Viewer::Operator).await.map(Some),
            None => Ok(None),
        }
    }

    /// Jobs of all tenants, the newest first.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn list_all(&self, filter: AnyJobFilter) -> Result<ListedJobs, JobError> {
        let limit = filter.limit;
        // One more shows if there is a next page.
        let mut found = self.parts.store.jobs().all(AnyJobFilter { limit: limit + 1, ..filter }).await?;
        let is_last = found.len() <= limit as usize;
        found.truncate(limit as usize);
        let mut jobs = Vec::with_capacity(found.len());
        for job in &found {
            jobs.push(self.listed_record(job, Viewer::Operator).await?);
        }
        let next_cursor = found.last().filter(|_| !is_last).map(|job| job.id.clone());
        Ok(ListedJobs { jobs, next_cursor })
    }

    /// As [`Jobs::cancel`], for a job of any tenant.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn cancel_any(&self, id: &str) -> Result<Option<bool>, JobError> {
        self.cancel_found(id, || self.parts.store.jobs().any(id)).await
    }

    /// Cancels the job that `find` reads.
    async fn cancel_found<F>(&self, id: &str, find: impl Fn() -> F) -> Result<Option<bool>, JobError>
    where
        F: Future<Output = Result<Option<Job>, StoreError>>,
    {
        for _ in 0..CANCEL_ATTEMPTS {
            let Some(job) = find().await? else { return Ok(None) };
            if job.status.is_end() {
                return Ok(Some(false));
            }
            // A job that was put back has done nothing.
            let changes_data = job.changes_data && job.status == JobStatus::Running;
            if self.end(&job, &self.explain(&job, Err(Failure::Cancelled { changes_data }))).await? {
                // If another gateway runs the job, it notices at its next renewal that it has lost
                // the job.
                if let Some(running) = self.running.lock().get(id) {
                    running.abandon.cancel();
                }
                return Ok(Some(true));
            }
        }
        Err(JobError::Value("the job kept changing while it was cancelled".to_owned()))
    }
}
