//! The record of a request that calls an operation, from its arrival to its answer.

use hyper::Response;
use tokio::time::Instant;

use super::authorize::AuthorizedCaller;
use super::idempotency::is_replayed;
use body::Body;
use calls::{CallLog, EndedCall, EndedProblem, Recording};
use problem::Problem;

/// A request whose record is written when it ends. If the caller does not wait for the answer, the
/// request is dropped, and its record has no status.
pub(super) struct OpenCall<'a> {
    pub(super) recording: Recording,
    /// `None` once the record is written.
    log: Option<&'a CallLog>,
    request_id: &'a str,
    connector: &'a str,
    operation: &'a str,
    arrived: Instant,
}

impl<'a> OpenCall<'a> {
    /// A request for an operation, or around the operations.
    pub(super) fn begin(
        log: &'a CallLog,
        request_id: &'a str,
        (connector, operation): (&'a str, &'a str),
        arrived: Instant,
    ) -> Self {
        let recording = log.begin();
        Self { recording, log: Some(log), request_id, connector, operation, arrived }
    }

    /// A request that has no record.
    pub(super) fn unrecorded(arrived: Instant) -> Self {
        Self { recording: Recording::default(), log: None, request_id: "", connector: "", operation: "", arrived }
    }

    /// The caller is known.
    pub(super) fn is_of(&self, caller: &AuthorizedCaller) {
        self.recording.is_of(caller.tenant(), caller.subject(), caller.key_id().map(|id| id.0.as_str()));
    }

    /// The request is answered.
    pub(super) fn end(&mut self, response: &Response<Body>, problem: Option<EndedProblem>) {
        self.write(Some(response.status().as_u16()), problem, is_replayed(response));
    }

    /// A part of a request has ended with a problem, and the request itself is answered.
    pub(super) fn fail(&mut self, problem: &Problem) {
        self.write(Some(problem.code()), Some(ended(problem)), false);
    }

    fn write(&mut self, status: Option<u16>, problem: Option<EndedProblem>, is_replayed: bool) {
        let Some(log) = self.log.take() else { return };
        let call = EndedCall {
            request_id: self.request_id,
            connector: self.connector,
            operation: self.operation,
            began: self.arrived,
            status,
            problem,
            is_replayed,
        };
        log.end(&self.recording, &call);
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.write(None, None, false);
    }
}

/// The part of a problem that the record of a call has.
pub(super) fn ended(problem: &Problem) -> EndedProblem {
    EndedProblem {
        name: problem.name().to_owned(),
        owner: problem.owned_by(),
        detail: problem.detail().to_owned(),
        pointers: problem.pointers(),
    }
}
