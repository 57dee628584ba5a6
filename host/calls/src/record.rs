//! The parts of a record that are stored as JSON.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::path::Values;
use egress::SentAttempt;

/// How an idempotency key was used.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallIdempotency {
    /// The call ran.
    First,
    /// It got the answer of an earlier call.
    Replayed,
}

impl CallIdempotency {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Replayed => "replayed",
        }
    }
}

/// An attempt to send a request to an upstream.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UpstreamCall")]
pub struct UpstreamCallRecord {
    method: String,
    host: String,
    /// The path without its values: each is replaced by the name of the body's member that has it,
    /// and others by `{…}`. In a request around the operations, every part may be a value.
    path: String,
    /// Null if there was no response.
    status: Option<u16>,
    /// 1 for the first attempt of a request, 2 for its first retry, and so on.
    attempt: u32,
    /// Time to the head of the response in milliseconds.
    ms: f64,
    /// Time before the attempt, in the queue of the upstream or before a retry.
    paused_ms: f64,
}

/// The stages of a call as a JSON object.
pub(super) fn stages_json(stages: impl Iterator<Item = (&'static str, Duration)>) -> String {
    let members = stages.map(|(name, time)| format!("\"{name}\":{}", millis(time)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// The requests of a call with this body, as a JSON list. `None` if the caller has composed the
/// request.
pub(super) fn upstream_json(attempts: &[SentAttempt], body: Option<&[u8]>) -> String {
    if attempts.is_empty() {
        return "[]".to_owned();
    }
    let values = Values::of_body(body);
    let record = |attempt: &SentAttempt| {
        let (base, rest) = attempt.path();
        UpstreamCallRecord {
            method: attempt.method.to_string(),
            host: attempt.host().to_owned(),
            path: values.mask(base, rest),
            status: attempt.status,
            attempt: attempt.attempt,
            ms: millis(attempt.took),
            paused_ms: millis(attempt.paused),
        }
    };
    // Texts and numbers can always be written as JSON.
    serde_json::to_string(&attempts.iter().map(record).collect::<Vec<_>>()).unwrap_or_else(|_| "[]".to_owned())
}

fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}
