//! Tests of operations against recordings, which `connector-gateway connectors call --record`
//! writes.

use std::collections::BTreeMap;
use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contract_rules::multipart;
use rows::reader::compact;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Answer, Gateway, host, invoke};
use crate::http::{Body, Error, Request};
use crate::multipart::{Content, Part};
use crate::table::Connector;
use crate::{Fault, Outcome};

/// The format of recordings that this SDK reads.
const FORMAT: u32 = 1;

#[derive(Deserialize)]
struct Version {
    format: u32,
}

#[derive(Deserialize)]
struct Recording {
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

/// A recorded request and its response.
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
    Multipart(Vec<RecordedPart>),
    Text(String),
    Base64(String),
}

/// A part of a form with files.
#[derive(Deserialize, PartialEq, Eq)]
struct RecordedPart {
    name: String,
    file_name: Option<String>,
    content_type: Option<String>,
    text: Option<String>,
    base64: Option<String>,
}

/// The responses of a recording that no request has used yet.
pub(super) struct Responses {
    left: Vec<Exchange>,
    differences: Vec<String>,
}

/// Runs the operation of a recording, answers its requests from the recording, and checks that it
/// sends the recorded requests and ends as recorded. The content of a file is not compared. For a
/// recorded problem, it only checks that the operation fails.
///
/// `file` is a path in the folder of the crate, for example `recordings/get_word.json`.
///
/// # Panics
/// If the operation does not do the same as the recorded call. The message has the differences.
#[expect(clippy::panic, reason = "a failed expectation of a test")]
pub fn replay(connector: &Connector, file: &str) {
    let differences = match read(file) {
        Ok(recording) => differences(connector, recording),
        Err(why) => vec![why],
    };
    if !differences.is_empty() {
        panic!("{file}: {}", differences.join("\n  "));
    }
}

fn read(file: &str) -> Result<Recording, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let unreadable = |error: serde_json::Error| format!("it is not a recording: {error}");
    match serde_json::from_str(&text).map_err(unreadable)? {
        Version { format: FORMAT } => serde_json::from_str(&text).map_err(unreadable),
        Version { format } => {
            Err(format!("it has the format {format}, and this SDK reads format {FORMAT}; record it again"))
        }
    }
}

fn differences(connector: &Connector, recording: Recording) -> Vec<String> {
    let Recording { operation, input, settings, exchanges, answer, problem } = recording;
    if !connector.operations.iter().any(|known| known.path == operation) {
        let connector = connector.identifier;
        return vec![format!(
            "{connector} has no operation {operation}; delete the recording, or name another operation in it"
        )];
    }
    let mut gateway = Gateway::new();
    for (name, value) in &settings {
        gateway = gateway.setting(name, value.get());
    }
    gateway.state.borrow_mut().recorded = Some(Responses { left: exchanges, differences: Vec::new() });
    let ended = invoke(connector, &operation, &compact(input.get())).and_then(answered);
    let recorded = gateway.state.borrow_mut().recorded.take();
    let mut differences = Vec::new();
    if let Some(Responses { left, differences: met }) = recorded {
        differences = met;
        let unsent =
            left.iter().map(|exchange| format!("the recording has a request that was not sent: {}", exchange.request));
        differences.extend(unsent);
    }
    match (ended, answer, problem) {
        _ if !differences.is_empty() => {}
        (Ok(Some(now)), Some(recorded), _) if !same(&recorded, &now) => {
            differences.push(format!("the answer differs: recorded {recorded}, now {now}"));
        }
        (Ok(_), _, Some(_)) => differences.push("a problem is recorded, and the operation answered".to_owned()),
        (Err(fault), _, None) => {
            differences.push(format!("an answer is recorded, and the operation failed: {fault:?}"));
        }
        _ => {}
    }
    differences
}

/// The answer of an outcome. `None` for a file.
fn answered(outcome: Outcome) -> Result<Option<Value>, Fault> {
    let text = match outcome {
        Outcome::Reply(text) => text,
        Outcome::ReplyDocument(document) => document.text(),
        Outcome::File(_) => return Ok(None),
        Outcome::Forward(request) => {
            let response = host::http::send(request)?;
            let body = response.text()?;
            match response.status() {
                200..=299 if body.trim().is_empty() => "{}".to_owned(),
                200..=299 => body,
                status => return Err(Fault::upstream(status, format!("The service answered with status {status}."))),
            }
        }
    };
    // A body that is not JSON is a file.
    Ok(serde_json::from_str(&text).ok())
}

impl Responses {
    /// The answer to a request.
    /// If the body is a form with files, `parts` are the fields and files of the form.
    pub(super) fn take(&mut self, asked: &Request, parts: Option<&[Part]>) -> Result<Answer, Error> {
        let Some(index) = self.left.iter().position(|exchange| exchange.request.is(asked, parts)) else {
            let difference = format!("the recording has no request {}", shown(asked));
            self.differences.push(difference.clone());
            return Err(Error::Denied(difference));
        };
        let RecordedAnswer { status, headers, body } = self.left.remove(index).answer;
        let body = body.map(RecordedBody::into_bytes).transpose().map_err(Error::BadAnswer)?.unwrap_or_default();
        Ok(Answer { status, headers, body })
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

    fn is(&self, sent: &Body, parts: Option<&[Part]>) -> bool {
        if let Some(parts) = parts {
            let parts: Vec<RecordedPart> = parts.iter().map(RecordedPart::of).collect();
            return matches!(self, Self::Multipart(recorded) if *recorded == parts);
        }
        let bytes = match sent {
            Body::Form(sent) => return matches!(self, Self::Form(fields) if fields == sent),
            Body::Json(text) => text.as_bytes(),
            Body::Bytes(typed) => &typed.bytes,
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

impl RecordedPart {
    /// A part as the gateway records it: a field as text, and a file in base64.
    fn of(part: &Part) -> Self {
        let bytes = match &part.content {
            Content::Text(text) => text.as_bytes().to_vec(),
            Content::Bytes(bytes) => bytes.clone(),
            Content::Base64(text) => STANDARD.decode(text).unwrap_or_default(),
        };
        let is_file = part.file_name.is_some();
        let text = String::from_utf8(bytes.clone()).ok().filter(|_| !is_file);
        Self {
            name: part.name.clone(),
            file_name: part.file_name.clone(),
            content_type: part.content_type.clone().or_else(|| is_file.then(|| multipart::OF_FILE.to_owned())),
            base64: text.is_none().then(|| STANDARD.encode(&bytes)),
            text,
        }
    }
}

impl RecordedRequest {
    fn is(&self, asked: &Request, parts: Option<&[Part]>) -> bool {
        let link = asked.link.as_ref().map(|link| link.address());
        let path = link.is_none().then_some(asked.path.as_str());
        let same_body = match (&self.body, &asked.body) {
            (Some(recorded), Some(sent)) => recorded.is(sent, parts),
            (recorded, sent) => recorded.is_none() && sent.is_none(),
        };
        self.method == method(asked)
            && self.upstream == asked.upstream
            && self.path.as_deref() == path
            && self.link.as_deref() == link
            && same_body
    }
}

impl std::fmt::Display for RecordedRequest {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let target = self.path.as_deref().or(self.link.as_deref()).unwrap_or_default();
        write!(out, "{} {} {target}", self.method, self.upstream)
    }
}

fn method(request: &Request) -> String {
    format!("{:?}", request.method).replace("Method::", "").to_uppercase()
}

fn shown(request: &Request) -> String {
    let target = request.link.as_ref().map_or(request.path.as_str(), |link| link.address());
    let text = format!("{} {} {target}", method(request), request.upstream);
    let body = match &request.body {
        None => return text,
        Some(Body::Json(json)) => json.clone(),
        Some(Body::Form(fields)) => format!("{fields:?}"),
        Some(Body::Bytes(typed)) => format!("of {} bytes", typed.bytes.len()),
    };
    text + " with the body " + &body
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
