//! Reading the body of a call.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use memory::{Exhausted, MemoryBudget};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::{Instant, timeout, timeout_at};

use super::record_schema::schema_of_body;
use body::media_type::{essence, is_json};
use gateway::Gateway;
use problem::{self, Problem, input_problem, violations_problem};
use schema::{InputError, Schema, Violation};

/// The most bytes that are read and dropped after the answer to a call whose body was not read
/// completely.
const LINGER_BYTES: usize = 64 << 20;

/// The most bytes of a body that is copied rather than kept as it was read. Connections read 8 KiB
/// at a time.
const SMALL_BYTES: usize = 4 << 10;

/// The longest time for reading and dropping.
const LINGER_TIME: Duration = Duration::from_secs(5);

/// The second half of the sentence that a body is over `max_body_mb`.
pub const ADVICE: &str = "send less, or have `max_body_mb` raised";

/// Whole numbers below this one are exact in floating point.
const FIRST_INEXACT: f64 = (1_u64 << 53) as f64;

/// The violation of a name that can look like another one.
pub const HIDDEN: &str = "Must have no control or format characters, which are not seen.";

/// The body of a request on its way to a handler, which reads it or leaves it.
pub struct RequestBody {
    /// `None` while a handler reads the body as its answer is sent.
    incoming: Option<Incoming>,
    /// Gets the body back if that handler leaves a part of it.
    left: Arc<Mutex<Option<Incoming>>>,
    /// The time until which the caller may send it.
    deadline: Instant,
    /// The caller waits for the response 100 before it sends the body (RFC 9110, section 10.1.1).
    /// The first read sends that response.
    is_held_back: bool,
    /// It was read to its end. A body without a declared length does not know its end.
    has_ended: bool,
}

impl RequestBody {
    /// The body of a request that was just accepted. See the fields for the arguments.
    pub fn new(incoming: Incoming, deadline: Instant, is_held_back: bool) -> Self {
        Self { incoming: Some(incoming), left: Arc::default(), deadline, is_held_back, has_ended: false }
    }

    /// Takes the body out, to read it while the answer is sent. `pause` is the longest time between
    /// two pieces.
    pub fn take(&mut self, pause: Duration) -> StreamedRequest {
        self.is_held_back = false;
        StreamedRequest { incoming: self.incoming.take(), left: Arc::clone(&self.left), pause }
    }

    /// Shortens the time in which the caller may send it.
    pub fn end_by(&mut self, deadline: Instant) {
        self.deadline = self.deadline.min(deadline);
    }

    /// The next piece. Trailers are left out.
    async fn piece(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        self.is_held_back = false;
        let piece = next_piece(self.incoming.as_mut()?).await;
        self.has_ended |= piece.is_none();
        piece
    }

    /// The size that the caller announces.
    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map(Body::size_hint).unwrap_or_default()
    }

    /// Returns `true` if the whole body was read, or there was none.
    pub fn is_read(&self) -> bool {
        let has_ended = |incoming: &Option<Incoming>| incoming.as_ref().is_none_or(Body::is_end_stream);
        self.has_ended || has_ended(&self.incoming) && has_ended(&self.left.lock())
    }

    /// Reads and drops what a handler has left. A connection that closed while its caller still
    /// sends could be reset before the caller reads the answer, and one that closed after the
    /// answer could break off the next request. Returns `false` if a part of the body is still
    /// unread, so that the connection has to close.
    pub async fn drop_rest(mut self) -> bool {
        if self.is_held_back {
            return false;
        }
        let left = self.left.lock().take();
        self.incoming = self.incoming.or(left);
        let deadline = self.deadline.min(Instant::now() + LINGER_TIME);
        let reading = async {
            let mut dropped = 0;
            while let Some(piece) = self.piece().await {
                dropped += piece.ok()?.len();
                if dropped > LINGER_BYTES {
                    return None;
                }
            }
            Some(())
        };
        matches!(timeout_at(deadline, reading).await, Ok(Some(())))
    }
}

/// A body that a handler reads while its answer is sent.
pub struct StreamedRequest {
    incoming: Option<Incoming>,
    left: Arc<Mutex<Option<Incoming>>>,
    pause: Duration,
}

/// The rest is read and dropped, as the rest of any other body is.
impl Drop for StreamedRequest {
    fn drop(&mut self) {
        *self.left.lock() = self.incoming.take();
    }
}

impl StreamedRequest {
    /// The size that the caller announces.
    pub fn announced(&self) -> Option<u64> {
        self.incoming.as_ref().map_or(Some(0), |incoming| incoming.size_hint().exact())
    }

    /// The next piece, or `None` at the end.
    ///
    /// # Errors
    /// `Late` if it does not arrive in the pause, and `BrokenOff`.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Unread> {
        let Some(incoming) = &mut self.incoming else { return Ok(None) };
        let piece = timeout(self.pause, next_piece(incoming)).await.map_err(|_| Unread::Late)?;
        piece.transpose().map_err(|_| Unread::BrokenOff)
    }
}

/// The next piece of a body. Trailers are left out.
async fn next_piece(incoming: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
    loop {
        match incoming.frame().await?.map(Frame::into_data) {
            Ok(Ok(piece)) => return Some(Ok(piece)),
            Ok(Err(_)) => {}
            Err(error) => return Some(Err(error)),
        }
    }
}

/// Reads a body of at most `limit_mb` MiB, until its deadline. `advice` is the second half of the
/// sentence that the body is too large.
///
/// # Errors
/// 415 if it is encoded, 413 over the limit, 503 if the memory for calls is used up, 408 at the
/// deadline, 400 if the caller stops sending.
pub async fn read_body(
    headers: &HeaderMap,
    body: &mut RequestBody,
    limit_mb: usize,
    advice: &str,
    memory: &MemoryBudget,
) -> Result<Bytes, Problem> {
    require_unencoded(headers)?;
    let read = read_raw(body, limit_mb << 20, memory).await;
    read.map_err(|unread| unread.into_problem(limit_mb, advice))
}

/// Requires that a body has no `Content-Encoding`, because the gateway does not decode the bodies
/// of callers.
///
/// # Errors
/// 415 if it has one.
pub fn require_unencoded(headers: &HeaderMap) -> Result<(), Problem> {
    let lists = headers.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes);
    let mut codings = lists.flat_map(|list| list.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    match codings.all(|coding| coding.eq_ignore_ascii_case(b"identity")) {
        true => Ok(()),
        false => Err(problem::UNSUPPORTED_MEDIA_TYPE
            .with_detail("The body has a Content-Encoding, which the gateway does not decode; send the body as it is.")
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))),
    }
}

/// Reads a body of at most `limit` bytes as it was sent, until its deadline.
///
/// # Errors
/// See [`Unread`].
pub async fn read_raw(body: &mut RequestBody, limit: usize, memory: &MemoryBudget) -> Result<Bytes, Unread> {
    if body.size_hint().lower() > limit as u64 {
        return Err(Unread::TooLarge);
    }
    timeout_at(body.deadline, collect(body, limit, memory)).await.unwrap_or(Err(Unread::Late))
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug)]
pub enum Unread {
    /// It is longer than the limit.
    TooLarge,
    /// The budget of memory has no room for it.
    NoMemory(Exhausted),
    /// The caller stopped sending.
    BrokenOff,
    /// It did not arrive until its deadline.
    Late,
}

impl Unread {
    /// The problem of a body that may have at most `limit_mb` MiB. `advice` is the second half of the
    /// sentence that it is too large.
    pub fn into_problem(self, limit_mb: usize, advice: &str) -> Problem {
        match self {
            Self::TooLarge => {
                problem::BODY_TOO_LARGE.with_detail(format!("The body is over the limit of {limit_mb} MB; {advice}."))
            }
            Self::NoMemory(exhausted) => problem::no_memory(exhausted),
            Self::BrokenOff => problem::BAD_REQUEST.with_detail("The body did not arrive completely; send it again."),
            Self::Late => problem::BAD_REQUEST
                .with_detail("The body did not arrive in time; send it faster.")
                .status(StatusCode::REQUEST_TIMEOUT)
                .retryable(true),
        }
    }
}

impl From<Exhausted> for Unread {
    fn from(exhausted: Exhausted) -> Self {
        Self::NoMemory(exhausted)
    }
}

/// Reads a whole body of at most `limit` bytes. Memory is taken as pieces arrive, so that a caller
/// who announces much and sends little holds little.
async fn collect(body: &mut RequestBody, limit: usize, memory: &MemoryBudget) -> Result<Bytes, Unread> {
    let announced = body.size_hint().exact().and_then(|bytes| bytes.try_into().ok()).unwrap_or(limit);
    let mut held = memory.part_before_admission();
    let mut first: Option<Bytes> = None;
    let mut whole = Vec::new();
    while let Some(piece) = body.piece().await {
        let piece = piece.map_err(|_| Unread::BrokenOff)?;
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
            // Room for more than the piece, so that a body is not moved for each piece. The room is
            // counted too.
            let room = announced.min(2 * size).max(size);
            held.grow_to(room)?;
            whole.reserve_exact(room - whole.len());
        }
        if whole.is_empty() {
            whole.extend_from_slice(beginning);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(held.tie_to(match first {
        // A copy of a small body, because the piece is a part of the connection's memory, which a
        // call that waits must not keep.
        Some(piece) if whole.is_empty() && piece.len() <= SMALL_BYTES => Bytes::copy_from_slice(&piece),
        Some(piece) if whole.is_empty() => piece,
        _ => whole.into(),
    }))
}

/// Reads a body whose media type is JSON, or an empty body without a media type.
///
/// # Errors
/// As [`read_body`], and 415 for any other media type.
pub async fn read_json_body(headers: &HeaderMap, body: &mut RequestBody, gateway: &Gateway) -> Result<Bytes, Problem> {
    let content_type = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    let body = read_body(headers, body, gateway.config.max_body_mb, ADVICE, gateway.egress.memory()).await?;
    if content_type.is_some_and(|value| is_json(essence(value))) || body.is_empty() && content_type.is_none() {
        return Ok(body);
    }
    Err(problem::UNSUPPORTED_MEDIA_TYPE.with_detail(match content_type {
        Some(given) => format!("The body's media type is {given}; send JSON with Content-Type: application/json."),
        None => "The body has no media type; send JSON with Content-Type: application/json.".to_owned(),
    }))
}
/// Reads a body that a type describes.
///
/// # Errors
/// As [`read_json_body`], 400 if it is not JSON, and 422 with each violation of the schema of the
/// type.
pub async fn read_record<T: JsonSchema + DeserializeOwned>(
    headers: &HeaderMap,
    body: &mut RequestBody,
    gateway: &Gateway,
) -> Result<T, Problem> {
    let body = read_json_body(headers, body, gateway).await?;
    parse_record(&body).await
}

/// Parses a body that a type describes.
///
/// # Errors
/// 400 if it is not JSON, and 422 with each violation of the schema of the type.
pub async fn parse_record<T: JsonSchema + DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    parse_checked(body).await?.map_err(violations_problem)
}

/// Parses a body that a type describes. The inner result has each violation of the schema of the
/// type, for a route that finds further ones.
///
/// # Errors
/// 400 if it is not JSON.
pub async fn parse_checked<T: JsonSchema + DeserializeOwned>(
    body: &[u8],
) -> Result<Result<T, Vec<Violation>>, Problem> {
    let schema = Schema::compile(&schema_of_body::<T>().to_string(), false)
        .map_err(|error| problem::INTERNAL.with_detail(format!("The schema of this body {error}.")))?;
    match compute::run(body.len(), || schema.parse(body)).await {
        Ok(input) => {
            let record = serde_json::from_str(&input.text)
                .or_else(|_| with_whole_numbers(&input.text).and_then(|text| serde_json::from_str(&text)));
            record.map(Ok).map_err(|error| problem::NOT_JSON.with_detail(format!("{error}.")))
        }
        Err(InputError::Invalid(violations)) => Ok(Err(violations)),
        Err(error) => Err(input_problem(error)),
    }
}

/// The text of an object, whose members that are whole numbers are written without a fraction. A
/// schema takes `900.0` for an integer, and the types of records do not.
fn with_whole_numbers(text: &str) -> serde_json::Result<String> {
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text)?;
    for member in members.values_mut() {
        if let Ok(number) = member.get().parse::<f64>()
            && number.fract() == 0.0
            && number.abs() < FIRST_INEXACT
        {
            *member = to_raw_value(&(number as i64))?;
        }
    }
    serde_json::to_string(&members)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    struct Wish {
        seconds: Option<u64>,
        name: String,
    }

    #[tokio::test]
    async fn a_whole_number_may_be_written_with_a_fraction() {
        let read = async |text: &str| parse_record::<Wish>(text.as_bytes()).await.map_err(|problem| problem.code());
        for (seconds, expected) in [("900", 900), ("900.0", 900), ("9e2", 900), ("0.0", 0)] {
            let wish = Wish { seconds: Some(expected), name: "1.0".to_owned() };
            assert_eq!(read(&format!(r#"{{"name":"1.0","seconds":{seconds}}}"#)).await, Ok(wish), "{seconds}");
        }
        for wrong in ["900.5", "-1.0", "\"900\""] {
            assert_eq!(read(&format!(r#"{{"name":"1.0","seconds":{wrong}}}"#)).await, Err(422), "{wrong}");
        }
    }

    #[test]
    fn a_body_has_no_content_encoding_but_identity() {
        let check = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(CONTENT_ENCODING, HeaderValue::from_static(line));
            }
            require_unencoded(&headers).map_err(|problem| problem.code())
        };
        for lines in [&[][..], &["identity"], &["Identity"], &["identity, IDENTITY"]] {
            assert_eq!(check(lines), Ok(()), "{lines:?}");
        }
        for lines in [&["gzip"][..], &["identity", "gzip"], &["identity, gzip"], &[""]] {
            assert_eq!(check(lines), Err(415), "{lines:?}");
        }
    }
}
