//! Why a call has no answer.

use std::mem;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};
use thiserror::Error;

use super::refusal::{lacks_scope, rate_limit, shown};
use contract::Effect;
use contract_rules::limit::FAULT_MEMBERS_BYTES;
use egress::{EgressError, LONGEST_RETRY_AFTER, Quota, Refusal, Refused};
use integrations::AccessError;
use memory::Exhausted;
use registry::NoPermit;
use sandbox::http::{self, Outbound};
use sandbox::{Fault, InvocationError, TrapReport};
use schema::{self, InputError, Violation};

/// A connector's text is cut to this length before it is shown to a caller.
const MAX_DETAIL_BYTES: usize = 4 << 10;

/// Why a call has no answer.
#[derive(Debug, Error)]
pub enum Error {
    /// The body is not JSON.
    #[error("{0}")]
    NotJson(String),
    /// The body does not match the operation's schema.
    #[error("the body is not valid")]
    Invalid(Vec<Violation>),
    /// The operation's schema needs too many steps to validate the body.
    #[error("the schema of the operation takes too long to validate this body")]
    SchemaTooCostly,
    /// The operation's schema cannot be compiled, although its trial has succeeded.
    #[error("the schema of the operation {0}")]
    SchemaNotCompiled(String),
    /// There is no account to run on, or no good credential for it.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A rate limit of the manifest is used up.
    #[error("the rate limit `{}` is used up", quota.name)]
    RateLimited {
        /// The limit.
        quota: Quota,
        /// Time until it admits the next call.
        retry_after: Duration,
    },
    /// Gateways share a rate limit of the manifest, and this one could not renew its part.
    #[error("the part of the rate limit `{quota}` that this gateway had has ended")]
    RateLimitNotShared {
        /// The name of the limit.
        quota: String,
    },
    /// There is no permit of the connector for the caller.
    #[error("the connector runs as many calls as `limits.concurrency` and `limits.tenant_share` allow")]
    NoPermit(NoPermit),
    /// The memory for calls is used up.
    #[error(transparent)]
    NoMemory(#[from] Exhausted),
    /// The deadline passed while the account was read from the store.
    #[error("the store did not answer before the deadline")]
    StoreTimedOut,
    /// The deadline passed before the body was validated or the answer was shaped.
    #[error("other calls used the processors until the deadline")]
    OutOfTime,
    /// The deadline passed while another gateway refreshed the access token.
    #[error("another gateway did not refresh the access token before the deadline")]
    RefreshedElsewhere,
    /// The deadline passed while the provider was asked for another access token.
    #[error("the access token was not refreshed before the deadline")]
    RefreshTimedOut,
    /// The upstream refused the access token in the middle of an operation that changes data. A new
    /// one is there, and the operation was not repeated.
    #[error("the access token was refreshed in the middle of the operation, which was not repeated")]
    TokenRefreshed,
    /// The invocation gave neither an outcome nor a fault.
    #[error(transparent)]
    Invocation(#[from] InvocationError),
    /// The connector says that it failed. Callers see the first line of its text.
    #[error("{0}")]
    ConnectorFault(String),
    /// The connector says that the requested resource does not exist.
    #[error("{}", .0.detail)]
    NotFound(Explanation),
    /// The connector says that the request conflicts with the state of the service, or is
    /// ambiguous.
    #[error("{}", .0.detail)]
    Conflict(Explanation),
    /// A request to the upstream has no response, or the body of the response cannot be read.
    #[error(transparent)]
    Egress(EgressError),
    /// The upstream's response is larger than a limit.
    #[error("the upstream's response is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
        /// The key that raises it. `None` if it is the connector's own.
        key: Option<&'static str>,
    },
    /// The connector reports an error in the terms of the contract, which has no other cause.
    #[error("{0}")]
    Http(http::Error),
    /// The upstream answered with a status of 4xx or 5xx, or the connector says so.
    #[error("{}", .0.detail)]
    Upstream(Box<UpstreamError>),
    /// The call failed after a request that may have changed data. So the caller must not simply
    /// call again.
    #[error(transparent)]
    OutcomeUnknown(Box<Error>),
    /// The caller requests a part of a file, and does not accept the bytes of the file.
    #[error("a part of a file is sent as bytes only")]
    NotRaw {
        /// The media type of the file.
        content_type: String,
    },
    /// The upstream's answer is not what the operation answers.
    #[error("{0}")]
    NotUnderstood(String),
}

/// An upstream's refusal or failure.
#[derive(Debug)]
pub struct UpstreamError {
    /// The status of the answer to the caller.
    pub status: u16,
    /// The status that the upstream sent. It differs for a rate limit that the upstream did not
    /// call so, and for a refusal that the connector has read in a body.
    pub upstream_status: u16,
    /// A sentence about it.
    pub detail: String,
    /// The upstream's body.
    pub body: ShownBody,
    /// The time after which the upstream accepts requests again, if it said so.
    pub retry_after: Option<Duration>,
    /// Headers of the response for the caller.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// `true` if only the user can fix it: the access that the user gave is not enough.
    pub is_for_user: bool,
}

/// The body of an upstream's error, as far as a caller sees it.
#[derive(Debug, Default)]
pub struct ShownBody {
    /// JSON or text. `None` if there is no body.
    pub content: Option<Value>,
    /// `true` if the upstream's body is longer.
    pub is_truncated: bool,
}

impl Error {
    /// The error with the facts that the requests of the call add to it.
    pub(super) fn after(self, outbound: &Outbound, effect: Effect) -> Self {
        let record = outbound.record();
        let is_refusal = match &self {
            Self::NotFound(_) | Self::Conflict(_) | Self::Invalid(_) | Self::Access(_) | Self::TokenRefreshed => true,
            Self::Upstream(upstream) => upstream.status < 500,
            _ => false,
        };
        let error = match self {
            Self::Http(error) => outbound.cause(&error).map_or(Self::Http(error), Self::Egress),
            Self::Upstream(mut upstream) => {
                upstream.upstream_status = record.upstream_status(upstream.status).unwrap_or(upstream.status);
                Self::Upstream(upstream)
            }
            error => error,
        };
        if effect != Effect::Read && record.may_have_changed_data(is_refusal) {
            return Self::OutcomeUnknown(Box::new(error));
        }
        error
    }

    /// A quota refuses a call.
    pub(super) fn rate_limited(Refused { quota, until_more, has_lapsed, .. }: Refused<'_>) -> Self {
        match has_lapsed {
            true => Self::RateLimitNotShared { quota: quota.name.clone() },
            false => Self::RateLimited { quota: quota.clone(), retry_after: until_more },
        }
    }

    /// The trap that ended the connector, if one did.
    pub fn trap(&self) -> Option<&TrapReport> {
        match self.cause() {
            Self::Invocation(InvocationError::Trapped(trap)) => Some(trap),
            _ => None,
        }
    }

    /// The part that is for operators and the connector's author only: the trap that ended the
    /// connector, or the lines after the first one of its own text.
    pub fn report(&self) -> Option<String> {
        match self.cause() {
            Self::Invocation(InvocationError::Trapped(trap)) => Some(trap.to_string()),
            Self::ConnectorFault(text) => text.split_once('\n').map(|(_, report)| report.to_owned()),
            _ => None,
        }
    }

    /// Returns `true` if the call failed because its deadline passed.
    pub fn is_late(&self) -> bool {
        matches!(
            self.cause(),
            Self::StoreTimedOut
                | Self::OutOfTime
                | Self::RefreshedElsewhere
                | Self::RefreshTimedOut
                | Self::Invocation(InvocationError::TimedOut(_))
                | Self::Egress(EgressError::TimedOut)
        )
    }

    /// The error itself, without its consequences.
    pub fn cause(&self) -> &Self {
        match self {
            Self::OutcomeUnknown(error) => error,
            error => error,
        }
    }
}

/// The connector's text for a problem.
#[derive(Debug)]
pub struct Explanation {
    /// A sentence that says what happened and what to do.
    pub detail: String,
    /// Further members of the problem document.
    pub members: Map<String, Value>,
}

impl From<EgressError> for Error {
    fn from(error: EgressError) -> Self {
        match error {
            EgressError::NoMemory => Self::NoMemory(Exhausted),
            error => Self::Egress(error),
        }
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        match error {
            InputError::NotJson(detail) => Self::NotJson(detail),
            InputError::Invalid(violations) => Self::Invalid(violations),
            InputError::TooCostly(_) => Self::SchemaTooCostly,
            InputError::NotCompiled(reason) => Self::SchemaNotCompiled(reason),
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::InvalidInput(violations) => Self::Invalid(
                violations
                    .into_iter()
                    .take(schema::MAX_VIOLATIONS)
                    .map(|violation| Violation { pointer: cut(violation.pointer), detail: cut(violation.detail) })
                    .collect(),
            ),
            Fault::NotFound(explanation) => explained(explanation).map_or_else(Self::ConnectorFault, Self::NotFound),
            Fault::Conflict(explanation) => explained(explanation).map_or_else(Self::ConnectorFault, Self::Conflict),
            Fault::Upstream(fault) => Self::Upstream(Box::new(reported(fault))),
            Fault::Http(mut error) => {
                if let Some(text) = error.text_mut() {
                    *text = cut(mem::take(text));
                }
                Self::Http(error)
            }
            Fault::Failed(detail) => Self::ConnectorFault(cut(detail)),
        }
    }
}

/// The refusal or failure that a connector reports. It may have read a rate limit in a part of a
/// response, which egress did not see.
fn reported(fault: sandbox::UpstreamFault) -> UpstreamError {
    let upstream_status = if (400..600).contains(&fault.status) { fault.status } else { 502 };
    let refusal = Refusal::read(fault.body.as_deref().unwrap_or_default().as_bytes());
    let is_limit = Refusal::may_be_rate_limit(upstream_status) && refusal.is_rate_limit();
    let status = if is_limit { 429 } else { upstream_status };
    let body = fault.body.map_or_else(ShownBody::default, |body| shown(body.as_bytes()));
    let reported = fault.retry_after_seconds.map(|seconds| Duration::from_secs(seconds.into()));
    let retry_after = reported
        .map(|delay| delay.min(LONGEST_RETRY_AFTER))
        .or_else(|| refusal.retry_after().filter(|_| status == 429));
    let detail = cut(fault.detail);
    UpstreamError {
        status,
        upstream_status,
        detail: if is_limit { rate_limit(&detail, retry_after) } else { detail },
        is_for_user: status == 403 && body.content.as_ref().is_some_and(lacks_scope),
        body,
        retry_after,
        headers: Vec::new(),
    }
}

/// Parses the members of an explanation.
///
/// # Errors
/// A sentence that says how they break the contract.
fn explained(explanation: sandbox::Explanation) -> Result<Explanation, String> {
    let members = match explanation.members {
        None => Map::new(),
        Some(members) if members.len() > FAULT_MEMBERS_BYTES => {
            return Err(format!("The members of the connector's fault have more than {FAULT_MEMBERS_BYTES} bytes."));
        }
        Some(members) => serde_json::from_str(&members)
            .map_err(|error| format!("The members of the connector's fault are not a JSON object: {error}."))?,
    };
    Ok(Explanation { detail: cut(explanation.detail), members })
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_DETAIL_BYTES {
        text.truncate(text.floor_char_boundary(MAX_DETAIL_BYTES));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation(members: Option<&str>) -> Result<Explanation, String> {
        explained(sandbox::Explanation { detail: "No.".to_owned(), members: members.map(str::to_owned) })
    }

    #[test]
    fn the_members_of_a_fault_are_a_json_object_of_limited_size() {
        assert!(explanation(None).unwrap().members.is_empty());
        let members = explanation(Some(r#"{"candidates": ["a", "b"]}"#)).unwrap().members;
        assert_eq!(members["candidates"], serde_json::json!(["a", "b"]));
        for members in ["[]", "{", "null", "1", ""] {
            assert!(explanation(Some(members)).is_err(), "{members}");
        }
        let large = format!(r#"{{"a": "{}"}}"#, "x".repeat(FAULT_MEMBERS_BYTES));
        assert!(explanation(Some(&large)).is_err_and(|reason| reason.contains("65536 bytes")));
    }

    #[test]
    fn a_rate_limit_that_a_connector_has_read_in_a_body_is_one() {
        let reported = |status: u16, body: &str, retry_after_seconds: Option<u32>| {
            let (detail, body) = ("No.".to_owned(), Some(body.to_owned()));
            let reported = reported(sandbox::UpstreamFault { status, detail, body, retry_after_seconds });
            (reported.status, reported.retry_after.map(|delay| delay.as_secs()))
        };
        let limit = r#"{"error": {"errors": [{"reason": "userRateLimitExceeded"}], "message": "Retry after 12"}}"#;
        assert_eq!(reported(403, limit, None), (429, Some(12)));
        assert_eq!(reported(403, limit, Some(7)), (429, Some(7)));
        assert_eq!(reported(404, limit, None), (404, None));
        assert_eq!(reported(403, r#"{"error": "forbidden"}"#, None), (403, None));
        assert_eq!(reported(429, "", None), (429, None));
        assert_eq!(reported(503, "", Some(u32::MAX)), (503, Some(86_400)));
    }

    #[test]
    fn a_long_text_of_a_connector_is_cut_between_characters() {
        let detail = "é".repeat(MAX_DETAIL_BYTES);
        let Error::NotFound(explanation) = Error::from(Fault::NotFound(sandbox::Explanation { detail, members: None }))
        else {
            panic!("not found");
        };
        assert_eq!(explanation.detail.len(), MAX_DETAIL_BYTES + '…'.len_utf8());
    }
}
