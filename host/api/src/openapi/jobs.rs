//! The routes of jobs.

use serde_json::{Value, json};

use super::gateway::{describe_answer, with_problems};
use super::schemas::reference;

/// Members of GET /jobs.
pub(crate) fn describe_list() -> Value {
    let mut members = with_problems(describe_answer("A page of jobs.", reference("JobPage")), &["422"]);
    members["parameters"] = json!([
        {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}},
        {"name": "cursor", "in": "query", "schema": {"type": "string", "pattern": "^job_[0-9A-Fa-f]+$"}, "description": "The `next_cursor` of the previous page."},
        {"name": "status", "in": "query", "schema": reference("JobStatus")},
    ]);
    members
}
