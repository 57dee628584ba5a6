//! An answer as a stream of events (`text/event-stream`).

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use hyper::Response;
use hyper::body::Frame;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};

use body::{Body, of_pieces};

/// Asks nginx and proxies like it to pass each event on at once.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A comment, which keeps the connection open.
pub(super) const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// A message of JSON-RPC, which has no line breaks.
pub(super) fn event(message: &str) -> Bytes {
    format!("event: message\ndata: {message}\n\n").into()
}

/// The response with these events.
pub(super) fn response(events: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let frames = events.map(|event| Ok(Frame::data(event)));
    let mut response = Response::new(of_pieces(frames));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}
