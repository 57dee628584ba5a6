//! Answers requests from a recording.

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::{Answer, Body, Exchange, Recording, Request};
use egress::{Carrier, Egress, EgressError, Response, Upstream};

/// Answers each request with the first answer of the recording that no equal request has had. Nothing is sent.
pub struct Player {
    exchanges: Vec<Exchange>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Indices of the answers that were given.
    used: Vec<usize>,
    /// The differences between the requests and the recording, a line each.
    differences: Vec<String>,
}

impl Player {
    /// Answers from this recording.
    pub fn new(recording: &Recording) -> Self {
        Self { exchanges: recording.exchanges.clone(), state: Mutex::default() }
    }

    /// The differences between the requests and the recording, at the end of the call.
    pub fn differences(&self) -> Vec<String> {
        let state = self.state.lock();
        let mut lines = state.differences.clone();
        let unused = self.exchanges.iter().enumerate().filter(|(index, _)| !state.used.contains(index));
        lines.extend(
            unused.map(|(_, exchange)| format!("the recording has a request that was not sent: {}", exchange.request)),
        );
        lines
    }

    fn take(&self, asked: &Request) -> Result<&Answer, EgressError> {
        let mut state = self.state.lock();
        let unused = || self.exchanges.iter().enumerate().filter(|(index, _)| !state.used.contains(index));
        if let Some((index, exchange)) = unused().find(|(_, exchange)| exchange.request.is(asked)) {
            state.used.push(index);
            return Ok(&exchange.answer);
        }
        let nearest = unused().max_by_key(|(index, exchange)| (likeness(&exchange.request, asked), usize::MAX - index));
        let mut lines = vec![format!("the recording has no request {asked}")];
        if let Some((_, nearest)) = nearest {
            lines.push(format!("  the nearest one is     {}", nearest.request));
            lines.extend(body_differences(&nearest.request, asked).into_iter().map(|line| format!("  body {line}")));
        }
        state.differences.extend(lines);
        Err(EgressError::Denied { detail: format!("the recording has no request `{asked}`") })
    }
}

/// A number that is greater the more alike two requests are.
fn likeness(one: &Request, other: &Request) -> (bool, bool, usize) {
    let target = |request: &Request| request.path.clone().or_else(|| request.link.clone()).unwrap_or_default();
    let common = target(one).bytes().zip(target(other).bytes()).take_while(|(one, other)| one == other).count();
    (one.upstream == other.upstream, one.method == other.method, common)
}

fn body_differences(recorded: &Request, asked: &Request) -> Vec<String> {
    match (&recorded.body, &asked.body) {
        (Some(Body::Json(recorded)), Some(Body::Json(now))) => recorded.differences(now),
        (Some(recorded), Some(now)) if !recorded.means(now) => vec![format!("recorded {recorded:?}, now {now:?}")],
        (Some(_), None) => vec!["is recorded, and now there is none".to_owned()],
        (None, Some(_)) => vec!["is sent now, and none is recorded".to_owned()],
        _ => Vec::new(),
    }
}

impl Carrier for Player {
    fn carry<'a>(
        &'a self,
        egress: &'a Egress,
        upstream: &'a Upstream,
        request: &'a egress::Request,
    ) -> BoxFuture<'a, Result<Response, EgressError>> {
        Box::pin(async move {
            let answer = self.take(&Request::of(upstream, request))?;
            let unreadable = |detail: String| EgressError::BadResponse { upstream: upstream.name().to_owned(), detail };
            let body = answer.body.as_ref().map(Body::bytes).transpose();
            let body = body.map_err(|error| unreadable(error.to_string()))?.unwrap_or_default();
            let mut response = hyper::Response::builder().status(answer.status);
            for (name, value) in &answer.headers {
                response = response.header(name, value);
            }
            let response = response.body(body).map_err(|error| unreadable(error.to_string()))?;
            Response::recorded(upstream, request, response, egress.memory())
        })
    }
}
