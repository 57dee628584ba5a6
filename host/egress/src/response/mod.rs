//! Responses, read with bounded memory. `decoded_body` is the body as the connection gives it.

mod decoded_body;

use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select};
use hyper::StatusCode;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_ENCODING, HeaderMap};
use memory::{Exhausted, MemoryBudget, Reservation};
use tokio::time::{Instant, sleep_until};
use url::Url;

use self::decoded_body::DecodedBody;
use super::cause::root_cause;
use super::credential::Signature;
use super::error::EgressError;
use super::location::Location;
use super::mask::MaskStream;
use super::pacing::Permit;
use super::redirect::Hop;
use super::request::Request;
use super::throttle::{self, Refusal};
use super::upstream::Upstream;

/// The bytes of a compressed body that are read ahead.
const SETTLED_BYTES: usize = 64 << 10;

/// The response of an upstream. The body is read from the connection on demand.
pub struct Response {
    /// The address of the response, after redirects. Its query may contain the credential.
    location: Location,
    /// The status. A rate limit has the status 429, even if the upstream sent another one.
    pub status: StatusCode,
    /// The status as the upstream sent it.
    pub upstream_status: StatusCode,
    /// `true` if the response comes from the upstream's own origin. A redirect or a link may lead
    /// to another one.
    pub is_own: bool,
    /// `true` if the request carried the user's credential.
    pub carried_credential: bool,
    /// The headers. An echo of the credential is masked.
    pub headers: HeaderMap,
    /// For an error, the time after which the next attempt may succeed. `None` if the upstream did
    /// not say it.
    pub retry_after: Option<Duration>,
    /// The body: decompressed, masked, counted.
    pub body: ResponseBody,
}

impl Response {
    pub(super) fn new(
        upstream: &Upstream,
        request: &Request,
        hop: Hop,
        response: hyper::Response<Incoming>,
        permit: Option<Permit>,
        memory: &MemoryBudget,
    ) -> Result<Self, EgressError> {
        let (mut head, body) = response.into_parts();
        // No request asks for another protocol, so nothing follows that would be a response.
        if head.status.is_informational() {
            let detail = format!("it has the status {}, which no request has asked for", head.status);
            return Err(EgressError::BadResponse { upstream: upstream.name().to_owned(), detail });
        }
        let source = DecodedBody::new(body, &mut head.headers);
        if source.size_hint().lower() > request.limit {
            return Err(EgressError::TooLarge { limit: request.limit });
        }
        let signature = head.extensions.remove::<Signature>();
        let masker = request.credential.as_ref().map(|credential| match (&signature, &*request.further_secrets) {
            (None, []) => Arc::clone(credential.masker()),
            (signature, further) => credential.masker_with(signature.as_ref(), further),
        });
        let masker = masker.filter(|masker| !masker.is_empty());
        if let Some(masker) = &masker {
            masker.mask_headers(&mut head.headers);
            // A body that cannot be decoded cannot be searched for the credential. Requests do not
            // accept such encodings.
            if let Some(encoding) = head.headers.get(CONTENT_ENCODING)
                && !source.is_empty()
            {
                let detail = format!("it is encoded as {encoding:?}, though only gzip was asked for");
                return Err(EgressError::BadResponse { upstream: upstream.name().to_owned(), detail });
            }
        }
        let upstream_status = head.status;
        let retry_after = throttle::normalize(&mut head.status, &mut head.headers);
        let body = ResponseBody {
            source,
            ahead: Bytes::new(),
            mask: masker.map(|masker| Box::new(MaskStream::new(masker))),
            remaining: request.limit,
            limit: request.limit,
            deadline: request.deadline,
            alarm: None,
            ended: None,
            permit,
            upstream: upstream.shared_name(),
            memory: memory.clone(),
        };
        let carried_credential = hop.at_upstream && request.carried(upstream).is_some();
        Ok(Self {
            location: hop.location,
            status: head.status,
            upstream_status,
            is_own: hop.at_upstream,
            carried_credential,
            headers: head.headers,
            retry_after,
            body,
        })
    }

    /// A response from a recording instead of an upstream.
    ///
    /// # Errors
    /// `EgressError` if the request is not allowed, or its response is over the limit.
    pub fn recorded(
        upstream: &Upstream,
        request: &Request,
        response: hyper::Response<Bytes>,
        memory: &MemoryBudget,
    ) -> Result<Self, EgressError> {
        let hop = Hop::first(upstream, request)?;
        let (mut head, body) = response.into_parts();
        if body.len() as u64 > request.limit {
            return Err(EgressError::TooLarge { limit: request.limit });
        }
        let upstream_status = head.status;
        let retry_after = throttle::normalize(&mut head.status, &mut head.headers);
        let refusal = Refusal::read(&body);
        let mut response = Self {
            is_own: hop.at_upstream,
            location: hop.location,
            status: head.status,
            upstream_status,
            carried_credential: hop.at_upstream && request.carried(upstream).is_some(),
            headers: head.headers,
            retry_after,
            body: ResponseBody {
                source: DecodedBody::Empty,
                remaining: request.limit - body.len() as u64,
                ahead: body,
                mask: None,
                limit: request.limit,
                deadline: request.deadline,
                alarm: None,
                ended: Some(Ok(())),
                permit: None,
                upstream: upstream.shared_name(),
                memory: memory.clone(),
            },
        };
        throttle::heed(&mut response, &refusal);
        Ok(response)
    }

    /// The address of the response, with its query. The rest of the response is dropped.
    pub(super) fn into_location(self) -> Location {
        self.location
    }

    /// The address of the response, after redirects. Without its query, which may contain the
    /// credential. Relative links are resolved against it.
    pub fn url(&self) -> Url {
        let mut url = self.location.url();
        url.set_query(None);
        url
    }
}

/// The body of a response, read on demand. Reading fails after the deadline and over the limit.
/// Every further read repeats the failure, so that no reader mistakes a part of the body for the
/// whole.
pub struct ResponseBody {
    source: DecodedBody,
    /// Read by `peek`, and not yet returned by `next`.
    ahead: Bytes,
    /// Boxed, because it is larger than the rest of the body.
    mask: Option<Box<MaskStream>>,
    remaining: u64,
    limit: u64,
    deadline: Instant,
    /// The end of the time for reading. Made when a read first has to wait.
    alarm: Option<BoxFuture<'static, EgressError>>,
    ended: Option<Result<(), EgressError>>,
    permit: Option<Permit>,
    upstream: Arc<str>,
    memory: MemoryBudget,
}

impl ResponseBody {
    /// Lowers the limit: reading fails with `TooLarge` after `limit` bytes.
    #[must_use]
    pub fn at_most(mut self, limit: u64) -> Self {
        let read = self.limit - self.remaining;
        self.limit = self.limit.min(limit);
        self.remaining = self.limit.saturating_sub(read);
        self
    }

    /// The next piece; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes, EgressError>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The first `length` bytes, or fewer if the body is shorter. They stay in the body.
    ///
    /// # Errors
    /// The errors of reading.
    pub async fn peek(&mut self, length: usize) -> Result<&[u8], EgressError> {
        while self.ahead.len() < length {
            match poll_fn(|context| self.poll_source(context)).await {
                Some(piece) => self.ahead = joined(mem::take(&mut self.ahead), piece?),
                None => break,
            }
        }
        Ok(self.ahead.get(..length).unwrap_or(&self.ahead))
    }

    /// Reads the beginning of a compressed body ahead, so that a short one that is damaged is an
    /// error before the answer has a status.
    ///
    /// # Errors
    /// The errors of reading.
    pub async fn settle(&mut self) -> Result<(), EgressError> {
        if self.source.is_compressed() {
            self.peek(SETTLED_BYTES).await?;
        }
        Ok(())
    }

    /// Skips a byte order mark at the beginning. RFC 8259 does not allow it before JSON, but some
    /// services send it.
    ///
    /// # Errors
    /// The errors of reading.
    pub async fn skip_mark(&mut self) -> Result<(), EgressError> {
        let mark = json_text::BYTE_ORDER_MARK;
        if self.peek(mark.len()).await? == mark {
            self.ahead.advance(mark.len());
        }
        Ok(())
    }

    /// The rest of the body in one piece.
    ///
    /// # Errors
    /// `TooLarge` if it is larger than `limit`, `NoMemory` if the memory for calls is used up, and
    /// the errors of reading.
    pub async fn collect(mut self, limit: u64) -> Result<Bytes, EgressError> {
        let too_large = EgressError::TooLarge { limit: limit.min(self.limit) };
        if self.size_hint().lower() > limit {
            return Err(too_large);
        }
        let Some(first) = self.next().await.transpose()? else { return Ok(Bytes::new()) };
        let mut held = self.memory.part();
        if first.len() as u64 > limit {
            return Err(too_large);
        }
        held.grow_to(first.len())?;
        let Some(mut piece) = self.next().await.transpose()? else { return Ok(held.tie_to(first)) };
        let mut whole = Vec::new();
        // A body of known size is not moved while it grows. Memory that is not written yet costs
        // nothing.
        if let Some(rest) = self.size_hint().exact() {
            whole.reserve_exact(first.len() + piece.len() + rest as usize);
        }
        extend(&mut whole, &first, &mut held)?;
        drop(first);
        loop {
            if (whole.len() + piece.len()) as u64 > limit {
                return Err(too_large);
            }
            extend(&mut whole, &piece, &mut held)?;
            piece = match self.next().await.transpose()? {
                Some(piece) => piece,
                None => break,
            };
        }
        whole.shrink_to_fit();
        held.shrink_to(whole.len());
        Ok(held.tie_to(whole.into()))
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, EgressError>>> {
        if self.ahead.is_empty() {
            return self.poll_source(context);
        }
        Poll::Ready(Some(Ok(mem::take(&mut self.ahead))))
    }

    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, EgressError>>> {
        loop {
            if let Some(ended) = &self.ended {
                return Poll::Ready(ended.clone().err().map(Err));
            }
            let polled = match self.source.poll_next(context) {
                Poll::Ready(polled) => polled,
                Poll::Pending => {
                    let error = ready!(self.poll_alarm(context));
                    return Poll::Ready(Some(Err(self.fail(error))));
                }
            };
            let piece = match polled {
                Some(Ok(piece)) => piece,
                Some(Err(error)) => {
                    let detail = root_cause(&*error);
                    let error = EgressError::BadResponse { upstream: self.upstream.to_string(), detail };
                    return Poll::Ready(Some(Err(self.fail(error))));
                }
                None => {
                    self.ended = Some(Ok(()));
                    self.permit = None;
                    match self.mask.as_mut().map(|mask| mask.finish()) {
                        Some(rest) if !rest.is_empty() => return Poll::Ready(Some(Ok(rest))),
                        _ => return Poll::Ready(None),
                    }
                }
            };
            let Some(remaining) = self.remaining.checked_sub(piece.len() as u64) else {
                let limit = self.limit;
                return Poll::Ready(Some(Err(self.fail(EgressError::TooLarge { limit }))));
            };
            self.remaining = remaining;
            let piece = match &mut self.mask {
                Some(mask) => mask.push(piece),
                None => piece,
            };
            if !piece.is_empty() {
                return Poll::Ready(Some(Ok(piece)));
            }
        }
    }

    fn poll_alarm(&mut self, context: &mut Context<'_>) -> Poll<EgressError> {
        let Self { alarm, deadline, permit, .. } = self;
        let alarm = alarm.get_or_insert_with(|| {
            let deadline = sleep_until(*deadline).map(|()| EgressError::TimedOut).boxed();
            let Some(permit) = permit else { return deadline };
            let lapsed = permit.lapsed().map(|()| EgressError::QueueUnknown).boxed();
            select(deadline, lapsed).map(|ended| ended.factor_first().0).boxed()
        });
        alarm.poll_unpin(context)
    }

    /// Ends the body. Frees the connection and the pacing permit.
    fn fail(&mut self, error: EgressError) -> EgressError {
        self.source = DecodedBody::Empty;
        self.permit = None;
        self.ended = Some(Err(error.clone()));
        error
    }

    fn held(&self) -> u64 {
        (self.ahead.len() + self.mask.as_ref().map_or(0, |mask| mask.held())) as u64
    }
}

/// Appends a piece to a body. What the body takes is charged before, also its old place while it is
/// moved to a larger one.
fn extend(whole: &mut Vec<u8>, piece: &[u8], held: &mut Reservation) -> Result<(), Exhausted> {
    let needed = whole.len() + piece.len();
    if needed > whole.capacity() {
        let old = whole.len();
        let roomy = needed + needed / 2;
        let room = match held.grow_to(old + roomy) {
            Ok(()) => roomy,
            Err(Exhausted) => held.grow_to(old + needed).map(|()| needed)?,
        };
        whole.reserve_exact(room - old);
        held.shrink_to(room);
    } else {
        held.grow_to(needed)?;
    }
    whole.extend_from_slice(piece);
    Ok(())
}

/// Joins two pieces. Copies nothing if the first is empty.
fn joined(first: Bytes, piece: Bytes) -> Bytes {
    if first.is_empty() {
        return piece;
    }
    let mut whole = BytesMut::from(first);
    whole.extend_from_slice(&piece);
    whole.freeze()
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        self.poll_next(context).map_ok(Frame::data)
    }

    fn is_end_stream(&self) -> bool {
        !matches!(self.ended, Some(Err(_))) && self.held() == 0 && self.source.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let source = self.source.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(source.lower() + self.held());
        if let Some(upper) = source.upper() {
            hint.set_upper(upper + self.held());
        }
        hint
    }
}

#[cfg(test)]
mod tests;
