//! POST /connectors/{connector}/{operation}: from HTTP to the pipeline and back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::ACCEPT;
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};

use super::integrations::{access_problem, named, subject};
use super::problem::{self, Problem};
use super::{authorize, body};
use crate::auth::Scope;
use crate::gateway::Gateway;
use crate::metrics;
use crate::pipeline::body::Body;
use crate::pipeline::{self, Error, Explanation};
use crate::schema::Violation;
use contract::words::{nearest, sentence};
use egress::whole_seconds;
use sandbox::{Failure, http};

/// Answers one call.
pub(super) async fn invoke(
    gateway: &Gateway,
    connector: &str,
    operation: &str,
    request: Request<Incoming>,
    request_id: &Arc<str>,
) -> Result<Response<Body>, Problem> {
    let started = Instant::now();
    let caller = authorize(gateway, &request, Some(Scope::Operate)).await?;
    let live = gateway.registry.live();
    let Some(connector) = live.get(connector) else {
        return Err(unknown_connector(gateway, connector));
    };
    // From here on the call keeps this version, whatever is swapped in.
    let connector = Arc::clone(connector);
    drop(live);
    let Some(operation) = connector.operation(operation) else {
        let known = nearest(operation, connector.operations().map(|known| known.manifest.path.as_str()));
        let name = connector.name();
        return Err(problem::UNKNOWN_OPERATION.because(match known {
            Some(known) => format!("`{name}` has no operation `{operation}`; did you mean `{known}`?"),
            None => format!("`{name}` has no operation `{operation}`; GET /connectors lists its operations."),
        }));
    };
    let (head, body) = request.into_parts();
    let body = body::read_json(&head.headers, body, gateway.config.max_body_mb).await?;
    let _under_way = UnderWay::new(&operation.metrics.in_flight);
    let behalf =
        pipeline::Behalf::Caller { tenant: &caller.tenant, subject: subject(&caller), named: named(&head.headers)? };
    let accept = head.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let request = pipeline::Request { id: request_id, behalf, body: &body, accept };
    let answer = pipeline::run(gateway.parts(), &connector, operation, request)
        .await
        .map_err(|error| problem_of(error, &connector.name()))?;
    operation.metrics.succeeded.inc();
    metrics::record(&operation.metrics.seconds, started.elapsed());
    let mut response = Response::new(answer.body);
    *response.headers_mut() = answer.headers;
    Ok(response)
}

/// Counts a call while it lives, however it ends.
struct UnderWay<'a>(&'a prometheus_client::metrics::gauge::Gauge);

impl<'a> UnderWay<'a> {
    fn new(gauge: &'a prometheus_client::metrics::gauge::Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// There is no connector of this name.
pub(super) fn unknown_connector(gateway: &Gateway, connector: &str) -> Problem {
    let live = gateway.registry.live();
    problem::UNKNOWN_CONNECTOR.because(match nearest(connector, live.keys().map(String::as_str)) {
        Some(known) => format!("There is no connector `{connector}`; did you mean `{known}`?"),
        None => format!("There is no connector `{connector}`; GET /connectors lists them."),
    })
}

/// What is wrong with a body, all of it.
pub(super) fn violations_problem(violations: Vec<Violation>) -> Problem {
    let count = violations.len();
    let errors: Vec<Value> = violations
        .into_iter()
        .map(|violation| json!({"pointer": violation.pointer, "detail": violation.detail}))
        .collect();
    problem::VALIDATION
        .because(format!("The body has {count} violation{}; `errors` names each.", if count == 1 { "" } else { "s" }))
        .with("errors", errors)
}

/// What an error of the pipeline is to the caller.
pub(super) fn problem_of(error: Error, connector: &str) -> Problem {
    match error {
        Error::NotJson(detail) => problem::NOT_JSON.because(sentence(&detail)),
        Error::Invalid(violations) => violations_problem(violations),
        Error::Access(error) => access_problem(error, connector),
        Error::RateLimited { limit, retry_after } => problem::RATE_LIMITED
            .because(format!("The rate limit `{limit}` is used up; try again in {} s.", whole_seconds(retry_after)))
            .retry_after(whole_seconds(retry_after)),
        Error::Busy(detail) => problem::BUSY.because(detail).retry_after(1),
        Error::Connector(Failure::Busy) => problem::BUSY
            .because("All slots for running connectors are taken; try again, or raise `sandbox.instances`.")
            .retry_after(1),
        Error::Connector(failure) => failed(connector, &failure),
        Error::ConnectorFault(detail) => {
            problem::CONNECTOR_FAILED.because(sentence(&detail)).with("connector", connector)
        }
        Error::NotFound(Explanation { detail, members }) => {
            problem::RESOURCE_NOT_FOUND.because(sentence(&detail)).with_all(members)
        }
        Error::Conflict(Explanation { detail, members }) => {
            problem::RESOURCE_CONFLICT.because(sentence(&detail)).with_all(members)
        }
        Error::Http(error) => http_problem(error),
        Error::Upstream { status, detail, body, retry_after } => upstream_problem(status, &detail, body, retry_after),
        Error::NotUnderstood(detail) => problem::UPSTREAM_NOT_UNDERSTOOD.because(detail),
    }
}

fn failed(connector: &str, failure: &Failure) -> Problem {
    let problem = match failure {
        Failure::TimedOut(time) => problem::UPSTREAM_TIMED_OUT
            .because(format!("`{connector}` did not answer within {} s; try again, or raise `limits.timeout_s`.", time.as_secs())),
        Failure::Limit(limit) => problem::CONNECTOR_FAILED
            .because(format!("`{connector}` went over its {limit} limit and was stopped; ask for less, or raise the limit for this connector."))
            .with("limit", limit.name()),
        // What a trap says is for the operator; it stands in the log.
        Failure::Trapped(reason) => {
            tracing::error!(connector, reason, "the connector trapped");
            problem::CONNECTOR_FAILED.because(format!("`{connector}` stopped with an error of its own; its author finds the cause in the gateway's log."))
        }
        Failure::Busy => problem::BUSY.because("All slots for running connectors are taken; try again."),
    };
    problem.with("connector", connector)
}

fn http_problem(error: http::Error) -> Problem {
    match error {
        http::Error::Denied(detail) => problem::EGRESS_DENIED.because(sentence(&detail)),
        http::Error::InvalidRequest(detail) => problem::CONNECTOR_FAILED
            .because(format!("The connector composed a request that is not allowed: {}", sentence(&detail))),
        http::Error::Unreachable(detail) => problem::UPSTREAM_UNREACHABLE.because(sentence(&detail)),
        http::Error::BadAnswer(detail) => problem::UPSTREAM_NOT_UNDERSTOOD.because(sentence(&detail)),
        http::Error::TimedOut => problem::UPSTREAM_TIMED_OUT.because(
            "The upstream did not answer in the time that this connector has; try again, or raise `limits.timeout_s`.",
        ),
        http::Error::TooLarge(detail) => problem::ANSWER_TOO_LARGE.because(sentence(&detail)),
        http::Error::RateLimited(seconds) => problem::RATE_LIMITED
            .because(format!("Too many calls are waiting for this upstream; try again in {seconds} s."))
            .retry_after(seconds.into()),
        http::Error::TooManyRequests => problem::CONNECTOR_FAILED
            .because("The connector sent too many requests in one invocation.")
            .with("limit", "requests"),
        http::Error::Failed(detail) => problem::INTERNAL.because(sentence(&detail)),
    }
}

fn upstream_problem(status: u16, detail: &str, body: Option<Value>, retry_after: Option<Duration>) -> Problem {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let problem = match status {
        429 => {
            problem::UPSTREAM_RATE_LIMITED.because(sentence(detail)).retry_after(retry_after.map_or(1, whole_seconds))
        }
        400..=499 => problem::UPSTREAM_REJECTED.because(sentence(detail)).status(code),
        _ => problem::UPSTREAM_FAILED.because(sentence(detail)),
    };
    problem.with("upstream", json!({"status": status, "body": body}))
}
