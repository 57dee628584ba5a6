//! Tests of operations against recordings, which `connector-gateway connectors call --record`
//! writes. The crate `rows` compares the call with the recording.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rows::recording::{self, Asked, End, Recording};

use super::{Answer, Gateway, host, invoke};
use crate::http::{Body, Request};
use crate::multipart::{Content, Part};
use crate::table::Connector;
use crate::{Fault, Outcome};

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
    let text = fs::read_to_string(file).map_err(|error| error.to_string());
    let differences = match text.and_then(|text| Recording::read(&text)) {
        Ok(recording) => differences(connector, recording),
        Err(why) => vec![why],
    };
    if !differences.is_empty() {
        panic!("{file}: {}", differences.join("\n  "));
    }
}

fn differences(connector: &Connector, recording: Recording) -> Vec<String> {
    let operation = recording.operation.clone();
    if !connector.operations.iter().any(|known| known.path == operation) {
        let connector = connector.identifier;
        return vec![format!(
            "{connector} has no operation {operation}; delete the recording, or name another operation in it"
        )];
    }
    let mut gateway = Gateway::new();
    for (name, value) in &recording.settings {
        gateway = gateway.setting(name, value);
    }
    let input = recording.input.clone();
    gateway.state.borrow_mut().recorded = Some(recording);
    let ended = invoke(connector, &operation, &input).and_then(end);
    let ended = ended.unwrap_or_else(|fault| End::Failed(format!("{fault:?}")));
    let recording = gateway.state.borrow_mut().recorded.take();
    recording.map(|recording| recording.differences(&ended)).unwrap_or_default()
}

fn end(outcome: Outcome) -> Result<End, Fault> {
    Ok(match outcome {
        Outcome::Reply(text) => End::Answer(text),
        Outcome::ReplyDocument(document) => End::Answer(document.text()),
        Outcome::File(_) => End::File,
        Outcome::Forward(request) => {
            let response = host::http::send(request)?;
            End::forwarded(response.status(), &response.bytes()?)
        }
    })
}

/// A request as recordings have it. If the body is a form with files, `parts` are the fields and files
/// of the form.
pub(super) fn asked(request: &Request, parts: Option<&[Part]>) -> Asked {
    let link = request.link.as_ref().map(|link| link.address().to_owned());
    Asked {
        method: format!("{:?}", request.method).replace("Method::", ""),
        upstream: request.upstream.clone(),
        path: link.is_none().then(|| request.path.clone()),
        link,
        body: request.body.as_ref().map(|body| match (parts, body) {
            (Some(parts), _) => recording::Body::Parts(parts.iter().map(part).collect()),
            (None, Body::Json(text)) => recording::Body::Json(text.clone()),
            (None, Body::Form(fields)) => recording::Body::Form(fields.clone()),
            (None, Body::Bytes(typed)) => recording::Body::Bytes(typed.bytes.clone()),
        }),
    }
}

fn part(part: &Part) -> recording::Part {
    let (text, base64) = match &part.content {
        Content::Text(text) => (Some(text.clone()), None),
        Content::Bytes(bytes) => (None, Some(STANDARD.encode(bytes))),
        Content::Base64(text) => (None, Some(text.clone())),
    };
    recording::Part {
        name: part.name.clone(),
        file_name: part.file_name.clone(),
        content_type: part.content_type.clone(),
        text,
        base64,
    }
}

impl From<recording::Answer> for Answer {
    fn from(answer: recording::Answer) -> Self {
        let recording::Answer { status, headers, body } = answer;
        Self { status, headers, body }
    }
}
