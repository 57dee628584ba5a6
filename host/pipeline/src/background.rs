//! A call that runs in the background: its answer is read to the end, because no caller takes it as
//! a stream.

use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::value::RawValue;

use super::answer::RESPONSE_MB;
use super::{Call, Error, Services, UnmatchedField, run, unmatched_fields};
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
