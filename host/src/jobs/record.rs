//! The public form of a job.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{JobError, Jobs};
use crate::integrations::time;
use crate::webhooks::callback_records;
use sandbox::progress::Progress;
use store::{Job, JobStatus, JobValue};

/// A job as callers see it. Webhooks have it without `callbacks`, and lists without `result` and
/// `callbacks`, which may be large.
#[derive(Serialize)]
pub(super) struct Record<'a> {
    job_id: &'a str,
    connector: &'a str,
    operation: &'a str,
    status: &'static str,
    progress: Option<ProgressRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Option<&'a RawValue>>,
    error: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    callbacks: Option<Value>,
    created_at: String,
    started_at: Option<String>,
    finished_at: Option<String>,
    expires_at: Option<String>,
}

/// Progress, as it is sealed and as callers see it.
#[derive(Deserialize, Serialize)]
pub(super) struct ProgressRecord {
    fraction: f64,
    message: String,
}

impl From<Progress> for ProgressRecord {
    fn from(Progress { fraction, message }: Progress) -> Self {
        Self { fraction, message }
    }
}

impl<'a> Record<'a> {
    /// The record of a job without values, as a list has it.
    fn listed(job: &'a Job) -> Self {
        Self {
            job_id: &job.id,
            connector: &job.connector,
            operation: &job.operation,
            status: job.status.name(),
            progress: None,
            result: None,
            error: None,
            callbacks: None,
            created_at: time(job.created_at),
            started_at: job.started_at.map(time),
            finished_at: job.finished_at.map(time),
            expires_at: job.expires_at.map(time),
        }
    }

    /// The record of a job that has ended, as webhooks have it.
    pub(super) fn ended(job: &'a Job, content: &'a Result<Box<RawValue>, Box<RawValue>>) -> Self {
        let (result, error) = (content.as_deref().ok(), content.as_deref().err());
        Self { result: Some(result), error: error.map(|error| &**error), ..Self::listed(job) }
    }
}

impl Jobs {
    /// The text of a job's record.
    ///
    /// # Errors
    /// If a value cannot be read.
    pub(super) async fn record(&self, job: &Job) -> Result<String, JobError> {
        let result: Option<Box<RawValue>> = match job.status {
            JobStatus::Succeeded => self.json_value(&job.id, JobValue::Result).await?,
            _ => None,
        };
        let error = self.error(job).await?;
        let record = Record {
            result: Some(result.as_deref()),
            error: error.as_deref(),
            progress: self.progress(job).await?,
            callbacks: Some(self.callbacks(job).await?),
            ..Record::listed(job)
        };
        let length = result.as_ref().map_or(0, |result| result.get().len());
        Ok(compute::run(length, || serde_json::to_string(&record)).await?)
    }

    /// The text of a job's record in a list.
    ///
    /// # Errors
    /// If a value cannot be read.
    pub(super) async fn listed_record(&self, job: &Job) -> Result<Box<RawValue>, JobError> {
        let error = self.error(job).await?;
        let progress = self.progress(job).await?;
        let record = Record { error: error.as_deref(), progress, ..Record::listed(job) };
        Ok(serde_json::value::to_raw_value(&record)?)
    }

    async fn error(&self, job: &Job) -> Result<Option<Box<RawValue>>, JobError> {
        match job.status {
            JobStatus::Failed => self.json_value(&job.id, JobValue::Error).await,
            _ => Ok(None),
        }
    }

    async fn progress(&self, job: &Job) -> Result<Option<ProgressRecord>, JobError> {
        if job.status.is_end() {
            return Ok(None);
        }
        self.json_value(&job.id, JobValue::Progress).await
    }

    /// The callbacks of a job, in the order of the caller.
    async fn callbacks(&self, job: &Job) -> Result<Value, JobError> {
        let urls: Vec<String> = self.json_value(&job.id, JobValue::Callbacks).await?.unwrap_or_default();
        let deliveries = if urls.is_empty() { Vec::new() } else { self.parts.store.deliveries_of(&job.id).await? };
        Ok(callback_records(&job.id, &urls, &deliveries))
    }
}
