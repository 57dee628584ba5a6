//! The kinds of problems.

use hyper::StatusCode;
use serde_json::Map;

use super::Problem;
use contract::Owner;

/// The party that found or caused a problem, in the header `X-Error-Source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The gateway found it.
    Gateway,
    /// The connector reported or caused it.
    Connector,
    /// The service that the connector wraps reported or caused it.
    Upstream,
}

/// A kind of problem: everything that is the same in each occurrence.
#[derive(Debug)]
pub struct Kind {
    /// Last part of the URN in `type`. It never changes.
    pub(super) name: &'static str,
    /// Status of the answer, unless the occurrence sets another.
    pub(super) status: StatusCode,
    /// See RFC 9457, `title`.
    pub(super) title: &'static str,
    /// The party that can fix it.
    pub(super) owner: Owner,
    /// `true` if the same call may succeed later, and if it did nothing that repeating would do
    /// twice.
    pub(super) retryable: bool,
    /// The party that found or caused it.
    pub(super) source: Source,
}

/// Declares the kinds, and a list of all kinds for the API's description.
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
    /// The request breaks a rule of HTTP or of the route.
    BAD_REQUEST = ("bad-request", BAD_REQUEST, "The request cannot be understood", Caller, false, Gateway);
    /// There is no token, or the token is not valid.
    UNAUTHENTICATED = ("unauthenticated", UNAUTHORIZED, "A valid token is needed", Caller, false, Gateway);
    /// The token lacks a scope.
    MISSING_SCOPE = ("missing-scope", FORBIDDEN, "The token lacks a scope", Caller, false, Gateway);
    /// The key is limited to other operations.
    NOT_ALLOWED = ("not-allowed", FORBIDDEN, "The key may not call this operation", Caller, false, Gateway);
    /// A request with the cookie of the console does not come from the console.
    NOT_FROM_CONSOLE = ("not-from-console", FORBIDDEN, "The request does not come from the console", Caller, false, Gateway);
    /// The route acts for the whole tenant, and the token is bound to one user.
    TENANT_TOKEN_REQUIRED = ("tenant-token-required", FORBIDDEN, "The token is bound to a user", Caller, false, Gateway);
    /// The connector was not granted a host.
    EGRESS_DENIED = ("egress-denied", FORBIDDEN, "The connector may not reach this host", Operator, false, Gateway);
    /// No route has this path.
    NOT_FOUND = ("not-found", NOT_FOUND, "There is nothing here", Caller, false, Gateway);
    /// No live connector has this identifier.
    UNKNOWN_CONNECTOR = ("unknown-connector", NOT_FOUND, "There is no such connector", Caller, false, Gateway);
    /// The connector has no operation of this name.
    UNKNOWN_OPERATION = ("unknown-operation", NOT_FOUND, "The connector has no such operation", Caller, false, Gateway);
    /// The connector has no upstream of this name.
    UNKNOWN_UPSTREAM = ("unknown-upstream", NOT_FOUND, "The connector has no such upstream", Caller, false, Gateway);
    /// The connector says that the requested resource does not exist.
    RESOURCE_NOT_FOUND = ("resource-not-found", NOT_FOUND, "The requested resource does not exist", Caller, false, Connector);
    /// The connector says that the request conflicts with the state of the service, or is
    /// ambiguous.
    RESOURCE_CONFLICT = ("conflict", CONFLICT, "The request conflicts with the state of the service", Caller, false, Connector);
    /// The caller has no integration of this name.
    UNKNOWN_INTEGRATION = ("unknown-integration", NOT_FOUND, "There is no such integration", Caller, false, Gateway);
    /// The caller has no job of this id.
    UNKNOWN_JOB = ("unknown-job", NOT_FOUND, "There is no such job", Caller, false, Gateway);
    /// There is no API key with this id.
    UNKNOWN_KEY = ("unknown-key", NOT_FOUND, "There is no such key", Caller, false, Gateway);
    /// An integration has no tokens that could be refreshed.
    NOT_RENEWABLE = ("not-renewable", CONFLICT, "The account has nothing to renew", Caller, false, Gateway);
    /// The caller cancelled the job.
    CANCELLED = ("cancelled", CONFLICT, "The job was cancelled", Caller, false, Gateway);
    /// The gateway that ran the job ended in the middle of it.
    CUT_OFF = ("cut-off", INTERNAL_SERVER_ERROR, "The job was cut off", Operator, false, Gateway);
    /// The job did not end in time.
    JOB_TIMED_OUT = ("job-timed-out", GATEWAY_TIMEOUT, "The job did not end in time", Operator, false, Gateway);
    /// The tenant has too many pending jobs.
    TOO_MANY_JOBS = ("too-many-jobs", TOO_MANY_REQUESTS, "Too many jobs are waiting", Caller, true, Gateway);
    /// The tenant has no valid webhook secret of this id.
    UNKNOWN_WEBHOOK_SECRET = ("unknown-webhook-secret", NOT_FOUND, "There is no such webhook secret", Caller, false, Gateway);
    /// The tenant has no OAuth client of its own for this connector or provider.
    UNKNOWN_OAUTH_CLIENT = ("unknown-oauth-client", NOT_FOUND, "The tenant has no such OAuth client", Caller, false, Gateway);
    /// There is no record of a call with this id.
    UNKNOWN_CALL = ("unknown-call", NOT_FOUND, "There is no record of the call", Caller, false, Gateway);
    /// There is no webhook of this id.
    UNKNOWN_WEBHOOK = ("unknown-webhook", NOT_FOUND, "There is no such webhook", Caller, false, Gateway);
    /// The body of a webhook is no longer kept.
    WEBHOOK_NOT_KEPT = ("webhook-not-kept", GONE, "The webhook is no longer kept", Caller, false, Gateway);
    /// The tenant has no webhook secret to sign callbacks with.
    WEBHOOK_SECRET_REQUIRED = ("webhook-secret-required", CONFLICT, "The tenant needs a webhook secret", Caller, false, Gateway);
    /// The path takes another method.
    METHOD_NOT_ALLOWED = ("method-not-allowed", METHOD_NOT_ALLOWED, "The path takes another method", Caller, false, Gateway);
    /// The body is larger than the limit.
    BODY_TOO_LARGE = ("body-too-large", PAYLOAD_TOO_LARGE, "The body is too large", Caller, false, Gateway);
    /// The upstream's answer is larger than the limit.
    ANSWER_TOO_LARGE = ("answer-too-large", PAYLOAD_TOO_LARGE, "The answer is too large", Operator, false, Upstream);
    /// The body's media type is not JSON.
    UNSUPPORTED_MEDIA_TYPE = ("unsupported-media-type", UNSUPPORTED_MEDIA_TYPE, "The body must be JSON", Caller, false, Gateway);
    /// The body, a header or the query is not valid.
    VALIDATION = ("validation", UNPROCESSABLE_ENTITY, "The request is not valid", Caller, false, Gateway);
    /// The first call with this idempotency key still runs.
    IDEMPOTENCY_KEY_IN_USE = ("idempotency-key-in-use", CONFLICT, "The first call with this key still runs", Caller, true, Gateway);
    /// The idempotency key belongs to another request.
    IDEMPOTENCY_KEY_REUSED = ("idempotency-key-reused", UNPROCESSABLE_ENTITY, "The key belongs to another request", Caller, false, Gateway);
    /// The gateway that ran the first call with this idempotency key has died.
    IDEMPOTENT_CALL_LOST = ("idempotent-call-lost", CONFLICT, "The outcome of the first call is unknown", Operator, false, Gateway);
    /// The first answer to a call with this idempotency key was too large to keep.
    IDEMPOTENT_ANSWER_NOT_KEPT = ("idempotent-answer-not-kept", CONFLICT, "The first answer was too large to keep", Caller, false, Gateway);
    /// An uploaded module was refused.
    MODULE_REFUSED = ("module-refused", UNPROCESSABLE_ENTITY, "The module was refused", Connector, false, Gateway);
    /// The connector has no earlier version.
    NO_EARLIER_VERSION = ("no-earlier-version", CONFLICT, "There is no earlier version", Operator, false, Gateway);
    /// The connector changed since the operator looked at it.
    CHANGED_MEANWHILE = ("changed-meanwhile", PRECONDITION_FAILED, "The connector changed meanwhile", Caller, false, Gateway);
    /// The gateway removes and rolls back only modules that the operator added.
    SHIPPED = ("shipped", CONFLICT, "The connector came with the gateway", Operator, false, Gateway);
    /// The user has no integration.
    INTEGRATION_REQUIRED = ("integration-required", FAILED_DEPENDENCY, "The user must connect an account", User, false, Gateway);
    /// The user has several integrations, and no selected one.
    SELECTION_REQUIRED = ("selection-required", FAILED_DEPENDENCY, "One of several accounts must be selected", User, false, Gateway);
    /// The provider no longer accepts the user's authorization.
    REAUTHORIZATION_REQUIRED = ("reauthorization-required", FAILED_DEPENDENCY, "The user must authorize again", User, false, Gateway);
    /// No grant waits for this completion.
    UNKNOWN_COMPLETION = ("unknown-completion", NOT_FOUND, "There is no such completion", Caller, false, Gateway);
    /// The caller has no authorization of this id.
    UNKNOWN_AUTHORIZATION = ("unknown-authorization", NOT_FOUND, "There is no such authorization", Caller, false, Gateway);
    /// The grant belongs to another user of the tenant.
    COMPLETION_OF_OTHER_SUBJECT = ("completion-of-other-subject", CONFLICT, "The authorization was begun for another user", Caller, false, Gateway);
    /// Another account is connected under the name of a grant, which may not replace it.
    OTHER_ACCOUNT = ("other-account", CONFLICT, "Another account is connected under this name", Caller, false, Gateway);
    /// The holder has begun too many authorizations.
    TOO_MANY_AUTHORIZATIONS = ("too-many-authorizations", TOO_MANY_REQUESTS, "Too many authorizations are in progress", Caller, true, Gateway);
    /// The tenant has too many links.
    TOO_MANY_LINKS = ("too-many-links", TOO_MANY_REQUESTS, "Too many links can be used", Caller, true, Gateway);
    /// There is no link with this id.
    UNKNOWN_LINK = ("unknown-link", NOT_FOUND, "There is no such link", Caller, false, Gateway);
    /// The address of a file was altered, or is not of this gateway.
    UNKNOWN_FILE = ("unknown-file", NOT_FOUND, "There is no such file", Caller, false, Gateway);
    /// The address of a file can no longer be used.
    FILE_EXPIRED = ("file-expired", GONE, "The address of the file has expired", Caller, false, Gateway);
    /// The tenant has no tool set of this name.
    UNKNOWN_TOOL_SET = ("unknown-tool-set", NOT_FOUND, "There is no such tool set", Caller, false, Gateway);
    /// The tenant has a tool set of this name.
    TOOL_SET_EXISTS = ("tool-set-exists", CONFLICT, "There is a tool set of this name", Caller, false, Gateway);
    /// The tenant has too many tool sets.
    TOO_MANY_TOOL_SETS = ("too-many-tool-sets", TOO_MANY_REQUESTS, "The tenant has too many tool sets", Caller, false, Gateway);
    /// There is no agent session of this id that has not ended.
    UNKNOWN_AGENT_SESSION = ("unknown-agent-session", NOT_FOUND, "There is no such agent session", Caller, false, Gateway);
    /// The tenant has too many agent sessions.
    TOO_MANY_AGENT_SESSIONS = ("too-many-agent-sessions", TOO_MANY_REQUESTS, "The tenant has too many agent sessions", Caller, true, Gateway);
    /// The caller has no trigger of this id.
    UNKNOWN_TRIGGER = ("unknown-trigger", NOT_FOUND, "There is no such trigger", Caller, false, Gateway);
    /// The trigger has no event of this id.
    UNKNOWN_EVENT = ("unknown-event", NOT_FOUND, "There is no such event", Caller, false, Gateway);
    /// An event that is to be sent again is no longer kept.
    EVENT_NOT_KEPT = ("event-not-kept", GONE, "The event is no longer kept", Caller, false, Gateway);
    /// The user's grant lacks scopes that the events need.
    SCOPES_MISSING = ("scopes-missing", CONFLICT, "The user must permit more", User, false, Gateway);
    /// The service keeps no events that could be read.
    NOTHING_TO_READ = ("nothing-to-read", CONFLICT, "There is nothing to read", Caller, false, Gateway);
    /// The tenant has too many triggers.
    TOO_MANY_TRIGGERS = ("too-many-triggers", TOO_MANY_REQUESTS, "The tenant has too many triggers", Caller, false, Gateway);
    /// There is no inbox of this id.
    UNKNOWN_INBOX = ("unknown-inbox", NOT_FOUND, "There is no such inbox", Caller, false, Gateway);
    /// The inbox has no secret of this id.
    UNKNOWN_INBOX_SECRET = ("unknown-inbox-secret", NOT_FOUND, "The inbox has no such secret", Caller, false, Gateway);
    /// The inbox was made before.
    INBOX_EXISTS = ("inbox-exists", CONFLICT, "There is such an inbox", Caller, false, Gateway);
    /// The inbox has as many secrets as it can.
    TOO_MANY_SECRETS = ("too-many-secrets", CONFLICT, "The inbox has two secrets", Caller, false, Gateway);
    /// The tenant has too many calls that wait for a confirmation.
    TOO_MANY_CONFIRMATIONS = ("too-many-confirmations", TOO_MANY_REQUESTS, "Too many calls wait for a confirmation", Caller, true, Gateway);
    /// The holder has too many integrations.
    TOO_MANY_INTEGRATIONS = ("too-many-integrations", TOO_MANY_REQUESTS, "Too many accounts are connected", User, false, Gateway);
    /// The tenant has stored as much as it may.
    TENANT_FULL = ("tenant-full", INSUFFICIENT_STORAGE, "The tenant has stored as much as it may", Operator, true, Gateway);
    /// A rate limit of the gateway is used up.
    RATE_LIMITED = ("rate-limited", TOO_MANY_REQUESTS, "Too many requests", Caller, true, Gateway);
    /// A rate limit of the upstream is used up.
    UPSTREAM_RATE_LIMITED = ("upstream-rate-limited", TOO_MANY_REQUESTS, "Too many requests for the upstream", Caller, true, Upstream);
    /// The upstream answered with a status of 4xx.
    UPSTREAM_REJECTED = ("upstream-rejected", BAD_REQUEST, "The upstream refused the request", Caller, false, Upstream);
    /// The upstream answered with a status of 5xx.
    UPSTREAM_FAILED = ("upstream-failed", BAD_GATEWAY, "The upstream failed", Provider, true, Upstream);
    /// The upstream cannot be reached.
    UPSTREAM_UNREACHABLE = ("upstream-unreachable", BAD_GATEWAY, "The upstream cannot be reached", Provider, true, Upstream);
    /// The upstream's response has the wrong form.
    UPSTREAM_NOT_UNDERSTOOD = ("upstream-not-understood", BAD_GATEWAY, "The upstream's response is not understood", Provider, true, Upstream);
    /// The access token has expired, and the provider does not refresh it.
    TOKEN_REFRESH_FAILED = ("token-refresh-failed", BAD_GATEWAY, "The user's access token cannot be refreshed now", Provider, true, Upstream);
    /// The upstream or the provider did not answer in time.
    UPSTREAM_TIMED_OUT = ("upstream-timed-out", GATEWAY_TIMEOUT, "The upstream did not answer in time", Provider, true, Upstream);
    /// The connector trapped or broke a limit.
    CONNECTOR_FAILED = ("connector-failed", INTERNAL_SERVER_ERROR, "The connector failed", Connector, false, Connector);
    /// The gateway failed.
    INTERNAL = ("internal", INTERNAL_SERVER_ERROR, "The gateway failed", Operator, true, Gateway);
    /// The gateway is not registered with the provider, or its registration is wrong.
    INTEGRATION_NOT_CONFIGURED = ("integration-not-configured", SERVICE_UNAVAILABLE, "The operator must set this integration up", Operator, false, Gateway);
    /// The database does not answer.
    STORE_UNAVAILABLE = ("store-unavailable", SERVICE_UNAVAILABLE, "The store does not answer", Operator, true, Gateway);
    /// The keys of a JWT's issuer cannot be fetched.
    ISSUER_UNAVAILABLE = ("issuer-unavailable", SERVICE_UNAVAILABLE, "The token's issuer does not answer", Operator, true, Gateway);
    /// All permits or all slots are taken.
    BUSY = ("busy", SERVICE_UNAVAILABLE, "Too many calls at the same time", Operator, true, Gateway);
    /// The access token was refreshed after the service had refused it, and the request could not be
    /// sent again.
    TOKEN_REFRESHED = ("token-refreshed", SERVICE_UNAVAILABLE, "The access token was refreshed, and the request was not repeated", Caller, true, Gateway);
    /// The modules that the folder had at the start are not loaded yet.
    STARTING = ("starting", SERVICE_UNAVAILABLE, "The gateway loads its connectors", Operator, true, Gateway);
    /// The gateway is about to stop.
    DRAINING = ("draining", SERVICE_UNAVAILABLE, "The gateway is about to stop", Operator, true, Gateway);
}

impl Kind {
    /// The URN in `type`.
    pub fn urn(&self) -> String {
        format!("urn:connector-gateway:problem:{}", self.name)
    }

    /// A problem of this kind. `detail` says what happened and what to do.
    pub fn with_detail(&'static self, detail: impl Into<String>) -> Problem {
        Problem {
            kind: self,
            status: self.status,
            detail: detail.into(),
            owner: self.owner,
            retryable: self.retryable,
            retry_after_s: None,
            headers: Vec::new(),
            members: Map::new(),
        }
    }
}

impl Source {
    /// The value of `X-Error-Source`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Connector => "connector",
            Self::Upstream => "upstream",
        }
    }
}
