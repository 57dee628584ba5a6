//! Reading the body of a call.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, EXPECT, HeaderMap};
use tokio::time::{Instant, timeout_at};

use super::problem::{self, Problem};
use crate::media_type::{essence, is_json};

/// The most bytes of a body over the limit that are read and dropped. If the connection closed while the caller still sends,
/// a reset could discard the answer.
const LINGER_BYTES: usize = 64 << 20;

/// The longest time for reading and dropping.
const LINGER_TIME: Duration = Duration::from_secs(5);

/// Reads a body of at most `limit_mb` MiB, until the deadline. `advice` is the second half of the sentence that the body is too
/// large.
///
/// # Errors
/// 413 over the limit, 408 at the deadline, 400 if the caller stops sending.
pub(super) async fn read(
    headers: &HeaderMap,
    mut body: Incoming,
    limit_mb: usize,
    advice: &str,
    deadline: Instant,
) -> Result<Bytes, Problem> {
    let limit = limit_mb << 20;
    let too_large =
        || problem::BODY_TOO_LARGE.because(format!("The body is over the limit of {limit_mb} MB; {advice}."));
    if body.size_hint().lower() > limit as u64 {
        // A caller that waits for permission to send (RFC 9110, section 10.1.1) has sent nothing yet.
        if !headers.contains_key(EXPECT) {
            drop_rest(&mut body, deadline).await;
        }
        return Err(too_large());
    }
    match timeout_at(deadline, Limited::new(&mut body, limit).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            drop_rest(&mut body, deadline).await;
            Err(too_large())
        }
        Ok(Err(_)) => Err(problem::BAD_REQUEST.because("The body did not arrive completely; send it again.")),
        Err(_) => Err(problem::BAD_REQUEST
            .because("The body did not arrive in time; send it faster.")
            .status(StatusCode::REQUEST_TIMEOUT)),
    }
}

/// Reads a body whose media type is JSON, or an empty body without a media type.
///
/// # Errors
/// As [`read`], and 415 for any other media type.
pub(super) async fn read_json(
    headers: &HeaderMap,
    body: Incoming,
    limit_mb: usize,
    deadline: Instant,
) -> Result<Bytes, Problem> {
    let content_type = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    let body = read(headers, body, limit_mb, "send less, or have `max_body_mb` raised", deadline).await?;
    if content_type.is_some_and(|value| is_json(essence(value))) || body.is_empty() && content_type.is_none() {
        return Ok(body);
    }
    Err(problem::UNSUPPORTED_MEDIA_TYPE.because(match content_type {
        Some(given) => format!("The body's media type is {given}; send JSON with Content-Type: application/json."),
        None => "The body has no media type; send JSON with Content-Type: application/json.".to_owned(),
    }))
}

/// Reads and drops the rest of a body that is over the limit.
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
