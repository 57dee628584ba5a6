//! One job, from its input to its end.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::end::Explained;
use super::record::ProgressRecord;
use super::{Failure, JobError, Jobs, Parts};
use auth::{MakerError, check_maker};
use calls::{Door, EndedCall, Recording};
use egress::EgressError;
use integrations::{AccessError, IntegrationError};
use pipeline::background::{BackgroundAnswer, run_to_result};
use pipeline::{self, Accept, Background, Call, RunAs};
use sandbox::progress::ProgressSender;
use sandbox::{InvocationError, Limit, http};
use store::vault::VaultError;
use store::{Job, JobValue};
use telemetry::logging::REQUEST_SPAN;

/// Maximum number of requests of one job. It has more time than a call that waits, and often more
/// to read.
pub const MAX_REQUESTS: u32 = 10_000;

/// Time between two writes of progress.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Least time after which a job is tried again that found a limit used up, or a store that did not
/// answer.
const BUSY_BACKOFF: Duration = Duration::from_secs(1);

/// A job fails if its connector is still missing at this time after this gateway has first found it
/// missing. The age of the job does not count, because an old job may find a connector that is just
/// replaced.
const GONE_TIMEOUT: Duration = Duration::from_secs(30);

/// Time for which this gateway remembers that the connector of a job was missing. It is longer than
/// a job waits in a full queue for its next attempt.
const GONE_MEMORY: Duration = Duration::from_secs(600);

/// Time after which a job whose connector is missing is tried again.
const GONE_BACKOFF: Duration = Duration::from_secs(2);

/// Time between two attempts to store the end of a job.
const STORE_BACKOFF: Duration = Duration::from_secs(1);

/// The end of one run.
enum Run {
    /// The job has ended.
    Ended(Result<BackgroundAnswer, Failure>),
    /// Nothing was done, for example because a rate limit is used up. The job is put back into the
    /// queue.
    PutBack(Duration),
    /// Another process has cancelled or taken up the job, and ends it.
    GivenUp,
}

impl Jobs {
    /// Runs a job that this gateway has taken, and writes its end.
    pub(super) async fn run(&self, job: Job, abandon: &CancellationToken) {
        // At the level of errors, so that lines of every level are inside.
        let span = tracing::error_span!(
            target: REQUEST_SPAN, "request",
            request_id = job.id, connector = job.connector, operation = job.operation, tenant = job.tenant
        );
        async {
            let began = Instant::now();
            let recording = self.parts.calls.begin();
            recording.is_of(&job.tenant, &job.subject, job.key_id.as_ref().map(|id| id.0.as_str()));
            recording.is_job(&job.id);
            let (progress, reports) = watch::channel(None);
            let ended = tokio::select! {
                biased;
                () = abandon.cancelled() => Run::GivenUp,
                () = self.cut_off.cancelled() => self.interrupted(&job),
                ended = self.execute(&job, progress, &recording) => ended,
                never = self.report(&job, reports) => match never {},
            };
            let ms = began.elapsed().as_millis() as u64;
            match &ended {
                Run::Ended(Ok(_)) => tracing::debug!(ms, "the job has succeeded"),
                Run::Ended(Err(failure)) => tracing::info!(ms, %failure, "the job has failed"),
                Run::PutBack(backoff) => {
                    tracing::debug!(backoff_ms = backoff.as_millis() as u64, "the job waits again")
                }
                Run::GivenUp => tracing::info!(ms, "the job was given up"),
            }
            let explained = match ended {
                Run::Ended(outcome) => Some(Ok(self.explain(&job, outcome))),
                Run::PutBack(backoff) => Some(Err(backoff)),
                Run::GivenUp => None,
            };
            if let Some(Ok(explained)) = &explained {
                self.record_run(&job, &recording, began, explained);
            } else {
                self.parts.calls.run_left_off(&recording, &job.connector, &job.operation);
            }
            if let Some(explained) = explained {
                self.write_end(&job, explained).await;
            }
        }
        .instrument(span)
        .await;
    }

    /// The end of a job that the end of this gateway cuts off.
    fn interrupted(&self, job: &Job) -> Run {
        if job.changes_data {
            return Run::Ended(Err(Failure::CutOff { attempts: job.attempts, changes_data: true }));
        }
        Run::PutBack(Duration::ZERO)
    }

    /// Writes the record of a run that has ended.
    fn record_run(&self, job: &Job, recording: &Recording, began: Instant, explained: &Explained) {
        let call = EndedCall {
            request_id: &job.id,
            connector: &job.connector,
            operation: &job.operation,
            began,
            status: Some(explained.status),
            problem: explained.problem.clone(),
            is_replayed: false,
            door: Door::Job,
            bytes_out: 0,
        };
        self.parts.calls.end(recording, &call);
    }

    /// Writes the end of a run, or puts the job back into the queue for this time. Repeats it until
    /// the store has taken it, or the job was taken up or ended since: what this gateway knows of the
    /// job is lost only if the gateway ends.
    async fn write_end(&self, job: &Job, explained: Result<Explained, Duration>) {
        let mut is_failing = false;
        loop {
            let written = match &explained {
                Ok(explained) => self.end(job, explained).await,
                Err(backoff) => {
                    self.parts.store.jobs().put_back(&job.id, job.fence, *backoff).await.map_err(JobError::from)
                }
            };
            match written {
                Ok(_) => return,
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::error!(%error, "the end of a job cannot be stored; the gateway tries until it can");
                }
                Err(_) => {}
            }
            sleep(STORE_BACKOFF).await;
        }
    }

    /// Runs the operation.
    async fn execute(&self, job: &Job, progress: ProgressSender, recording: &Recording) -> Run {
        let deadline = Instant::now() + self.parts.config.timeout;
        let result = self.call(job, progress, deadline, recording).await;
        if self.is_gone_for_long(&job.id, &result) {
            return Run::Ended(result);
        }
        let keep = self.parts.config.keep;
        let backoff = result.as_ref().err().and_then(|failure| backoff(failure, recording.has_sent(), keep));
        if let Some((backoff, timeout)) = backoff
            && self.is_younger(job, timeout).await
        {
            return Run::PutBack(backoff);
        }
        let Err(Failure::Call(error)) = result else { return Run::Ended(result) };
        let limit = match error.cause() {
            pipeline::Error::Invocation(InvocationError::TimedOut(_) | InvocationError::Limit(Limit::Time))
            | pipeline::Error::Egress(EgressError::TimedOut)
                if Instant::now() >= deadline =>
            {
                Some("jobs.timeout_s")
            }
            pipeline::Error::Invocation(InvocationError::Limit(Limit::Cpu)) => Some("jobs.cpu_ms"),
            _ => None,
        };
        Run::Ended(Err(match limit {
            Some(limit) => Failure::Limit { limit, changes_data: job.changes_data },
            None => Failure::Call(error),
        }))
    }

    /// Notes if the connector of a job is missing. Returns `true` if it has been missing for
    /// [`GONE_TIMEOUT`].
    fn is_gone_for_long<T>(&self, id: &str, result: &Result<T, Failure>) -> bool {
        let mut gone = self.gone.lock();
        if !matches!(result, Err(Failure::Gone { .. })) {
            gone.remove(id);
            return false;
        }
        // Other gateways may have run or ended the jobs that are forgotten.
        gone.retain(|_, (_, last)| last.elapsed() < GONE_MEMORY);
        let now = Instant::now();
        let (first, last) = gone.entry(id.to_owned()).or_insert((now, now));
        *last = now;
        let is_over = now.duration_since(*first) >= GONE_TIMEOUT;
        if is_over {
            gone.remove(id);
        }
        is_over
    }

    /// Returns `false` if a job was added this long ago. It does not wait without end for a limit
    /// that is always used up.
    async fn is_younger(&self, job: &Job, timeout: Duration) -> bool {
        // While the store does not answer, no one knows. The next attempt asks again.
        !self.parts.store.database().now().await.is_ok_and(|now| now.since(job.created_at) >= timeout)
    }

    async fn call(
        &self,
        job: &Job,
        progress: ProgressSender,
        deadline: Instant,
        recording: &Recording,
    ) -> Result<BackgroundAnswer, Failure> {
        let Parts { config, store, registry, telemetry, .. } = &self.parts;
        let body = self.value(&job.id, JobValue::Input).await?;
        let body = body.ok_or_else(|| JobError::Value("the input is missing".to_owned()))?;
        #[cfg(feature = "simulation")]
        if job.connector == integrations::simulated::CONNECTOR {
            return self.simulated_call(job).await;
        }
        let gone = || Failure::Gone { operation: job.operation.clone() };
        let connector = registry.get(&job.connector).ok_or_else(gone)?;
        let body = Bytes::from(body);
        recording.runs(&connector.manifest().version);
        recording.takes(&body);
        let operation = connector.operation(&job.operation).ok_or_else(gone)?;
        if let Some(id) = &job.key_id {
            let effect = operation.manifest.effect;
            check_maker(store, id, connector.name(), &job.operation, effect).await.map_err(|error| match error {
                MakerError::Refused(refusal) => Failure::NotAllowed(refusal),
                MakerError::Store(error) => JobError::from(error).into(),
            })?;
        }
        let added_by = if telemetry.is_on() { self.value(&job.id, JobValue::Trace).await? } else { None };
        let trace = telemetry.job(&job.id, added_by);
        let call = Call {
            connector: &connector,
            operation,
            run_as: RunAs::Caller {
                tenant: &job.tenant,
                subject: &job.subject,
                user_identifier: job.user_identifier.as_deref(),
            },
            body: &body,
            accept: Accept::Named(None),
            range: None,
            deadline,
            background: Some(Background { cpu: config.cpu, requests: MAX_REQUESTS, progress }),
            hook: None,
            gives_way: false,
            trace: trace.clone(),
            recording,
        };
        trace.calls(&job.connector, &job.operation);
        trace.is_of(&job.tenant);
        let result = run_to_result(self.services(), &call).await;
        trace.end(result.is_ok());
        Ok(result?)
    }

    /// Stores the connector's reports of progress. Never ends.
    async fn report(
        &self,
        job: &Job,
        mut reports: watch::Receiver<Option<sandbox::progress::Progress>>,
    ) -> std::convert::Infallible {
        loop {
            // An error means that the operation has ended, and then this future is dropped.
            if reports.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            let Some(last) = reports.borrow_and_update().clone() else { continue };
            if let Err(error) = self.save_progress(job, last.into()).await {
                tracing::warn!(%error, "the progress of a job cannot be stored");
            }
            sleep(REPORT_INTERVAL).await;
        }
    }

    async fn save_progress(&self, job: &Job, progress: ProgressRecord) -> Result<(), JobError> {
        let sealed = self.seal_json(&job.id, JobValue::Progress, &progress).await?;
        Ok(self.parts.store.jobs().save_progress(&job.id, job.fence, sealed).await?)
    }
}

/// The time after which a job is tried again that failed before it had done anything, and the age
/// from which on it is not: `keep`, the time for which its result would be kept, or less. `None` if
/// its failure is final. `has_sent` says that it has sent a request.
fn backoff(failure: &Failure, has_sent: bool, keep: Duration) -> Option<(Duration, Duration)> {
    Some(match failure {
        // The connector may be about to be replaced, or it may be at another gateway. The age of the
        // job does not matter: `Jobs::is_gone_for_long` ends the wait.
        Failure::Gone { .. } => (GONE_BACKOFF, Duration::MAX),
        Failure::Call(pipeline::Error::RateLimited { retry_after, .. }) => (BUSY_BACKOFF.max(*retry_after), keep),
        // An answer that needs more memory than there is would be fetched again and again.
        Failure::Call(pipeline::Error::NoMemory(_)) if has_sent => return None,
        Failure::Failed(JobError::Store(_) | JobError::Vault(VaultError::Store(_)))
        | Failure::Call(
            pipeline::Error::NoPermit(_)
            | pipeline::Error::NoMemory(_)
            | pipeline::Error::RateLimitNotShared { .. }
            | pipeline::Error::TokenRefreshed
            | pipeline::Error::Invocation(InvocationError::Busy | InvocationError::NoMemory)
            | pipeline::Error::Http(http::Error::Busy(_))
            | pipeline::Error::Egress(EgressError::QueueUnknown)
            | pipeline::Error::Access(AccessError::Failed(
                IntegrationError::Store(_) | IntegrationError::RefreshNotStored,
            )),
        ) => (BUSY_BACKOFF, keep),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use store::StoreError;

    use super::*;

    const KEEP: Duration = Duration::from_secs(3600);

    #[test]
    fn a_job_that_has_done_nothing_waits_for_limits_and_for_the_store() {
        let waits = |error: pipeline::Error, has_sent: bool| backoff(&Failure::Call(error), has_sent, KEEP).is_some();
        assert!(waits(pipeline::Error::RateLimitNotShared { quota: "minute".to_owned() }, false));
        assert!(waits(EgressError::QueueUnknown.into(), true));
        assert!(waits(pipeline::Error::TokenRefreshed, true));
        assert!(waits(EgressError::NoMemory.into(), false));
        assert!(!waits(EgressError::NoMemory.into(), true), "its answer may never find room");
        let unknown = pipeline::Error::OutcomeUnknown(Box::new(EgressError::QueueUnknown.into()));
        assert!(!waits(unknown, true), "it has perhaps changed data");
        assert!(!waits(EgressError::TimedOut.into(), false));
        let store = || StoreError::Closed;
        for failure in [
            Failure::Failed(store().into()),
            Failure::Failed(VaultError::Store(store()).into()),
            Failure::Call(AccessError::Failed(IntegrationError::RefreshNotStored).into()),
        ] {
            assert!(backoff(&failure, false, KEEP).is_some(), "{failure}");
        }
    }
}
