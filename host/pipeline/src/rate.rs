//! The headers about rate limits of the gateway (draft-ietf-httpapi-ratelimit-headers).

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use egress::{Quota, Remaining, whole_seconds};

/// The calls of a quota that remain.
pub const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The quota.
pub const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Adds both headers to the headers of an answer.
pub(super) fn add_headers(map: &mut HeaderMap, remaining: &Remaining<'_>) {
    for (name, value) in headers(remaining) {
        map.insert(name, value);
    }
}

/// Both headers. Names of quotas have only characters that a string of the header may have.
pub fn headers(remaining: &Remaining<'_>) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let Remaining { quota: Quota { name, requests, period }, calls, until_more } = remaining;
    let now = format!("\"{name}\";r={calls};t={}", whole_seconds(*until_more));
    let policy = format!("\"{name}\";q={};w={}", (*requests).max(1), whole_seconds(*period));
    [(RATE_LIMIT, now), (RATE_LIMIT_POLICY, policy)]
        .into_iter()
        .filter_map(|(name, value)| Some((name, HeaderValue::try_from(value).ok()?)))
}
