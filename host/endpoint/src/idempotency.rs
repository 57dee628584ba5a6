//! The header `Idempotency-Key`: a call runs once, and a repeat of it gets the first answer.
//!
//! See draft-ietf-httpapi-idempotency-key-header.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde::{Deserialize, Serialize};

use super::answer::AcceptedJob;
use super::authorize::AuthorizedCaller;
use body::{Body, full, rejoined};
use calls::idempotency::{IdempotencyError, KeyOutcome, KeyStatus};
use gateway::Gateway;
use memory::MemoryBudget;
use problem::{self, Problem, store_problem};
use store::IdempotentCall;
use store::vault::VaultError;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Marks an answer that was kept.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Marks an answer of a service that has surely not acted on the request. It is not kept, so that
/// the caller can send the request again with the same key.
#[derive(Clone, Copy, Debug)]
pub struct DidNothing;

/// Maximum length of a key.
pub const MAX_KEY_CHARACTERS: usize = 255;

/// Maximum size of an answer that is kept.
pub const MAX_KEPT_BYTES: usize = 1 << 20;

/// An answer as it is stored: this as one line of JSON, then the bytes of its body.
#[derive(Serialize, Deserialize)]
enum KeptHead {
    Answer {
        status: u16,
        headers: Vec<(String, String)>,
        /// See [`AcceptedJob`].
        job_id: Option<String>,
    },
    Problem(Problem),
}

/// The key of a call: a string as in RFC 8941 (`"…"`), or the same without the quotation marks.
/// `None` if there is no key.
///
/// # Errors
/// 400 if the key is repeated, empty, too long, or has a character that is not printable ASCII, a
/// quotation mark or a backslash.
pub fn key_in_headers(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(&IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let is_valid = (1..=MAX_KEY_CHARACTERS).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
    if !is_valid || values.next().is_some() {
        return Err(problem::BAD_REQUEST.with_detail(format!(
            "Idempotency-Key must be there once and have 1 to {MAX_KEY_CHARACTERS} printable ASCII characters other than \" and \\, such as \
             a UUID."
        )));
    }
    Ok(Some(text))
}

/// Answers a call with this key: runs it if the key is new, else repeats the first answer.
/// `request` are the parts that make two calls the same. The call runs to its end even if the
/// caller disconnects, also while its key is taken: the caller is the one who sends the call again.
///
/// # Errors
/// 409 while the first call runs, if its outcome is not known, or if its answer was not kept; 422
/// if the key belongs to another request; 503 if the store does not answer; and the problem of the
/// call itself.
pub async fn answer_idempotently(
    gateway: &Arc<Gateway>,
    caller: &AuthorizedCaller,
    key: &str,
    request: &[&[u8]],
    run: impl Future<Output = Result<Response<Body>, Problem>> + Send + 'static,
) -> Result<Response<Body>, Problem> {
    let call = IdempotentCall::new(caller.tenant(), caller.subject(), key, request);
    let (idempotency, memory) = (Arc::clone(&gateway.idempotency), gateway.egress.memory().clone());
    let answering = gateway.idempotency.spawn(async move {
        let taken = match idempotency.begin(&call).await.map_err(|error| idempotency_problem(&error))? {
            KeyStatus::New(taken) => taken,
            KeyStatus::Ended(kept) => return replayed_answer(&kept),
            other => return Err(status_problem(&other)),
        };
        let running = idempotency.run(call, taken, async move { outcome_of(run.await, &memory).await });
        // A task that panicked leaves its key under the lease, which then ends.
        running.await.unwrap_or_else(|_| Err(broken_off()))
    });
    answering.await.unwrap_or_else(|_| Err(broken_off()))
}

fn broken_off() -> Problem {
    problem::INTERNAL.with_detail("The call broke off.").of_unknown_outcome()
}

/// Returns `true` if an answer was kept from the first call.
pub fn is_replayed(response: &Response<Body>) -> bool {
    response.headers().contains_key(&REPLAYED)
}

fn status_problem(status: &KeyStatus) -> Problem {
    match status {
        KeyStatus::Lost => problem::IDEMPOTENT_CALL_LOST
            .with_detail(
                "The gateway that ran the first call with this Idempotency-Key has ended, or does not reach the database. The call is not \
                 run again. If that gateway still runs, it stores the answer later, and a repeat gets it. Look at the service to see what \
                 was done, then call with a new key if needed.",
            )
            .of_unknown_outcome(),
        KeyStatus::OfOtherRequest => problem::IDEMPOTENCY_KEY_REUSED.with_detail(
            "This Idempotency-Key belongs to a request with another path, body or X-User-Identifier (to /proxy: also with another method, \
             Content-Type, If-* or X-Proxy-Header-*), or its answer has a secret of another API key. Use a new key for each call.",
        ),
        KeyStatus::EndedWithoutAnswer => problem::IDEMPOTENT_ANSWER_NOT_KEPT
            .with_detail(format!(
                "The first call with this Idempotency-Key has succeeded. Its answer was not kept: it had more than {MAX_KEPT_BYTES} \
                 bytes, or it broke off. The call is not run again."
            ))
            .with("outcome", "succeeded"),
        KeyStatus::Running | KeyStatus::New(_) | KeyStatus::Ended(_) => problem::IDEMPOTENCY_KEY_IN_USE
            .with_detail("The first call with this Idempotency-Key still runs; send it again later to get its answer.")
            .retry_after(1),
    }
}

fn idempotency_problem(error: &IdempotencyError) -> Problem {
    match error {
        IdempotencyError::Store(error) | IdempotencyError::Vault(VaultError::Store(error)) => {
            store_problem(error, "The idempotency keys cannot be read or written now; try again. The call was not run.")
        }
        IdempotencyError::Vault(error) => {
            tracing::error!(%error, "a kept answer cannot be used");
            problem::INTERNAL
                .with_detail("The kept answer cannot be decrypted. The operator finds the cause in the gateway's log.")
                .retryable(false)
        }
    }
}

/// The result of a call for its caller, and what is kept of it.
async fn outcome_of(
    result: Result<Response<Body>, Problem>,
    memory: &MemoryBudget,
) -> (Result<Response<Body>, Problem>, KeyOutcome) {
    let response = match result {
        Ok(response) if response.extensions().get::<DidNothing>().is_some() => {
            return (Ok(response), KeyOutcome::Released);
        }
        Ok(response) => response,
        Err(problem) if problem.did_nothing() => return (Err(problem), KeyOutcome::Released),
        Err(problem) => {
            let kept = stored_answer(&KeptHead::Problem(problem.clone()), &[]);
            return (Err(problem), kept);
        }
    };
    let (parts, mut body) = response.into_parts();
    let mut held = memory.part();
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let data = match frame.map(|frame| frame.into_data().unwrap_or_default()) {
            Ok(data) => data,
            // The caller sees the same: an answer that breaks off.
            Err(error) => {
                return (
                    Ok(Response::from_parts(parts, rejoined([Ok(read.freeze()), Err(error)], body))),
                    KeyOutcome::TooLarge,
                );
            }
        };
        if read.len() + data.len() > MAX_KEPT_BYTES || held.grow_to(read.len() + data.len()).is_err() {
            return (
                Ok(Response::from_parts(parts, rejoined([Ok(held.tie_to(read.freeze())), Ok(data)], body))),
                KeyOutcome::TooLarge,
            );
        }
        read.extend_from_slice(&data);
    }
    let headers = parts.headers.iter().filter(|(name, _)| **name != CONTENT_LENGTH);
    // A name of a file may be in UTF-8.
    let text = |value: &HeaderValue| str::from_utf8(value.as_bytes()).ok().map(str::to_owned);
    let headers = headers.filter_map(|(name, value)| Some((name.as_str().to_owned(), text(value)?))).collect();
    let job_id = parts.extensions.get().map(|AcceptedJob(id)| id.clone());
    let kept = stored_answer(&KeptHead::Answer { status: parts.status.as_u16(), headers, job_id }, &read);
    (Ok(Response::from_parts(parts, full(held.tie_to(read.freeze())))), kept)
}

fn stored_answer(head: &KeptHead, body: &[u8]) -> KeyOutcome {
    // The head has text and numbers only, which are always written.
    let Ok(mut bytes) = serde_json::to_vec(head) else { return KeyOutcome::TooLarge };
    bytes.push(b'\n');
    bytes.extend_from_slice(body);
    KeyOutcome::Kept(bytes)
}

/// The first answer again.
fn replayed_answer(kept: &[u8]) -> Result<Response<Body>, Problem> {
    let damaged = || problem::INTERNAL.with_detail("The kept answer has an unknown form.").retryable(false);
    let line = kept.iter().position(|byte| *byte == b'\n').ok_or_else(damaged)?;
    let (head, body) = kept.split_at(line);
    let head: KeptHead = serde_json::from_slice(head).map_err(|_| damaged())?;
    let replayed = HeaderValue::from_static("true");
    let (status, headers, job_id) = match head {
        KeptHead::Problem(problem) => return Err(problem.header(REPLAYED, replayed)),
        KeptHead::Answer { status, headers, job_id } => (status, headers, job_id),
    };
    let mut response = Response::new(full(Bytes::copy_from_slice(&body[1..])));
    *response.status_mut() = StatusCode::from_u16(status).map_err(|_| damaged())?;
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response.headers_mut().insert(REPLAYED, replayed);
    if let Some(id) = job_id {
        response.extensions_mut().insert(AcceptedJob(id));
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(values: &[&str]) -> Result<Option<String>, ()> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(IDEMPOTENCY_KEY, HeaderValue::from_str(value).unwrap());
        }
        key_in_headers(&headers).map(|key| key.map(str::to_owned)).map_err(drop)
    }

    #[test]
    fn a_key_is_taken_with_and_without_quotation_marks() {
        assert_eq!(key_of(&[]), Ok(None));
        assert_eq!(key_of(&["8e03978e-40d5"]), Ok(Some("8e03978e-40d5".to_owned())));
        assert_eq!(key_of(&["\"8e03978e-40d5\""]), Ok(Some("8e03978e-40d5".to_owned())));
        assert!(key_of(&[&"k".repeat(MAX_KEY_CHARACTERS)]).is_ok());
    }

    #[tokio::test]
    async fn an_answer_of_a_service_is_kept_unless_the_service_has_done_nothing() {
        let memory = MemoryBudget::new(1 << 20);
        let answered = |did_nothing: bool| {
            let mut response = Response::new(full(Bytes::from_static(b"{}")));
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            if did_nothing {
                response.extensions_mut().insert(DidNothing);
            }
            Ok(response)
        };
        let (answer, kept) = outcome_of(answered(true), &memory).await;
        assert!(matches!(kept, KeyOutcome::Released));
        assert_eq!(answer.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
        let (_, kept) = outcome_of(answered(false), &memory).await;
        assert!(matches!(kept, KeyOutcome::Kept(_)));
    }

    #[tokio::test]
    async fn a_header_that_is_not_ascii_is_repeated_too() {
        let value = HeaderValue::from_bytes("attachment; filename=naïve.txt".as_bytes()).unwrap();
        let mut response = Response::new(full(Bytes::from_static(b"{}")));
        response.headers_mut().insert("content-disposition", value.clone());
        let (_, kept) = outcome_of(Ok(response), &MemoryBudget::new(1 << 20)).await;
        let KeyOutcome::Kept(kept) = kept else { panic!("it is not kept") };
        assert_eq!(replayed_answer(&kept).unwrap().headers()["content-disposition"], value);
    }

    #[test]
    fn an_answer_is_repeated_with_its_job_and_one_of_a_previous_version_without() {
        let repeated = |head: &str| {
            let response = replayed_answer(format!("{head}\n{{}}").as_bytes()).unwrap();
            response.extensions().get().map(|AcceptedJob(id)| id.clone())
        };
        let head = KeptHead::Answer { status: 200, headers: Vec::new(), job_id: Some("job_1".to_owned()) };
        assert_eq!(repeated(&serde_json::to_string(&head).unwrap()).as_deref(), Some("job_1"));
        assert_eq!(repeated(r#"{"Answer":{"status":200,"headers":[]}}"#), None);
    }

    #[test]
    fn a_key_that_is_empty_long_repeated_or_strange_is_refused() {
        for values in [&[""][..], &["\"\""], &["a\"b"], &["a", "a"], &["\ta"]] {
            assert!(key_of(values).is_err(), "{values:?}");
        }
        assert!(key_of(&[&"k".repeat(MAX_KEY_CHARACTERS + 1)]).is_err());
    }
}
