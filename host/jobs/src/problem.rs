//! Problems of jobs.

use super::{Failure, JobError};
use egress::EgressError;
use problem::{
    CANCELLED, CONNECTOR_FAILED, CUT_OFF, INTERNAL, JOB_TIMED_OUT, NOT_ALLOWED, Problem, TOO_MANY_JOBS,
    UNKNOWN_OPERATION, pipeline_problem, store_problem,
};
use store::StoreError;
use store::vault::VaultError;
use webhooks::WebhookError;

/// A tenant's queue may have become shorter after this time, in seconds.
const RETRY_AFTER_S: u64 = 10;

/// The problem of a job that has no result.
pub(super) fn failure_problem(failure: Failure, connector: &str) -> Problem {
    match failure {
        Failure::Call(error) => pipeline_problem(error, connector),
        Failure::Limit { limit: limit @ "jobs.cpu_ms", changes_data } => of_unknown_outcome(
            CONNECTOR_FAILED
                .with_detail(format!("`{connector}` went over its CPU limit and was stopped; ask for less, or raise `{limit}`."))
                .with("limit", "cpu")
                .with("connector", connector),
            changes_data,
        ),
        Failure::Limit { limit, changes_data } => of_unknown_outcome(
            JOB_TIMED_OUT.with_detail(format!("The job did not end in time and was stopped; ask for less, or raise `{limit}`.")),
            changes_data,
        ),
        Failure::Cancelled { changes_data } => of_unknown_outcome(
            CANCELLED.with_detail("The job was cancelled with DELETE /jobs/{job_id}."),
            changes_data,
        ),
        Failure::CutOff { changes_data: true, .. } => of_unknown_outcome(
            CUT_OFF.with_detail(
                "The gateway that ran the job ended in the middle of it. The job was not run again, because it changes data. \
                 Look at the service to see what was done, then call the operation again if needed.",
            ),
            true,
        ),
        Failure::CutOff { attempts, .. } => CUT_OFF.with_detail(format!(
            "The gateways that ran the job ended in the middle of it {attempts} times, so it is not run again. The operator finds \
             the cause in the gateway's log."
        )),
        Failure::Gone { operation } => UNKNOWN_OPERATION.with_detail(format!(
            "`{connector}` with the operation `{operation}` was removed while the job waited; GET /connectors lists what is there."
        )),
        Failure::NotAllowed(refusal) => NOT_ALLOWED.with_detail(format!(
            "The job was not started: {refusal}. Call the operation again with a key that may call it."
        )),
        Failure::Failed(error) => job_problem(error),
    }
}

/// The problem of jobs that cannot be read or written. The cause goes to the log.
pub fn job_problem(error: JobError) -> Problem {
    if let JobError::Store(StoreError::TooManyJobs { limit }) = error {
        return TOO_MANY_JOBS
            .with_detail(format!(
                "{limit} jobs are waiting, which is the limit (`jobs.max_pending_per_tenant`). Try again when some have ended."
            ))
            .retry_after(RETRY_AFTER_S);
    }
    match error {
        JobError::Store(error)
        | JobError::Vault(VaultError::Store(error))
        | JobError::Webhook(WebhookError::Store(error) | WebhookError::Vault(VaultError::Store(error))) => {
            store_problem(&error, "The jobs cannot be read or written now; try again.")
        }
        JobError::MayBeAdded(error) => store_problem(
            &error,
            "The database failed while the job was added, so that it may run; GET /jobs lists it then. Look there before you call again.",
        )
        .of_unknown_outcome(),
        JobError::NoMemory => pipeline_problem(EgressError::NoMemory.into(), ""),
        JobError::Vault(_) | JobError::Webhook(_) | JobError::Value(_) => {
            tracing::error!(%error, "a job cannot be read or written");
            INTERNAL.with_detail(
                "A value of the job cannot be encrypted or decrypted. The operator finds the cause in the gateway's log.",
            )
        }
    }
}

fn of_unknown_outcome(problem: Problem, changes_data: bool) -> Problem {
    if changes_data { problem.of_unknown_outcome() } else { problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_may_be_in_the_queue_is_not_told_as_one_that_is_not() {
        let problem = job_problem(JobError::MayBeAdded(StoreError::Closed));
        assert!(!problem.did_nothing());
        assert_eq!(problem.document("1")["outcome"], "unknown");
        assert!(job_problem(JobError::Store(StoreError::Closed)).did_nothing());
    }
}
