//! GET /docs and GET /docs/{connector}: the API, or one connector, as a page for browsers, made
//! from the live description.
//!
//! The page and its scripts are in the binary. They load nothing from elsewhere, and their policy
//! lets them load nothing. `SOURCE.md` says where the library comes from.

use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;
use hyper::Response;
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue, REFERRER_POLICY,
    VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

use super::compression::accepts_encoding;
use body::Body;
use endpoint::answer::{answer_of_type, static_answer, tagged_answer_of_type};
use endpoint::route::HttpCall;
use gateway::TaggedText;
use problem::{self, Problem};
use rest::connectors;

/// `{root}` stands for the way from the page to the root of the gateway.
const PAGE: &str = include_str!("page.html");

const SCRIPT: &str = include_str!("page.js");

/// The library, compressed with gzip. It stays in the file of the binary until a caller requests
/// it.
const LIBRARY: &[u8] = include_bytes!("scalar.js.gz");

/// SHA-256 of the library before it was compressed.
const LIBRARY_DIGEST: &str = "bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c";

/// Scripts and requests come from and go to this gateway only. The library writes styles into the
/// page.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// GET /docs.
pub(super) async fn get_page(_: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    Ok(page_at(""))
}

/// GET /docs/{connector}.
pub(super) async fn get_page_of_connector(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    connectors::live_connector(call.gateway, call.arguments.connector)?;
    Ok(page_at("../"))
}

fn page_at(root: &str) -> Response<Body> {
    let mut response = answer_of_type(PAGE.replace("{root}", root), "text/html; charset=utf-8");
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    asset(response)
}

/// GET /docs/page.js.
pub(super) async fn get_script(_: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    Ok(asset(static_answer(SCRIPT, JAVASCRIPT)))
}

/// GET /docs/scalar.js.
pub(super) async fn get_library(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let headers = &call.head.headers;
    let takes_gzip = headers.get(ACCEPT_ENCODING).is_some_and(|accepted| accepts_encoding(accepted, "gzip"));
    let text = if takes_gzip {
        Bytes::from_static(LIBRARY)
    } else {
        let unpacked = compute::run(compute::LARGE_BYTES, unpacked)
            .await
            .map_err(|error| problem::INTERNAL.with_detail(format!("The library cannot be read: {error}.")))?;
        call.gateway.egress.memory().hold_bytes(unpacked.into()).map_err(problem::no_memory)?
    };
    let mut response = tagged_library(headers, text);
    if takes_gzip && !response.status().is_redirection() {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    Ok(asset(response))
}

fn tagged_library(request: &HeaderMap, text: Bytes) -> Response<Body> {
    let tag = HeaderValue::try_from(format!("W/\"{LIBRARY_DIGEST}\""));
    tagged_answer_of_type(
        request,
        &TaggedText { text, tag: tag.unwrap_or(HeaderValue::from_static("W/\"\"")) },
        JAVASCRIPT,
    )
}

fn unpacked() -> std::io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    GzDecoder::new(LIBRARY).read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

/// Browsers take it for what it says it is, and ask before they use it again.
fn asset(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use store::digest::sha256_hex;

    use super::*;

    #[test]
    fn the_library_is_the_one_that_its_source_names() {
        assert_eq!(sha256_hex(&unpacked().unwrap()), LIBRARY_DIGEST);
        assert!(include_str!("SOURCE.md").contains(LIBRARY_DIGEST));
    }

    #[test]
    fn the_page_and_its_policy_name_no_other_origin() {
        for text in [PAGE, SCRIPT, POLICY.to_str().unwrap()] {
            assert!(!text.contains("http:") && !text.contains("https:") && !text.contains("//cdn"), "{text}");
        }
    }
}
