//! Makes a recording of the requests that pass through egress.

use futures_util::future::BoxFuture;
use hyper::header::HeaderMap;
use parking_lot::Mutex;

use super::redaction::Redaction;
use super::{Body, End, Exchange, FORMAT, Json, Recording, Request, Response};
use egress::{Egress, EgressError, Transport, Upstream};

/// Headers that are recorded, in lower case. Other headers may have credentials and cookies.
const RECORDED_HEADERS: [&str; 20] = [
    "accept",
    "accept-language",
    "content-disposition",
    "content-language",
    "content-range",
    "content-type",
    "etag",
    "if-match",
    "if-none-match",
    "last-modified",
    "link",
    "location",
    "prefer",
    "preference-applied",
    "range",
    "retry-after",
    "x-next-page",
    "x-page",
    "x-total",
    "x-total-count",
];

/// Prefixes of further headers that are recorded.
const RECORDED_PREFIXES: [&str; 3] = ["ratelimit", "x-rate-limit-", "x-ratelimit-"];

/// Forwards requests and records them with their responses.
pub(crate) struct Recorder {
    more_headers: Vec<String>,
    /// In the order in which the requests began. `Err` says why a request has no response.
    exchanges: Mutex<Vec<Result<Exchange, String>>>,
}

impl Recorder {
    /// Records headers of these names too.
    pub(crate) fn new(more_headers: &[String]) -> Self {
        Self {
            more_headers: more_headers.iter().map(|name| name.to_ascii_lowercase()).collect(),
            exchanges: Mutex::default(),
        }
    }

    fn headers(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        let is_recorded = |name: &str| {
            RECORDED_HEADERS.contains(&name)
                || RECORDED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || self.more_headers.iter().any(|known| known == name)
        };
        let text = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        headers.iter().filter(|(name, _)| is_recorded(name.as_str())).filter_map(text).collect()
    }

    /// The recording, without personal data and secrets. `redacted` are names of further members
    /// whose values are taken out.
    ///
    /// # Errors
    /// Names the request that has no response.
    pub(crate) fn finish(
        &self,
        operation: &str,
        input: Json,
        settings: Vec<(String, Json)>,
        end: End,
        redacted: &[String],
    ) -> Result<Recording, String> {
        let exchanges: Result<Vec<Exchange>, String> = self.exchanges.lock().iter().cloned().collect();
        let operation = operation.to_owned();
        let exchanges = exchanges?;
        let mut recording =
            Recording { format: FORMAT, operation, input, settings, exchanges, answer: None, problem: None };
        recording.set_end(end);
        Redaction::new(redacted).apply(&mut recording);
        Ok(recording)
    }
}

impl Transport for Recorder {
    fn send<'a>(
        &'a self,
        egress: &'a Egress,
        upstream: &'a Upstream,
        request: &'a egress::Request,
    ) -> BoxFuture<'a, Result<egress::Response, EgressError>> {
        Box::pin(async move {
            let mut recorded = Request::new(upstream, request);
            recorded.headers = self.headers(request.headers.map());
            let index = {
                let mut exchanges = self.exchanges.lock();
                exchanges.push(Err(format!("`{recorded}` was cut off")));
                exchanges.len() - 1
            };
            let end = |end: Result<Exchange, String>| {
                if let Some(exchange) = self.exchanges.lock().get_mut(index) {
                    *exchange = end;
                }
            };
            let mut response = match egress.send_to_network(upstream, request).await {
                Ok(response) => response,
                Err(error) => {
                    end(Err(format!("`{recorded}` has no response: {error}")));
                    return Err(error);
                }
            };
            let (status, headers) = (response.status.as_u16(), self.headers(&response.headers));
            end(match response.body.peek(usize::MAX).await {
                Ok(body) => {
                    let response = Response { status, headers, body: Body::from_bytes(body) };
                    Ok(Exchange { request: recorded, response })
                }
                Err(error) => Err(format!("the response to `{recorded}` cannot be read: {error}")),
            });
            Ok(response)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_every_header_that_is_recorded() {
        let page = include_str!("../../../../connectors/docs/testing.md");
        for name in RECORDED_HEADERS.iter().chain(&RECORDED_PREFIXES) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
