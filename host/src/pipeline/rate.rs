//! The headers about rate limits of the gateway (draft-ietf-httpapi-ratelimit-headers).

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use egress::{Budget, Left, whole_seconds};

/// The remaining part of a budget.
pub const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The budget itself.
pub const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Adds both headers to the headers of an answer.
pub(super) fn add_headers(map: &mut HeaderMap, left: &Left<'_>) {
    for (name, value) in headers(left) {
        map.insert(name, value);
    }
}

/// Both headers. Names of budgets have only characters that a string of the header may have.
pub fn headers(left: &Left<'_>) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let Left { budget: Budget { name, requests, period }, calls, until_more } = left;
    let now = format!("\"{name}\";r={calls};t={}", whole_seconds(*until_more));
    let policy = format!("\"{name}\";q={};w={}", (*requests).max(1), whole_seconds(*period));
    [(RATE_LIMIT, now), (RATE_LIMIT_POLICY, policy)]
        .into_iter()
        .filter_map(|(name, value)| Some((name, HeaderValue::try_from(value).ok()?)))
}
