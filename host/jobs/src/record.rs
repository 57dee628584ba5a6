//! The public form of a job.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{JobError, Jobs, job_problem};
use clock::timestamp::Timestamp;
use pipeline::UnmatchedField;
use pipeline::background::BackgroundAnswer;
use sandbox::progress::Progress;
use store::{Job, JobStatus, JobValue};
use webhooks::CallbackRecord;

/// A result is in memory at most so many times while a record is made: sealed and unsealed, then
/// unsealed and in the text of the record, which grows.
const COPIES: usize = 3;

/// A job as callers see it. A webhook has no `callbacks`. A list has neither `result` nor
/// `callbacks`, which may be large.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Job")]
pub struct JobRecord<'a> {
    job_id: &'a str,
    connector: &'a str,
    operation: &'a str,
    status: JobStatusName,
    progress: Option<ProgressRecord>,
    /// The answer that a waiting caller would have got; null until the job has succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    result: Option<Option<&'a RawValue>>,
    /// The paths in `response_fields` that led nowhere in the whole answer, which the header
    /// `X-Response-Fields-Unmatched` of a waiting call names; absent if there are none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(with = "Vec<UnmatchedField>")]
    response_fields_unmatched: &'a [UnmatchedField],
    #[schemars(schema_with = "problem_or_null")]
    error: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<CallbackRecord>")]
    callbacks: Option<Vec<CallbackRecord>>,
    created_at: Timestamp,
    /// The time at which the job first ran.
    started_at: Option<Timestamp>,
    /// The time of its end.
    finished_at: Option<Timestamp>,
    /// The time at which it is removed; null until it has ended.
    expires_at: Option<Timestamp>,
}

/// A job of any tenant, as operators see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AnyJob")]
pub struct AnyJobRecord<'a> {
    #[serde(flatten)]
    job: JobRecord<'a>,
    tenant: &'a str,
    /// The user; null if the job belongs to the tenant itself.
    subject: Option<&'a str>,
    /// The account that it runs on; null if the connector needs none.
    user_identifier: Option<&'a str>,
    /// The name of the gateway that took it last; null if none has.
    gateway: Option<&'a str>,
}

/// The state of a job.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "JobStatus", extend("enum" = JobStatus::ALL.map(JobStatus::name)))]
pub(super) struct JobStatusName(&'static str);

/// The part that is done, if the connector reports it, until the job ends.
// Progress is also sealed in this form.
#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "JobProgress")]
pub(super) struct ProgressRecord {
    #[schemars(range(min = 0, max = 1))]
    fraction: f64,
    message: String,
}

/// The schema of a problem document, which is null if there is no problem.
fn problem_or_null(_: &mut SchemaGenerator) -> Schema {
    let problems = ["ValidationProblem", "AccountProblem", "ConflictProblem", "Problem"];
    let references = problems.map(|name| json_schema!({"$ref": format!("#/components/schemas/{name}")}));
    let mut any_of = references.to_vec();
    any_of.push(json_schema!({"type": "null"}));
    json_schema!({"anyOf": any_of})
}

impl From<Progress> for ProgressRecord {
    fn from(Progress { fraction, message }: Progress) -> Self {
        Self { fraction, message }
    }
}

impl<'a> JobRecord<'a> {
    /// The record of a job without values, as a list has it.
    fn listed(job: &'a Job) -> Self {
        Self {
            job_id: &job.id,
            connector: &job.connector,
            operation: &job.operation,
            status: JobStatusName(job.status.name()),
            progress: None,
            result: None,
            response_fields_unmatched: &[],
            error: None,
            callbacks: None,
            created_at: job.created_at.into(),
            started_at: job.started_at.map(Timestamp::from),
            finished_at: job.finished_at.map(Timestamp::from),
            expires_at: job.expires_at.map(Timestamp::from),
        }
    }

    /// The record of a job that has ended, as webhooks have it.
    pub(super) fn ended(job: &'a Job, content: &'a Result<BackgroundAnswer, Box<RawValue>>) -> Self {
        match content {
            Ok(BackgroundAnswer { document, unmatched, .. }) => {
                Self { result: Some(Some(document)), response_fields_unmatched: unmatched, ..Self::listed(job) }
            }
            Err(problem) => Self { result: Some(None), error: Some(problem), ..Self::listed(job) },
        }
    }
}

impl<'a> AnyJobRecord<'a> {
    fn of(job: JobRecord<'a>, row: &'a Job) -> Self {
        Self {
            job,
            tenant: &row.tenant,
            subject: Some(&*row.subject).filter(|subject| !subject.is_empty()),
            user_identifier: row.user_identifier.as_deref(),
            gateway: row.gateway.as_deref(),
        }
    }
}

/// The reader of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Viewer {
    /// The user whose job it is.
    Caller,
    /// The operator.
    Operator,
}

impl Jobs {
    /// The text of a job's record.
    ///
    /// # Errors
    /// If a value cannot be read, or if there is no memory for the result. An operator gets it in any
    /// case.
    pub(super) async fn record(&self, job: &Job, viewer: Viewer) -> Result<String, JobError> {
        let memory = self.parts.egress.memory();
        let mut held = match viewer {
            Viewer::Caller => memory.part(),
            Viewer::Operator => memory.part_beyond_limit(),
        };
        if job.status == JobStatus::Succeeded {
            let bytes = self.parts.store.jobs().value_bytes(&job.id, JobValue::Result).await?;
            held.grow_to(bytes.saturating_mul(COPIES)).map_err(|_| JobError::NoMemory)?;
        }
        let (result, unmatched): (Option<Box<RawValue>>, Option<Vec<UnmatchedField>>) = match job.status {
            JobStatus::Succeeded => (
                self.json_value(&job.id, JobValue::Result).await?,
                self.json_value(&job.id, JobValue::Unmatched).await?,
            ),
            _ => (None, None),
        };
        let error = self.error(job).await?;
        let record = JobRecord {
            result: Some(result.as_deref()),
            response_fields_unmatched: unmatched.as_deref().unwrap_or_default(),
            error: error.as_deref(),
            progress: self.progress(job).await?,
            callbacks: Some(self.callbacks(job).await?),
            ..JobRecord::listed(job)
        };
        let length = result.as_ref().map_or(0, |result| result.get().len());
        Ok(compute::run(length, || match viewer {
            Viewer::Caller => serde_json::to_string(&record),
            Viewer::Operator => serde_json::to_string(&AnyJobRecord::of(record, job)),
        })
        .await?)
    }

    /// The text of a job's record in a list.
    ///
    /// # Errors
    /// If a value cannot be read.
    pub(super) async fn listed_record(&self, job: &Job, viewer: Viewer) -> Result<Box<RawValue>, JobError> {
        let error = self.error(job).await?;
        let progress = self.progress(job).await?;
        let record = JobRecord { error: error.as_deref(), progress, ..JobRecord::listed(job) };
        Ok(match viewer {
            Viewer::Caller => serde_json::value::to_raw_value(&record)?,
            Viewer::Operator => serde_json::value::to_raw_value(&AnyJobRecord::of(record, job))?,
        })
    }

    /// The problem of a job that failed. One that cannot be decrypted must not keep a list from showing
    /// the other jobs, so a problem says so in its place.
    async fn error(&self, job: &Job) -> Result<Option<Box<RawValue>>, JobError> {
        if job.status != JobStatus::Failed {
            return Ok(None);
        }
        match self.json_value(&job.id, JobValue::Error).await {
            Err(error) if error.is_damage() => {
                Ok(Some(serde_json::value::to_raw_value(&job_problem(error).document(&job.id))?))
            }
            found => found,
        }
    }

    async fn progress(&self, job: &Job) -> Result<Option<ProgressRecord>, JobError> {
        if job.status.is_end() {
            return Ok(None);
        }
        match self.json_value(&job.id, JobValue::Progress).await {
            Err(error) if error.is_damage() => Ok(None),
            found => found,
        }
    }

    /// The callbacks of a job, in the order of the caller.
    async fn callbacks(&self, job: &Job) -> Result<Vec<CallbackRecord>, JobError> {
        let urls = self.callback_urls(&job.id).await?;
        let deliveries =
            if urls.is_empty() { Vec::new() } else { self.parts.store.webhooks().deliveries_of(&job.id).await? };
        Ok(CallbackRecord::of_job(&job.id, &urls, &deliveries))
    }
}
