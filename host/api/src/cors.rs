//! Calls from pages in a browser (CORS): which of them may read the answers.
//!
//! Off unless `allowed_origins` is set, and only for callers with a JWT: everyone can read an API
//! key in a page.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, Response, StatusCode};
use url::Url;

use auth::is_jwt;
use body::{Body, full};
use config::Config;
use endpoint::route::{Family, Route};

/// Headers that a page may send.
const SENT: &str = "Authorization, Content-Type, Idempotency-Key, If-None-Match, Mcp-Method, Mcp-Name, \
     Mcp-Protocol-Version, Mcp-Session-Id, Prefer, Range, Request-Timeout, Traceparent, Tracestate, X-Debug, X-Reason, \
     X-Request-Id, X-User-Identifier";

/// The beginnings of the names of further ones, which a page may send to a service around the
/// operations.
const SENT_TO_SERVICES: [&str; 2] = ["if-", "x-proxy-header-"];

/// Headers that a page may read in every answer, also to learn that they are not there.
const READ: &str = "Content-Disposition, Content-Range, ETag, Idempotent-Replayed, Mcp-Session-Id, \
     Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Error-Source, X-Request-Id, \
     X-Response-Fields-Unmatched, X-Upstream-Link, X-Upstream-RateLimit-Limit, X-Upstream-RateLimit-Remaining, \
     X-Upstream-RateLimit-Reset, X-Upstream-Request-Id";

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
    let sent = sent_by_page(request, route);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::try_from(sent).unwrap_or(HeaderValue::from_static(SENT)));
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    Some(response)
}

/// The names of the headers that a page may send to a route, of which a preflight request names
/// some. A name is repeated only if it is one.
fn sent_by_page(request: &HeaderMap, route: &Route) -> String {
    if route.family != Family::Proxy {
        return SENT.to_owned();
    }
    let lines = request.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter().filter_map(|line| line.to_str().ok());
    let names = lines.flat_map(|line| line.split(',')).filter_map(|name| HeaderName::try_from(name.trim()).ok());
    let for_service =
        names.filter(|name| SENT_TO_SERVICES.iter().any(|beginning| name.as_str().starts_with(beginning)));
    for_service.fold(SENT.to_owned(), |sent, name| sent + ", " + name.as_str())
}

/// The names of the headers that a page may read in an answer: also those that only this answer
/// has, such as the headers that a service sent through `/proxy`.
fn read_by_page(headers: &HeaderMap) -> String {
    let is_listed = |name: &&str| READ.split(", ").any(|listed| listed.eq_ignore_ascii_case(name));
    let others = headers.keys().map(HeaderName::as_str).filter(|name| !is_listed(name));
    others.fold(READ.to_owned(), |read, name| read + ", " + name)
}

/// Lets the page read an answer.
pub(super) fn let_page_read(origin: HeaderValue, headers: &mut HeaderMap) {
    let read = read_by_page(headers);
    headers
        .insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::try_from(read).unwrap_or(HeaderValue::from_static(READ)));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_reads_every_header_of_an_answer() {
        let mut headers = HeaderMap::new();
        for name in ["etag", "link", "x-total-count", "x-upstream-ratelimit"] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("1"));
        }
        let read = read_by_page(&headers);
        let mut further: Vec<&str> = read.strip_prefix(READ).unwrap().split(", ").skip(1).collect();
        further.sort_unstable();
        assert_eq!(further, ["link", "x-total-count", "x-upstream-ratelimit"]);
        assert_eq!(read_by_page(&HeaderMap::new()), READ);
    }
}
