//! Reading the body of a request.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, EXPECT, HeaderMap};

use super::problem::{self, Problem};
use crate::media_type::{essence, is_json};

/// A body that takes longer to arrive holds a place for nothing.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Of a body that is too large, this much is read on and dropped: a caller that is still sending when the connection closes
/// may lose the answer to a reset.
const LINGER_BYTES: usize = 64 << 20;

/// How long that may take.
const LINGER_TIME: Duration = Duration::from_secs(5);

/// Reads a body of at most `limit_mb` MiB. `advice` follows the sentence that it is too large.
///
/// # Errors
/// 413 over the limit, 408 when it is too slow, 400 when it breaks off.
pub(super) async fn read(
    headers: &HeaderMap,
    mut body: Incoming,
    limit_mb: usize,
    advice: &str,
) -> Result<Bytes, Problem> {
    let limit = limit_mb << 20;
    let too_large =
        || problem::BODY_TOO_LARGE.because(format!("The body is over the limit of {limit_mb} MB; {advice}."));
    if body.size_hint().lower() > limit as u64 {
        // Whoever awaits permission to send (RFC 9110, section 10.1.1) has sent nothing yet.
        if !headers.contains_key(EXPECT) {
            drop_rest(&mut body).await;
        }
        return Err(too_large());
    }
    match tokio::time::timeout(TIMEOUT, Limited::new(&mut body, limit).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            drop_rest(&mut body).await;
            Err(too_large())
        }
        Ok(Err(_)) => Err(problem::BAD_REQUEST.because("The body did not arrive whole; send it again.")),
        Err(_) => Err(problem::BAD_REQUEST
            .because("The body did not arrive in time; send it faster.")
            .status(StatusCode::REQUEST_TIMEOUT)),
    }
}

/// Reads a body that says it is JSON, or that is empty and says nothing.
///
/// # Errors
/// As [`read`], and 415 for any other type.
pub(super) async fn read_json(headers: &HeaderMap, body: Incoming, limit_mb: usize) -> Result<Bytes, Problem> {
    let content_type = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    let body = read(headers, body, limit_mb, "send less, or have `max_body_mb` raised").await?;
    if content_type.is_some_and(|value| is_json(essence(value))) || body.is_empty() && content_type.is_none() {
        return Ok(body);
    }
    Err(problem::UNSUPPORTED_MEDIA_TYPE.because(match content_type {
        Some(given) => format!("The body is of type {given}; send JSON with Content-Type: application/json."),
        None => "The body has no type; send JSON with Content-Type: application/json.".to_owned(),
    }))
}

async fn drop_rest(body: &mut Incoming) {
    let reading = async {
        let mut dropped = 0;
        while let Some(Ok(frame)) = body.frame().await {
            dropped += frame.data_ref().map_or(0, Bytes::len);
            if dropped > LINGER_BYTES {
                break;
            }
        }
    };
    // Either way the answer is due now.
    let _ = tokio::time::timeout(LINGER_TIME, reading).await;
}
