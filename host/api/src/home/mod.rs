//! GET /: in a browser, a page that leads to the API page and to the console. Programs get the same
//! answer as on every path without a route.

use hyper::Response;
use hyper::header::{
    ACCEPT, CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};

use body::Body;
use endpoint::answer::answer_of_type;
use endpoint::route::{HttpCall, Listener};
use problem::{Problem, no_route};

/// `{console}` stands for the entry of the console.
const PAGE: &str = include_str!("page.html");

const CONSOLE: &str = "<li><a href=\"console\">Console</a>: what operators see and change.</li>\n";

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// GET /.
pub(super) async fn get_page(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    if !is_of_browser(&call.head.headers) {
        return Err(no_route().header(VARY, HeaderValue::from_static("Accept")));
    }
    // The console moves to `admin_listen`.
    let has_console = call.listener == Listener::Admin || call.gateway.config.admin_listen.is_none();
    let page = PAGE.replace("{console}", if has_console { CONSOLE } else { "" });
    let mut response = answer_of_type(page, "text/html; charset=utf-8");
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

/// Returns `true` if a request names HTML among the types that it accepts, as browsers do.
fn is_of_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|list| list.split(',')).any(|range| {
        let media_type = range.split(';').next().unwrap_or_default().trim();
        media_type.eq_ignore_ascii_case("text/html")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_names_html_and_a_program_does_not() {
        let accepts =
            |value: &'static str| is_of_browser(&[(ACCEPT, HeaderValue::from_static(value))].into_iter().collect());
        assert!(accepts("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
        assert!(accepts("application/xhtml+xml, Text/HTML;q=0.9"));
        assert!(!accepts("*/*") && !accepts("application/json") && !is_of_browser(&HeaderMap::new()));
    }
}
