//! Records of calls.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::problems::ProblemOwner;
use calls::{CallIdempotency, UpstreamCallRecord};
use clock::timestamp::Timestamp;
use store::RecordedCall;

/// A call of an operation, a request around the operations, or a run of a job.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Call")]
pub struct CallRecord {
    /// The id of the request, or of the job.
    pub request_id: String,
    /// The time at which it arrived.
    pub at: Timestamp,
    /// The name of the gateway.
    pub gateway: String,
    pub tenant: String,
    /// The user; null if the caller speaks for its tenant.
    pub subject: Option<String>,
    /// The API key; null if the caller sent a JWT.
    pub key_id: Option<String>,
    pub connector: String,
    /// `proxy` for a request around the operations, `connect` for the connection of an account.
    pub operation: String,
    /// The version of the connector; null if there is no such connector.
    pub version: Option<String>,
    /// The status of the answer; null if the caller did not wait for it.
    pub status: Option<u16>,
    /// The last part of the problem's `type`, or the `error` of a connection that has failed; null
    /// if the call has not failed.
    pub problem: Option<String>,
    /// Who can solve the problem.
    #[schemars(with = "Option<ProblemOwner>")]
    pub owner: Option<String>,
    /// What happened, and what to do.
    pub detail: Option<String>,
    /// JSON Pointers to what is not valid, without the values.
    #[schemars(with = "Vec<String>")]
    pub pointers: Box<RawValue>,
    /// The account; null if none was chosen.
    pub user_identifier: Option<String>,
    /// Time to the head of the answer in milliseconds.
    pub duration_ms: f64,
    /// Time in each stage in milliseconds. The last stage of a call that failed is the one that it
    /// failed in.
    #[schemars(with = "BTreeMap<String, f64>")]
    pub stages: Box<RawValue>,
    /// The last 64 requests to upstreams.
    #[schemars(with = "Vec<UpstreamCallRecord>")]
    pub upstream: Box<RawValue>,
    /// `first` if the call ran under its idempotency key, `replayed` if it got the answer of an
    /// earlier call; null without a key.
    #[schemars(with = "Option<CallIdempotency>")]
    pub idempotency: Option<String>,
    /// The job that it added, or the job that ran.
    pub job_id: Option<String>,
}

/// A page of calls.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CallPage")]
pub struct CallPageRecord {
    pub calls: Vec<CallRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl From<RecordedCall> for CallRecord {
    fn from(call: RecordedCall) -> Self {
        // The gateway has written both texts. A record says much without them too.
        let json = |text: String| RawValue::from_string(text).unwrap_or_default();
        Self {
            request_id: call.request_id,
            at: call.at.into(),
            gateway: call.gateway,
            tenant: call.tenant,
            subject: Some(call.subject).filter(|subject| !subject.is_empty()),
            key_id: call.key_id,
            connector: call.connector,
            operation: call.operation,
            version: call.version,
            status: call.status,
            problem: call.problem,
            owner: call.owner,
            detail: call.detail,
            pointers: json(call.pointers.unwrap_or_else(|| "[]".to_owned())),
            user_identifier: call.user_identifier,
            duration_ms: call.duration_us as f64 / 1000.0,
            stages: json(call.stages),
            upstream: json(call.upstream),
            idempotency: call.idempotency,
            job_id: call.job_id,
        }
    }
}
