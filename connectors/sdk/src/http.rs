//! The only way out of the sandbox.
//!
//! ```no_run
//! # use connector_sdk::{Fault, Outcome, Request, http};
//! # fn f() -> Result<Outcome, Fault> {
//! let response = http::send(Request::get("api", "/search").query("q", "rust"))?.successful()?;
//! Ok(Outcome::ReplyDocument(response.document()?))
//! # }
//! ```

use std::fmt::Display;

use crate::bindings::gateway::connector::http as wit;
use crate::{Document, Fault, UpstreamFault, encoding, host, json};

pub use wit::{Body, Credential, Error, Method, Request, TypedBytes};

/// For a value that would lead a request elsewhere.
pub(crate) const DOT_SEGMENT: &str =
    "Give a value without `.` and `..` as a step, in any encoding: it is a part of the address.";

/// A request to an upstream of the connector's table. The gateway adds credentials and the headers of the connection.
impl Request {
    /// A request without headers and body. `path` is appended to the upstream's base URL; it is encoded already and begins with `/`.
    pub fn new(method: Method, upstream: &str, path: impl Into<String>) -> Self {
        Self {
            method,
            upstream: upstream.to_owned(),
            path: path.into(),
            headers: Vec::new(),
            body: None,
            credential: Credential::Standard,
        }
    }

    /// A GET request; see [`Request::new`].
    pub fn get(upstream: &str, path: impl Into<String>) -> Self {
        Self::new(Method::Get, upstream, path)
    }

    /// A POST request; see [`Request::new`].
    pub fn post(upstream: &str, path: impl Into<String>) -> Self {
        Self::new(Method::Post, upstream, path)
    }

    /// Appends `/` and a segment, percent-encoded. Call it before [`Request::query`].
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] for an empty value, `.` and `..`, which would lead elsewhere; `field` is named in it.
    pub fn segment(self, field: &str, value: &str) -> Result<Self, Fault> {
        self.joined_segment(field, &[value])
    }

    /// As [`Request::segment`], for a list that the upstream takes joined with commas.
    ///
    /// # Errors
    /// As [`Request::segment`].
    pub fn joined_segment(mut self, field: &str, values: &[impl AsRef<str>]) -> Result<Self, Fault> {
        self.path.push('/');
        let start = self.path.len();
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.path.push(',');
            }
            encoding::push(&mut self.path, value.as_ref(), b"");
        }
        let segment = self.path.get(start..).unwrap_or_default();
        if segment.is_empty() {
            let detail = "Give a value that is not empty: it is a part of the address.";
            return Err(Fault::invalid_input(format!("/{field}"), detail));
        }
        if encoding::has_dot_segment(segment) {
            return Err(Fault::invalid_input(format!("/{field}"), DOT_SEGMENT));
        }
        Ok(self)
    }

    /// Appends a query parameter, percent-encoded.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl Display) -> Self {
        self.path.push(if self.path.contains('?') { '&' } else { '?' });
        encoding::push(&mut self.path, name, b"");
        self.path.push('=');
        encoding::push(&mut self.path, &value.to_string(), b"");
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Sets the body to JSON text.
    #[must_use]
    pub fn json(mut self, text: impl Into<String>) -> Self {
        self.body = Some(Body::Json(text.into()));
        self
    }

    /// Sets the body to a form; the gateway encodes it.
    #[must_use]
    pub fn form(mut self, fields: Vec<(String, String)>) -> Self {
        self.body = Some(Body::Form(fields));
        self
    }

    /// Says how the user's credential is added.
    #[must_use]
    pub fn credential(mut self, credential: Credential) -> Self {
        self.credential = credential;
        self
    }
}

/// An answer of an upstream. The body stays with the gateway until it is asked for, and can be read any number of times.
#[derive(Debug)]
pub struct Response(pub(crate) host::http::Response);

/// Sends one request. Redirects are followed, idempotent requests are retried; any status is a response.
///
/// # Errors
/// [`Error`] says why there is no response; `?` turns it into a [`Fault`].
pub fn send(request: Request) -> Result<Response, Error> {
    host::http::send(&request).map(Response)
}

/// Sends at most 64 requests in parallel; the answers come in the order of the requests.
#[must_use]
pub fn send_all(requests: &[Request]) -> Vec<Result<Response, Error>> {
    host::http::send_all(requests).into_iter().map(|response| response.map(Response)).collect()
}

impl Response {
    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.0.status()
    }

    /// The first value of a header, by its name in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        self.0.header(name).into_iter().next()
    }

    /// The first bytes of the body, at most `length` (4096 or less), without consuming it.
    ///
    /// # Errors
    /// [`Error`] when the body breaks off.
    pub fn peek(&self, length: u32) -> Result<Vec<u8>, Error> {
        self.0.peek(length)
    }

    /// The whole body.
    ///
    /// # Errors
    /// [`Error`] when the body breaks off or is too large.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        self.0.bytes()
    }

    /// The body as text in UTF-8; invalid sequences become U+FFFD.
    ///
    /// # Errors
    /// As [`Response::bytes`].
    pub fn text(&self) -> Result<String, Error> {
        self.0.text()
    }

    /// The body as a JSON document, which stays with the gateway; an empty body is `{}`.
    ///
    /// # Errors
    /// As [`Response::bytes`], and when the body is no JSON.
    pub fn document(&self) -> Result<Document, Error> {
        self.0.document().map(json::Document)
    }

    /// The response itself when its status is below 400, else the fault that passes the upstream's answer on to the caller.
    ///
    /// # Errors
    /// [`Fault::Upstream`] with the status, `Retry-After` in seconds, and the body where it is JSON.
    pub fn successful(self) -> Result<Self, Fault> {
        let status = self.status();
        if status < 400 {
            return Ok(self);
        }
        Err(Fault::Upstream(UpstreamFault {
            status,
            detail: format!("The service answered with status {status}."),
            body: self.document().ok().map(|document| document.text()),
            retry_after_seconds: self.header("retry-after").and_then(|value| value.trim().parse().ok()),
        }))
    }
}
