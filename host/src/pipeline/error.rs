//! Why a call has no answer.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value};
use thiserror::Error;

use super::answer::{MAX_SHOWN_BYTES, shown};
use crate::integrations::AccessError;
use crate::registry::NoPlace;
use crate::schema::{self, InputError, Violation};
use contract::limit::FAULT_MEMBERS_BYTES;
use egress::EgressError;
use memory::Exhausted;
use sandbox::http;
use sandbox::{Fault, InvocationError};

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
    /// There is no account to run on, or no good credential for it.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A rate limit of the manifest is used up.
    #[error("the rate limit `{limit}` is used up")]
    RateLimited {
        /// Its name.
        limit: String,
        /// Time until it admits the next call.
        retry_after: Duration,
    },
    /// There is no permit of the connector for the caller.
    #[error("the connector runs as many calls as `limits.concurrency` and `limits.tenant_share` allow")]
    NoPermit(NoPlace),
    /// The memory for calls is used up.
    #[error(transparent)]
    NoMemory(#[from] Exhausted),
    /// The deadline passed while the store was asked for the account.
    #[error("the store did not answer before the deadline")]
    StoreTimedOut,
    /// The deadline passed before the body was validated or the answer was shaped.
    #[error("other calls used the processors until the deadline")]
    OutOfTime,
    /// The deadline passed while the access token was refreshed.
    #[error("the access token was not refreshed before the deadline")]
    RefreshTimedOut,
    /// The invocation gave neither an outcome nor a fault.
    #[error(transparent)]
    Invocation(#[from] InvocationError),
    /// The connector says that it failed.
    #[error("{0}")]
    ConnectorFault(String),
    /// The connector says that the requested resource does not exist.
    #[error("{}", .0.detail)]
    NotFound(Explanation),
    /// The connector says that the request conflicts with the state of the service, or is ambiguous.
    #[error("{}", .0.detail)]
    Conflict(Explanation),
    /// A request to the upstream failed, and the connector says nothing about it.
    #[error("{0}")]
    Http(http::Error),
    /// The upstream answered with a status of 4xx or 5xx, or the connector says so.
    #[error("{detail}")]
    Upstream {
        /// The upstream's status.
        status: u16,
        /// A sentence about it.
        detail: String,
        /// The upstream's body, as JSON or text.
        body: Option<Value>,
        /// The time after which the upstream accepts requests again, if it said so.
        retry_after: Option<Duration>,
    },
    /// The upstream's answer is not what the operation answers.
    #[error("{0}")]
    NotUnderstood(String),
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
        if error == EgressError::NoMemory {
            return Self::NoMemory(Exhausted);
        }
        Self::Http(http::to_guest(error))
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        match error {
            InputError::NotJson(detail) => Self::NotJson(detail),
            InputError::Invalid(violations) => Self::Invalid(violations),
            InputError::TooCostly(_) => Self::SchemaTooCostly,
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
            Fault::Upstream(fault) => Self::Upstream {
                status: if (400..600).contains(&fault.status) { fault.status } else { 502 },
                detail: cut(fault.detail),
                body: fault
                    .body
                    .filter(|body| body.len() as u64 <= MAX_SHOWN_BYTES)
                    .map(|body| shown(&Bytes::from(body))),
                retry_after: fault.retry_after_seconds.map(|seconds| Duration::from_secs(seconds.into())),
            },
            Fault::Http(error) => Self::Http(error),
            Fault::Failed(detail) => Self::ConnectorFault(cut(detail)),
        }
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
    fn a_long_text_of_a_connector_is_cut_between_characters() {
        let detail = "é".repeat(MAX_DETAIL_BYTES);
        let Error::NotFound(explanation) = Error::from(Fault::NotFound(sandbox::Explanation { detail, members: None }))
        else {
            panic!("not found");
        };
        assert_eq!(explanation.detail.len(), MAX_DETAIL_BYTES + '…'.len_utf8());
    }
}
