//! Spans of egress in the trace of a call.

use std::fmt;

use hyper::Method;
use hyper::header::{HeaderName, HeaderValue};

/// Adds the attempts of a request to the trace of a call.
pub trait Tracing: fmt::Debug + Send + Sync {
    /// An attempt begins.
    fn begin(&self, attempt: Beginning<'_>) -> TracedAttempt;
}

/// An attempt that begins.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'a> {
    /// The name of the upstream.
    pub upstream: &'a str,
    /// The host that is called.
    pub host: &'a str,
    /// The method.
    pub method: &'a Method,
    /// 0 for the first attempt, 1 for the first retry, and so on.
    pub retry: u32,
}

/// An attempt that is a part of a trace.
pub struct TracedAttempt {
    /// The headers that name the trace to the upstream. They replace the same headers of the
    /// connector.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Ends the attempt.
    pub end: EndAttempt,
}

/// Called at the end of an attempt with the status; `None` if there was no response. Dropped if the
/// call is cancelled.
pub type EndAttempt = Box<dyn FnOnce(Option<u16>) + Send>;
