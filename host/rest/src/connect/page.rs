//! The pages as HTML. A template escapes every text, and no page has a script.

use askama::Template;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};

use super::words::{ENGLISH, Message, Words};
use body::{Body, full};
use endpoint::answer::static_answer;

/// The style of all pages.
const STYLE: &str = include_str!("page.css");

/// A page that submits nothing.
pub(super) const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// A page that says what happened and what to do.
#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage<'a> {
    words: &'static Words,
    title: &'a str,
    text: &'a str,
    /// The way from the page to the root of the gateway.
    root: &'a str,
}

/// The page with the code that the user enters at the service.
#[derive(Template)]
#[template(path = "device.html")]
pub(super) struct DevicePage<'a> {
    pub(super) words: &'static Words,
    pub(super) user_code: &'a str,
    /// The page of the service, with the code if the service has such a page. The page shows the
    /// URL that its link leads to: with another text, a service could send users to a third site.
    pub(super) url: &'a str,
    /// The page of the link.
    pub(super) back: &'a str,
}

/// A page that says what happened and what to do. `root` is the way from the page to the root of
/// the gateway.
pub fn message_page(status: StatusCode, title: &str, text: &str, root: &str) -> Response<Body> {
    message_page_of(&ENGLISH, status, title, text, root)
}

/// A page that says what happened and what to do, in the language of the browser.
pub(crate) fn message_page_of(
    words: &'static Words,
    status: StatusCode,
    title: &str,
    text: &str,
    root: &str,
) -> Response<Body> {
    html_response(status, MessagePage { words, title, text, root }.render(), POLICY)
}

/// One of the messages in the language of the browser.
pub(crate) fn message_in(
    words: &'static Words,
    status: StatusCode,
    Message { title, text }: Message,
    root: &str,
) -> Response<Body> {
    message_page_of(words, status, title, text, root)
}

/// The page with a code as a response.
pub(super) fn device_page(page: &DevicePage<'_>) -> Response<Body> {
    html_response(StatusCode::OK, page.render(), POLICY)
}

/// A page as a response. `policy` says what the page may load, and where its forms lead.
pub(super) fn html_response(
    status: StatusCode,
    html: Result<String, askama::Error>,
    policy: HeaderValue,
) -> Response<Body> {
    // Writing to a string never fails.
    let mut response = Response::new(full(html.unwrap_or_default()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    keep_private(headers);
    response
}

/// Sends the browser to a URL, which it gets with GET.
pub fn redirect(status: StatusCode, location: HeaderValue) -> Response<Body> {
    let mut response = Response::new(full(""));
    *response.status_mut() = status;
    response.headers_mut().insert(LOCATION, location);
    keep_private(response.headers_mut());
    response
}

/// The URL of the request has a secret. It must reach no cache, and no other site as `Referer`.
fn keep_private(headers: &mut HeaderMap) {
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}

/// GET /connect/page.css.
pub(super) fn style() -> Response<Body> {
    let mut response = static_answer(STYLE, "text/css; charset=utf-8");
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=3600"));
    response
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn no_text_of_a_provider_becomes_html() {
        let odd = "\"><script>alert(1)</script>";
        let page = DevicePage { words: &ENGLISH, user_code: odd, url: odd, back: "x" };
        let body = device_page(&page).into_body().collect().await.unwrap().to_bytes();
        let html = String::from_utf8_lossy(&body);
        assert!(!html.contains("<script"), "{html}");
    }

    #[tokio::test]
    async fn a_message_is_text() {
        let response = message_page(StatusCode::CONFLICT, "<b>", "<i>", "../");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let html = String::from_utf8_lossy(&body);
        assert!(!html.contains("<b>") && !html.contains("<i>") && html.contains("../connect/page.css"), "{html}");
    }
}
