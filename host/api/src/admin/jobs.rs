//! The operator's routes of jobs of all tenants.

use bytes::Bytes;
use hyper::Response;
use serde_json::json;

use crate::answer::{private_answer, private_text};
use crate::page;
use crate::records::{AnyJobPageRecord, JobCancelledRecord};
use crate::route::HttpCall;
use body::Body;
use jobs::job_problem;
use problem::{self, Problem, read_query};
use store::{AnyJobFilter, JobStatus};

/// The parameters of the list.
const PARAMETERS: [&str; 5] = ["limit", "cursor", "status", "tenant", "subject"];

/// GET /admin/jobs: a page of the jobs of all tenants, the newest first.
pub(crate) async fn list_jobs(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = parse_query(call.head.uri.query().unwrap_or_default())?;
    let listed = call.gateway.jobs.list_all(filter).await.map_err(job_problem)?;
    let page = AnyJobPageRecord { jobs: listed.jobs, next_cursor: listed.next_cursor };
    let page = serde_json::to_vec(&page).map_err(|error| job_problem(error.into()))?;
    Ok(private_text(Bytes::from(page)))
}

/// GET /admin/jobs/{job_id}.
pub(crate) async fn get_job(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.job_id;
    let found = call.gateway.jobs.get_any(id).await.map_err(job_problem)?;
    found.map(private_text).ok_or_else(|| unknown(id))
}

/// DELETE /admin/jobs/{job_id}: cancels the job.
pub(crate) async fn cancel_job(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.job_id;
    let cancelled = call.gateway.jobs.cancel_any(id).await.map_err(job_problem)?.ok_or_else(|| unknown(id))?;
    Ok(private_answer(&json!(JobCancelledRecord { cancelled })))
}

fn unknown(id: &str) -> Problem {
    problem::UNKNOWN_JOB.with_detail(format!(
        "There is no job `{id}`. A job is removed some time after its end (`expires_at`); GET /admin/jobs lists those of all tenants."
    ))
}

fn parse_query(query: &str) -> Result<AnyJobFilter, Problem> {
    let mut filter = AnyJobFilter { limit: page::DEFAULT_LIMIT, ..AnyJobFilter::default() };
    read_query(query, &PARAMETERS, |name, value| {
        match name {
            "limit" => filter.limit = page::limit(value)?,
            "cursor" => {
                let is_id = |id: &str| id.bytes().all(|byte| byte.is_ascii_hexdigit());
                if !value.strip_prefix("job_").is_some_and(is_id) {
                    return Err("Must be the `next_cursor` of the previous page.".to_owned());
                }
                filter.before = Some(value.to_owned());
            }
            "tenant" => filter.tenant = Some(value.to_owned()),
            "subject" => filter.subject = Some(value.to_owned()),
            "status" => filter.status = Some(page::one_of(value, &JobStatus::ALL, JobStatus::name)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(filter)
}
