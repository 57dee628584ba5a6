//! POST /connectors/{connector}/{operation}: from HTTP to the pipeline and back.

use std::sync::Arc;

use hyper::Response;
use hyper::header::ACCEPT;
use prometheus_client::metrics::gauge::Gauge;
use serde_json::json;

use super::answer::private_answer;
use super::authorize::AuthorizedCaller;
use super::problem::{self, Problem, callback_problem, job_problem, pipeline_problem};
use super::route::HttpCall;
use super::server::AnswerDeadline;
use super::{body, connectors, headers};
use crate::gateway::Gateway;
use crate::jobs::NewJob;
use crate::metrics;
use crate::pipeline::body::Body;
use crate::pipeline::{self, Deferred, RunAs, Submitted};
use crate::registry::{Connector, Operation};
use contract::words::{nearest, shortened};
use store::JobStatus;

/// Answers one call. It ends at its deadline, which is counted from its arrival.
pub(super) async fn invoke(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, request, arguments, arrived, .. } = call;
    // The call keeps this version until it ends, also if another version is swapped in.
    let connector = connectors::live(gateway, arguments.connector)?;
    let operation = find(&connector, arguments.operation)?;
    let deadline = arrived + connector.timeout();
    let (head, body) = request.into_parts();
    let body =
        body::read_json(&head.headers, body, gateway, deadline.min(arrived + gateway.config.caller_timeout)).await?;
    let _in_flight = InFlight::new(&operation.metrics.in_flight);
    let user_identifier = headers::user_identifier(&head.headers)?;
    let call = pipeline::Call {
        connector: &connector,
        operation,
        run_as: RunAs::Caller { tenant: caller.tenant(), subject: caller.subject(), user_identifier },
        body: &body,
        accept: head.headers.get(ACCEPT).and_then(|value| value.to_str().ok()),
        deadline,
        background: None,
    };
    let submitted = pipeline::submit(gateway.services(), call).await;
    let answer = match submitted.map_err(|error| pipeline_problem(error, &connector.name()))? {
        Submitted::Answered(answer) => answer,
        // Boxed, because most calls do not need this future.
        Submitted::Deferred(deferred) => {
            return Box::pin(defer(gateway, &caller, &connector, operation, deferred, &body)).await;
        }
    };
    operation.metrics.succeeded.inc();
    metrics::record(&operation.metrics.seconds, arrived.elapsed());
    let mut response = Response::new(answer.body);
    response.extensions_mut().insert(AnswerDeadline(deadline));
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
        connector: &connector.name(),
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
    connector.operation(path).ok_or_else(|| {
        let name = connector.name();
        let known = nearest(path, connector.operations().map(|known| known.manifest.path.as_str()));
        let path = shortened(path);
        problem::UNKNOWN_OPERATION.because(match known {
            Some(known) => format!("`{name}` has no operation `{path}`; did you mean `{known}`?"),
            None => format!("`{name}` has no operation `{path}`; GET /connectors lists its operations."),
        })
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
