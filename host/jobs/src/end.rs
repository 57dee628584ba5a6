//! The end of a job: its state, its result or error, and the webhooks that announce it, in one
//! transaction.

use serde_json::value::RawValue;

use super::problem::failure_problem;
use super::record::JobRecord;
use super::{Failure, JobError, Jobs, Parts};
use calls::EndedProblem;
use metrics::OutcomeLabels;
use pipeline::background::BackgroundAnswer;
use store::{Ended, Job, JobStatus, JobValue, NewDelivery};

/// A result is in memory so many times more while it is stored: sealed, and on its way to the
/// database.
const COPIES: usize = 2;

/// The same, if webhooks announce it: their body has the result too, as text and sealed.
const COPIES_WITH_WEBHOOKS: usize = 4;

/// The end of a job as its caller sees it.
pub(super) struct Explained {
    /// The label of the metric. `cancelled` also has an entry in the audit.
    name: &'static str,
    /// The answer, or the problem document.
    content: Result<BackgroundAnswer, Box<RawValue>>,
    /// The status of the answer that a waiting caller would have got.
    pub(super) status: u16,
    /// The problem, if there is no result.
    pub(super) problem: Option<EndedProblem>,
}

impl Jobs {
    /// Makes the problem document of a job that has no result.
    pub(super) fn explain(&self, job: &Job, outcome: Result<BackgroundAnswer, Failure>) -> Explained {
        let failure = match outcome {
            Ok(answer) => {
                return Explained { name: "succeeded", content: Ok(answer), status: 200, problem: None };
            }
            Err(failure) => failure,
        };
        let name = if matches!(failure, Failure::Cancelled { .. }) { "cancelled" } else { "failed" };
        let problem = failure_problem(failure, &job.connector);
        let status = problem.code();
        let ended = EndedProblem {
            name: problem.name().to_owned(),
            owner: problem.owned_by(),
            detail: problem.detail().to_owned(),
            pointers: problem.pointers(),
        };
        // A document of JSON values can always be written.
        let document = serde_json::value::to_raw_value(&problem.document(&job.id)).unwrap_or_default();
        Explained { name, content: Err(document), status, problem: Some(ended) }
    }

    /// Ends a job, for the worker or caller that knows its fence. Returns `false` if the job was
    /// taken or ended since.
    ///
    /// # Errors
    /// If the store or the vault fails. The job has not ended then.
    pub(super) async fn end(&self, job: &Job, explained: &Explained) -> Result<bool, JobError> {
        let Parts { config, store, metrics, webhooks, .. } = &self.parts;
        let urls = self.callback_urls(&job.id).await?;
        let (status, value, content) = match &explained.content {
            Ok(answer) => (JobStatus::Succeeded, JobValue::Result, &answer.document),
            Err(problem) => (JobStatus::Failed, JobValue::Error, problem),
        };
        let copies = if urls.is_empty() { COPIES } else { COPIES_WITH_WEBHOOKS };
        let _room = self.room.take(content.get().len().saturating_mul(copies)).await;
        let mut values = vec![(value, self.seal(&job.id, value, content.get().as_bytes()).await?)];
        if let Ok(BackgroundAnswer { unmatched, .. }) = &explained.content
            && !unmatched.is_empty()
        {
            values.push((JobValue::Unmatched, self.seal_json(&job.id, JobValue::Unmatched, unmatched).await?));
        }
        let finished_at = store.database().now().await?;
        let expires_at = finished_at + config.keep;
        let job = Job { status, finished_at: Some(finished_at), expires_at: Some(expires_at), ..job.clone() };
        let ended = Ended {
            succeeded: explained.content.is_ok(),
            cancelled: explained.name == "cancelled",
            values,
            finished_at,
            expires_at,
            deliveries: self.deliveries(&job, &urls, &explained.content).await?,
        };
        let is_written = store.jobs().end(&job.id, job.fence, ended).await?;
        if is_written {
            let labels = OutcomeLabels { connector: job.connector, outcome: explained.name.to_owned() };
            metrics.jobs.get_or_create_owned(&labels).inc();
            webhooks.wake();
        }
        Ok(is_written)
    }

    /// The webhooks that announce the end of a job.
    async fn deliveries(
        &self,
        job: &Job,
        urls: &[String],
        content: &Result<BackgroundAnswer, Box<RawValue>>,
    ) -> Result<Vec<NewDelivery>, JobError> {
        if urls.is_empty() {
            return Ok(Vec::new());
        }
        let Parts { webhooks, config, .. } = &self.parts;
        let length = content.as_ref().map_or_else(|error| error, |answer| &answer.document).get().len();
        let record = compute::run(length, || serde_json::to_vec(&JobRecord::ended(job, content))).await?;
        let deliveries = webhooks.deliveries_of_job(&job.tenant, &job.id, urls, &record, config.keep);
        Ok(compute::drive(length, deliveries).await?)
    }
}
