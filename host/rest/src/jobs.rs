//! Jobs: the operations that a caller runs in the background.

use bytes::Bytes;
use hyper::Response;
use serde_json::json;

use body::Body;
use endpoint::answer::{private_answer, private_text};
use endpoint::authorize::AuthorizedCaller;
use endpoint::records::{JobCancelledRecord, JobPageRecord};
use endpoint::route::HttpCall;
use jobs::job_problem;
use problem::{self, Problem, read_query};
use store::JobStatus;

/// Jobs in a page, if the caller does not say how many.
const DEFAULT_LIMIT: u32 = 50;

/// Maximum number of jobs in a page.
const MAX_LIMIT: u32 = 200;

/// GET /jobs: a page of the caller's own jobs, the newest first.
pub async fn list_jobs(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let Query { status, cursor, limit } = Query::read(call.head.uri.query().unwrap_or_default())?;
    let listed = call.gateway.jobs.list(caller.jobs(), status, cursor, limit).await;
    let listed = listed.map_err(job_problem)?;
    let page = JobPageRecord { jobs: listed.jobs, next_cursor: listed.next_cursor };
    let page = serde_json::to_vec(&page).map_err(|error| job_problem(error.into()))?;
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

/// The query of a list.
#[derive(Debug, PartialEq, Eq)]
struct Query {
    status: Option<JobStatus>,
    cursor: Option<String>,
    limit: u32,
}

impl Query {
    fn read(query: &str) -> Result<Self, Problem> {
        let mut read = Self { status: None, cursor: None, limit: DEFAULT_LIMIT };
        read_query(query, &["limit", "cursor", "status"], |name, value| read.set(name, value))?;
        Ok(read)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "limit" => {
                let limit = value.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
                self.limit = limit.ok_or_else(|| format!("Must be a whole number from 1 to {MAX_LIMIT}."))?;
            }
            "cursor" => {
                let id = value.strip_prefix("job_");
                if !id.is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit())) {
                    return Err("Must be the `next_cursor` of the previous page.".to_owned());
                }
                self.cursor = Some(value.to_owned());
            }
            "status" => {
                let known = JobStatus::ALL.into_iter().find(|status| status.name() == value);
                self.status = Some(known.ok_or("Must be pending, running, succeeded or failed.")?);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_list_is_read() {
        let read = |query| Query::read(query).unwrap();
        assert_eq!(read(""), Query { status: None, cursor: None, limit: DEFAULT_LIMIT });
        let expected = Query { status: Some(JobStatus::Failed), cursor: Some("job_0a".to_owned()), limit: 200 };
        assert_eq!(read("status=failed&cursor=job_0a&limit=200"), expected);
    }

    #[test]
    fn a_wrong_query_is_refused() {
        for query in ["limit=0", "limit=201", "limit=x", "limit=", "cursor=", "cursor=k", "status=done", "state=failed"]
        {
            assert!(Query::read(query).is_err(), "{query}");
        }
        let document = Query::read("status=done&limit=0&cursor=k&state=failed").unwrap_err().document("");
        let pointers: Vec<_> = document["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
        assert_eq!(pointers, ["/status", "/limit", "/cursor", "/state"]);
    }
}
