//! Reading the body of a call.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HeaderMap, HeaderValue};
use memory::{Exhausted, MemoryBudget};
use tokio::time::{Instant, timeout_at};

use super::problem::{self, Problem};
use crate::gateway::Gateway;
use crate::media_type::{essence, is_json};

/// The most bytes of a body over the limit that are read and dropped. If the connection closed while the caller still sends,
/// a reset could discard the answer.
const LINGER_BYTES: usize = 64 << 20;

/// The most bytes of a body that is copied rather than kept as it was read. Connections read 8 KiB at once.
const SMALL_BYTES: usize = 4 << 10;

/// The longest time for reading and dropping.
const LINGER_TIME: Duration = Duration::from_secs(5);

/// Reads a body of at most `limit_mb` MiB, until the deadline. `advice` is the second half of the sentence that the body is too
/// large.
///
/// # Errors
/// 415 if it is encoded, 413 over the limit, 503 if the memory for calls is used up, 408 at the deadline, 400 if the caller stops sending.
pub(super) async fn read(
    headers: &HeaderMap,
    mut body: Incoming,
    limit_mb: usize,
    advice: &str,
    memory: &MemoryBudget,
    deadline: Instant,
) -> Result<Bytes, Problem> {
    if let Some(encoding) = headers.get(CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        return Err(problem::UNSUPPORTED_MEDIA_TYPE
            .because("The body has a Content-Encoding, which the gateway does not decode; send the body as it is.")
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity")));
    }
    let limit = limit_mb << 20;
    let too_large =
        || problem::BODY_TOO_LARGE.because(format!("The body is over the limit of {limit_mb} MB; {advice}."));
    if body.size_hint().lower() > limit as u64 {
        return Err(unread(headers, body, too_large(), deadline).await);
    }
    match timeout_at(deadline, collect(&mut body, limit, memory)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(Unread::TooLarge)) => {
            drop_rest(&mut body, deadline).await;
            Err(too_large())
        }
        Ok(Err(Unread::NoMemory(exhausted))) => {
            drop_rest(&mut body, deadline).await;
            Err(problem::no_memory(exhausted))
        }
        Ok(Err(Unread::BrokenOff)) => {
            Err(problem::BAD_REQUEST.because("The body did not arrive completely; send it again."))
        }
        Err(_) => Err(problem::BAD_REQUEST
            .because("The body did not arrive in time; send it faster.")
            .status(StatusCode::REQUEST_TIMEOUT)
            .retryable(true)),
    }
}

/// Why a body was not read.
enum Unread {
    TooLarge,
    NoMemory(Exhausted),
    BrokenOff,
}

impl From<Exhausted> for Unread {
    fn from(exhausted: Exhausted) -> Self {
        Self::NoMemory(exhausted)
    }
}

/// Reads a whole body of at most `limit` bytes. Memory is taken as pieces arrive, so that a caller who announces much and sends
/// little holds little.
async fn collect(body: &mut Incoming, limit: usize, memory: &MemoryBudget) -> Result<Bytes, Unread> {
    let announced = body.size_hint().exact().and_then(|bytes| bytes.try_into().ok()).unwrap_or(limit);
    let mut held = memory.part();
    let mut first: Option<Bytes> = None;
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|_| Unread::BrokenOff)?.into_data() else { continue };
        let size = first.as_ref().map_or(0, Bytes::len).max(whole.len()) + piece.len();
        if size > limit {
            return Err(Unread::TooLarge);
        }
        let Some(beginning) = &first else {
            held.grow_to(size)?;
            first = Some(piece);
            continue;
        };
        if whole.capacity() < size {
            // Room for more than the piece, so that a body is not moved for each piece. The room is counted too.
            let room = announced.min(2 * size).max(size);
            held.grow_to(room)?;
            whole.reserve_exact(room - whole.len());
        }
        if whole.is_empty() {
            whole.extend_from_slice(beginning);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(held.of(match first {
        // A copy of a small body, because the piece is a part of the connection's memory, which a call that waits must not keep.
        Some(piece) if whole.is_empty() && piece.len() <= SMALL_BYTES => Bytes::copy_from_slice(&piece),
        Some(piece) if whole.is_empty() => piece,
        _ => whole.into(),
    }))
}

/// Reads a body whose media type is JSON, or an empty body without a media type.
///
/// # Errors
/// As [`read`], and 415 for any other media type.
pub(super) async fn read_json(
    headers: &HeaderMap,
    body: Incoming,
    gateway: &Gateway,
    deadline: Instant,
) -> Result<Bytes, Problem> {
    let (limit_mb, advice) = (gateway.config.max_body_mb, "send less, or have `max_body_mb` raised");
    let content_type = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    let body = read(headers, body, limit_mb, advice, gateway.egress.memory(), deadline).await?;
    if content_type.is_some_and(|value| is_json(essence(value))) || body.is_empty() && content_type.is_none() {
        return Ok(body);
    }
    Err(problem::UNSUPPORTED_MEDIA_TYPE.because(match content_type {
        Some(given) => format!("The body's media type is {given}; send JSON with Content-Type: application/json."),
        None => "The body has no media type; send JSON with Content-Type: application/json.".to_owned(),
    }))
}

/// Reads and drops the body of a call that is refused before it is read, so that the caller gets the answer. Returns the problem.
pub(super) async fn unread(headers: &HeaderMap, mut body: Incoming, problem: Problem, deadline: Instant) -> Problem {
    // A caller that waits for permission to send (RFC 9110, section 10.1.1) has sent nothing yet.
    if !headers.contains_key(EXPECT) {
        drop_rest(&mut body, deadline).await;
    }
    problem
}

/// Reads and drops the rest of a body whose call is refused.
async fn drop_rest(body: &mut Incoming, deadline: Instant) {
    let reading = async {
        let mut dropped = 0;
        while let Some(Ok(frame)) = body.frame().await {
            dropped += frame.data_ref().map_or(0, Bytes::len);
            if dropped > LINGER_BYTES {
                break;
            }
        }
    };
    // The answer is sent next, whether or not the body has ended.
    let _ = timeout_at(deadline.min(Instant::now() + LINGER_TIME), reading).await;
}
