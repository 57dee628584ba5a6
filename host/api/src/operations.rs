//! POST /connectors/{connector}/{operation}: from HTTP to the pipeline and back.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Response;
use hyper::header::HeaderName;
use hyper::http::request::Parts;
use prometheus_client::metrics::gauge::Gauge;
use serde_json::json;
use tokio::time::Instant;

use super::answer::{AnswerDeadline, private_answer};
use super::authorize::AuthorizedCaller;
use super::headers::{CallHeaders, RequestedTimeout};
use super::records::JobAcceptedRecord;
use super::route::HttpCall;
use super::{body, connectors, idempotency};
use ::body::Body;
use auth::Scope;
use calls::Recording;
use contract::Effect;
use contract::words::sentence;
use gateway::Gateway;
use jobs::NewJob;
use jobs::job_problem;
use pipeline::{self, Accept, Deferred, RunAs, Submitted};
use problem::{Problem, callback_problem, pipeline_problem, unknown_operation};
use registry::{Connector, Operation};
use store::JobStatus;
use telemetry::Trace;

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Answers one call. It ends at its deadline, which is counted from its arrival.
pub(super) async fn invoke_operation(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, arguments, arrived, trace, recording, .. } = call;
    // The call keeps this version until it ends, also if another version is swapped in.
    let connector = connectors::live_connector(gateway, arguments.connector)?;
    recording.runs(&connector.manifest().version);
    let operation = find_operation(&connector, arguments.operation)?;
    caller.require_operation(connector.name(), operation)?;
    trace.calls(connector.name(), &operation.manifest.path);
    let mut call_headers = CallHeaders::parse(&head.headers)?;
    let idempotency_key = IdempotencyKey::from_head(&head, operation)?;
    let limit = connector.timeout();
    call_headers.requested_timeout =
        call_headers.requested_timeout.filter(|timeout| Duration::from_secs(timeout.seconds) < limit);
    let requested_timeout = call_headers.requested_timeout;
    let deadline = arrived + requested_timeout.map_or(limit, |timeout| Duration::from_secs(timeout.seconds));
    body.end_by(deadline);
    if idempotency_key.is_some() {
        recording.has_key();
    }
    let (trace, recording) = (trace.clone(), recording.clone());
    let gateway = Arc::clone(gateway);
    // Made before the body is read. A value that is moved after an await point takes its space
    // twice in every waiting call.
    let mut call = OperationCall {
        gateway,
        caller,
        call_headers,
        takes_any_file: false,
        body: Bytes::new(),
        arrived,
        deadline,
        trace,
        recording,
    };
    let reading = async {
        // The head of the request ends here. It is a part of the connection's memory, which a call
        // that waits must not keep.
        let head = head;
        body::read_json_body(&head.headers, body, &call.gateway).await
    };
    call.body = call.trace.around("read", reading).await?;
    call.recording.takes(&call.body);
    let outcome = match idempotency_key {
        Some(key) => Box::pin(run_idempotent(call, connector, arguments.operation.to_owned(), key)).await,
        None => run_operation(&call, &connector, operation).await,
    };
    let Some(applied) = requested_timeout.and_then(RequestedTimeout::applied) else { return outcome };
    match outcome {
        Ok(mut response) => {
            response.headers_mut().insert(PREFERENCE_APPLIED, applied);
            Ok(response)
        }
        Err(problem) => Err(problem.header(PREFERENCE_APPLIED, applied)),
    }
}

/// A call of an operation that a tool makes. Its arguments are read.
pub(super) struct OperationOfTool<'a> {
    pub(super) gateway: &'a Arc<Gateway>,
    pub(super) caller: &'a AuthorizedCaller,
    /// The version of the connector that was live when the call arrived.
    pub(super) connector: &'a Arc<Connector>,
    /// The path of the operation.
    pub(super) operation: &'a str,
    pub(super) call_headers: CallHeaders,
    /// `true` if files of every media type are taken as bytes.
    pub(super) takes_any_file: bool,
    /// The header `Idempotency-Key`. Reads ignore it.
    pub(super) idempotency_key: Option<String>,
    pub(super) body: Bytes,
    pub(super) arrived: Instant,
    pub(super) trace: &'a Trace,
    pub(super) recording: Recording,
}

/// Answers a call of an operation that a tool makes, as POST /connectors/{connector}/{operation}
/// answers the same call.
pub(super) async fn call_for_tool(call: OperationOfTool<'_>) -> Result<Response<Body>, Problem> {
    let OperationOfTool {
        gateway,
        caller,
        connector,
        call_headers,
        takes_any_file,
        body,
        arrived,
        trace,
        recording,
        ..
    } = call;
    recording.runs(&connector.manifest().version);
    let operation = find_operation(connector, call.operation)?;
    caller.require_operation(connector.name(), operation)?;
    trace.calls(connector.name(), &operation.manifest.path);
    let path = format!("/connectors/{}/{}", connector.name(), operation.manifest.path);
    let key = call.idempotency_key.filter(|_| operation.manifest.effect != Effect::Read);
    let key = key.map(|key| IdempotencyKey { key, path });
    let limit = connector.timeout();
    let timeout = call_headers.requested_timeout.map_or(limit, |timeout| Duration::from_secs(timeout.seconds));
    let deadline = arrived + timeout.min(limit);
    if key.is_some() {
        recording.has_key();
    }
    recording.takes(&body);
    let (gateway, caller, trace) = (Arc::clone(gateway), caller.clone(), trace.clone());
    let operation_call =
        OperationCall { gateway, caller, call_headers, takes_any_file, body, arrived, deadline, trace, recording };
    match key {
        Some(key) => {
            Box::pin(run_idempotent(operation_call, Arc::clone(connector), call.operation.to_owned(), key)).await
        }
        None => run_operation(&operation_call, connector, operation).await,
    }
}

/// A call whose body is read.
struct OperationCall {
    gateway: Arc<Gateway>,
    caller: AuthorizedCaller,
    call_headers: CallHeaders,
    /// `true` if the caller takes files of every media type as bytes.
    takes_any_file: bool,
    body: Bytes,
    arrived: Instant,
    deadline: Instant,
    trace: Trace,
    recording: Recording,
}

/// The idempotency key of a call, with the part of the call's head that a repeat must have too.
struct IdempotencyKey {
    /// The header `Idempotency-Key`.
    key: String,
    /// The path of the request.
    path: String,
}

impl IdempotencyKey {
    /// `None` if the call has no key. Reads never need one, and do not look for it.
    ///
    /// # Errors
    /// The errors of [`idempotency::key_in_headers`].
    fn from_head(head: &Parts, operation: &Operation) -> Result<Option<Self>, Problem> {
        let key =
            if operation.manifest.effect == Effect::Read { None } else { idempotency::key_in_headers(&head.headers)? };
        Ok(key.map(|key| Self { key: key.to_owned(), path: super::routes::normalized(head.uri.path()).into_owned() }))
    }
}

/// Answers a call with an idempotency key.
async fn run_idempotent(
    call: OperationCall,
    connector: Arc<Connector>,
    path: String,
    key: IdempotencyKey,
) -> Result<Response<Body>, Problem> {
    let gateway = Arc::clone(&call.gateway);
    let caller = call.caller.clone();
    let user_identifier = call.call_headers.user_identifier.clone().unwrap_or_default();
    let body = call.body.clone();
    let request: [&[u8]; 4] = [b"POST", key.path.as_bytes(), user_identifier.as_bytes(), &body];
    let called = Arc::clone(&connector);
    let operation_path = path.clone();
    let running = async move {
        let operation = find_operation(&called, &operation_path)?;
        run_operation(&call, &called, operation).await
    };
    let response = idempotency::answer_idempotently(&gateway, &caller, &key.key, &request, running).await?;
    if idempotency::is_replayed(&response)
        && let Some(operation) = connector.operation(&path)
    {
        operation.metrics.succeeded.inc();
    }
    Ok(response)
}

/// Runs a call.
async fn run_operation(
    call: &OperationCall,
    connector: &Arc<Connector>,
    operation: &Operation,
) -> Result<Response<Body>, Problem> {
    let OperationCall { gateway, caller, call_headers, takes_any_file, body, arrived, deadline, trace, recording } =
        call;
    let takes_any_file = *takes_any_file;
    let _in_flight = InFlight::new(&operation.metrics.in_flight);
    let user_identifier = call_headers.user_identifier.as_deref();
    let pipeline_call = pipeline::Call {
        connector,
        operation,
        run_as: RunAs::Caller { tenant: caller.tenant(), subject: caller.subject(), user_identifier },
        body,
        accept: match takes_any_file {
            true => Accept::AnyFile,
            false => Accept::Named(call_headers.accept.as_deref()),
        },
        range: call_headers.range.as_deref(),
        deadline: *deadline,
        background: None,
        trace: trace.clone(),
        recording,
    };
    let submitted = pipeline::submit(gateway.services(), &pipeline_call).await;
    let explain = |error: pipeline::Error| {
        let report = error.report().filter(|_| call_headers.wants_debug && caller.may(Scope::Admin));
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
    };
    let answer = match submitted.map_err(explain)? {
        Submitted::Answered(answer) => answer,
        // Boxed, because most calls do not need this future.
        Submitted::Deferred(deferred) => {
            return Box::pin(accept_job(call, connector, operation, deferred)).await;
        }
    };
    operation.metrics.succeeded.inc();
    operation.metrics.seconds.observe(arrived.elapsed().as_secs_f64());
    let mut response = Response::new(answer.body);
    response.extensions_mut().insert(AnswerDeadline(*deadline));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

/// Adds a job for a call whose body is valid and whose account was found.
async fn accept_job(
    call: &OperationCall,
    connector: &Connector,
    operation: &Operation,
    deferred: Deferred,
) -> Result<Response<Body>, Problem> {
    let OperationCall { gateway, caller, body, trace, recording, .. } = call;
    let Deferred { user_identifier, callback_urls } = deferred;
    let callback_urls =
        gateway.webhooks.accept_urls(caller.tenant(), &callback_urls).await.map_err(callback_problem)?;
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
    let href = format!("/jobs/{job_id}");
    Ok(private_answer(&json!(JobAcceptedRecord { job_id, status: JobStatus::Pending.name(), href })))
}

/// The operation at a path, or a problem that names the nearest one.
fn find_operation<'a>(connector: &'a Arc<Connector>, path: &str) -> Result<&'a Operation, Problem> {
    connector.operation(path).ok_or_else(|| unknown_operation(connector, path))
}

/// Counts a call while it runs.
pub(super) struct InFlight<'a>(&'a Gauge);

impl<'a> InFlight<'a> {
    pub(super) fn new(gauge: &'a Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}
