//! Why there is no response.

use std::time::Duration;

/// Why a request got no response, or a response no body. Messages never hold a secret: of an address they name the
/// host, never the path or the query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The request breaks a rule. Whoever composed it must change it.
    #[error("invalid request: {detail}")]
    InvalidRequest {
        /// What is wrong, and what would be right.
        detail: String,
    },
    /// The upstream has no address yet.
    #[error("the upstream `{upstream}` has no base URL: the operator sets it in the connector's `upstreams`")]
    NotConfigured {
        /// Name of the upstream.
        upstream: String,
    },
    /// The host was not granted, or resolves to an address that is not allowed.
    #[error("not allowed: {detail}")]
    Denied {
        /// Which rule, and what the operator can do.
        detail: String,
    },
    /// No connection, a broken one, or TLS failed.
    #[error("no answer from {host}: {detail}")]
    Unreachable {
        /// The host that was called.
        host: String,
        /// The cause, in the words of the layer that failed.
        detail: String,
    },
    /// The deadline of the invocation passed.
    #[error("the upstream took longer than this invocation may: try again, or raise its time limit")]
    TimedOut,
    /// The queue in front of the upstream is too long.
    #[error("too many calls are waiting for this upstream: try again in {} s", whole_seconds(*retry_after))]
    RateLimited {
        /// When it is worth trying again.
        retry_after: Duration,
    },
    /// The answer is larger than the caller of egress takes.
    #[error("the upstream's answer is larger than {limit} bytes: ask for less, or raise the limit")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The upstream redirects where nobody should follow.
    #[error("redirect not followed: {detail}")]
    BadRedirect {
        /// Where to, and why not.
        detail: String,
    },
    /// The answer began, and then broke or cannot be decoded.
    #[error("the answer of `{upstream}` cannot be read: {detail}")]
    BadAnswer {
        /// Name of the upstream that answered.
        upstream: String,
        /// What is wrong with the answer.
        detail: String,
    },
}

/// Who can mend an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Whoever called: by waiting, or by asking for less.
    Caller,
    /// Whoever runs the gateway: by configuration.
    Operator,
    /// Whoever composed the request.
    Connector,
    /// Whoever runs the upstream.
    Provider,
}

impl EgressError {
    /// Who can mend it.
    pub fn owner(&self) -> Owner {
        match self {
            Self::InvalidRequest { .. } => Owner::Connector,
            Self::NotConfigured { .. } | Self::Denied { .. } => Owner::Operator,
            Self::RateLimited { .. } | Self::TooLarge { .. } => Owner::Caller,
            Self::Unreachable { .. } | Self::TimedOut | Self::BadRedirect { .. } | Self::BadAnswer { .. } => {
                Owner::Provider
            }
        }
    }

    /// Whether the same request may succeed later with nothing changed.
    pub fn retryable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TimedOut | Self::RateLimited { .. } | Self::BadAnswer { .. })
    }

    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        Self::InvalidRequest { detail: detail.into() }
    }

    pub(super) fn denied(detail: impl Into<String>) -> Self {
        Self::Denied { detail: detail.into() }
    }
}

/// Rounded up, and never 0, as `Retry-After` wants it.
pub fn whole_seconds(duration: Duration) -> u64 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    seconds.max(1)
}
