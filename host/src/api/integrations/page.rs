//! The page that users see if there is no application to send them to. It has no script, and all
//! text in it is escaped.

use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};

use crate::body::{Body, full};

/// The page loads, runs, frames and submits nothing.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");

/// A page that says what happened and what to do.
pub(super) fn page(status: StatusCode, title: &'static str, text: &str) -> Response<Body> {
    let text = html_escape::encode_text(text);
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<h1>{title}</h1>\n<p>{text}</p>\n</html>\n"
    );
    let mut response = Response::new(full(html));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    keep_private(headers);
    response
}

/// Sends the user to the application.
pub(super) fn redirect(location: HeaderValue) -> Response<Body> {
    let mut response = Response::new(full(""));
    *response.status_mut() = StatusCode::FOUND;
    response.headers_mut().insert(LOCATION, location);
    keep_private(response.headers_mut());
    response
}

/// The URL of the request has a code and a state. It must reach no cache, and no other site as
/// `Referer`.
fn keep_private(headers: &mut HeaderMap) {
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}
