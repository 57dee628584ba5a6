//! One URL of a provider, called through egress.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use oauth2::HttpRequest;
use oauth2::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use tokio::time::Instant;
use url::Url;

use super::error::TokenError;
use super::recipients::Recipients;
use super::response::Response;
use egress::{Body, Credential, Egress, EgressError, Headers, Request, Target, Upstream, retry_after};

/// Longest time for one call to a provider, including the body of the response. A refresh lease
/// must outlive it.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Largest response. Signed tokens have some kilobytes, and a response contains at most three
/// tokens.
const MAX_ANSWER_BYTES: u64 = 256 << 10;

/// A URL of a provider that may be called.
///
/// Only its own host is granted and redirects are not followed, so that secrets stay with the
/// provider. Every secret that goes to a provider passes through an endpoint, so this is the place
/// that refuses hosts that are not recipients.
pub(super) struct Endpoint {
    upstream: Upstream,
    path: String,
    /// Set if no request may be sent to this URL. Each call then fails with this error.
    refusal: Option<TokenError>,
}

/// Rules for all endpoints of one connector.
#[derive(Clone, Copy)]
pub(super) struct EndpointPolicy<'a> {
    /// The sites that may receive the connector's secrets.
    pub(super) recipients: &'a Recipients,
    /// `true` if endpoints at loopback and private addresses may be called.
    pub(super) private_network: bool,
}

/// The client's id and secret in a header of HTTP Basic, in which both are form-encoded (RFC 6749,
/// section 2.3.1).
fn credential_in(header: &HeaderValue) -> Option<Result<Credential, EgressError>> {
    let decoded = STANDARD.decode(header.to_str().ok()?.strip_prefix("Basic ")?).ok()?;
    let (id, secret) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    Some(Credential::basic(id, secret.into()))
}

impl Endpoint {
    /// # Errors
    /// If egress cannot call the URL.
    pub(super) fn new(name: &str, url: &Url, policy: EndpointPolicy<'_>) -> Result<Self, EgressError> {
        let (upstream, path) = Upstream::of_url(name, url, policy.private_network)?;
        let refusal = (!policy.recipients.include(url)).then(|| TokenError::not_granted(name, url));
        Ok(Self { upstream: upstream.without_redirects(), path, refusal })
    }

    /// Sends a request that the OAuth library built for this URL.
    ///
    /// # Errors
    /// If there is no response.
    pub(super) async fn forward(&self, egress: &Egress, request: HttpRequest) -> Result<Response, TokenError> {
        let (mut head, body) = request.into_parts();
        // As a credential, it is masked in the response in each form in which it was sent.
        let authorization = head.headers.remove(AUTHORIZATION);
        let credential = authorization.as_ref().and_then(credential_in).transpose()?;
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let body = Body::Typed { content_type: content_type.to_owned(), bytes: body.into() };
        self.send(egress, head.method, Headers::trusted(head.headers), body, credential).await
    }

    /// Sends one request.
    ///
    /// # Errors
    /// If there is no response.
    pub(super) async fn send(
        &self,
        egress: &Egress,
        method: Method,
        headers: Headers,
        body: Body,
        credential: Option<Credential>,
    ) -> Result<Response, TokenError> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        let (target, deadline) = (Target::Path(self.path.clone()), Instant::now() + CALL_TIMEOUT);
        let request = Request {
            headers,
            body,
            credential,
            on_new_connection: true,
            ..Request::new(method, target, deadline, MAX_ANSWER_BYTES)
        };
        let response = egress.send(&self.upstream, &request).await?;
        let retry_after = retry_after(&response.headers);
        let body = response.body.collect(MAX_ANSWER_BYTES).await?;
        Ok(Response::new(response.status, retry_after, json_text::without_mark(&body)))
    }
}
