//! Jobs: the operations that a caller runs in the background.

use bytes::Bytes;
use hyper::Response;
use serde_json::json;

use body::Body;
use endpoint::answer::{private_answer, private_text};
use endpoint::authorize::AuthorizedCaller;
use endpoint::lists::{Field, Filter, List, Parse, filter, put, read};
use endpoint::page;
use endpoint::records::{JobCancelledRecord, JobPageRecord};
use endpoint::route::HttpCall;
use jobs::job_problem;
use problem::{self, Problem};
use store::JobStatus;

/// The list of the caller's jobs.
#[derive(Clone, Copy, Debug)]
pub struct OwnJobs;

/// Selects a page of the caller's jobs.
#[derive(Debug, Default)]
pub struct OwnJobsQuery {
    status: Option<JobStatus>,
    /// The id of the last job of the previous page.
    before: Option<String>,
    limit: u32,
}

impl List for OwnJobs {
    type Query = OwnJobsQuery;

    const FILTERS: &'static [Filter<OwnJobsQuery>] =
        &[filter("status", "Only jobs in this state.").schema("JobStatus").one_of(
            || JobStatus::ALL.map(JobStatus::name).into(),
            |query, name| query.status = JobStatus::ALL.into_iter().find(|status| status.name() == name),
        )];

    const LIMIT: Field<OwnJobsQuery, u32> = |query| &mut query.limit;
    const CURSOR: Parse<OwnJobsQuery> = |query, cursor| put(&mut query.before, page::job(cursor).map(Some));
}

/// GET /jobs: a page of the caller's own jobs, the newest first.
pub async fn list_jobs(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let OwnJobsQuery { status, before, limit } = read::<OwnJobs>(call.head.uri.query().unwrap_or_default())?;
    let listed = call.gateway.jobs.list(caller.jobs(), status, before, limit).await;
    let listed = listed.map_err(job_problem)?;
    let listed = JobPageRecord { jobs: listed.jobs, next_cursor: listed.next_cursor };
    let page = serde_json::to_vec(&listed).map_err(|error| job_problem(error.into()))?;
    Ok(private_text(Bytes::from(page)))
}

/// GET /jobs/{job_id}.
pub async fn get_job(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let id = call.arguments.job_id;
    let found = call.gateway.jobs.get(caller.jobs(), id).await.map_err(job_problem)?;
    found.map(private_text).ok_or_else(|| unknown_job(id))
}

/// DELETE /jobs/{job_id}: cancels the job.
pub async fn cancel_job(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let id = call.arguments.job_id;
    let cancelled = call.gateway.jobs.cancel(caller.jobs(), id).await.map_err(job_problem)?;
    let cancelled = cancelled.ok_or_else(|| unknown_job(id))?;
    Ok(private_answer(&json!(JobCancelledRecord { cancelled })))
}

fn unknown_job(id: &str) -> Problem {
    problem::UNKNOWN_JOB.with_detail(format!(
        "There is no job `{id}`. A job is removed some time after its end (`expires_at`); GET /jobs lists yours."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_list_is_read() {
        let query = read::<OwnJobs>("status=failed&cursor=job_0a&limit=200").unwrap();
        assert_eq!(
            (query.status, query.before.as_deref(), query.limit),
            (Some(JobStatus::Failed), Some("job_0a"), 200)
        );
    }

    #[test]
    fn every_mistake_of_a_query_is_told() {
        let query = "status=done&limit=0&cursor=k&state=failed";
        assert_eq!(read::<OwnJobs>(query).unwrap_err().pointers(), ["/status", "/limit", "/cursor", "/state"]);
        assert!(read::<OwnJobs>("cursor=").is_err());
    }
}
