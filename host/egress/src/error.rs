//! Errors of requests.

use std::time::Duration;

use contract_rules::limit::PATH_BYTES;
use memory::Exhausted;

/// Maximum length of the detail of an error that is kept.
const DETAIL_BYTES: usize = 1 << 10;

/// Why a request has no response, or a response no body. Messages never contain a secret: they name
/// the host of an address, but neither its path nor its query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The request breaks a rule. The connector that composed it must change it.
    #[error("invalid request: {detail}")]
    InvalidRequest {
        /// The rule.
        detail: String,
    },
    /// The path leads out of the base URL, or has characters that it must not have. It may be a value
    /// of the caller that makes it so.
    #[error("{detail}")]
    BadPath {
        /// The rule.
        detail: String,
    },
    /// The path with its query is too long. Callers give most of it, so they can shorten it.
    #[error("the path of the request has more than {PATH_BYTES} bytes")]
    PathTooLong,
    /// The upstream has no address yet.
    #[error("the upstream `{upstream}` has no base URL: the operator sets it in the connector's `upstreams`")]
    NotConfigured {
        /// Name of the upstream.
        upstream: String,
    },
    /// The base URL has a part of the account's address, which the account does not have.
    #[error(
        "the base URL of the upstream `{upstream}` has a part of the account's address that is not known: an operation that the gateway \
         invokes while the account is connected uses another upstream"
    )]
    NoAccountUrl {
        /// Name of the upstream.
        upstream: String,
    },
    /// The host is not granted or not a link host, or it resolves to a forbidden address.
    #[error("not allowed: {detail}")]
    Denied {
        /// The rule, and the action of the operator that would allow the request.
        detail: String,
    },
    /// A redirect or a link leads to a host that the connector does not name among its link hosts.
    #[error("not allowed: {detail}")]
    NotLinked {
        /// The rule, and what the connector's author can do.
        detail: String,
    },
    /// The connection or the TLS handshake failed, or the connection broke.
    #[error("no response from {host}: {detail}")]
    Unreachable {
        /// The host that was called.
        host: String,
        /// The cause, in the words of the layer that failed.
        detail: String,
        /// `true` if it was the TLS handshake that failed.
        is_tls: bool,
    },
    /// The name of the host could not be resolved.
    #[error(
        "the name {host} cannot be resolved: {detail}. The operator should check the name server of the gateway and this name"
    )]
    Unresolved {
        /// The host that was to be called.
        host: String,
        /// The cause, in the words of the resolver.
        detail: String,
    },
    /// The upstream refused the access token. A new one is there, but the body of the request was not
    /// kept, so the request cannot be sent again.
    #[error(
        "the upstream refused the access token, which the gateway has refreshed since. The body was too large to be kept, so the request was not repeated: send it again"
    )]
    TokenRefreshed,
    /// The deadline passed.
    #[error("the upstream did not respond before the deadline: try again, or raise `limits.timeout_s`")]
    TimedOut,
    /// The queue in front of the upstream is too long.
    #[error("too many calls are waiting for this upstream: try again in {} s", whole_seconds(*retry_after))]
    RateLimited {
        /// The time after which the call can be tried again.
        retry_after: Duration,
    },
    /// Gateways share the queue in front of the upstream, and this one has no lease of it.
    #[error(
        "the database has not answered, so the gateway cannot know whether another one calls this upstream: try again"
    )]
    QueueUnknown,
    /// Gateways share the queue in front of the upstream, and the one that holds it is silent.
    #[error(
        "another gateway holds the queue in front of this upstream and does not respond: try again in {} s, or stop that gateway, which `connector-gateway gateways list` names",
        whole_seconds(*retry_after)
    )]
    QueueStuck {
        /// The time after which another gateway has the queue.
        retry_after: Duration,
    },
    /// The body is larger than the limit.
    #[error(
        "the upstream's response is larger than {limit} bytes: request less, or raise `limits.response_mb`, or `limits.download_mb` for a file"
    )]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The memory for calls is used up.
    #[error("the gateway has no memory left for the upstream's response: try again")]
    NoMemory,
    /// The upstream redirects to an address that must not be followed.
    #[error("redirect not followed: {detail}")]
    BadRedirect {
        /// The rule that the address breaks.
        detail: String,
    },
    /// The response broke off, cannot be decoded, or has a link that is not an address.
    #[error("the response of `{upstream}` cannot be read: {detail}")]
    BadResponse {
        /// Name of the upstream that sent the response.
        upstream: String,
        /// The fault of the response.
        detail: String,
    },
}

impl From<Exhausted> for EgressError {
    fn from(Exhausted: Exhausted) -> Self {
        Self::NoMemory
    }
}

impl EgressError {
    /// Returns `true` if the same request may succeed later.
    pub fn retryable(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Unresolved { .. }
                | Self::TokenRefreshed
                | Self::TimedOut
                | Self::RateLimited { .. }
                | Self::QueueUnknown
                | Self::QueueStuck { .. }
                | Self::BadResponse { .. }
                | Self::NoMemory
        )
    }

    /// The error with a detail of limited length. A connector chooses a part of some details, such as
    /// a name of a header, and may keep the error.
    #[must_use]
    pub fn with_short_detail(mut self) -> Self {
        if let Self::InvalidRequest { detail }
        | Self::BadPath { detail }
        | Self::Denied { detail }
        | Self::NotLinked { detail }
        | Self::Unreachable { detail, .. }
        | Self::Unresolved { detail, .. }
        | Self::BadRedirect { detail }
        | Self::BadResponse { detail, .. } = &mut self
            && detail.len() > DETAIL_BYTES
        {
            detail.truncate(detail.floor_char_boundary(DETAIL_BYTES));
            detail.push('…');
        }
        self
    }

    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        Self::InvalidRequest { detail: detail.into() }
    }

    pub(super) fn denied(detail: impl Into<String>) -> Self {
        Self::Denied { detail: detail.into() }
    }
}

/// The duration in whole seconds for `Retry-After`: rounded up, and at least 1.
pub fn whole_seconds(duration: Duration) -> u64 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    seconds.max(1)
}
