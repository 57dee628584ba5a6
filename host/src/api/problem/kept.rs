//! Problems that are kept with an idempotency key.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{KINDS, Owner, Problem, Source};

/// A problem as it is stored. The kind is stored by its name, which never changes.
#[derive(Serialize, Deserialize)]
pub(in crate::api) struct KeptProblem {
    kind: String,
    status: u16,
    detail: String,
    owner: String,
    retryable: bool,
    retry_after_s: Option<u64>,
    members: Map<String, Value>,
}

impl Problem {
    /// Returns `true` if the call has surely done nothing, so that it can run when the caller sends it again.
    pub(in crate::api) fn did_nothing(&self) -> bool {
        let is_unknown = self.members.contains_key("outcome");
        !is_unknown && (self.retryable || self.kind.source == Source::Gateway)
    }

    /// The problem in the form that is stored.
    pub(in crate::api) fn kept(&self) -> KeptProblem {
        KeptProblem {
            kind: self.kind.name.to_owned(),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            owner: self.owner.name().to_owned(),
            retryable: self.retryable,
            retry_after_s: self.retry_after_s,
            members: self.members.clone(),
        }
    }
}

impl KeptProblem {
    /// The problem again. `None` if this gateway does not know it.
    pub(in crate::api) fn problem(self) -> Option<Problem> {
        let kind = KINDS.iter().find(|kind| kind.name == self.kind)?;
        Some(Problem {
            kind,
            status: StatusCode::from_u16(self.status).ok()?,
            detail: self.detail,
            owner: Owner::named(&self.owner)?,
            retryable: self.retryable,
            retry_after_s: self.retry_after_s,
            headers: Vec::new(),
            members: self.members,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{UPSTREAM_FAILED, UPSTREAM_RATE_LIMITED, UPSTREAM_REJECTED, VALIDATION};
    use super::*;

    #[test]
    fn a_kept_problem_is_the_same_again() {
        let problem = UPSTREAM_FAILED.because("It failed.").retry_after(7).owner(Owner::User).of_unknown_outcome();
        let stored = serde_json::to_vec(&problem.kept()).unwrap();
        let again = serde_json::from_slice::<KeptProblem>(&stored).unwrap().problem().unwrap();
        assert_eq!(again.document("x"), problem.document("x"));
        assert_eq!(again.into_response("x").headers(), problem.into_response("x").headers());
    }

    #[test]
    fn a_call_that_surely_did_nothing_may_run_again() {
        assert!(VALIDATION.because("…").did_nothing());
        assert!(UPSTREAM_RATE_LIMITED.because("…").did_nothing());
        assert!(!UPSTREAM_REJECTED.because("…").did_nothing());
        assert!(!UPSTREAM_FAILED.because("…").of_unknown_outcome().did_nothing());
    }
}
