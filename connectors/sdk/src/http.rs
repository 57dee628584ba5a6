//! Requests to the upstreams of the table. A connector has no other access to the network.
//!
//! ```no_run
//! # use connector_sdk::{Fault, Outcome, Request, http};
//! # fn f() -> Result<Outcome, Fault> {
//! let response = http::send(Request::get("api", "/search").query("q", "rust"))?.successful()?;
//! Ok(Outcome::ReplyDocument(response.document()?))
//! # }
//! ```

use std::fmt::Display;

use contract_rules::path::has_dot_segment;
use rows::{DOT_SEGMENT, EMPTY_SEGMENT, encoding};

use crate::bindings::gateway::connector::http as wit;
use crate::bindings::gateway::connector::signed_links::LinkRequest;
use crate::multipart::{self, BrokenPart, Part};
use crate::{Document, Fault, UpstreamFault, host, json};

pub use wit::{Body, Error, Method, TypedBytes};

/// A request to an upstream of the connector's table. The gateway adds the user's credential as the
/// upstream's statement says, and the headers of the connection.
#[derive(Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Name of an upstream of the table.
    pub upstream: String,
    /// Path below the upstream's base URL, percent-encoded, with its query. Empty if the request
    /// follows a `link`.
    pub path: String,
    /// The address of the request, instead of a path.
    pub link: Option<Link>,
    /// At most 64 headers. The gateway refuses the names that it sets itself.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Body>,
    /// `true` if the gateway leaves out the user's credential.
    pub omit_credential: bool,
}

impl Request {
    /// The request of a row.
    pub(crate) fn of_row(request: rows::Request<'_>) -> Result<Self, Fault> {
        let rows::Request { method, upstream, path, headers, body } = request;
        let body = match body {
            None => None,
            Some(rows::Body::Json(text)) => Some(Body::Json(text)),
            Some(rows::Body::Form(pairs)) => Some(Body::Form(pairs)),
            Some(rows::Body::Parts(parts)) => Some(multipart::of_row(parts)?),
        };
        let method = match method {
            rows::Method::Get => Method::Get,
            rows::Method::Head => Method::Head,
            rows::Method::Post => Method::Post,
            rows::Method::Put => Method::Put,
            rows::Method::Patch => Method::Patch,
            rows::Method::Delete => Method::Delete,
        };
        Ok(Self { headers, body, ..Self::new(method, upstream, path) })
    }

    /// A link to the path of this request, with a signature of the user in its query. Someone without
    /// an account can follow it with the request's method for this number of seconds, at most seven
    /// days. Headers and body are not part of it. The table declares
    /// [`AwsSignature`](crate::auth::AuthAddition::AwsSignature).
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if the gateway cannot make the link.
    ///
    /// ```
    /// # use connector_sdk::{Request, testing::Gateway};
    /// # let gateway = Gateway::new();
    /// let link = Request::get("api", "/photos/sea.png").signed_link(3600);
    /// # assert_eq!(link.unwrap(), "https://api.test/photos/sea.png?method=get&seconds=3600");
    /// ```
    pub fn signed_link(self, seconds: u32) -> Result<String, Error> {
        let Self { method, upstream, path, .. } = self;
        host::signed_links::make(&LinkRequest { method, upstream, path, seconds })
    }

    /// A request without headers and body. The gateway appends `path` to the upstream's base URL.
    /// It is percent-encoded, and empty or begins with `/`.
    pub fn new(method: Method, upstream: &str, path: impl Into<String>) -> Self {
        Self {
            method,
            upstream: upstream.to_owned(),
            path: path.into(),
            link: None,
            headers: Vec::new(),
            body: None,
            omit_credential: false,
        }
    }

    /// A GET request. See [`Request::new`].
    pub fn get(upstream: &str, path: impl Into<String>) -> Self {
        Self::new(Method::Get, upstream, path)
    }

    /// A POST request. See [`Request::new`].
    pub fn post(upstream: &str, path: impl Into<String>) -> Self {
        Self::new(Method::Post, upstream, path)
    }

    /// A GET request to an address that a response of the same upstream contained. Set `method` for
    /// another method.
    ///
    /// The gateway sends the address unchanged. A request that also has a path or a query is
    /// refused as [`Error::InvalidRequest`].
    #[must_use]
    pub fn follow(upstream: &str, link: Link) -> Self {
        Self { link: Some(link), ..Self::get(upstream, "") }
    }

    /// Appends `/` and a segment, percent-encoded. Call it before [`Request::query`].
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] that names `field` if the value is empty, `.` or `..`.
    pub fn segment(self, field: &str, value: &str) -> Result<Self, Fault> {
        self.joined_segment(field, &[value])
    }

    /// Like [`Request::segment`], for a list that the upstream takes joined with commas.
    ///
    /// # Errors
    /// See [`Request::segment`].
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
            return Err(Fault::invalid_input(format!("/{field}"), EMPTY_SEGMENT));
        }
        if has_dot_segment(segment) {
            return Err(Fault::invalid_input(format!("/{field}"), DOT_SEGMENT));
        }
        Ok(self)
    }

    /// Appends a query parameter, percent-encoded. `$` and `@` in its name are not encoded, as in
    /// rows.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl Display) -> Self {
        self.path.push(if self.path.contains('?') { '&' } else { '?' });
        encoding::push_name(&mut self.path, name);
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

    /// Sets the body to a form. The gateway encodes it.
    #[must_use]
    pub fn form(mut self, fields: Vec<(String, String)>) -> Self {
        self.body = Some(Body::Form(fields));
        self
    }

    /// Sets the body to a form with files (`multipart/form-data`). The gateway builds it.
    ///
    /// # Errors
    /// The first part that breaks a rule: a file name with a slash, or content that is not base64.
    pub fn multipart(mut self, parts: Vec<Part>) -> Result<Self, BrokenPart> {
        self.body = Some(multipart::body(&parts)?);
        Ok(self)
    }

    /// Leaves out the user's credential.
    #[must_use]
    pub fn without_credential(mut self) -> Self {
        self.omit_credential = true;
        self
    }

    /// The same request once more. A link belongs to one request, so the copy has none.
    pub(crate) fn again(&self) -> Self {
        Self {
            method: self.method,
            upstream: self.upstream.clone(),
            path: self.path.clone(),
            link: None,
            headers: self.headers.clone(),
            body: self.body.clone(),
            omit_credential: self.omit_credential,
        }
    }

    /// A link is sent unchanged, so a path or query in addition to it would be lost.
    pub(crate) fn check_target(&self) -> Result<(), Error> {
        if self.link.is_some() && !self.path.is_empty() {
            let path = &self.path;
            return Err(Error::InvalidRequest(format!(
                "a request that follows a link has no path and no query: `{path}`"
            )));
        }
        Ok(())
    }
}

#[cfg(target_family = "wasm")]
impl From<Request> for wit::Request {
    fn from(request: Request) -> Self {
        let target = match request.link {
            Some(link) => wit::Target::Link(link.0),
            None => wit::Target::Path(request.path),
        };
        Self {
            method: request.method,
            upstream: request.upstream,
            target,
            headers: request.headers,
            body: request.body,
            omit_credential: request.omit_credential,
        }
    }
}

/// An address that an upstream gave in a response: the next page, a place to upload to, a file to
/// download.
///
/// The address stays in the gateway. A connector can follow it with [`Request::follow`], but cannot
/// make one up.
#[derive(Debug)]
pub struct Link(pub(crate) host::http::Link);

/// A response of an upstream. The body stays in the gateway until the connector reads it. It can be
/// read several times.
#[derive(Debug)]
pub struct Response(pub(crate) host::http::Response);

/// Sends one request. The gateway follows redirects and retries idempotent requests. Any status is
/// a response.
///
/// # Errors
/// [`Error`] says why there is no response. `?` turns it into a [`Fault`].
pub fn send(request: Request) -> Result<Response, Error> {
    request.check_target()?;
    #[cfg(target_family = "wasm")]
    let request = request.into();
    host::http::send(request).map(Response)
}

/// Sends at most 32 requests in parallel. The results are in the order of the requests. If one has
/// both a link and a path, no request is sent and every result is [`Error::InvalidRequest`].
#[must_use]
pub fn send_all(requests: Vec<Request>) -> Vec<Result<Response, Error>> {
    if let Some(error) = requests.iter().find_map(|request| request.check_target().err()) {
        return requests.iter().map(|_| Err(error.clone())).collect();
    }
    #[cfg(target_family = "wasm")]
    let requests: Vec<wit::Request> = requests.into_iter().map(Into::into).collect();
    host::http::send_all(requests).into_iter().map(|response| response.map(Response)).collect()
}

impl Response {
    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.0.status()
    }

    /// The value of a header. The case of the name does not matter. Several lines of one name are one
    /// value, with a comma between them (RFC 9110, section 5.3).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let lines = self.0.header(name);
        (!lines.is_empty()).then(|| lines.join(", "))
    }

    /// The address in a header, for example `location`. `None` if the response has no such header.
    /// For `link`, the address of the link with the relation `next` (RFC 8288).
    ///
    /// # Errors
    /// [`Error`] if the value is not an address that the gateway may follow.
    pub fn header_link(&self, name: &str) -> Result<Option<Link>, Error> {
        self.0.header_link(name).map(|link| link.map(Link))
    }

    /// The address at a JSON Pointer of the body, for example `/@odata.nextLink`. `None` if the
    /// body has nothing there, or null.
    ///
    /// # Errors
    /// See [`Response::document`]. Also if the value is not an address that the gateway may follow.
    pub fn body_link(&self, pointer: &str) -> Result<Option<Link>, Error> {
        self.0.body_link(pointer).map(|link| link.map(Link))
    }

    /// The first bytes of the body, at most `length`, without consuming it. `length` is at most
    /// 4096.
    ///
    /// # Errors
    /// [`Error`] if the body breaks off.
    pub fn peek(&self, length: u32) -> Result<Vec<u8>, Error> {
        self.0.peek(length)
    }

    /// The whole body.
    ///
    /// # Errors
    /// [`Error`] if the body breaks off or is too large.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        self.0.bytes()
    }

    /// The body as UTF-8 text. Invalid sequences become U+FFFD.
    ///
    /// # Errors
    /// See [`Response::bytes`].
    pub fn text(&self) -> Result<String, Error> {
        self.0.text()
    }

    /// The body as a JSON document, which stays in the gateway. An empty body is `{}`.
    ///
    /// # Errors
    /// See [`Response::bytes`]. [`Error::BadAnswer`] if the body is not JSON.
    pub fn document(&self) -> Result<Document, Error> {
        self.0.document().map(json::Document)
    }

    /// The response itself if its status is below 400.
    ///
    /// # Errors
    /// [`Fault::Upstream`] with the status, `Retry-After` in seconds, and the body if it is JSON.
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
