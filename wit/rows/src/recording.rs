//! A recorded call of an operation, which the tests of the SDKs replay. `connector-gateway connectors
//! call --record` writes it.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contract_rules::multipart;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::reader::compact;

/// The format of recordings that is read here.
const FORMAT: u32 = 1;

/// A recorded call.
pub struct Recording {
    /// The operation.
    pub operation: String,
    /// The input, as JSON text.
    pub input: String,
    /// Names of settings, and their values as JSON text.
    pub settings: Vec<(String, String)>,
    /// The requests that were not sent yet.
    left: Vec<Exchange>,
    differences: Vec<String>,
    answer: Option<Value>,
    fails: bool,
}

#[derive(Deserialize)]
struct Version {
    format: u32,
}

#[derive(Deserialize)]
struct Content {
    operation: String,
    input: Box<RawValue>,
    #[serde(default)]
    settings: BTreeMap<String, Box<RawValue>>,
    exchanges: Vec<Exchange>,
    #[serde(default)]
    answer: Option<Value>,
    #[serde(default)]
    problem: Option<Value>,
}

/// A recorded request and its answer.
#[derive(Deserialize)]
struct Exchange {
    request: RecordedRequest,
    answer: RecordedAnswer,
}

#[derive(Deserialize)]
struct RecordedRequest {
    method: String,
    upstream: String,
    path: Option<String>,
    link: Option<String>,
    body: Option<RecordedBody>,
}

#[derive(Deserialize)]
struct RecordedAnswer {
    status: u16,
    #[serde(default)]
    headers: Vec<(String, String)>,
    body: Option<RecordedBody>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedBody {
    Json(Box<RawValue>),
    Form(Vec<(String, String)>),
    Multipart(Vec<Part>),
    Text(String),
    Base64(String),
}

/// A request that a connector sends.
#[derive(Deserialize)]
pub struct Asked {
    /// The method, in any case.
    pub method: String,
    /// Name of the upstream.
    pub upstream: String,
    /// The path. `None` if the request follows a link.
    pub path: Option<String>,
    /// The link that the request follows.
    pub link: Option<String>,
    /// The body.
    pub body: Option<Body>,
}

/// The body of a request.
#[derive(Deserialize)]
#[serde(tag = "tag", content = "val", rename_all = "kebab-case")]
pub enum Body {
    /// JSON text.
    Json(String),
    /// Names and values of a form.
    Form(Vec<(String, String)>),
    /// The parts of a form with files.
    Parts(Vec<Part>),
    /// Anything else.
    Bytes(Vec<u8>),
}

/// A part of a form with files. Its content is text, or bytes in base64.
#[derive(Deserialize, PartialEq, Eq)]
pub struct Part {
    /// The name of the field.
    pub name: String,
    /// The name of the file. `None` if the part is no file.
    pub file_name: Option<String>,
    /// The media type of the content.
    pub content_type: Option<String>,
    /// The content, if it is text.
    pub text: Option<String>,
    /// The content in base64, if it is not text.
    pub base64: Option<String>,
}

/// The answer to a request.
#[derive(Serialize)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Names and values of headers, in the order of the recording.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body. Empty if none was recorded.
    pub body: Vec<u8>,
}

/// The end of a call.
#[derive(Deserialize, Serialize)]
#[serde(tag = "tag", content = "val", rename_all = "kebab-case")]
pub enum End {
    /// An answer, as JSON text. Text that is not JSON is a file, and is not compared.
    Answer(String),
    /// A file, whose content is not compared.
    File,
    /// A failure, as its message.
    Failed(String),
}

impl Recording {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is not a recording, or has another format.
    pub fn read(text: &str) -> Result<Self, String> {
        let unreadable = |error: serde_json::Error| format!("it is not a recording: {error}");
        let Version { format } = serde_json::from_str(text).map_err(unreadable)?;
        if format != FORMAT {
            return Err(format!("it has the format {format}, and this SDK reads format {FORMAT}; record it again"));
        }
        let Content { operation, input, settings, exchanges, answer, problem } =
            serde_json::from_str(text).map_err(unreadable)?;
        Ok(Self {
            operation,
            input: compact(input.get()),
            settings: settings.into_iter().map(|(name, value)| (name, compact(value.get()))).collect(),
            left: exchanges,
            differences: Vec::new(),
            answer,
            fails: problem.is_some(),
        })
    }

    /// The answer to a request.
    ///
    /// # Errors
    /// If the recording has no such request left.
    pub fn take(&mut self, asked: &Asked) -> Result<Answer, String> {
        let Some(index) = self.left.iter().position(|exchange| exchange.request.is(asked)) else {
            let difference = format!("the recording has no request {asked}");
            self.differences.push(difference.clone());
            return Err(difference);
        };
        let RecordedAnswer { status, headers, body } = self.left.remove(index).answer;
        let body = body.map(RecordedBody::into_bytes).transpose()?.unwrap_or_default();
        Ok(Answer { status, headers, body })
    }

    /// The differences between a call and the recording. If a problem is recorded, any failure matches it.
    #[must_use]
    pub fn differences(self, end: &End) -> Vec<String> {
        let mut found = self.differences;
        let unsent = self.left.iter().map(|exchange| &exchange.request);
        found.extend(unsent.map(|request| format!("the recording has a request that was not sent: {request}")));
        if !found.is_empty() {
            return found;
        }
        match end {
            End::Failed(why) if !self.fails => {
                found.push(format!("an answer is recorded, and the operation failed: {why}"));
            }
            End::Answer(_) | End::File if self.fails => {
                found.push("a problem is recorded, and the operation answered".to_owned());
            }
            End::Answer(now) => {
                if let (Some(recorded), Ok(now)) = (self.answer, serde_json::from_str::<Value>(now))
                    && !same(&recorded, &now)
                {
                    found.push(format!("the answer differs: recorded {recorded}, now {now}"));
                }
            }
            End::File | End::Failed(_) => {}
        }
        found
    }
}

impl End {
    /// The end of an operation whose request the gateway sends itself.
    #[must_use]
    pub fn forwarded(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        match status {
            200..=299 if text.trim().is_empty() => Self::Answer("{}".to_owned()),
            200..=299 => Self::Answer(text.into_owned()),
            _ => Self::Failed(format!("The service answered with status {status}.")),
        }
    }
}

impl RecordedRequest {
    fn is(&self, asked: &Asked) -> bool {
        let same_body = match (&self.body, &asked.body) {
            (Some(recorded), Some(sent)) => recorded.is(sent),
            (recorded, sent) => recorded.is_none() && sent.is_none(),
        };
        self.method.eq_ignore_ascii_case(&asked.method)
            && self.upstream == asked.upstream
            && self.path == asked.path
            && self.link == asked.link
            && same_body
    }
}

impl RecordedBody {
    fn into_bytes(self) -> Result<Vec<u8>, String> {
        match self {
            Self::Json(json) => Ok(compact(json.get()).into_bytes()),
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Base64(text) => STANDARD.decode(text).map_err(|error| error.to_string()),
            Self::Form(_) => Err("an answer has no `form`".to_owned()),
            Self::Multipart(_) => Err("an answer has no `multipart`".to_owned()),
        }
    }

    fn is(&self, sent: &Body) -> bool {
        let bytes = match sent {
            Body::Parts(sent) => {
                let sent: Vec<Part> = sent.iter().map(Part::recorded).collect();
                return matches!(self, Self::Multipart(parts) if *parts == sent);
            }
            Body::Form(sent) => return matches!(self, Self::Form(fields) if fields == sent),
            Body::Json(text) => text.as_bytes(),
            Body::Bytes(bytes) => bytes,
        };
        match self {
            Self::Json(recorded) => match (serde_json::from_str(recorded.get()), serde_json::from_slice(bytes)) {
                (Ok(recorded), Ok(sent)) => same(&recorded, &sent),
                _ => false,
            },
            Self::Text(text) => text.as_bytes() == bytes,
            Self::Base64(text) => STANDARD.encode(bytes) == *text,
            Self::Form(_) | Self::Multipart(_) => false,
        }
    }
}

impl Part {
    /// The part as the gateway records it: a field as text, and a file in base64.
    fn recorded(&self) -> Self {
        let decoded = || self.base64.as_ref().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
        let bytes = self.text.as_ref().map_or_else(decoded, |text| text.clone().into_bytes());
        let is_file = self.file_name.is_some();
        let text = std::str::from_utf8(&bytes).ok().filter(|_| !is_file).map(str::to_owned);
        Self {
            name: self.name.clone(),
            file_name: self.file_name.clone(),
            content_type: self.content_type.clone().or_else(|| is_file.then(|| multipart::OF_FILE.to_owned())),
            base64: text.is_none().then(|| STANDARD.encode(&bytes)),
            text,
        }
    }
}

impl fmt::Display for RecordedRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.path.as_deref().or(self.link.as_deref()).unwrap_or_default();
        write!(formatter, "{} {} {target}", self.method, self.upstream)
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.path.as_deref().or(self.link.as_deref()).unwrap_or_default();
        write!(formatter, "{} {} {target}", self.method.to_uppercase(), self.upstream)?;
        match &self.body {
            None => Ok(()),
            Some(Body::Json(text)) => write!(formatter, " with the body {text}"),
            Some(Body::Form(fields)) => write!(formatter, " with the body {}", json!(fields)),
            Some(Body::Parts(parts)) => write!(formatter, " with the body of {} parts", parts.len()),
            Some(Body::Bytes(bytes)) => write!(formatter, " with the body of {} bytes", bytes.len()),
        }
    }
}

/// Compares two values. Numbers may be written in different ways.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, value)| b.get(name).is_some_and(|found| same(value, found)))
        }
        _ => one == other,
    }
}
