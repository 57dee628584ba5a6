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

use super::answer::private_answer;
use super::authorize::AuthorizedCaller;
use super::headers::{Patience, Wishes};
use super::problem::{self, Problem, callback_problem, job_problem, pipeline_problem};
use super::route::HttpCall;
use super::server::AnswerDeadline;
use super::{body, connectors, once};
use crate::auth::Scope;
use crate::gateway::Gateway;
use crate::jobs::NewJob;
use crate::pipeline::body::Body;
use crate::pipeline::{self, Deferred, RunAs, Submitted};
use crate::registry::{Connector, Operation};
use crate::telemetry::Trace;
use contract::Effect;
use contract::words::{nearest, sentence, shortened};
use store::JobStatus;

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Answers one call. It ends at its deadline, which is counted from its arrival.
pub(super) async fn invoke(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, arguments, arrived, trace, .. } = call;
    // The call keeps this version until it ends, also if another version is swapped in.
    let connector = connectors::live(gateway, arguments.connector)?;
    let operation = find(&connector, arguments.operation)?;
    trace.calls(connector.name(), &operation.manifest.path);
    let mut wishes = Wishes::of(&head.headers)?;
    let once = Once::of(&head, operation)?;
    let limit = connector.timeout();
    wishes.patience = wishes.patience.filter(|asked| Duration::from_secs(asked.seconds) < limit);
    let patience = wishes.patience;
    let deadline = arrived + patience.map_or(limit, |asked| Duration::from_secs(asked.seconds));
    body.end_by(deadline);
    let trace = trace.clone();
    let gateway = Arc::clone(gateway);
    // Made before the body is read. What is moved after a pause takes its room in every waiting call twice.
    let mut ready = Ready { gateway, caller, wishes, body: Bytes::new(), arrived, deadline, trace };
    let reading = async {
        // The head of the request ends here. It is a part of the connection's memory, which a call that waits must not keep.
        let head = head;
        body::read_json(&head.headers, body, &ready.gateway).await
    };
    ready.body = ready.trace.around("read", reading).await?;
    let answered = match once {
        Some(once) => Box::pin(run_once(ready, connector, arguments.operation.to_owned(), once)).await,
        None => run(&ready, &connector, operation).await,
    };
    let Some(applied) = patience.and_then(Patience::applied) else { return answered };
    match answered {
        Ok(mut response) => {
            response.headers_mut().insert(PREFERENCE_APPLIED, applied);
            Ok(response)
        }
        Err(problem) => Err(problem.header(PREFERENCE_APPLIED, applied)),
    }
}

/// A call whose body is read.
struct Ready {
    gateway: Arc<Gateway>,
    caller: AuthorizedCaller,
    wishes: Wishes,
    body: Bytes,
    arrived: Instant,
    deadline: Instant,
    trace: Trace,
}

/// The parts of a call's head that make it the same as another.
struct Once {
    /// The header `Idempotency-Key`.
    key: String,
    /// The path of the request.
    path: String,
}

impl Once {
    /// `None` if the call has no key. Reads never need one, and do not look for it.
    ///
    /// # Errors
    /// Those of [`once::key`].
    fn of(head: &Parts, operation: &Operation) -> Result<Option<Self>, Problem> {
        let key = if operation.manifest.effect == Effect::Read { None } else { once::key(&head.headers)? };
        Ok(key.map(|key| Self { key: key.to_owned(), path: head.uri.path().to_owned() }))
    }
}

/// Answers a call with an idempotency key.
async fn run_once(
    ready: Ready,
    connector: Arc<Connector>,
    path: String,
    once: Once,
) -> Result<Response<Body>, Problem> {
    let gateway = Arc::clone(&ready.gateway);
    let caller = ready.caller.clone();
    let user_identifier = ready.wishes.user_identifier.clone().unwrap_or_default();
    let body = ready.body.clone();
    let request: [&[u8]; 4] = [b"POST", once.path.as_bytes(), user_identifier.as_bytes(), &body];
    let called = Arc::clone(&connector);
    let operation_path = path.clone();
    let running = async move {
        let operation = find(&called, &operation_path)?;
        run(&ready, &called, operation).await
    };
    let response = once::answer(&gateway, &caller, &once.key, &request, running).await?;
    if once::is_replayed(&response)
        && let Some(operation) = connector.operation(&path)
    {
        operation.metrics.succeeded.inc();
    }
    Ok(response)
}

/// Runs a call.
async fn run(ready: &Ready, connector: &Arc<Connector>, operation: &Operation) -> Result<Response<Body>, Problem> {
    let Ready { gateway, caller, wishes, body, arrived, deadline, trace } = ready;
    let _in_flight = InFlight::new(&operation.metrics.in_flight);
    let user_identifier = wishes.user_identifier.as_deref();
    let call = pipeline::Call {
        connector,
        operation,
        run_as: RunAs::Caller { tenant: caller.tenant(), subject: caller.subject(), user_identifier },
        body,
        accept: wishes.accept.as_deref(),
        range: wishes.range.as_deref(),
        deadline: *deadline,
        background: None,
        trace: trace.clone(),
    };
    let submitted = pipeline::submit(gateway.services(), &call).await;
    let explain = |error: pipeline::Error| {
        let trap = error.trap().filter(|_| wishes.wants_debug && caller.may(Scope::Admin)).map(ToString::to_string);
        let impatience = wishes.patience.filter(|_| error.is_late());
        let problem = pipeline_problem(error, connector.name());
        let problem = match impatience {
            Some(patience) => problem.of_impatience(patience.seconds, patience.header()),
            None => problem,
        };
        match trap {
            Some(trap) => problem.and(&sentence(&trap)),
            None => problem,
        }
    };
    let answer = match submitted.map_err(explain)? {
        Submitted::Answered(answer) => answer,
        // Boxed, because most calls do not need this future.
        Submitted::Deferred(deferred) => {
            return Box::pin(defer(gateway, caller, connector, operation, deferred, body)).await;
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

/// Adds a job for a call whose body and account are good.
async fn defer(
    gateway: &Gateway,
    caller: &AuthorizedCaller,
    connector: &Connector,
    operation: &Operation,
    deferred: Deferred,
    body: &[u8],
) -> Result<Response<Body>, Problem> {
    let Deferred { user_identifier, callback_urls } = deferred;
    let callback_urls =
        gateway.webhooks.accept_urls(caller.tenant(), &callback_urls).await.map_err(callback_problem)?;
    let new = NewJob {
        tenant: caller.tenant(),
        subject: caller.subject(),
        connector: connector.name(),
        operation: &operation.manifest,
        user_identifier,
        body,
        callback_urls,
    };
    let job_id = gateway.jobs.add(new).await.map_err(job_problem)?;
    operation.metrics.succeeded.inc();
    let href = format!("/jobs/{job_id}");
    Ok(private_answer(&json!({"job_id": job_id, "status": JobStatus::Pending.name(), "href": href})))
}

/// The operation at a path, or a problem that names the nearest one.
fn find<'a>(connector: &'a Arc<Connector>, path: &str) -> Result<&'a Operation, Problem> {
    connector.operation(path).ok_or_else(|| unknown(connector, path))
}

/// The problem of an operation that the connector does not have. It names the nearest one.
pub(super) fn unknown(connector: &Connector, path: &str) -> Problem {
    let name = connector.name();
    let known = nearest(path, connector.operations().map(|known| known.manifest.path.as_str()));
    let path = shortened(path);
    problem::UNKNOWN_OPERATION.because(match known {
        Some(known) => format!("`{name}` has no operation `{path}`; did you mean `{known}`?"),
        None => format!("`{name}` has no operation `{path}`; GET /connectors lists its operations."),
    })
}

/// Counts a call while it runs.
struct InFlight<'a>(&'a Gauge);

impl<'a> InFlight<'a> {
    fn new(gauge: &'a Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}
