//! The routes of jobs.

use serde_json::{Map, Value, json};

use super::gateway::ok;

/// Members of GET /jobs.
pub(in crate::api) fn list() -> Value {
    let schema = json!({
        "type": "object", "required": ["jobs", "next_cursor"],
        "properties": {
            "jobs": {
                "type": "array", "items": {"$ref": "#/components/schemas/Job"},
                "description": "Without `result` and `callbacks`, which GET /jobs/{job_id} has.",
            },
            "next_cursor": {"type": ["string", "null"], "description": "The `cursor` of the next page; null on the last page."},
        },
    });
    let mut members = ok("A page of jobs.", schema);
    members["parameters"] = json!([
        {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}},
        {"name": "cursor", "in": "query", "schema": {"type": "string"}, "description": "The `next_cursor` of the page before."},
        {"name": "status", "in": "query", "schema": {"$ref": "#/components/schemas/JobStatus"}},
    ]);
    members["responses"]["422"] = json!({"$ref": "#/components/responses/ValidationError"});
    members
}

/// Members of GET /jobs/{job_id}.
pub(in crate::api) fn get() -> Value {
    ok("The job.", json!({"$ref": "#/components/schemas/Job"}))
}

/// Members of DELETE /jobs/{job_id}.
pub(in crate::api) fn cancel() -> Value {
    let schema = json!({
        "type": "object", "required": ["cancelled"],
        "properties": {"cancelled": {"type": "boolean", "description": "`false` if the job had ended before."}},
    });
    ok("A cancelled job has failed with the problem `cancelled`.", schema)
}

/// The schemas that these routes use.
pub(super) fn schemas() -> Map<String, Value> {
    let text = json!({"type": "string"});
    let time = json!({"type": "string", "format": "date-time"});
    let maybe_time =
        |description: &str| json!({"type": ["string", "null"], "format": "date-time", "description": description});
    let mut schemas = Map::new();
    schemas.insert("JobStatus".to_owned(), json!({"enum": ["pending", "running", "succeeded", "failed"]}));
    schemas.insert(
        "JobAccepted".to_owned(),
        json!({
            "type": "object", "required": ["job_id", "status", "href"],
            "description": "The operation runs in the background.",
            "properties": {
                "job_id": text, "status": {"const": "pending"},
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
            "status": {"$ref": "#/components/schemas/JobStatus"},
            "progress": {
                "type": ["object", "null"], "required": ["fraction", "message"],
                "description": "The part that is done, if the connector reports it, until the job ends.",
                "properties": {"fraction": {"type": "number", "minimum": 0, "maximum": 1}, "message": text},
            },
            "result": {"description": "The answer that a waiting caller would have got; null until the job has succeeded."},
            "error": {"anyOf": [{"$ref": "#/components/schemas/Problem"}, {"type": "null"}]},
            "callbacks": {"type": "array", "items": {
                "type": "object", "required": ["url", "webhook_id", "status", "attempts"],
                "properties": {
                    "url": {"type": "string", "format": "uri"}, "webhook_id": text,
                    "status": {"enum": ["pending", "delivered", "failed"]},
                    "attempts": {"type": "array", "items": {
                        "type": "object", "required": ["at"],
                        "properties": {"at": time, "status": {"type": "integer"}, "error": text},
                    }},
                },
            }},
            "created_at": time,
            "started_at": maybe_time("The time at which the job first ran."),
            "finished_at": maybe_time("The time of its end."),
            "expires_at": maybe_time("The time at which it is removed; null until it has ended."),
        },
    }));
    schemas
}
