//! Jobs: the operations that a caller runs in the background.

use bytes::Bytes;
use hyper::Response;
use serde_json::json;

use super::answer::{private_answer, private_text};
use super::authorize::AuthorizedCaller;
use super::lists::{Field, Filter, List, Parse, filter, put, read};
use super::records::{JobCancelledRecord, JobPageRecord};
use super::route::HttpCall;
use body::Body;
use jobs::job_problem;
use problem::{self, Problem};
use store::JobStatus;

/// The list of the caller's jobs.
pub(super) struct OwnJobs;

/// Selects a page of the caller's jobs.
#[derive(Debug, Default)]
pub(super) struct OwnJobsQuery {
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
    const CURSOR: Parse<OwnJobsQuery> = |query, cursor| put(&mut query.before, last_job(cursor).map(Some));
}

/// GET /jobs: a page of the caller's own jobs, the newest first.
pub(super) async fn list_jobs(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let OwnJobsQuery { status, before, limit } = read::<OwnJobs>(call.head.uri.query().unwrap_or_default())?;
    let listed = call.gateway.jobs.list(caller.jobs(), status, before, limit).await;
    let listed = listed.map_err(job_problem)?;
    let page = JobPageRecord { jobs: listed.jobs, next_cursor: listed.next_cursor };
    let page = serde_json::to_vec(&page).map_err(|error| job_problem(error.into()))?;
    Ok(private_text(Bytes::from(page)))
}

/// GET /jobs/{job_id}.
pub(super) async fn get_job(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let id = call.arguments.job_id;
    let found = call.gateway.jobs.get(caller.jobs(), id).await.map_err(job_problem)?;
    found.map(private_text).ok_or_else(|| unknown_job(id))
}

/// DELETE /jobs/{job_id}: cancels the job.
pub(super) async fn cancel_job(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
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

/// The cursor of a list of jobs: the id of the last job of the previous page.
pub(super) fn last_job(cursor: &str) -> Result<String, String> {
    let digits = cursor.strip_prefix("job_").filter(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    digits.map(|_| cursor.to_owned()).ok_or_else(|| "Must be the `next_cursor` of the previous page.".to_owned())
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
