//! A call that waits for its job. The client is told how far the job is, if it asks for that.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use hyper::Response;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::result::Form;
use super::{events, result, rpc_error};
use body::Body;
use endpoint::authorize::AuthorizedCaller;
use gateway::Gateway;
use jobs::{JobError, job_problem};
use mcp::{Revision, message};
use problem::{self, Problem};
use store::vault::VaultError;

/// The longest time that a call waits for an operation that runs in the background.
const JOB_WAIT: Duration = Duration::from_secs(25);

/// The time between two looks at a job: at first, and at most.
const LOOKS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// A wait for a job. If it is dropped, its caller has gone, and the job is cancelled.
pub(super) struct JobWait {
    job: AbandonedJob,
    revision: Revision,
    form: Form,
    /// The token of the client's request for progress, as JSON text.
    token: Option<String>,
    end: Instant,
    pause: Duration,
    /// The part of the job that the client knows to be done.
    told: f64,
    /// The last look failed. The log says it once.
    is_blind: bool,
}

/// The next step of the waiting call, by the state of its job.
enum Step {
    /// The call ends with this result.
    End(String),
    /// More of the job is done: the part, and a text of the connector.
    Progress(f64, String),
}

impl JobWait {
    pub(super) fn new(
        gateway: &Arc<Gateway>,
        caller: &AuthorizedCaller,
        job_id: String,
        revision: Revision,
        form: Form,
        token: Option<String>,
    ) -> Self {
        let job = AbandonedJob { gateway: Arc::clone(gateway), caller: caller.clone(), id: job_id };
        Self { job, revision, form, token, end: Instant::now() + JOB_WAIT, pause: LOOKS.0, told: 0.0, is_blind: false }
    }

    /// Waits for the end, and answers the result, or the id of the job if it takes longer.
    pub(super) async fn end(mut self) -> Result<String, Problem> {
        loop {
            if let Step::End(result) = self.step().await? {
                return Ok(result);
            }
        }
    }

    /// Answers the request with this id by a stream of events, the last of which is the result.
    pub(super) fn answer_with_events(self, id: &RawValue, request_id: &str) -> Response<Body> {
        let (id, request_id) = (id.to_owned(), request_id.to_owned());
        events::response(stream::unfold(Some(self), move |wait| {
            let (id, request_id) = (id.clone(), request_id.clone());
            async move {
                let mut wait = wait?;
                let message = match wait.step().await {
                    Ok(Step::Progress(fraction, words)) => {
                        let told = wait.notification(fraction, &words);
                        return Some((events::event(&told), Some(wait)));
                    }
                    Ok(Step::End(result)) => message::success(&id, &result),
                    Err(problem) => {
                        tracing::warn!(request_id, detail = problem.detail(), "a job could not be waited for");
                        message::failure(Some(&id), &rpc_error(&problem))
                    }
                };
                // The memory of the last event is a part of the budget until it is sent.
                let memory = wait.job.gateway.egress.memory();
                let last = memory.hold_bytes(events::event(&message)).unwrap_or_else(|exhausted| {
                    events::event(&message::failure(Some(&id), &rpc_error(&problem::no_memory(exhausted))))
                });
                Some((last, None))
            }
        }))
    }

    /// Looks at the job until there is something new. A look that fails because of the database does
    /// not end the wait: the job would be cancelled, although its caller has not gone.
    async fn step(&mut self) -> Result<Step, Problem> {
        loop {
            let AbandonedJob { gateway, caller, id } = &self.job;
            let record = match gateway.jobs.get(caller.jobs(), id).await {
                Ok(record) => {
                    self.is_blind = false;
                    record
                }
                Err(error) if is_of_database(&error) => {
                    if !std::mem::replace(&mut self.is_blind, true) {
                        tracing::warn!(%error, job_id = id, "a job cannot be looked at now; its call waits on");
                    }
                    None
                }
                Err(error) => return Err(job_problem(error)),
            };
            if let Some(record) = &record {
                if let Some(result) = result::of_job(gateway, self.revision, record, &self.form) {
                    self.job.disarm();
                    return Ok(Step::End(result));
                }
                if let Some((fraction, words)) = progress_in(record).filter(|(fraction, _)| *fraction > self.told) {
                    self.told = fraction;
                    return Ok(Step::Progress(fraction, words));
                }
            }
            let now = Instant::now();
            if now >= self.end {
                let text =
                    format!("The operation still runs, as the job `{id}`. Call `get_job` with this id for its result.");
                // The client knows the job now.
                self.job.disarm();
                return Ok(Step::End(result::text(self.revision, &text)));
            }
            sleep_until((now + self.pause).min(self.end)).await;
            self.pause = (2 * self.pause).min(LOOKS.1);
        }
    }

    fn notification(&self, fraction: f64, words: &str) -> String {
        let token: Value = self.token.as_deref().and_then(|token| serde_json::from_str(token).ok()).unwrap_or_default();
        let mut params = json!({"progressToken": token, "progress": fraction, "total": 1});
        if !words.is_empty() {
            params["message"] = words.into();
        }
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).to_string()
    }
}

/// Returns `true` if a look at a job failed because the database did. A later look may succeed.
fn is_of_database(error: &JobError) -> bool {
    matches!(error, JobError::Store(error) | JobError::Vault(VaultError::Store(error)) if error.is_failure())
}

/// The part of a job that is done, and the connector's words about it.
pub(super) fn progress_in(record: &str) -> Option<(f64, String)> {
    let members = json_text::members(record).ok()?;
    let (_, progress) = members.iter().find(|(name, _)| name == "progress")?;
    let progress: Value = serde_json::from_str(progress.get()).ok()?;
    Some((progress["fraction"].as_f64()?, progress["message"].as_str().unwrap_or_default().to_owned()))
}

/// Cancels a job when it is dropped, unless its caller knows the job or it has ended.
struct AbandonedJob {
    gateway: Arc<Gateway>,
    caller: AuthorizedCaller,
    id: String,
}

impl AbandonedJob {
    fn disarm(&mut self) {
        self.id.clear();
    }
}

impl Drop for AbandonedJob {
    fn drop(&mut self) {
        if self.id.is_empty() {
            return;
        }
        let (gateway, caller, id) = (Arc::clone(&self.gateway), self.caller.clone(), std::mem::take(&mut self.id));
        self.gateway.background.spawn(async move {
            if let Err(error) = gateway.jobs.cancel(caller.jobs(), &id).await {
                tracing::warn!(%error, job_id = id, "a job whose caller has gone could not be cancelled");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_from_a_record() {
        let record = r#"{"job_id":"job_1","progress":{"fraction":0.5,"message":"half"}}"#;
        assert_eq!(progress_in(record), Some((0.5, "half".to_owned())));
        assert_eq!(progress_in(r#"{"progress":null}"#), None);
    }
}
