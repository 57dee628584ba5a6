//! The operator's routes of jobs of all tenants.

use bytes::Bytes;
use hyper::Response;
use serde_json::json;

use body::Body;
use endpoint::answer::{private_answer, private_text};
use endpoint::lists::{Field, Filter, List, Parse, filter, put, read};
use endpoint::page;
use endpoint::records::{AnyJobPageRecord, JobCancelledRecord};
use endpoint::route::HttpCall;
use jobs::job_problem;
use problem::{self, Problem};
use store::{AnyJobFilter, JobStatus};

/// The list of jobs of all tenants.
#[derive(Clone, Copy, Debug)]
pub struct AnyJobs;

impl List for AnyJobs {
    type Query = AnyJobFilter;

    const FILTERS: &'static [Filter<AnyJobFilter>] = &[
        filter("status", "Only jobs in this state.").schema("JobStatus").one_of(
            || JobStatus::ALL.map(JobStatus::name).into(),
            |filter, name| filter.status = JobStatus::ALL.into_iter().find(|status| status.name() == name),
        ),
        filter("tenant", "Only jobs of this tenant.").text(|filter| &mut filter.tenant),
        filter("subject", "Only jobs of this user. Empty for those without a user.").text(|filter| &mut filter.subject),
        filter("connector", "Only jobs of this connector.").text(|filter| &mut filter.connector),
        filter("operation", "Only jobs of operations with this path.").text(|filter| &mut filter.operation),
    ];

    const LIMIT: Field<AnyJobFilter, u32> = |filter| &mut filter.limit;
    const CURSOR: Parse<AnyJobFilter> = |filter, cursor| put(&mut filter.before, page::job(cursor).map(Some));
}

/// GET /admin/jobs: a page of the jobs of all tenants, the newest first.
pub async fn list_jobs(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = read::<AnyJobs>(call.head.uri.query().unwrap_or_default())?;
    let listed = call.gateway.jobs.list_all(filter).await.map_err(job_problem)?;
    let page = AnyJobPageRecord { jobs: listed.jobs, next_cursor: listed.next_cursor };
    let page = serde_json::to_vec(&page).map_err(|error| job_problem(error.into()))?;
    Ok(private_text(Bytes::from(page)))
}

/// GET /admin/jobs/{job_id}.
pub async fn get_job(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.job_id;
    let found = call.gateway.jobs.get_any(id).await.map_err(job_problem)?;
    found.map(private_text).ok_or_else(|| unknown(id))
}

/// DELETE /admin/jobs/{job_id}: cancels the job.
pub async fn cancel_job(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.job_id;
    let cancelled = call.gateway.jobs.cancel_any(id).await.map_err(job_problem)?.ok_or_else(|| unknown(id))?;
    Ok(private_answer(&json!(JobCancelledRecord { cancelled })))
}

fn unknown(id: &str) -> Problem {
    problem::UNKNOWN_JOB.with_detail(format!(
        "There is no job `{id}`. A job is removed some time after its end (`expires_at`); GET /admin/jobs lists those of all tenants."
    ))
}
