//! Problem details (RFC 9457): the one form of every error that a caller sees.

use bytes::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::pipeline::body::{Body, full};

/// Who can mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The program that called.
    Caller,
    /// The person on whose behalf it called.
    User,
    /// Who runs the gateway.
    Operator,
    /// The connector's author.
    Connector,
    /// The wrapped service.
    Provider,
}

/// Whose error it is, in the header `X-Error-Source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Found by the gateway.
    Gateway,
    /// Said or caused by the connector.
    Connector,
    /// Said or caused by the wrapped service.
    Upstream,
}

/// A kind of problem: what is the same whenever it occurs.
#[derive(Debug)]
pub struct Kind {
    /// Last part of the URN in `type`; never changes.
    pub name: &'static str,
    /// Status of the answer, where the occurrence has no other.
    pub status: StatusCode,
    /// See RFC 9457, `title`.
    pub title: &'static str,
    /// Who can mend it.
    pub owner: Owner,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Whose error it is.
    pub source: Source,
}

/// Declares the kinds, and a list of them all for the API's description.
macro_rules! kinds {
    ($($(#[$doc:meta])* $constant:ident = ($name:literal, $status:ident, $title:literal, $owner:ident, $retryable:literal, $source:ident);)*) => {
        $($(#[$doc])* pub const $constant: Kind = Kind {
            name: $name,
            status: StatusCode::$status,
            title: $title,
            owner: Owner::$owner,
            retryable: $retryable,
            source: Source::$source,
        };)*
        /// Every kind of problem.
        pub const KINDS: &[&Kind] = &[$(&$constant),*];
    };
}

kinds! {
    /// The body is not JSON.
    NOT_JSON = ("not-json", BAD_REQUEST, "The body is not JSON", Caller, false, Gateway);
    /// A request that HTTP or the route does not allow.
    BAD_REQUEST = ("bad-request", BAD_REQUEST, "The request cannot be understood", Caller, false, Gateway);
    /// No token, or one that is not good.
    UNAUTHENTICATED = ("unauthenticated", UNAUTHORIZED, "A valid token is needed", Caller, false, Gateway);
    /// The token lacks a scope.
    MISSING_SCOPE = ("missing-scope", FORBIDDEN, "The token lacks a scope", Caller, false, Gateway);
    /// The connector was not granted a host.
    EGRESS_DENIED = ("egress-denied", FORBIDDEN, "The connector may not reach this host", Operator, false, Gateway);
    /// Nothing at this path.
    NOT_FOUND = ("not-found", NOT_FOUND, "There is nothing here", Caller, false, Gateway);
    /// No such connector.
    UNKNOWN_CONNECTOR = ("unknown-connector", NOT_FOUND, "There is no such connector", Caller, false, Gateway);
    /// No such operation.
    UNKNOWN_OPERATION = ("unknown-operation", NOT_FOUND, "The connector has no such operation", Caller, false, Gateway);
    /// The connector says that what was asked for does not exist.
    RESOURCE_NOT_FOUND = ("resource-not-found", NOT_FOUND, "What was asked for does not exist", Caller, false, Connector);
    /// The connector says that the request conflicts with the state of the service, or is ambiguous.
    RESOURCE_CONFLICT = ("conflict", CONFLICT, "The request conflicts with the state of the service", Caller, false, Connector);
    /// The caller has no such integration.
    UNKNOWN_INTEGRATION = ("unknown-integration", NOT_FOUND, "There is no such integration", Caller, false, Gateway);
    /// The path takes another method.
    METHOD_NOT_ALLOWED = ("method-not-allowed", METHOD_NOT_ALLOWED, "The path takes another method", Caller, false, Gateway);
    /// The body is over the limit.
    BODY_TOO_LARGE = ("body-too-large", PAYLOAD_TOO_LARGE, "The body is too large", Caller, false, Gateway);
    /// The upstream's answer is over the limit.
    ANSWER_TOO_LARGE = ("answer-too-large", PAYLOAD_TOO_LARGE, "The answer is too large", Operator, false, Upstream);
    /// The body is not JSON by its type.
    UNSUPPORTED_MEDIA_TYPE = ("unsupported-media-type", UNSUPPORTED_MEDIA_TYPE, "The body must be JSON", Caller, false, Gateway);
    /// The body breaks the operation's schema.
    VALIDATION = ("validation", UNPROCESSABLE_ENTITY, "The body is not valid", Caller, false, Gateway);
    /// A module that was uploaded was refused.
    MODULE_REFUSED = ("module-refused", UNPROCESSABLE_ENTITY, "The module was refused", Connector, false, Gateway);
    /// There is no version to go back to.
    NO_EARLIER_VERSION = ("no-earlier-version", CONFLICT, "There is no earlier version", Operator, false, Gateway);
    /// The user has no integration.
    INTEGRATION_REQUIRED = ("integration-required", FAILED_DEPENDENCY, "The user must connect an account", User, false, Gateway);
    /// Several integrations, and none selected.
    SELECTION_REQUIRED = ("selection-required", FAILED_DEPENDENCY, "One of several accounts must be selected", User, false, Gateway);
    /// The user's grant is over.
    REAUTHORIZATION_REQUIRED = ("reauthorization-required", FAILED_DEPENDENCY, "The user must authorize again", User, false, Gateway);
    /// The holder has begun too many authorizations.
    TOO_MANY_AUTHORIZATIONS = ("too-many-authorizations", TOO_MANY_REQUESTS, "Too many authorizations are under way", Caller, true, Gateway);
    /// The holder has too many integrations.
    TOO_MANY_INTEGRATIONS = ("too-many-integrations", TOO_MANY_REQUESTS, "Too many accounts are connected", User, false, Gateway);
    /// Over a rate limit of the gateway.
    RATE_LIMITED = ("rate-limited", TOO_MANY_REQUESTS, "Too many requests", Caller, true, Gateway);
    /// Over a rate limit of the upstream.
    UPSTREAM_RATE_LIMITED = ("upstream-rate-limited", TOO_MANY_REQUESTS, "Too many requests for the upstream", Caller, true, Upstream);
    /// The upstream answered with a status of 4xx.
    UPSTREAM_REJECTED = ("upstream-rejected", BAD_REQUEST, "The upstream rejected the request", Caller, false, Upstream);
    /// The upstream answered with a status of 5xx.
    UPSTREAM_FAILED = ("upstream-failed", BAD_GATEWAY, "The upstream failed", Provider, true, Upstream);
    /// The upstream cannot be reached.
    UPSTREAM_UNREACHABLE = ("upstream-unreachable", BAD_GATEWAY, "The upstream cannot be reached", Provider, true, Upstream);
    /// The upstream's answer is not what it should be.
    UPSTREAM_NOT_UNDERSTOOD = ("upstream-not-understood", BAD_GATEWAY, "The upstream's answer is not understood", Provider, true, Upstream);
    /// The provider does not renew a credential that has expired.
    TOKEN_REFRESH_FAILED = ("token-refresh-failed", BAD_GATEWAY, "The user's access cannot be renewed just now", Provider, true, Upstream);
    /// The upstream did not answer in time.
    UPSTREAM_TIMED_OUT = ("upstream-timed-out", GATEWAY_TIMEOUT, "The upstream did not answer in time", Provider, true, Upstream);
    /// The connector trapped or broke a limit.
    CONNECTOR_FAILED = ("connector-failed", INTERNAL_SERVER_ERROR, "The connector failed", Connector, false, Connector);
    /// The gateway failed.
    INTERNAL = ("internal", INTERNAL_SERVER_ERROR, "The gateway failed", Operator, true, Gateway);
    /// The gateway is not registered with the provider, or not as the provider knows it.
    INTEGRATION_NOT_CONFIGURED = ("integration-not-configured", SERVICE_UNAVAILABLE, "The operator must set this integration up", Operator, false, Gateway);
    /// The database does not answer.
    STORE_UNAVAILABLE = ("store-unavailable", SERVICE_UNAVAILABLE, "The store does not answer", Operator, true, Gateway);
    /// The keys of a JWT's issuer are not to be had.
    ISSUER_UNAVAILABLE = ("issuer-unavailable", SERVICE_UNAVAILABLE, "The token's issuer does not answer", Operator, true, Gateway);
    /// Over the concurrency limit.
    BUSY = ("busy", SERVICE_UNAVAILABLE, "Too many requests at once", Operator, true, Gateway);
    /// The gateway is about to stop.
    DRAINING = ("draining", SERVICE_UNAVAILABLE, "The gateway is about to stop", Operator, true, Gateway);
}

impl Kind {
    /// The URN in `type`.
    pub fn urn(&self) -> String {
        format!("urn:connector-gateway:problem:{}", self.name)
    }

    /// One occurrence. `detail` says what happened and what to do.
    pub fn because(&'static self, detail: impl Into<String>) -> Problem {
        Problem {
            kind: self,
            status: self.status,
            detail: detail.into(),
            retry_after_s: None,
            header: None,
            members: Map::new(),
        }
    }
}

impl Owner {
    /// Its name in `owner`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::User => "user",
            Self::Operator => "operator",
            Self::Connector => "connector",
            Self::Provider => "provider",
        }
    }
}

impl Source {
    /// Its name in `X-Error-Source`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Connector => "connector",
            Self::Upstream => "upstream",
        }
    }
}

/// One occurrence of a problem.
#[derive(Debug)]
pub struct Problem {
    kind: &'static Kind,
    status: StatusCode,
    detail: String,
    retry_after_s: Option<u64>,
    header: Option<(hyper::header::HeaderName, HeaderValue)>,
    members: Map<String, Value>,
}

impl Problem {
    /// Answers with another status than the kind's.
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Adds a member.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// Adds members that a connector gives.
    pub fn with_all(mut self, members: Map<String, Value>) -> Self {
        self.members.extend(members);
        self
    }

    /// Says when to try again, in seconds.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Says which methods the path takes.
    pub fn allow(mut self, methods: &'static str) -> Self {
        self.header = Some((ALLOW, HeaderValue::from_static(methods)));
        self
    }

    /// Asks for a bearer token (RFC 6750, section 3).
    pub fn challenge(mut self, challenge: &'static str) -> Self {
        self.header = Some((WWW_AUTHENTICATE, HeaderValue::from_static(challenge)));
        self
    }

    /// The kind's name.
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// The sentence for this occurrence.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The answer. `instance` is the request's id.
    pub fn into_response(self, instance: &str) -> Response<Body> {
        let mut document = json!({
            "type": self.kind.urn(),
            "title": self.kind.title,
            "status": self.status.as_u16(),
            "detail": self.detail,
            "instance": instance,
            "owner": self.kind.owner.name(),
            "retryable": self.kind.retryable,
        });
        if let Value::Object(document) = &mut document {
            // No member replaces one that every problem has.
            for (name, value) in self.members {
                document.entry(name).or_insert(value);
            }
        }
        let mut response = Response::new(full(Bytes::from(document.to_string())));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert("x-error-source", HeaderValue::from_static(self.kind.source.name()));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some((name, value)) = self.header {
            headers.insert(name, value);
        }
        response
    }
}
