//! The routes of jobs.

use serde_json::{Map, Value, json};

use super::gateway::{ok, or};
use super::schemas::reference;

/// Members of GET /jobs.
pub(in crate::api) fn list() -> Value {
    let mut members = or(ok("A page of jobs.", reference("JobPage")), &["422"]);
    members["parameters"] = json!([
        {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}},
        {"name": "cursor", "in": "query", "schema": {"type": "string", "pattern": "^job_[0-9A-Fa-f]+$"}, "description": "The `next_cursor` of the page before."},
        {"name": "status", "in": "query", "schema": reference("JobStatus")},
    ]);
    members
}

/// Members of GET /jobs/{job_id}.
pub(in crate::api) fn get() -> Value {
    ok("The job.", reference("Job"))
}

/// Members of DELETE /jobs/{job_id}.
pub(in crate::api) fn cancel() -> Value {
    ok("A cancelled job has failed with the problem `cancelled`.", reference("JobCancelled"))
}

/// The schemas that these routes use.
pub(super) fn schemas() -> Map<String, Value> {
    let text = json!({"type": "string"});
    let time = json!({"type": "string", "format": "date-time"});
    let maybe_time =
        |description: &str| json!({"type": ["string", "null"], "format": "date-time", "description": description});
    let mut schemas = Map::new();
    schemas.insert(
        "JobStatus".to_owned(),
        json!({"type": "string", "enum": ["pending", "running", "succeeded", "failed"]}),
    );
    schemas.insert(
        "JobAccepted".to_owned(),
        json!({
            "type": "object", "required": ["job_id", "status", "href"],
            "description": "The operation runs in the background.",
            "properties": {
                "job_id": text, "status": {"type": "string", "const": "pending"},
                "href": {"type": "string", "description": "The path of the job: `/jobs/{job_id}`."},
            },
        }),
    );
    schemas.insert("Job".to_owned(), json!({
        "type": "object",
        "required": [
            "job_id", "connector", "operation", "status", "progress", "error", "created_at", "started_at", "finished_at",
            "expires_at",
        ],
        "properties": {
            "job_id": text, "connector": text, "operation": text,
            "status": reference("JobStatus"),
            "progress": {"anyOf": [reference("JobProgress"), {"type": "null"}]},
            "result": {"description": "The answer that a waiting caller would have got; null until the job has succeeded."},
            "error": {"anyOf": [
                reference("ValidationProblem"), reference("AccountProblem"), reference("ConflictProblem"), reference("Problem"),
                {"type": "null"},
            ]},
            "callbacks": {"type": "array", "items": reference("JobCallback")},
            "created_at": time,
            "started_at": maybe_time("The time at which the job first ran."),
            "finished_at": maybe_time("The time of its end."),
            "expires_at": maybe_time("The time at which it is removed; null until it has ended."),
        },
    }));
    let more = [
        (
            "JobProgress",
            json!({
                "type": "object", "required": ["fraction", "message"],
                "description": "The part that is done, if the connector reports it, until the job ends.",
                "properties": {"fraction": {"type": "number", "minimum": 0, "maximum": 1}, "message": text},
            }),
        ),
        (
            "JobCallback",
            json!({
                "type": "object", "required": ["url", "webhook_id", "status", "attempts"],
                "description": "A URL that is told of the end of the job.",
                "properties": {
                    "url": {"type": "string", "format": "uri"}, "webhook_id": text,
                    "status": {"type": "string", "enum": ["pending", "delivered", "failed"]},
                    "attempts": {"type": "array", "items": reference("JobCallbackAttempt")},
                },
            }),
        ),
        (
            "JobCallbackAttempt",
            json!({
                "type": "object", "required": ["at"],
                "properties": {"at": time, "status": {"type": "integer"}, "error": text},
            }),
        ),
        (
            "JobPage",
            json!({
                "type": "object", "required": ["jobs", "next_cursor"],
                "properties": {
                    "jobs": {
                        "type": "array", "items": reference("Job"),
                        "description": "Without `result` and `callbacks`, which GET /jobs/{job_id} has.",
                    },
                    "next_cursor": {"type": ["string", "null"], "description": "The `cursor` of the next page; null on the last page."},
                },
            }),
        ),
        (
            "JobCancelled",
            json!({
                "type": "object", "required": ["cancelled"],
                "properties": {"cancelled": {"type": "boolean", "description": "`false` if the job had ended before."}},
            }),
        ),
    ];
    schemas.extend(more.map(|(name, schema)| (name.to_owned(), schema)));
    schemas
}
