//! The answers that the HTTP library itself gives to a request that is not valid HTTP/1.1. They
//! have no body. This stream gives them a problem document before they leave.
//!
//! The library writes such an answer only between two requests: all earlier answers of the
//! connection are complete and written. So bytes of another answer are never taken for one.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::str::from_utf8;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use hyper::StatusCode;
use hyper::rt::{Read, ReadBufCursor, Write};

use super::connections::Activity;
use gateway::RequestIds;
use problem::{BAD_REQUEST, Problem};

/// The header that every answer of the gateway has, and no answer of the library.
const OWN_HEADER: &str = "\r\nx-request-id: ";

/// The header of an answer without a body.
const NO_BODY: &str = "\r\ncontent-length: 0\r\n";

/// The stream of a caller's connection.
pub(super) struct Explained<S> {
    stream: S,
    activity: Activity,
    requests: Arc<RequestIds>,
    /// `true` if the library has written all that it has.
    is_flushed: bool,
    /// The rest of an answer with a problem document.
    explanation: Bytes,
}

impl<S> Explained<S> {
    pub(super) fn new(stream: S, activity: Activity, requests: Arc<RequestIds>) -> Self {
        Self { stream, activity, requests, is_flushed: true, explanation: Bytes::new() }
    }
}

impl<S: Write + Unpin> Explained<S> {
    /// Replaces an answer of the library. Returns `true` if `bytes` are such an answer.
    fn explain(&mut self, bytes: &[u8]) -> bool {
        if !self.is_flushed || !bytes.starts_with(b"HTTP/1.1 4") || self.activity.has_requests() {
            return false;
        }
        let explanation = from_utf8(bytes).ok().and_then(|head| explained(head, &self.requests));
        self.explanation = explanation.unwrap_or_default();
        !self.explanation.is_empty()
    }

    fn poll_explanation(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.explanation.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &self.explanation))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.explanation.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

/// The answer with a problem document, for the head of an answer that the library made.
fn explained(head: &str, requests: &RequestIds) -> Option<Bytes> {
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    if head.contains(OWN_HEADER) || !head.contains(NO_BODY) || !head.ends_with("\r\n\r\n") {
        return None;
    }
    let problem = problem(status)?;
    let request_id = requests.id(None);
    let document = problem.document(&request_id).to_string();
    tracing::info!(request_id = &*request_id, status = status.as_u16(), problem = problem.name(), "request refused");
    let headers = format!(
        "\r\ncontent-type: application/problem+json\r\nx-error-source: gateway{OWN_HEADER}{request_id}\r\n\
         content-length: {}\r\n",
        document.len()
    );
    Some((head.replacen(NO_BODY, &headers, 1) + &document).into())
}

fn problem(status: StatusCode) -> Option<Problem> {
    let detail = match status {
        StatusCode::BAD_REQUEST => "The request line or a header is not valid HTTP/1.1.",
        StatusCode::URI_TOO_LONG => "The path and the query have more than 64 KiB. Send a shorter address.",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            "The request has more than 100 headers, or they have more than 400 KiB. Send fewer or shorter ones."
        }
        _ => return None,
    };
    Some(BAD_REQUEST.with_detail(detail).status(status))
}

impl<S: Read + Unpin> Read for Explained<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buf)
    }
}

impl<S: Write + Unpin> Write for Explained<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_explanation(context))?;
        if self.explain(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        self.is_flushed = false;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_explanation(context))?;
        self.is_flushed = true;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_explanation(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_explanation(context))?;
        // An answer of the library is a head alone.
        if let Some(first) = bytes.first()
            && bytes.iter().skip(1).all(|other| other.is_empty())
            && self.explain(first)
        {
            return Poll::Ready(Ok(first.len()));
        }
        self.is_flushed = false;
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_without_a_body_that_the_gateway_did_not_make_are_explained() {
        let requests = RequestIds::of_process();
        let explained = |head: &str| explained(head, &requests).map(|bytes| String::from_utf8(bytes.into()).unwrap());
        let of_library = "HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\ndate: now\r\n\r\n";
        let answer = explained(of_library).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 431 ") && head.ends_with("\r\ndate: now"), "{head}");
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{head}");
        let document: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(document["status"], 431);
        for head in [
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\nx-request-id: 1\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 5\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\nmore",
        ] {
            assert_eq!(explained(head), None, "{head}");
        }
    }
}
