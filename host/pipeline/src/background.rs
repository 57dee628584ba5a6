//! A call that runs in the background: its answer is read to the end, because no caller takes it as
//! a stream.

use std::error::Error as StdError;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use serde_json::value::RawValue;

use super::answer::RESPONSE_MB;
use super::{Call, CallAnswer, Error, Services, UnmatchedField, run, unmatched_fields};
use contract::Effect;
use egress::EgressError;
use memory::{MemoryBudget, Reservation};

/// The answer of a call that has run in the background.
#[derive(Debug)]
pub struct BackgroundAnswer {
    /// The JSON text.
    pub document: Box<RawValue>,
    /// The paths of `response_fields` that led nowhere.
    pub unmatched: Vec<UnmatchedField>,
    /// The memory of the document.
    pub held: Reservation,
}

/// Runs a call, and returns its answer as JSON. A file has its JSON form. The answer has at most
/// the size of a response that is read into memory.
///
/// # Errors
/// See [`enum@Error`].
pub async fn run_to_result(services: Services<'_>, call: &Call<'_>) -> Result<BackgroundAnswer, Error> {
    let limit = call.connector.limits().response_bytes;
    let answer = run(services, call).await?;
    let memory = services.egress.memory();
    read_to_end(answer, limit, memory).await.map_err(|error| after_answer(error, call.operation.manifest.effect))
}

/// The error of a call whose answer had begun. The service has then acted on a request that changes
/// data.
fn after_answer(error: Error, effect: Effect) -> Error {
    match effect {
        Effect::Read => error,
        Effect::Write | Effect::Destructive => Error::OutcomeUnknown(Box::new(error)),
    }
}

async fn read_to_end(answer: CallAnswer, limit: u64, memory: &MemoryBudget) -> Result<BackgroundAnswer, Error> {
    let unmatched = unmatched_fields(&answer.headers);
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let expected = answer.body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    let mut body = Limited::new(answer.body, most);
    let (mut text, mut held) = (Vec::<u8>::new(), memory.part());
    while let Some(frame) = body.frame().await {
        let piece = frame.map_err(|error| broken_off(error, limit))?.into_data().unwrap_or_default();
        let size = text.len() + piece.len();
        if size > text.capacity() {
            let capacity = expected.unwrap_or(2 * text.capacity()).min(most).max(size);
            // The text may be copied to its new place.
            hold(&mut held, text.capacity() + capacity).await;
            text.reserve_exact(capacity - text.len());
            held.shrink_to(capacity);
        }
        text.extend_from_slice(&piece);
    }
    drop(body);
    let size = text.len();
    // A copy gives back the part of the buffer that is not used.
    hold(&mut held, if text.capacity() > size { text.capacity() + size } else { size }).await;
    let checking = || match String::from_utf8(text) {
        Ok(text) => RawValue::from_string(text),
        // It says where the text is wrong.
        Err(error) => serde_json::from_slice(error.as_bytes()),
    };
    let checked: Result<Box<RawValue>, serde_json::Error> = compute::run(size, checking).await;
    let document = checked.map_err(|error| {
        Error::NotUnderstood(format!(
            "The operation answers JSON, and the answer is not JSON: {error}. Try again later."
        ))
    })?;
    held.shrink_to(document.get().len());
    Ok(BackgroundAnswer { document, unmatched, held })
}

/// The error of an answer that cannot be read to its end.
fn broken_off(error: Box<dyn StdError + Send + Sync>, limit: u64) -> Error {
    match error.downcast::<EgressError>() {
        Ok(error) => Error::from(*error),
        Err(error) if error.is::<LengthLimitError>() => Error::TooLarge { limit, key: Some(RESPONSE_MB) },
        Err(error) => Error::NotUnderstood(format!("the answer cannot be read: {error}")),
    }
}

/// Makes a part of the memory as large as `bytes`. The service waits meanwhile, and may give up. So
/// the part goes beyond the budget in the end: the call has run, and its answer must not be lost.
async fn hold(held: &mut Reservation, bytes: usize) {
    if held.wait_to_grow_to(bytes).await.is_err() {
        held.grow_beyond_limit_to(bytes);
    }
}

#[cfg(test)]
mod tests {
    use body::{full, rejoined};
    use bytes::Bytes;
    use hyper::StatusCode;
    use hyper::header::HeaderMap;
    use memory::LONGEST_WAIT;
    use tokio::time::Instant;

    use super::*;

    /// The error of a call with this effect, whose answer is these bytes and then breaks off.
    async fn broken_off(bytes: &'static [u8], effect: Effect) -> Error {
        let pieces = [Ok(Bytes::from_static(bytes)), Err(EgressError::TimedOut)];
        let answer = CallAnswer { status: StatusCode::OK, headers: HeaderMap::new(), body: rejoined(pieces, full("")) };
        after_answer(read_to_end(answer, 10, &MemoryBudget::unlimited()).await.unwrap_err(), effect)
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_held_and_is_not_lost_for_want_of_memory() {
        let pieces = || {
            let parts = [r#"{"a":""#.to_owned(), "x".repeat(10_000), "y".repeat(10_000), r#""} "#.to_owned()];
            let pieces = parts.map(|part| Ok(Bytes::from(part)));
            CallAnswer { status: StatusCode::OK, headers: HeaderMap::new(), body: rejoined(pieces, full("")) }
        };
        let memory = MemoryBudget::new(100_000);
        let answer = read_to_end(pieces(), 1 << 20, &memory).await.unwrap();
        let bytes = answer.document.get().len() as u64;
        assert_eq!((bytes, memory.held()), (20_008, bytes));
        let mut others = memory.part();
        others.grow_to(79_000).unwrap();
        let began = Instant::now();
        let other = read_to_end(pieces(), 1 << 20, &memory).await.unwrap();
        assert!(began.elapsed() >= LONGEST_WAIT);
        assert_eq!(memory.held(), 79_000 + 2 * bytes, "it is counted beyond the budget");
        drop((answer, other));
        assert_eq!(memory.held(), 79_000);
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_says_nothing_about_a_change() {
        let error = broken_off(b"{", Effect::Read).await;
        assert!(matches!(error, Error::Egress(EgressError::TimedOut)), "{error}");
        for effect in [Effect::Write, Effect::Destructive] {
            let error = broken_off(b"{", effect).await;
            assert!(matches!(&error, Error::OutcomeUnknown(_)), "{error}");
            assert!(matches!(error.cause(), Error::Egress(EgressError::TimedOut)), "{error}");
            let error = broken_off(b"[1, 2, 3, 4, 5]", effect).await;
            assert!(matches!(&error, Error::OutcomeUnknown(_)), "{error}");
            assert!(matches!(error.cause(), Error::TooLarge { .. }), "{error}");
        }
    }
}
