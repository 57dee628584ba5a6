//! Problems of an operation that has no answer.

use hyper::StatusCode;
use serde_json::json;

use super::access::access_problem;
use super::violations::{schema_too_costly, violations_problem};
use super::{
    ANSWER_TOO_LARGE, BAD_REQUEST, BUSY, CONNECTOR_FAILED, EGRESS_DENIED, INTERNAL, NOT_JSON, Owner, Problem,
    RATE_LIMITED, RESOURCE_CONFLICT, RESOURCE_NOT_FOUND, STORE_UNAVAILABLE, UPSTREAM_FAILED, UPSTREAM_NOT_UNDERSTOOD,
    UPSTREAM_RATE_LIMITED, UPSTREAM_REJECTED, UPSTREAM_TIMED_OUT, UPSTREAM_UNREACHABLE,
};
use crate::pipeline::{Error, Explanation, UpstreamError, rate};
use crate::registry::NoPlace;
use contract::words::sentence;
use egress::{Remaining, whole_seconds};
use memory::Exhausted;
use sandbox::{Awaited, InvocationError, http};

/// The problem of an error of the pipeline.
pub(in crate::api) fn pipeline_problem(error: Error, connector: &str) -> Problem {
    match error {
        Error::NotJson(detail) => NOT_JSON.because(sentence(&detail)),
        Error::Invalid(violations) => violations_problem(violations),
        Error::SchemaTooCostly => schema_too_costly().with("connector", connector),
        Error::Access(error) => access_problem(error, connector),
        Error::RateLimited { quota, retry_after } => {
            let remaining = Remaining { quota: &quota, calls: 0, until_more: retry_after };
            let seconds = whole_seconds(retry_after);
            let problem = RATE_LIMITED
                .because(format!("The rate limit `{}` is used up; try again in {seconds} s.", quota.name))
                .retry_after(seconds);
            rate::described(&remaining).fold(problem, |problem, (name, value)| problem.header(name, value))
        }
        Error::NoPermit(NoPlace::AllTaken) => BUSY
            .because(format!(
                "`{connector}` runs as many calls as `limits.concurrency` allows; try again, or raise this limit."
            ))
            .retry_after(1),
        Error::NoPermit(NoPlace::OverShare) => BUSY
            .because(format!(
                "The tenant has its share of the calls that `{connector}` runs at the same time, and the others are kept for \
                 other tenants; try again, or raise `limits.tenant_share` or `limits.concurrency`."
            ))
            .retry_after(1),
        Error::NoMemory(exhausted) => no_memory(exhausted),
        Error::StoreTimedOut => store_timed_out(),
        Error::OutOfTime => BUSY
            .because(
                "The call's deadline passed while the body was validated or the answer was shaped. Ask for less, try again, or \
                 raise `limits.timeout_s`.",
            )
            .retry_after(1),
        Error::RefreshTimedOut => UPSTREAM_TIMED_OUT.because(
            "The provider did not refresh the access token before the call's deadline; try again, or raise \
             `limits.timeout_s`.",
        ),
        Error::Invocation(failure) => invocation_problem(connector, failure),
        Error::ConnectorFault(detail) => CONNECTOR_FAILED.because(sentence(&detail)).with("connector", connector),
        Error::NotFound(Explanation { detail, members }) => {
            RESOURCE_NOT_FOUND.because(sentence(&detail)).with_all(members)
        }
        Error::Conflict(Explanation { detail, members }) => {
            RESOURCE_CONFLICT.because(sentence(&detail)).with_all(members)
        }
        Error::Http(error) => http_problem(error),
        Error::Unresolved(detail) => UPSTREAM_UNREACHABLE.because(sentence(&detail)).owner(Owner::Operator),
        Error::Upstream(upstream) => upstream_problem(*upstream),
        Error::OutcomeUnknown(error) => pipeline_problem(*error, connector).of_unknown_outcome(),
        Error::NotRaw { content_type } => BAD_REQUEST.because(format!(
            "A part of a file is answered as bytes only; name `{content_type}` in Accept, or leave Range out."
        )),
        Error::NotUnderstood(detail) => UPSTREAM_NOT_UNDERSTOOD.because(sentence(&detail)),
    }
}

fn invocation_problem(connector: &str, failure: InvocationError) -> Problem {
    match failure {
        InvocationError::NoMemory => super::no_memory(Exhausted),
        InvocationError::Busy => BUSY
            .because(
                "All slots for running connectors are taken, or kept for other connectors and tenants; try again, or raise \
                 `sandbox.instances`.",
            )
            .retry_after(1),
        InvocationError::TimedOut(Awaited::Upstream) => UPSTREAM_TIMED_OUT
            .because(format!(
                "`{connector}` waited for its upstream until the call's deadline; try again, or raise `limits.timeout_s`."
            ))
            .with("connector", connector),
        InvocationError::TimedOut(Awaited::Store) => store_timed_out().with("connector", connector),
        InvocationError::TimedOut(Awaited::Processor) => BUSY
            .because(format!(
                "The processors were busy, so `{connector}` did not end before the call's deadline; try again, or raise \
                 `limits.timeout_s`."
            ))
            .with("connector", connector)
            .retry_after(1),
        InvocationError::Limit(limit) => CONNECTOR_FAILED
            .because(format!(
                "`{connector}` went over its {limit} limit and was stopped; ask for less, or raise the limit for this connector."
            ))
            .with("limit", limit.name())
            .with("connector", connector),
        // The report is for the operator and the connector's author, so it goes to the log.
        InvocationError::Trapped(trap) => {
            tracing::error!(reason = trap.backtrace, last_lines = trap.last_lines.join("\n"), "the connector trapped");
            CONNECTOR_FAILED
                .because(format!(
                    "`{connector}` stopped with an error of its own; its author finds the cause in the gateway's log."
                ))
                .with("connector", connector)
        }
    }
}

/// The problem of a call whose deadline passed while it waited for the store.
fn store_timed_out() -> Problem {
    STORE_UNAVAILABLE.because("The store did not answer before the call's deadline; try again.").retry_after(1)
}

/// The problem of a call that finds no memory left.
pub(in crate::api) fn no_memory(Exhausted: Exhausted) -> Problem {
    BUSY.because("The memory for calls is used up; try again, or raise `memory_mb`.").retry_after(1)
}

fn http_problem(error: http::Error) -> Problem {
    match error {
        http::Error::Denied(detail) => EGRESS_DENIED.because(sentence(&detail)),
        http::Error::InvalidRequest(detail) => CONNECTOR_FAILED
            .because(format!("The connector composed a request that is not allowed: {}", sentence(&detail))),
        http::Error::Unreachable(detail) => UPSTREAM_UNREACHABLE.because(sentence(&detail)),
        http::Error::BadAnswer(detail) => UPSTREAM_NOT_UNDERSTOOD.because(sentence(&detail)),
        http::Error::TimedOut => UPSTREAM_TIMED_OUT
            .because("The upstream did not answer before the call's deadline; try again, or raise `limits.timeout_s`."),
        http::Error::TooLarge(detail) => ANSWER_TOO_LARGE.because(sentence(&detail)),
        http::Error::RateLimited(seconds) => RATE_LIMITED
            .because(format!("Too many calls are waiting for this upstream; try again in {seconds} s."))
            .retry_after(seconds.into()),
        http::Error::Busy(seconds) => BUSY
            .because("The gateway has no memory or no connection left for a request of the connector; try again, or raise `memory_mb`.")
            .retry_after(seconds.into()),
        http::Error::TooManyRequests => CONNECTOR_FAILED
            .because("The connector sent too many requests in one invocation.")
            .with("limit", "requests"),
        http::Error::Failed(detail) => INTERNAL.because(sentence(&detail)),
    }
}

fn upstream_problem(upstream: UpstreamError) -> Problem {
    let UpstreamError { status, said, detail, body, retry_after, is_for_user, passed_on } = upstream;
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut problem = match status {
        429 => UPSTREAM_RATE_LIMITED.because(sentence(&detail)).retry_after(retry_after.map_or(1, whole_seconds)),
        // The upstream did not get the request in time, or does not take it yet. It has not acted on it.
        408 | 425 => UPSTREAM_REJECTED.because(sentence(&detail)).status(code).retryable(true),
        400..=499 => UPSTREAM_REJECTED.because(sentence(&detail)).status(code),
        _ => UPSTREAM_FAILED.because(sentence(&detail)),
    };
    if is_for_user {
        problem = problem.owner(Owner::User);
    }
    if status != 429
        && let Some(pause) = retry_after
    {
        problem = problem.retry_after(whole_seconds(pause));
    }
    let mut shown = json!({"status": said, "body": body.content});
    if body.is_truncated {
        shown["truncated"] = true.into();
    }
    let problem = problem.with("upstream", shown);
    passed_on.into_iter().fold(problem, |problem, (name, value)| problem.header(name, value))
}
