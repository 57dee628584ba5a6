//! Replaces the network, for tools of connectors' authors. They watch requests, record them, or
//! respond to them. An egress that serves callers has no transport of this kind.

use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper::Method;
use tokio::time::Instant;
use url::Url;

use super::client::Egress;
use super::error::EgressError;
use super::request::{Request, Target};
use super::response::Response;
use super::upstream::Upstream;

/// Takes every request of an [`Egress`] in place of the network. [`Egress::send_to_network`] sends
/// a request to the network.
///
/// A request has no credential in its target, headers and body, which are as the connector made
/// them. A response has no credential either, because echoes are masked.
pub trait Transport: Send + Sync {
    /// Returns the response to a request.
    fn send<'a>(
        &'a self,
        egress: &'a Egress,
        upstream: &'a Upstream,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Response, EgressError>>;
}

/// The outline of a request and its response, without anything that could be a secret or a person's
/// data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The name of the upstream.
    pub upstream: String,
    /// The method.
    pub method: Method,
    /// Scheme, host, path and the names of query parameters, or the reason why there is no address.
    pub address: String,
    /// The status and the size of the body, or the reason why there is no response.
    pub end: Result<(u16, usize), EgressError>,
    /// The time until the body was read.
    pub elapsed: Duration,
}

impl std::fmt::Display for Outline {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { method, address, end, elapsed, .. } = self;
        let ms = elapsed.as_millis();
        match end {
            Ok((status, bytes)) => write!(out, "{method} {address} -> {status}, {bytes} bytes, {ms} ms"),
            Err(error) => write!(out, "{method} {address} -> {error}, {ms} ms"),
        }
    }
}

/// Sends every request by `next`, or to the network if there is no `next`. Reads the body of the
/// response, and reports the outline.
pub struct Watcher<F> {
    /// Takes the outlines.
    pub report: F,
    /// Replaces the network, if it is set.
    pub next: Option<std::sync::Arc<dyn Transport>>,
}

impl<F: Fn(&Outline) + Send + Sync> Transport for Watcher<F> {
    fn send<'a>(
        &'a self,
        egress: &'a Egress,
        upstream: &'a Upstream,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Response, EgressError>> {
        Box::pin(async move {
            let began = Instant::now();
            let sent = match &self.next {
                None => egress.send_to_network(upstream, request).await,
                Some(next) => next.send(egress, upstream, request).await,
            };
            let (sent, end) = match sent {
                Err(error) => (Err(error.clone()), Err(error)),
                Ok(mut response) => {
                    let read = response.body.peek(usize::MAX).await.map(<[u8]>::len);
                    let end = read.map(|bytes| (response.upstream_status.as_u16(), bytes));
                    (Ok(response), end)
                }
            };
            (self.report)(&Outline {
                upstream: upstream.name().to_owned(),
                method: request.method.clone(),
                address: address(upstream, request),
                end,
                elapsed: began.elapsed(),
            });
            sent
        })
    }
}

/// The address of a request without the values of its query.
fn address(upstream: &Upstream, request: &Request) -> String {
    let url = match &request.target {
        Target::Path(path) => upstream.target(path),
        Target::Link(link) => link.url(upstream).cloned(),
    };
    match url {
        Ok(url) => without_values(&url),
        Err(_) => format!("(upstream `{}`)", upstream.name()),
    }
}

fn without_values(url: &Url) -> String {
    let mut names: Vec<String> = url.query_pairs().map(|(name, _)| name.into_owned()).collect();
    names.dedup();
    let mut shown = url.clone();
    shown.set_query((!names.is_empty()).then(|| names.join("&")).as_deref());
    shown.to_string()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;
    use crate::testing::{Stub, TOKEN, egress, fetch, get, ok, upstream, with_token};

    #[tokio::test]
    async fn a_watcher_reports_each_request_without_the_values_of_its_query() {
        let service = Stub::start(|_, _| ok("seven b")).await;
        let outlines = Arc::new(Mutex::new(Vec::new()));
        let report = {
            let outlines = Arc::clone(&outlines);
            move |outline: &Outline| outlines.lock().push(outline.to_string())
        };
        let egress = egress().with_transport(Arc::new(Watcher { report, next: None }));
        let base = service.url();
        let request = with_token(get("/a?q=secret&q=other&page=2"));
        let (status, body) = fetch(&egress, &upstream(&base, &[]), &request).await.unwrap();
        assert_eq!((status, body.as_str()), (200, "seven b"));
        let lines = outlines.lock().clone();
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with(&format!("GET {base}/a?q&page -> 200, 7 bytes, ")), "{}", lines[0]);
        assert!(!lines[0].contains("secret") && !lines[0].contains(TOKEN));
    }
}
