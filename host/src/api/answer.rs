//! Answers with status 200.

use bytes::Bytes;
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use serde_json::Value;

use crate::pipeline::body::{Body, full};

/// A JSON document.
pub(super) fn json_answer(document: &Value) -> Response<Body> {
    typed(document.to_string(), "application/json")
}

/// A JSON document about one user, which no cache may store.
pub(super) fn private_answer(document: &Value) -> Response<Body> {
    private_text(document.to_string())
}

/// The text of a JSON document about one user, which no cache may store.
pub(super) fn private_text(document: impl Into<Bytes>) -> Response<Body> {
    let mut response = typed(document, "application/json");
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A body of any media type.
pub(super) fn typed(bytes: impl Into<Bytes>, content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(full(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
