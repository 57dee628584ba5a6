//! Answers requests from a recording.

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::{Body, Exchange, Recording, Request, Response};
use egress::{Egress, EgressError, Transport, Upstream};

/// Answers each request with the first unused response of the recording to an equal request.
/// Nothing is sent.
pub(crate) struct Player {
    exchanges: Vec<Exchange>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Indices of the exchanges whose responses were used.
    used: Vec<usize>,
    /// The differences between the requests and the recording, a line each.
    differences: Vec<String>,
}

impl Player {
    /// Answers from this recording.
    pub(crate) fn new(recording: &Recording) -> Self {
        Self { exchanges: recording.exchanges.clone(), state: Mutex::default() }
    }

    /// The differences between the requests and the recording, at the end of the call.
    pub(crate) fn differences(&self) -> Vec<String> {
        let state = self.state.lock();
        let mut lines = state.differences.clone();
        let unused = self.exchanges.iter().enumerate().filter(|(index, _)| !state.used.contains(index));
        lines.extend(
            unused.map(|(_, exchange)| format!("the recording has a request that was not sent: {}", exchange.request)),
        );
        lines
    }

    fn take(&self, request: &Request) -> Result<&Response, EgressError> {
        let mut state = self.state.lock();
        let unused = || self.exchanges.iter().enumerate().filter(|(index, _)| !state.used.contains(index));
        if let Some((index, exchange)) = unused().find(|(_, exchange)| exchange.request.equals(request)) {
            state.used.push(index);
            return Ok(&exchange.response);
        }
        let nearest =
            unused().max_by_key(|(index, exchange)| (likeness(&exchange.request, request), usize::MAX - index));
        let mut lines = vec![format!("the recording has no request {request}")];
        if let Some((_, nearest)) = nearest {
            lines.push(format!("  the nearest one is     {}", nearest.request));
            lines.extend(body_differences(&nearest.request, request).into_iter().map(|line| format!("  body {line}")));
        }
        state.differences.extend(lines);
        Err(EgressError::Denied { detail: format!("the recording has no request `{request}`") })
    }
}

/// A number that is greater the more alike two requests are.
fn likeness(one: &Request, other: &Request) -> (bool, bool, usize) {
    let target = |request: &Request| request.path.clone().or_else(|| request.link.clone()).unwrap_or_default();
    let common = target(one).bytes().zip(target(other).bytes()).take_while(|(one, other)| one == other).count();
    (one.upstream == other.upstream, one.method == other.method, common)
}

fn body_differences(recorded: &Request, now: &Request) -> Vec<String> {
    match (&recorded.body, &now.body) {
        (Some(Body::Json(recorded)), Some(Body::Json(now))) => recorded.differences(now),
        (Some(recorded), Some(now)) if !recorded.means(now) => vec![format!("recorded {recorded:?}, now {now:?}")],
        (Some(_), None) => vec!["is recorded, and now there is no body".to_owned()],
        (None, Some(_)) => vec!["is sent now, and no body is recorded".to_owned()],
        _ => Vec::new(),
    }
}

impl Transport for Player {
    fn send<'a>(
        &'a self,
        egress: &'a Egress,
        upstream: &'a Upstream,
        request: &'a egress::Request,
    ) -> BoxFuture<'a, Result<egress::Response, EgressError>> {
        Box::pin(async move {
            let recorded = self.take(&Request::new(upstream, request))?;
            let unreadable = |detail: String| EgressError::BadResponse { upstream: upstream.name().to_owned(), detail };
            let body = recorded.body.as_ref().map(Body::bytes).transpose();
            let body = body.map_err(|error| unreadable(error.to_string()))?.unwrap_or_default();
            let mut response = hyper::Response::builder().status(recorded.status);
            for (name, value) in &recorded.headers {
                response = response.header(name, value);
            }
            let response = response.body(body).map_err(|error| unreadable(error.to_string()))?;
            egress::Response::recorded(upstream, request, response, egress.memory())
        })
    }
}
