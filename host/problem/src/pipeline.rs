//! Problems of an operation that has no answer.

use hyper::StatusCode;
use serde_json::json;

use super::access::access_problem;
use super::violations::{schema_not_compiled, schema_too_costly, violations_problem};
use super::{
    ANSWER_TOO_LARGE, BAD_REQUEST, BUSY, CONNECTOR_FAILED, EGRESS_DENIED, INTERNAL, NOT_FOUND, NOT_JSON, Problem,
    RATE_LIMITED, RESOURCE_CONFLICT, RESOURCE_NOT_FOUND, STORE_UNAVAILABLE, TOKEN_REFRESHED, UNKNOWN_OPERATION,
    UPSTREAM_FAILED, UPSTREAM_NOT_UNDERSTOOD, UPSTREAM_RATE_LIMITED, UPSTREAM_REJECTED, UPSTREAM_TIMED_OUT,
    UPSTREAM_UNREACHABLE,
};
use contract::Owner;
use contract::words::{nearest, sentence, shortened};
use contract_rules::path::TOO_LONG;
use egress::{EgressError, LONGEST_RETRY_AFTER, Remaining, whole_seconds};
use memory::Exhausted;
use pipeline::{Error, Explanation, UpstreamError, rate};
use registry::{Connector, NoPermit};
use sandbox::{Awaited, InvocationError, Limit, http};
use schema::Violation;

/// The problem of an error of the pipeline.
pub fn pipeline_problem(error: Error, connector: &str) -> Problem {
    match error {
        Error::NotJson(detail) => NOT_JSON.with_detail(sentence(&detail)),
        Error::Invalid(violations) => violations_problem(violations),
        Error::SchemaTooCostly => schema_too_costly().with("connector", connector),
        Error::SchemaNotCompiled(reason) => schema_not_compiled(&reason),
        Error::Access(error) => access_problem(error, connector),
        Error::RateLimited { quota, retry_after } => {
            let remaining = Remaining { quota: &quota, calls: 0, until_more: retry_after };
            let seconds = whole_seconds(retry_after);
            let problem = RATE_LIMITED
                .with_detail(format!("The rate limit `{}` is used up; try again in {seconds} s.", quota.name))
                .retry_after(seconds);
            rate::headers(&remaining).fold(problem, |problem, (name, value)| problem.header(name, value))
        }
        Error::RateLimitNotShared { quota } => STORE_UNAVAILABLE
            .with_detail(format!(
                "All gateways share the rate limit `{quota}` through the database, and this one could not renew its part of it, \
                 because the database does not answer; try again.",
            ))
            .retry_after(1),
        Error::NoPermit(NoPermit::AllTaken) => BUSY
            .with_detail(format!(
                "`{connector}` runs as many calls as `limits.concurrency` allows; try again, or raise this limit."
            ))
            .retry_after(1),
        Error::NoPermit(NoPermit::OverShare) => BUSY
            .with_detail(format!(
                "The tenant has its share of the calls that `{connector}` runs at the same time, and the others are kept for \
                 other tenants; try again, or raise `limits.tenant_share` or `limits.concurrency`."
            ))
            .retry_after(1),
        Error::NoMemory(exhausted) => no_memory(exhausted),
        Error::StoreTimedOut => store_timed_out(),
        Error::OutOfTime => BUSY
            .with_detail(
                "The call's deadline passed while the body was validated or the answer was shaped. Ask for less, try again, or \
                 raise `limits.timeout_s`.",
            )
            .retry_after(1),
        Error::RefreshedElsewhere => BUSY
            .with_detail(
                "Another gateway refreshes the access token, and did not end before the call's deadline; try again, or raise \
                 `limits.timeout_s`.",
            )
            .retry_after(1),
        Error::RefreshTimedOut => UPSTREAM_TIMED_OUT.with_detail(
            "The provider did not refresh the access token before the call's deadline; try again, or raise \
             `limits.timeout_s`.",
        ),
        Error::TokenRefreshed => TOKEN_REFRESHED
            .with_detail(
                "The service refused the access token in the middle of the operation. The gateway has refreshed the token since, and \
                 has not repeated the operation, because it changes data. If `retryable` is true, call it again.",
            )
            .retry_after(1),
        Error::Invocation(failure) => invocation_problem(connector, failure),
        Error::ConnectorFault(text) => {
            let detail = text.lines().next().unwrap_or_default();
            CONNECTOR_FAILED.with_detail(sentence(detail)).with("connector", connector)
        }
        Error::NotFound(Explanation { detail, members }) => {
            RESOURCE_NOT_FOUND.with_detail(sentence(&detail)).with_all(members)
        }
        Error::Conflict(Explanation { detail, members }) => {
            RESOURCE_CONFLICT.with_detail(sentence(&detail)).with_all(members)
        }
        Error::Egress(error) => egress_problem(error),
        Error::TooLarge { limit, key: Some(key) } => ANSWER_TOO_LARGE.with_detail(format!(
            "The upstream's response is larger than {limit} bytes; request less, or raise `{key}`."
        )),
        Error::TooLarge { limit, key: None } => ANSWER_TOO_LARGE
            .with_detail(format!(
                "The upstream's response is larger than the {limit} bytes that the operation allows; request less."
            ))
            .owner(Owner::Caller),
        Error::Http(error) => http_problem(error),
        Error::Upstream(upstream) => upstream_problem(*upstream),
        Error::OutcomeUnknown(error) => pipeline_problem(*error, connector).of_unknown_outcome(),
        Error::NotRaw { content_type } => BAD_REQUEST.with_detail(format!(
            "The gateway sends a part of a file as bytes only; name `{content_type}` in Accept, or leave Range out."
        )),
        Error::NotUnderstood(detail) => UPSTREAM_NOT_UNDERSTOOD.with_detail(sentence(&detail)),
    }
}

/// The problem of an operation that the connector does not have. It names the nearest one.
pub fn unknown_operation(connector: &Connector, path: &str) -> Problem {
    let name = connector.name();
    let known = nearest(path, connector.operations().map(|known| known.manifest.path.as_str()));
    let path = shortened(path);
    UNKNOWN_OPERATION.with_detail(match known {
        Some(known) => format!("`{name}` has no operation `{path}`; did you mean `{known}`?"),
        None => format!("`{name}` has no operation `{path}`; GET /connectors lists its operations."),
    })
}

/// The problem of a path without a route.
pub fn no_route() -> Problem {
    NOT_FOUND.with_detail(
        "No route has this path. Operations are at POST /connectors/{connector}/{operation}; GET /openapi.json lists all \
         paths.",
    )
}

fn invocation_problem(connector: &str, failure: InvocationError) -> Problem {
    match failure {
        InvocationError::NoMemory => super::no_memory(Exhausted),
        InvocationError::Busy => BUSY
            .with_detail(
                "All slots for running connectors are taken, or kept for other connectors and tenants; try again, or raise \
                 `sandbox.instances`.",
            )
            .retry_after(1),
        InvocationError::TimedOut(Awaited::Upstream) => UPSTREAM_TIMED_OUT
            .with_detail(format!(
                "`{connector}` waited for its upstream until the call's deadline; try again, or raise `limits.timeout_s`."
            ))
            .with("connector", connector),
        InvocationError::TimedOut(Awaited::Store) => store_timed_out().with("connector", connector),
        // The connector chose how long it waits.
        InvocationError::TimedOut(Awaited::Sleep) => {
            invocation_problem(connector, InvocationError::Limit(Limit::Time))
        }
        InvocationError::TimedOut(Awaited::Processor) => BUSY
            .with_detail(format!(
                "The processors were busy, so `{connector}` did not end before the call's deadline; try again, or raise \
                 `limits.timeout_s`."
            ))
            .with("connector", connector)
            .retry_after(1),
        InvocationError::Limit(limit) => {
            let problem = CONNECTOR_FAILED
                .with_detail(format!(
                    "`{connector}` went over its {limit} limit and was stopped; ask for less, or raise the limit for this connector."
                ))
                .with("limit", limit.name())
                .with("connector", connector);
            if limit.is_configured() { problem.owner(Owner::Operator) } else { problem }
        }
        // The report is for the operator and the connector's author, so it goes to the log.
        InvocationError::Trapped(trap) => {
            tracing::error!(reason = trap.backtrace, last_lines = trap.last_lines.join("\n"), "the connector trapped");
            CONNECTOR_FAILED
                .with_detail(format!(
                    "`{connector}` trapped; its author finds the cause in the gateway's log."
                ))
                .with("connector", connector)
        }
    }
}

/// The problem of a call whose deadline passed while it waited for the store.
fn store_timed_out() -> Problem {
    STORE_UNAVAILABLE.with_detail("The store did not answer before the call's deadline; try again.").retry_after(1)
}

/// The problem of a call that finds no memory left.
pub fn no_memory(Exhausted: Exhausted) -> Problem {
    BUSY.with_detail("The memory for calls is used up; try again, or raise `memory_mb`.").retry_after(1)
}

/// The problem of a request without a response.
fn egress_problem(error: EgressError) -> Problem {
    let message = sentence(&error.to_string());
    match error {
        EgressError::InvalidRequest { detail } | EgressError::BadPath { detail } => request_not_allowed(&detail),
        EgressError::PathTooLong => path_too_long(),
        EgressError::Denied { detail } => EGRESS_DENIED.with_detail(sentence(&detail)),
        EgressError::NotLinked { detail } => EGRESS_DENIED.with_detail(sentence(&detail)).owner(Owner::Connector),
        EgressError::BadRedirect { .. } => EGRESS_DENIED.with_detail(message),
        EgressError::Unreachable { .. } => UPSTREAM_UNREACHABLE.with_detail(message),
        EgressError::Unresolved { .. } => UPSTREAM_UNREACHABLE.with_detail(message).owner(Owner::Operator),
        EgressError::TokenRefreshed => TOKEN_REFRESHED.with_detail(message).retry_after(1),
        EgressError::TimedOut => upstream_timed_out(),
        EgressError::RateLimited { retry_after } => too_many_waiting(whole_seconds(retry_after)),
        EgressError::QueueStuck { retry_after } => {
            RATE_LIMITED.with_detail(message).owner(Owner::Operator).retry_after(whole_seconds(retry_after))
        }
        EgressError::QueueUnknown => STORE_UNAVAILABLE.with_detail(message).retry_after(1),
        EgressError::TooLarge { .. } => ANSWER_TOO_LARGE.with_detail(message),
        EgressError::NoMemory => no_memory(Exhausted),
        EgressError::BadResponse { .. } => UPSTREAM_NOT_UNDERSTOOD.with_detail(message),
        EgressError::NotConfigured { .. } => INTERNAL.with_detail(message),
        EgressError::NoAccountUrl { .. } => CONNECTOR_FAILED.with_detail(message),
    }
}

/// The problem of a request's error that the connector reports.
fn http_problem(error: http::Error) -> Problem {
    match error {
        http::Error::Denied(detail) => EGRESS_DENIED.with_detail(sentence(&detail)),
        http::Error::InvalidRequest(detail) => request_not_allowed(&detail),
        http::Error::Unreachable(detail) => UPSTREAM_UNREACHABLE.with_detail(sentence(&detail)),
        http::Error::BadAnswer(detail) => UPSTREAM_NOT_UNDERSTOOD.with_detail(sentence(&detail)),
        http::Error::TimedOut => upstream_timed_out(),
        http::Error::TooLarge(detail) => ANSWER_TOO_LARGE.with_detail(sentence(&detail)),
        http::Error::RateLimited(seconds) => too_many_waiting(u64::from(seconds).min(LONGEST_RETRY_AFTER.as_secs())),
        http::Error::Busy(seconds) => BUSY
            .with_detail(
                "The gateway has no memory or no connection left for a request of the connector; try again, or raise \
                 `memory_mb`.",
            )
            .retry_after(seconds.into()),
        http::Error::TooManyRequests => CONNECTOR_FAILED
            .with_detail("The connector sent too many requests in one invocation.")
            .with("limit", "requests"),
        http::Error::Failed(detail) => INTERNAL.with_detail(sentence(&detail)),
    }
}

fn request_not_allowed(detail: &str) -> Problem {
    CONNECTOR_FAILED.with_detail(format!("The connector composed a request that is not allowed: {}", sentence(detail)))
}

/// The caller gives most of the path, so it is a violation of the body.
fn path_too_long() -> Problem {
    violations_problem(vec![Violation { pointer: String::new(), detail: TOO_LONG.to_owned() }])
}

fn upstream_timed_out() -> Problem {
    UPSTREAM_TIMED_OUT
        .with_detail("The upstream did not answer before the call's deadline; try again, or raise `limits.timeout_s`.")
}

fn too_many_waiting(seconds: u64) -> Problem {
    RATE_LIMITED
        .with_detail(format!("Too many calls are waiting for this upstream; try again in {seconds} s."))
        .retry_after(seconds)
}

fn upstream_problem(upstream: UpstreamError) -> Problem {
    let UpstreamError { status, upstream_status, detail, body, retry_after, is_for_user, headers } = upstream;
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut problem = match status {
        429 => UPSTREAM_RATE_LIMITED.with_detail(sentence(&detail)),
        // The upstream did not get the request in time, or does not take it yet. It has not acted
        // on it.
        408 | 425 => UPSTREAM_REJECTED.with_detail(sentence(&detail)).status(code).retryable(true),
        400..=499 => UPSTREAM_REJECTED.with_detail(sentence(&detail)).status(code),
        _ => UPSTREAM_FAILED.with_detail(sentence(&detail)),
    };
    if is_for_user {
        problem = problem.owner(Owner::User);
    }
    if let Some(pause) = retry_after {
        problem = problem.retry_after(whole_seconds(pause));
    }
    let mut shown = json!({"status": upstream_status, "body": body.content});
    if body.is_truncated {
        shown["truncated"] = true.into();
    }
    let problem = problem.with("upstream", shown);
    headers.into_iter().fold(problem, |problem, (name, value)| problem.header(name, value))
}
