//! The life of one request, top to bottom.

use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, RANGE, USER_AGENT};
use hyper::{Method, StatusCode, Uri};
use tokio::time::{Instant, sleep, timeout_at};

use super::address::{ForbiddenAddress, NotResolved};
use super::call_record::{CallRecord, SentAttempt};
use super::cause::{find_cause, root_cause};
use super::client::Egress;
use super::credential::{Credential, SecretField, Signature, SignedHeaders};
use super::error::EgressError;
use super::headers::portable;
use super::pacing::Permit;
use super::pool::{Failure, Outgoing};
use super::redirect::{Hop, MAX_REDIRECTS};
use super::request::Request;
use super::response::Response;
use super::retry;
use super::retry_after::retry_after;
use super::sign::Unsigned;
use super::streamed_body::OutgoingBody;
use super::throttle;
use super::tracing::{Beginning, EndAttempt};
use super::upstream::{Attempt, CredentialUse, Observer, Upstream};

impl Egress {
    /// Sends a request, by the replaced transport if there is one. Any final status is a response.
    ///
    /// # Errors
    /// `EgressError` if there is no response, or if the response declares a body over the limit.
    pub async fn send(&self, upstream: &Upstream, request: &Request) -> Result<Response, EgressError> {
        match &self.transport {
            None => self.send_to_network(upstream, request).await,
            Some(transport) => transport.send(self, upstream, request).await,
        }
    }

    /// Sends a request to the network. Retries it if that is safe, and follows redirects if that is
    /// allowed.
    ///
    /// # Errors
    /// As [`Egress::send`].
    pub async fn send_to_network(&self, upstream: &Upstream, request: &Request) -> Result<Response, EgressError> {
        match timeout_at(request.deadline, self.follow(upstream, request)).await {
            Ok(result) => result,
            Err(_) => Err(EgressError::TimedOut),
        }
    }

    async fn follow(&self, upstream: &Upstream, request: &Request) -> Result<Response, EgressError> {
        if let (Some(_), CredentialUse::FormField(field)) = (request.carried(upstream), &upstream.credential) {
            compute::run(request.body.bytes_to_encode(), || request.check_form_field(field)).await?;
        }
        let mut hop = Hop::first(upstream, request)?;
        let mut permit = None;
        let mut redirects = 0;
        let mut repeats = Repeats::default();
        loop {
            let response = self.attempts(upstream, request, &hop, &mut permit, &mut repeats).await?;
            let next = hop.next_hop(upstream, request, response.status(), response.headers())?;
            let Some(next) = next.filter(|_| request.body.is_repeatable()) else {
                let is_write = !retry::is_safe(&hop.method);
                let (method, at_origin) = (hop.method.clone(), hop.at_origin);
                let mut response = Response::new(upstream, request, hop, response, permit.take(), self.memory())?;
                let upstream_status = response.upstream_status;
                throttle::recognize(&mut response).await;
                if let Some(delay) = pause_for_rate_limit(request, &response, repeats.retries) {
                    let at_upstream = response.is_own;
                    // Frees the connection, and the place in the queue of the upstream.
                    hop = Hop { method, location: response.into_location(), at_origin, at_upstream };
                    repeats.pause(delay).await;
                    continue;
                }
                if let Some(record) = &request.record {
                    record.response_arrived(is_write, response.status, upstream_status);
                }
                return Ok(response);
            };
            if redirects == MAX_REDIRECTS {
                let detail = format!("`{}` redirects more than {MAX_REDIRECTS} times", upstream.name());
                return Err(EgressError::BadRedirect { detail });
            }
            redirects += 1;
            hop = next;
            repeats = Repeats::default();
        }
    }

    /// Sends one step of a request, with retries.
    pub(super) async fn attempts(
        &self,
        upstream: &Upstream,
        request: &Request,
        hop: &Hop,
        permit: &mut Option<Permit>,
        repeats: &mut Repeats,
    ) -> Result<hyper::Response<Incoming>, EgressError> {
        loop {
            let retries = repeats.retries;
            if let Some(pacer) = &upstream.pacer
                && hop.at_upstream
            {
                // The permit of the previous attempt is freed first: with a concurrency of 1 it is
                // the only one.
                drop(permit.take());
                repeats.paused_at.get_or_insert_with(Instant::now);
                *permit = Some(pacer.enter(request.deadline, request.gives_way).await?);
            }
            let compose = || self.compose(upstream, request, hop);
            let composed = compute::run(request.body.bytes_to_encode(), compose).await?;
            let (mut outgoing, end) = traced(composed, upstream, request, hop, retries);
            let write = request.record.as_ref().filter(|_| !retry::is_safe(&hop.method));
            write.inspect(|record| record.write_begins());
            let mut watch = Watch::start(upstream, request, hop, outgoing.uri().path(), retries, repeats.paused_at);
            let signature = outgoing.extensions_mut().remove::<Signature>();
            let pool = self.pool(upstream.allow_private);
            let sent = pool.send(&hop.location, outgoing, request.on_new_connection);
            let mut result = Permit::cover(permit.as_ref(), sent).await?;
            if let (Ok(response), Some(signature)) = (&mut result, signature) {
                response.extensions_mut().insert(signature);
            }
            watch.status = result.as_ref().ok().map(|response| response.status().as_u16());
            if let Some(end) = end {
                end(watch.status);
            }
            drop(watch);
            let is_refused = match &result {
                Ok(response) => refuses(response.status()),
                Err(error) => was_not_sent(error),
            };
            write.filter(|_| is_refused).inspect(|record| record.write_was_refused());
            let is_repeatable = request.body.is_repeatable();
            let delay = match &result {
                _ if !is_repeatable => None,
                Ok(response) if retry::is_transient(response.status()) && retry::is_safe(&hop.method) => {
                    retry::backoff(retries, retry_after(response.headers()), request.deadline)
                }
                Err(error) if worth_retrying(error, hop) => retry::backoff(retries, None, request.deadline),
                _ => None,
            };
            let Some(delay) = delay else {
                return result.map_err(|error| describe(&error, hop.location.host()));
            };
            drop(result);
            drop(permit.take());
            repeats.pause(delay).await;
        }
    }

    fn compose(&self, upstream: &Upstream, request: &Request, hop: &Hop) -> Result<Outgoing, EgressError> {
        let credential = request.carried(upstream).filter(|_| hop.at_upstream);
        let mut headers = if hop.at_origin { request.headers.map().clone() } else { portable(request.headers.map()) };
        let secret = match &upstream.credential {
            CredentialUse::FormField(field) => credential.and_then(|credential| credential.form_field(&field.name)),
            CredentialUse::None | CredentialUse::Standard => None,
        };
        let body = body(request, hop, &mut headers, secret)?;
        let own = request.carried_as_made(upstream).filter(|_| hop.at_upstream);
        if let Some(credential) = own {
            credential.apply_header(&mut headers);
        }
        headers.entry(USER_AGENT).or_insert_with(|| self.user_agent());
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        // The range of an encoded body cannot be decoded, and a HEAD request asks for the length of the
        // decoded body.
        if !headers.contains_key(RANGE) && hop.method != Method::HEAD {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let mut outgoing = hyper::Request::new(body);
        *outgoing.method_mut() = hop.method.clone();
        *outgoing.uri_mut() = hop.location.path()?;
        *outgoing.headers_mut() = headers;
        if let Some(credential) = own {
            sign(&mut outgoing, hop, credential)?;
        }
        Ok(outgoing)
    }
}

/// The repeated attempts of one step of a request.
#[derive(Default)]
pub(super) struct Repeats {
    retries: u32,
    /// The end of the last attempt, or the arrival at the queue of the upstream.
    paused_at: Option<Instant>,
}

impl Repeats {
    /// Waits before the next attempt.
    async fn pause(&mut self, delay: Duration) {
        self.retries += 1;
        self.paused_at = Some(Instant::now());
        sleep(delay).await;
    }
}

/// The delay before a request that waits for rate limits is sent again. `None` for any other
/// request, and if the response is not a rate limit.
fn pause_for_rate_limit(request: &Request, response: &Response, retries: u32) -> Option<Duration> {
    let is_limited = response.status == StatusCode::TOO_MANY_REQUESTS;
    let waits = request.waits_for_rate_limit && is_limited && request.body.is_repeatable();
    waits.then(|| retry::rate_limit_delay(retries, response.retry_after, request.deadline)).flatten()
}

/// Signs a request that is complete, if the credential is a signature.
fn sign(outgoing: &mut Outgoing, hop: &Hop, credential: &Credential) -> Result<(), EgressError> {
    if let Some(query) = outgoing.uri().query().and_then(|query| credential.query_to_sign(query)) {
        let target = [outgoing.uri().path(), "?", &query].concat();
        *outgoing.uri_mut() = Uri::try_from(target)
            .map_err(|_| EgressError::invalid("the query has a character that HTTP cannot carry"))?;
    }
    let Some(SignedHeaders { headers, signature }) = credential.signature_of(|| Unsigned {
        method: outgoing.method().as_str(),
        host: hop.location.authority(),
        path: outgoing.uri().path(),
        query: outgoing.uri().query().unwrap_or_default(),
        headers: outgoing.headers(),
        body: outgoing.body().in_memory(),
    })?
    else {
        return Ok(());
    };
    // They replace headers of the same name, which the request might have brought.
    for (name, value) in headers {
        outgoing.headers_mut().insert(name, value);
    }
    outgoing.extensions_mut().insert(signature);
    Ok(())
}

/// Begins the attempt in the trace of the call. Returns also the function that ends it, if there is
/// a trace.
fn traced(
    mut outgoing: Outgoing,
    upstream: &Upstream,
    request: &Request,
    hop: &Hop,
    retry: u32,
) -> (Outgoing, Option<EndAttempt>) {
    let Some(trace) = &request.trace else { return (outgoing, None) };
    let (upstream, host, method) = (upstream.name(), hop.location.host(), &hop.method);
    let attempt = trace.begin(Beginning { upstream, host, method, retry });
    for (name, value) in attempt.headers {
        outgoing.headers_mut().insert(name, value);
    }
    (outgoing, Some(attempt.end))
}

/// Reports an attempt to the observer and to the record of the call when it ends, also when the
/// call is cancelled.
struct Watch<'a> {
    observer: Option<&'a Observer>,
    /// The record, if it keeps attempts, and the attempt as it began.
    record: Option<(&'a CallRecord, Instant, SentAttempt)>,
    retry: u32,
    status: Option<u16>,
}

impl<'a> Watch<'a> {
    fn start(
        upstream: &'a Upstream,
        request: &'a Request,
        hop: &Hop,
        path: &str,
        retry: u32,
        paused_at: Option<Instant>,
    ) -> Self {
        if let Some(record) = request.record.as_deref() {
            record.attempt_begins();
        }
        let record = request.record.as_deref().filter(|record| record.keeps_attempts()).map(|record| {
            let (began, host) = (Instant::now(), hop.location.host());
            let attempt = SentAttempt {
                method: hop.method.clone(),
                address: [host, path].concat(),
                host: host.len(),
                base: hop.location.base(),
                status: None,
                attempt: retry + 1,
                took: Duration::ZERO,
                paused: paused_at.map_or(Duration::ZERO, |paused_at| began - paused_at),
            };
            (record, began, attempt)
        });
        Self { observer: upstream.observer.as_ref(), record, retry, status: None }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some(observer) = self.observer {
            observer(Attempt { retry: self.retry, status: self.status });
        }
        if let Some((record, began, attempt)) = self.record.take() {
            record.attempt_ended(SentAttempt { status: self.status, took: began.elapsed(), ..attempt });
        }
    }
}

fn body(
    request: &Request,
    hop: &Hop,
    headers: &mut HeaderMap,
    secret: Option<SecretField<'_>>,
) -> Result<OutgoingBody, EgressError> {
    let body = request.body.encode(headers, secret)?;
    // Some services refuse these methods with 411 if there is no `Content-Length`.
    if body.is_end_stream() && matches!(hop.method, Method::POST | Method::PUT | Method::PATCH) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    Ok(body)
}

/// Returns `true` if the status says that the upstream did not act on the request.
fn refuses(status: StatusCode) -> bool {
    status.is_client_error() || matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT)
}

/// Returns `true` if a request may be retried after this error. If the upstream did not act on the
/// request, every method may be retried. If the connection broke, the upstream may have acted on
/// the request, so only a method that changes nothing may be retried. A forbidden address or a
/// refused certificate would be refused again.
fn worth_retrying(error: &Failure, hop: &Hop) -> bool {
    let refused = find_cause::<ForbiddenAddress>(error).is_some() || find_cause::<rustls::Error>(error).is_some();
    !refused && (was_not_sent(error) || retry::is_safe(&hop.method))
}

/// Returns `true` if the upstream has certainly not acted on the request.
fn was_not_sent(error: &Failure) -> bool {
    !matches!(error, Failure::Broken(_)) || was_turned_away(error)
}

/// Returns `true` if the upstream says that it has not processed the request (RFC 9113, sections
/// 6.8 and 8.7).
fn was_turned_away(error: &Failure) -> bool {
    find_cause::<h2::Error>(error).is_some_and(|error| {
        let reason = error.reason();
        error.is_remote()
            && (error.is_go_away() && reason == Some(h2::Reason::NO_ERROR)
                || error.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM))
    })
}

/// The error of a request without a response, which names the host.
pub(super) fn describe(error: &Failure, host: &str) -> EgressError {
    if let Some(forbidden) = find_cause::<ForbiddenAddress>(error) {
        return forbidden.denial(host);
    }
    if find_cause::<NotResolved>(error).is_some() {
        return EgressError::Unresolved { host: host.to_owned(), detail: root_cause(error) };
    }
    let is_tls = find_cause::<rustls::Error>(error).is_some();
    EgressError::Unreachable { host: host.to_owned(), detail: root_cause(error), is_tls }
}

#[cfg(test)]
mod tests;
