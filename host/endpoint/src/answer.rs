//! Answers with status 200.

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, VARY};
use hyper::{Response, StatusCode};
use serde_json::Value;
use tokio::time::Instant;

use body::{Body, full, shared};
use gateway::TaggedText;
use store::digest::sha256_hex;

/// An extension of a response: the deadline of the call. An answer that was not sent by then is
/// given up.
#[derive(Clone, Copy)]
pub struct AnswerDeadline(pub Instant);

/// An extension of a response: the id of the job that runs the call.
#[derive(Clone)]
pub struct AcceptedJob(pub String);

/// An extension of a response: a stream that ends only if its caller leaves or the gateway needs
/// its connection. Its caller opens it again.
#[derive(Clone, Copy)]
pub struct EndlessStream;

/// An extension of a response: the connection is closed in its place.
#[derive(Clone, Copy)]
pub struct ClosesConnection;

/// A JSON document.
pub fn json_answer(document: &Value) -> Response<Body> {
    answer_of_type(document.to_string(), "application/json")
}

/// A JSON document about one user, which no cache may store.
pub fn private_answer(document: &Value) -> Response<Body> {
    private_text(document.to_string())
}

/// The text of a JSON document about one user, which no cache may store.
pub fn private_text(document: impl Into<Bytes>) -> Response<Body> {
    let mut response = answer_of_type(document, "application/json");
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A text of the program itself.
pub fn static_answer(text: &'static str, content_type: &'static str) -> Response<Body> {
    typed(shared(Bytes::from_static(text.as_bytes())), content_type)
}

/// A body of any media type.
pub fn answer_of_type(bytes: impl Into<Bytes>, content_type: &'static str) -> Response<Body> {
    typed(full(bytes), content_type)
}

fn typed(body: Body, content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Adds the tag to a document.
pub fn tagged_text(document: String) -> TaggedText {
    // Weak, because an answer may be compressed on its way.
    let tag = format!("W/\"{}\"", sha256_hex(document.as_bytes()));
    TaggedText { text: document.into(), tag: HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("W/\"\"")) }
}

/// A JSON document that the caller may keep and ask about again: 304 if the request names its tag
/// in `If-None-Match`.
pub fn tagged_answer(request: &HeaderMap, document: &TaggedText) -> Response<Body> {
    tagged_answer_of_type(request, document, "application/json")
}

/// As [`tagged_answer`], with another media type.
pub fn tagged_answer_of_type(request: &HeaderMap, document: &TaggedText, content_type: &'static str) -> Response<Body> {
    let mut response = if document.tag.to_str().is_ok_and(|tag| names_tag(request, tag)) {
        let mut response = Response::new(full(Bytes::new()));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        typed(shared(document.text.clone()), content_type)
    };
    let headers = response.headers_mut();
    headers.insert(ETAG, document.tag.clone());
    // It is compressed for callers who take that (RFC 9110, section 12.5.5).
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    // A cache may store it for the same caller, and has to ask before each use.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// Returns `true` if `If-None-Match` names a tag (RFC 9110, section 13.1.2).
fn names_tag(request: &HeaderMap, tag: &str) -> bool {
    let opaque = tag.trim_start_matches("W/");
    let is_named = |named: &str| named == "*" || named.trim_start_matches("W/") == opaque;
    let mut lists = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    lists.any(|list| list.split(',').map(str::trim).any(is_named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_in_a_list_in_both_forms() {
        let names = |list: &'static str| {
            names_tag(&HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(list))]), "W/\"abc\"")
        };
        assert!(names("W/\"abc\"") && names("\"abc\"") && names("\"x\", W/\"abc\"") && names("*"));
        assert!(!names("\"ab\"") && !names("abc") && !names(""));
        assert!(!names_tag(&HeaderMap::new(), "W/\"abc\""));
    }
}
