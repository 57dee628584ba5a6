//! One URL of a provider, called through egress.

use std::time::Duration;

use hyper::Method;
use oauth2::HttpRequest;
use oauth2::http::header::{AUTHORIZATION, CONTENT_TYPE};
use tokio::time::Instant;
use url::Url;

use super::answer::Answer;
use super::error::TokenError;
use super::recipients::Recipients;
use egress::{Body, Credential, Egress, EgressError, Headers, Request, Upstream, retry_after};

/// How long one call to a provider may take, the reading of its answer included. A lease on a refresh has to outlive it.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Tokens that are documents of their own have some kilobytes, and there are at most three in an answer.
const MAX_ANSWER_BYTES: u64 = 256 << 10;

/// A URL that may be called, and nothing beside it: its own host is granted, and redirects are not followed, so that what is
/// sent to a provider stays with it.
///
/// Every secret that leaves for a provider leaves through one, so here it is decided whether it may.
pub(super) struct Endpoint {
    upstream: Upstream,
    path: String,
    /// Why nothing may be sent to it, if so.
    refusal: Option<TokenError>,
}

/// How one connector's endpoints may be called.
#[derive(Clone, Copy)]
pub(super) struct EndpointPolicy<'a> {
    /// Who may be sent its secrets.
    pub(super) recipients: &'a Recipients,
    /// Whether they may lie at loopback and private addresses.
    pub(super) private_network: bool,
}

impl Endpoint {
    /// # Errors
    /// When the URL is none that egress calls.
    pub(super) fn new(name: &str, url: &Url, policy: EndpointPolicy<'_>) -> Result<Self, EgressError> {
        let (upstream, path) = Upstream::of_url(name, url, policy.private_network)?;
        let refusal = (!policy.recipients.include(url)).then(|| TokenError::not_granted(name, url));
        Ok(Self { upstream: upstream.without_redirects(), path, refusal })
    }

    /// Sends what the OAuth library composed; the URL is this endpoint's.
    ///
    /// # Errors
    /// When there is no answer.
    pub(super) async fn forward(&self, egress: &Egress, request: HttpRequest) -> Result<Answer, TokenError> {
        let (mut head, body) = request.into_parts();
        if let Some(authorization) = head.headers.get_mut(AUTHORIZATION) {
            authorization.set_sensitive(true);
        }
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let body = Body::Typed { content_type: content_type.to_owned(), bytes: body.into() };
        self.send(egress, head.method, Headers::trusted(head.headers), body, None).await
    }

    /// Sends one request.
    ///
    /// # Errors
    /// When there is no answer.
    pub(super) async fn send(
        &self,
        egress: &Egress,
        method: Method,
        headers: Headers,
        body: Body,
        credential: Option<Credential>,
    ) -> Result<Answer, TokenError> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        let request = Request {
            method,
            path: self.path.clone(),
            headers,
            body,
            credential,
            deadline: Instant::now() + CALL_TIMEOUT,
            limit: MAX_ANSWER_BYTES,
        };
        let response = egress.send(&self.upstream, &request).await?;
        let retry_after = retry_after(&response.headers);
        let body = response.body.collect(MAX_ANSWER_BYTES).await?;
        Ok(Answer { status: response.status, retry_after, body: serde_json::from_slice(&body).ok() })
    }
}
