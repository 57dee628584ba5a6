//! Problem details (RFC 9457): the form of every error that a caller sees.
//!
//! - [`kinds`]: every kind of problem
//! - [`violations`]: a body or a query that is not valid
//! - [`access`]: no account or no good credential for a call; also every 424
//! - [`connect`]: an account that could not be connected
//! - [`webhooks`]: callback URLs and webhook secrets
//! - [`pipeline`]: every other reason why an operation has no answer
//! - [`stored`]: problems that are stored with an idempotency key

mod access;
mod connect;
mod kinds;
mod pipeline;
mod stored;
mod violations;
mod webhooks;

use bytes::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use self::kinds::*;

pub use self::access::{
    access_problem, connect_again_problem, integration_problem, not_configured_problem, store_problem,
};
pub use self::connect::{address_problem, connect_problem};
pub use self::pipeline::{no_memory, no_route, pipeline_problem, unknown_operation};
pub use self::violations::{input_problem, invalid, read_query, violations_problem};
pub use self::webhooks::{callback_problem, webhook_problem};

use body::{Body, full};
use contract::Owner;

/// One occurrence of a problem.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Problem {
    #[serde(with = "stored::kind")]
    kind: &'static Kind,
    #[serde(with = "stored::status")]
    status: StatusCode,
    detail: String,
    owner: Owner,
    retryable: bool,
    retry_after_s: Option<u64>,
    /// Headers in addition to those that every problem has.
    #[serde(default, with = "stored::headers", skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Members in addition to those that every problem has.
    members: Map<String, Value>,
}

/// The members that only the gateway sets, in addition to those that every problem has.
const OWN_MEMBERS: [&str; 15] = [
    "action",
    "asks_for",
    "connector",
    "errors",
    "limit",
    "missing",
    "missing_hosts",
    "outcome",
    "redirect_uri",
    "retry_after",
    "scope",
    "truncated",
    "upstream",
    "user_identifier",
    "variables",
];

/// The members that a connector may set too.
const SHARED_MEMBERS: [&str; 2] = ["candidates", "generation"];

impl Problem {
    /// Sets another status than the kind's.
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Sets another owner than the kind's.
    pub fn owner(self, owner: Owner) -> Self {
        Self { owner, ..self }
    }

    /// The one who can solve the problem.
    pub fn owned_by(&self) -> Owner {
        self.owner
    }

    /// Sets if repeating the call is safe and may succeed, other than the kind does.
    pub fn retryable(self, retryable: bool) -> Self {
        Self { retryable, ..self }
    }

    /// Says that it is unknown if data was changed. Repeating the call could then change it twice.
    pub fn of_unknown_outcome(self) -> Self {
        self.retryable(false).with("outcome", "unknown")
    }

    /// Adds a sentence to the detail.
    pub fn and(mut self, sentence: &str) -> Self {
        self.detail.push(' ');
        self.detail.push_str(sentence);
        self
    }

    /// Says that the call did not end in the time that its header allows.
    pub fn requested_timeout_passed(self, seconds: u64, header: &str) -> Self {
        let detail =
            format!("The call did not end in the {seconds} s that its header {header} allows; allow more time.");
        Self { detail, owner: Owner::Caller, ..self }
    }

    /// Returns `true` if the call has surely done nothing, so that it can run when the caller sends
    /// it again.
    pub fn did_nothing(&self) -> bool {
        let is_unknown = self.members.contains_key("outcome");
        !is_unknown && (self.retryable || self.kind.source == Source::Gateway)
    }

    /// Adds a header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds a member of the gateway. Its name is in [`OWN_MEMBERS`] or [`SHARED_MEMBERS`].
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        debug_assert!(
            OWN_MEMBERS.contains(&name) || SHARED_MEMBERS.contains(&name),
            "`{name}` is in no list of members"
        );
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// Adds members that a connector gives. Members of the gateway are left out, because callers act
    /// on them.
    pub fn with_all(mut self, members: Map<String, Value>) -> Self {
        self.members.extend(members.into_iter().filter(|(name, _)| !OWN_MEMBERS.contains(&name.as_str())));
        self
    }

    /// Sets the header `Retry-After`.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Sets the header `Allow`.
    pub fn allow(self, methods: &str) -> Self {
        match HeaderValue::from_str(methods) {
            Ok(methods) => self.header(ALLOW, methods),
            Err(_) => self,
        }
    }

    /// Sets the header `WWW-Authenticate` (RFC 6750, section 3).
    pub fn challenge(self, challenge: &str) -> Self {
        match HeaderValue::from_str(challenge) {
            Ok(challenge) => self.header(WWW_AUTHENTICATE, challenge),
            Err(_) => self,
        }
    }

    /// The kind's name.
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// Seconds after which the call may be repeated, if that is known.
    pub fn retry_after_s(&self) -> Option<u64> {
        self.retry_after_s
    }

    /// Adds the URL of the metadata of a protected resource to the challenge (RFC 9728, section 5.1).
    pub fn with_resource_metadata(mut self, url: &str) -> Self {
        for (name, value) in &mut self.headers {
            if *name == WWW_AUTHENTICATE
                && let Ok(challenge) = value.to_str()
            {
                let separator = if challenge.contains(' ') { "," } else { "" };
                if let Ok(extended) =
                    HeaderValue::try_from(format!("{challenge}{separator} resource_metadata=\"{url}\""))
                {
                    *value = extended;
                }
            }
        }
        self
    }

    /// The status of the answer.
    pub fn code(&self) -> u16 {
        self.status.as_u16()
    }

    /// The sentence that says what happened and what to do.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// JSON Pointers to what is not valid in the request.
    pub fn pointers(&self) -> Vec<String> {
        let errors = self.members.get("errors").and_then(Value::as_array).into_iter().flatten();
        errors.filter_map(|error| Some(error.get("pointer")?.as_str()?.to_owned())).collect()
    }

    /// The problem document. `instance` is the id of the request or job.
    pub fn document(&self, instance: &str) -> Value {
        let mut document = json!({
            "type": self.kind.urn(),
            "title": self.kind.title,
            "status": self.status.as_u16(),
            "detail": self.detail,
            "instance": instance,
            "owner": self.owner.name(),
            "retryable": self.retryable,
        });
        if let Value::Object(document) = &mut document {
            // A connector's member replaces no member that every problem has.
            for (name, value) in &self.members {
                document.entry(name).or_insert_with(|| value.clone());
            }
        }
        document
    }

    /// The answer. `instance` is the id of the request.
    pub fn into_response(self, instance: &str) -> Response<Body> {
        let document = self.document(instance);
        let mut response = Response::new(full(Bytes::from(document.to_string())));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert("x-error-source", HeaderValue::from_static(self.kind.source.name()));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        headers.extend(self.headers);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_surely_did_nothing_may_run_again() {
        assert!(VALIDATION.with_detail("…").did_nothing());
        assert!(UPSTREAM_RATE_LIMITED.with_detail("…").did_nothing());
        assert!(!UPSTREAM_REJECTED.with_detail("…").did_nothing());
        assert!(!UPSTREAM_FAILED.with_detail("…").of_unknown_outcome().did_nothing());
    }

    #[test]
    fn a_connector_sets_no_member_of_the_gateway() {
        let mut given = Map::new();
        for name in OWN_MEMBERS.into_iter().chain(["status", "candidates", "hint"]) {
            given.insert(name.to_owned(), "given".into());
        }
        let document = RESOURCE_CONFLICT.with_detail("x").with_all(given).document("1");
        assert!(OWN_MEMBERS.iter().all(|name| document.get(name).is_none()), "{document}");
        assert_eq!((document["candidates"].as_str(), document["hint"].as_str()), (Some("given"), Some("given")));
        assert_eq!(document["status"], 409);
    }
}
