//! State that may outlive an invocation, and state that must not.

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::bindings::gateway::connector::json::{Document, Kind};
use crate::bindings::gateway::connector::outcome::Outcome;
use crate::bindings::gateway::connector::{clock, config, random as generator, storage};
use crate::{Answer, reply, text};

static INVOCATIONS: AtomicU32 = AtomicU32::new(0);
static NOTES: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];

/// Writes to every kind of memory that a guest has, and replies with the values that it found there
/// before.
pub(crate) fn keep_state(_: &Value) -> Answer {
    let invocations = INVOCATIONS.fetch_add(1, Ordering::Relaxed);
    let notes = NOTES.iter().filter(|note| note.swap(0xa5, Ordering::Relaxed) != 0).count();
    // New pages come from the gateway, which promises zeros. The guest does not clear them.
    let mut grown = black_box(vec![0_u8; 4 << 20]);
    let remains = grown.iter().filter(|byte| **byte != 0).count();
    grown.fill(0xa5);
    black_box(&grown);
    reply(&json!({"invocations": invocations, "notes": notes, "remains": remains}))
}

/// Sleeps for `milliseconds`, `count` times, and replies with the time that has passed.
pub(crate) fn sleep(input: &Value) -> Answer {
    let began = clock::now();
    for _ in 0..input["count"].as_u64().unwrap_or(1) {
        clock::sleep(input["milliseconds"].as_u64().unwrap_or(u64::MAX));
    }
    reply(&json!({"passed": clock::now() - began}))
}

/// Replies with `count` random bytes, or with the error.
pub(crate) fn random(input: &Value) -> Answer {
    let count = input["count"].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(u32::MAX);
    match generator::bytes(count) {
        Ok(bytes) => reply(&json!({"bytes": bytes})),
        Err(error) => reply(&json!({"error": error})),
    }
}

/// Runs `steps`, each `[verb, key, value?, seconds?]`, and replies with the result of each.
pub(crate) fn storage(input: &Value) -> Answer {
    let steps = input["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let results: Vec<Value> = steps.iter().map(step).collect();
    reply(&json!({"results": results, "now": clock::now()}))
}

fn step(step: &Value) -> Value {
    let key = step[1].as_str().unwrap_or_default();
    let seconds = step[3].as_u64().and_then(|seconds| u32::try_from(seconds).ok());
    match step[0].as_str().unwrap_or_default() {
        "get" => match storage::get(key) {
            Ok(Some(value)) => String::from_utf8_lossy(&value).into(),
            Ok(None) => Value::Null,
            Err(error) => named(&error),
        },
        "set" => done(storage::set(key, step[2].as_str().unwrap_or_default().as_bytes(), seconds)),
        "set_large" => done(storage::set(
            key,
            &vec![b'x'; usize::try_from(step[2].as_u64().unwrap_or_default()).unwrap_or_default()],
            seconds,
        )),
        "set_many" => {
            let count = step[2].as_u64().unwrap_or_default();
            let stored =
                (0..count).take_while(|number| storage::set(&format!("{key}{number}"), b"x", None).is_ok()).count();
            json!(stored)
        }
        "delete" => done(storage::delete(key)),
        other => json!(format!("no verb {other}")),
    }
}

fn done(result: Result<(), storage::Error>) -> Value {
    result.map_or_else(|error| named(&error), |()| json!(true))
}

fn named(error: &storage::Error) -> Value {
    match error {
        storage::Error::Invalid(_) => json!({"error": "invalid"}),
        storage::Error::Full => json!({"error": "full"}),
        storage::Error::Unavailable(_) => json!({"error": "unavailable"}),
    }
}

/// Replies with the setting `key`.
pub(crate) fn setting(input: &Value) -> Answer {
    let setting = config::get(text(input, "key"));
    reply(&json!({"setting": setting.and_then(|text| serde_json::from_str::<Value>(&text).ok())}))
}

/// Has the gateway parse `json`, and replies with a description of the value at `pointer`. With
/// `reply` the value is the answer.
pub(crate) fn document(input: &Value) -> Answer {
    let document = match Document::parse(text(input, "json")) {
        Ok(document) => document,
        Err(error) => return reply(&json!({"error": error})),
    };
    let Some(part) = document.pointer(text(input, "pointer")) else {
        return reply(&json!({"part": null}));
    };
    if input["reply"] == true {
        return Ok(Outcome::ReplyDocument(part));
    }
    let kind = match part.kind() {
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Object => "object",
    };
    reply(&json!({
        "kind": kind,
        "length": part.length(),
        "keys": part.keys(),
        "first": part.item(0).map(|item| item.text()),
        "text": part.text(),
        "string": part.as_string(),
    }))
}
