//! POST /connectors/{connector}/{operation}: from HTTP to the pipeline and back.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Response;
use hyper::header::HeaderName;
use prometheus_client::metrics::gauge::Gauge;
use serde_json::json;
use tokio::time::Instant;

use super::connectors;
use ::body::Body;
use auth::Scope;
use calls::Recording;
use contract::Effect;
use contract::words::sentence;
use endpoint::answer::{AcceptedJob, AnswerDeadline, private_answer};
use endpoint::authorize::AuthorizedCaller;
use endpoint::headers::{CallHeaders, RequestedTimeout};
use endpoint::records::JobAcceptedRecord;
use endpoint::route::HttpCall;
use endpoint::{body, idempotency};
use gateway::Gateway;
use jobs::NewJob;
use jobs::job_problem;
use pipeline::{self, Accept, Deferred, RunAs, Submitted};
use problem::{Problem, callback_problem, pipeline_problem, unknown_operation};
use registry::{Connector, Operation};
use schema::CALLBACK_URLS;
use store::JobStatus;
use telemetry::Trace;

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Answers one call. It ends at its deadline, which is counted from its arrival.
pub async fn invoke_operation(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, arguments, arrived, trace, recording, .. } = call;
    // The call keeps this version until it ends, also if another version is swapped in.
    let connector = connectors::live_connector(gateway, arguments.connector)?;
    let operation = find_allowed(&caller, &connector, arguments.operation, trace, recording)?;
    let call_headers = CallHeaders::parse(&head.headers)?;
    // Reads never need a key, and do not look for it.
    let key =
        if operation.manifest.effect == Effect::Read { None } else { idempotency::key_in_headers(&head.headers)? };
    // Made before the body is read. A value that is moved after an await point takes its space
    // twice in every waiting call.
    let mut call = OperationCall::new(gateway, caller, &connector, call_headers, arrived, trace, recording);
    call.use_key(operation, key.map(str::to_owned));
    body.end_by(call.deadline);
    let reading = async {
        // The head of the request ends here. It is a part of the connection's memory, which a call
        // that waits must not keep.
        let head = head;
        body::read_json_body(&head.headers, body, &call.gateway).await
    };
    call.body = call.trace.around("read", reading).await?;
    let outcome = call.answer(&connector, operation).await;
    let Some(applied) = call.call_headers.requested_timeout.and_then(RequestedTimeout::applied) else { return outcome };
    match outcome {
        Ok(mut response) => {
            response.headers_mut().insert(PREFERENCE_APPLIED, applied);
            Ok(response)
        }
        Err(problem) => Err(problem.header(PREFERENCE_APPLIED, applied)),
    }
}

/// The operation at a path, which the caller may call.
///
/// # Errors
/// 404 if the connector has no such operation; the problem names the nearest one. 403 if the
/// caller's key may not call it.
pub fn find_allowed<'a>(
    caller: &AuthorizedCaller,
    connector: &'a Arc<Connector>,
    path: &str,
    trace: &Trace,
    recording: &Recording,
) -> Result<&'a Operation, Problem> {
    recording.runs(&connector.manifest().version);
    let operation = find_operation(connector, path)?;
    recording.is_known();
    caller.require_operation(connector.name(), operation)?;
    trace.calls(connector.name(), &operation.manifest.path);
    Ok(operation)
}

/// A call of an operation, of an HTTP request or of a tool.
#[derive(Clone)]
pub struct OperationCall {
    gateway: Arc<Gateway>,
    caller: AuthorizedCaller,
    call_headers: CallHeaders,
    /// `true` if the caller takes files of every media type as bytes.
    pub takes_any_file: bool,
    /// See [`idempotency`].
    key: Option<String>,
    /// The input of the operation, as the caller sent it.
    pub body: Bytes,
    arrived: Instant,
    /// The end of the time that all stages share.
    pub deadline: Instant,
    trace: Trace,
    recording: Recording,
}

impl OperationCall {
    /// A call without a body. Its deadline is counted from its arrival.
    pub fn new(
        gateway: &Arc<Gateway>,
        caller: AuthorizedCaller,
        connector: &Connector,
        mut call_headers: CallHeaders,
        arrived: Instant,
        trace: &Trace,
        recording: &Recording,
    ) -> Self {
        let limit = connector.timeout();
        let requested = call_headers.requested_timeout;
        call_headers.requested_timeout = requested.filter(|timeout| Duration::from_secs(timeout.seconds) < limit);
        let timeout = call_headers.requested_timeout.map_or(limit, |timeout| Duration::from_secs(timeout.seconds));
        Self {
            gateway: Arc::clone(gateway),
            caller,
            call_headers,
            takes_any_file: false,
            key: None,
            body: Bytes::new(),
            arrived,
            deadline: arrived + timeout,
            trace: trace.clone(),
            recording: recording.clone(),
        }
    }

    /// Runs the call once for this key. Reads ignore it.
    pub fn use_key(&mut self, operation: &Operation, key: Option<String>) {
        self.key = key.filter(|_| operation.manifest.effect != Effect::Read);
        if self.key.is_some() {
            self.recording.has_key();
        }
    }

    /// Answers the call, whose body is read.
    pub async fn answer(&self, connector: &Arc<Connector>, operation: &Operation) -> Result<Response<Body>, Problem> {
        self.recording.takes(&self.body);
        match &self.key {
            Some(key) => Box::pin(self.run_once(connector, operation, key)).await,
            None => self.run(connector, operation).await,
        }
    }

    /// Runs the call if its key is new.
    async fn run_once(
        &self,
        connector: &Arc<Connector>,
        operation: &Operation,
        key: &str,
    ) -> Result<Response<Body>, Problem> {
        let path = format!("/connectors/{}/{}", connector.name(), operation.manifest.path);
        let user_identifier = self.call_headers.user_identifier.as_deref().unwrap_or_default();
        let request: [&[u8]; 4] = [b"POST", path.as_bytes(), user_identifier.as_bytes(), &self.body];
        let (call, called, operation_path) = (self.clone(), Arc::clone(connector), operation.manifest.path.clone());
        let running = async move {
            let operation = find_operation(&called, &operation_path)?;
            call.run(&called, operation).await
        };
        let response = idempotency::answer_idempotently(&self.gateway, &self.caller, key, &request, running).await?;
        if idempotency::is_replayed(&response) {
            operation.metrics.succeeded.inc();
        }
        Ok(response)
    }

    async fn run(&self, connector: &Arc<Connector>, operation: &Operation) -> Result<Response<Body>, Problem> {
        let Self { gateway, caller, call_headers, recording, .. } = self;
        let _in_flight = InFlight::new(&operation.metrics.in_flight);
        let user_identifier = call_headers.user_identifier.as_deref();
        let call = pipeline::Call {
            connector,
            operation,
            run_as: RunAs::Caller { tenant: caller.tenant(), subject: caller.subject(), user_identifier },
            body: &self.body,
            accept: match self.takes_any_file {
                true => Accept::AnyFile,
                false => Accept::Named(call_headers.accept.as_deref()),
            },
            range: call_headers.range.as_deref(),
            deadline: self.deadline,
            background: None,
            hook: None,
            gives_way: false,
            trace: self.trace.clone(),
            recording,
        };
        let submitted = pipeline::submit(gateway.services(), &call).await;
        let answer = match submitted.map_err(|error| self.explain(error, connector))? {
            Submitted::Answered(answer) => answer,
            // Boxed, because most calls do not need this future.
            Submitted::Deferred(deferred) => {
                return Box::pin(self.accept_job(connector, operation, deferred)).await;
            }
        };
        operation.metrics.succeeded.inc();
        operation.metrics.seconds.observe(self.arrived.elapsed().as_secs_f64());
        let mut response = Response::new(answer.body);
        response.extensions_mut().insert(AnswerDeadline(self.deadline));
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        Ok(response)
    }

    fn explain(&self, error: pipeline::Error, connector: &Connector) -> Problem {
        let call_headers = &self.call_headers;
        let report = error.report().filter(|_| call_headers.wants_debug && self.caller.may(Scope::Admin));
        let passed = call_headers.requested_timeout.filter(|_| error.is_late());
        let problem = pipeline_problem(error, connector.name());
        let problem = match passed {
            Some(timeout) => problem.requested_timeout_passed(timeout.seconds, timeout.header()),
            None => problem,
        };
        match report {
            Some(report) => problem.and(&sentence(&report)),
            None => problem,
        }
    }

    /// Adds a job for a call whose body is valid and whose account was found.
    async fn accept_job(
        &self,
        connector: &Connector,
        operation: &Operation,
        deferred: Deferred,
    ) -> Result<Response<Body>, Problem> {
        let Self { gateway, caller, body, trace, recording, .. } = self;
        let Deferred { user_identifier, callback_urls } = deferred;
        let callback_urls = gateway.webhooks.accept_urls(caller.tenant(), &callback_urls).await;
        let callback_urls = callback_urls.map_err(|error| callback_problem(error, CALLBACK_URLS))?;
        let new = NewJob {
            tenant: caller.tenant(),
            subject: caller.subject(),
            connector: connector.name(),
            operation: &operation.manifest,
            user_identifier,
            key_id: caller.key_id().cloned(),
            body,
            callback_urls,
            trace: trace.name(),
        };
        let job_id = gateway.jobs.add(new).await.map_err(job_problem)?;
        recording.is_job(&job_id);
        operation.metrics.succeeded.inc();
        let accepted = AcceptedJob(job_id.clone());
        let href = format!("/jobs/{job_id}");
        let mut response =
            private_answer(&json!(JobAcceptedRecord { job_id, status: JobStatus::Pending.name(), href }));
        response.extensions_mut().insert(accepted);
        Ok(response)
    }
}

/// The operation at a path, or a problem that names the nearest one.
fn find_operation<'a>(connector: &'a Arc<Connector>, path: &str) -> Result<&'a Operation, Problem> {
    connector.operation(path).ok_or_else(|| unknown_operation(connector, path))
}

/// Counts a call while it runs.
pub(super) struct InFlight<'a>(&'a Gauge);

impl<'a> InFlight<'a> {
    pub fn new(gauge: &'a Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}
