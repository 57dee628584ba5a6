//! Calls from pages in a browser (CORS): which of them may read the answers.
//!
//! Off unless `allowed_origins` is set, and only for callers with a JWT: everyone can read an API
//! key in a page.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, HeaderMap,
    HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, Response, StatusCode};
use url::Url;

use auth::is_jwt;
use body::{Body, full};
use config::Config;
use endpoint::route::Route;

/// Headers that a page may send.
const SENT: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, Idempotency-Key, If-None-Match, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id, Prefer, \
     Range, Request-Timeout, X-Request-Id, X-User-Identifier",
);

/// Headers that a page may read.
const READ: HeaderValue = HeaderValue::from_static(
    "Content-Disposition, Content-Range, ETag, Idempotent-Replayed, Mcp-Session-Id, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, \
     WWW-Authenticate, X-Error-Source, X-Request-Id, X-Response-Fields-Unmatched, X-Upstream-Link, X-Upstream-RateLimit-Limit, \
     X-Upstream-RateLimit-Remaining, X-Upstream-RateLimit-Reset, X-Upstream-Request-Id",
);

/// Time for which a browser keeps the answer to a preflight request, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The origin of a page that may read the answer. `None` if the call does not come from such a
/// page.
pub(super) fn allowed_origin(config: &Config, headers: &HeaderMap) -> Option<HeaderValue> {
    // Without the setting, nothing is looked up.
    if config.allowed_origins.is_empty() {
        return None;
    }
    let given = headers.get(ORIGIN)?;
    let origin = Url::parse(given.to_str().ok()?).ok()?.origin();
    let is_for_pages = headers.get(AUTHORIZATION).is_none_or(is_jwt);
    (is_for_pages && config.allowed_origins.contains(&origin)).then(|| given.clone())
}

/// The answer to a preflight request, with which a browser checks whether a page may send a call.
/// `None` if this is no such request.
pub(super) fn preflight_answer(method: &Method, request: &HeaderMap, route: &Route) -> Option<Response<Body>> {
    if *method != Method::OPTIONS || !request.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut response = Response::new(full(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.extend(HeaderValue::try_from(route.allowed()).ok().map(|methods| (ACCESS_CONTROL_ALLOW_METHODS, methods)));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, SENT);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    Some(response)
}

/// Lets the page read an answer.
pub(super) fn let_page_read(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, READ);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}
