//! A call that runs in the background: its answer is read to the end, because no caller takes it as
//! a stream.

use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::value::RawValue;

use super::answer::RESPONSE_MB;
use super::{Call, CallAnswer, Error, Services, UnmatchedField, run, unmatched_fields};
use contract::Effect;
use egress::EgressError;

/// The answer of a call that has run in the background.
#[derive(Debug)]
pub struct BackgroundAnswer {
    /// The JSON text.
    pub document: Box<RawValue>,
    /// The paths of `response_fields` that led nowhere.
    pub unmatched: Vec<UnmatchedField>,
}

/// Runs a call, and returns its answer as JSON. A file has its JSON form. The answer has at most
/// the size of a response that is read into memory.
///
/// # Errors
/// See [`enum@Error`].
pub async fn run_to_result(services: Services<'_>, call: &Call<'_>) -> Result<BackgroundAnswer, Error> {
    let limit = call.connector.limits().response_bytes;
    let answer = run(services, call).await?;
    read_to_end(answer, limit).await.map_err(|error| after_answer(error, call.operation.manifest.effect))
}

/// The error of a call whose answer had begun. The service has then acted on a request that changes
/// data.
fn after_answer(error: Error, effect: Effect) -> Error {
    match effect {
        Effect::Read => error,
        Effect::Write | Effect::Destructive => Error::OutcomeUnknown(Box::new(error)),
    }
}

async fn read_to_end(answer: CallAnswer, limit: u64) -> Result<BackgroundAnswer, Error> {
    let unmatched = unmatched_fields(&answer.headers);
    let body = Limited::new(answer.body, usize::try_from(limit).unwrap_or(usize::MAX)).collect().await;
    let body = body.map_err(|error| match error.downcast::<EgressError>() {
        Ok(error) => Error::from(*error),
        Err(error) if error.is::<LengthLimitError>() => Error::TooLarge { limit, key: Some(RESPONSE_MB) },
        Err(error) => Error::NotUnderstood(format!("the answer cannot be read: {error}")),
    })?;
    let body = body.to_bytes();
    let checked: Result<_, serde_json::Error> = compute::run(body.len(), || serde_json::from_slice(&body)).await;
    let document = checked.map_err(|error| {
        Error::NotUnderstood(format!(
            "The operation answers JSON, and the answer is not JSON: {error}. Try again later."
        ))
    })?;
    Ok(BackgroundAnswer { document, unmatched })
}

#[cfg(test)]
mod tests {
    use body::{full, rejoined};
    use bytes::Bytes;
    use hyper::StatusCode;
    use hyper::header::HeaderMap;

    use super::*;

    /// The error of a call with this effect, whose answer is these bytes and then breaks off.
    async fn broken_off(bytes: &'static [u8], effect: Effect) -> Error {
        let pieces = [Ok(Bytes::from_static(bytes)), Err(EgressError::TimedOut)];
        let answer = CallAnswer { status: StatusCode::OK, headers: HeaderMap::new(), body: rejoined(pieces, full("")) };
        after_answer(read_to_end(answer, 10).await.unwrap_err(), effect)
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
