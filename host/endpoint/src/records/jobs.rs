//! Answers of the routes of jobs, and of operations that run in the background.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use jobs::JobRecord;
use store::JobStatus;

/// The operation runs in the background.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JobAccepted")]
pub struct JobAcceptedRecord {
    pub job_id: String,
    #[schemars(extend("const" = JobStatus::Pending.name()))]
    pub status: &'static str,
    /// The path of the job: `/jobs/{job_id}`.
    pub href: String,
}

/// A page of jobs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JobPage")]
pub struct JobPageRecord {
    /// Without `result` and `callbacks`, which GET /jobs/{job_id} has.
    #[schemars(with = "Vec<JobRecord>")]
    pub jobs: Vec<Box<RawValue>>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The answer to a cancellation.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JobCancelled")]
pub struct JobCancelledRecord {
    /// `false` if the job had ended before.
    pub cancelled: bool,
}
