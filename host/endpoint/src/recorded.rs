//! The record of a request that calls an operation, from its arrival to its answer.

use hyper::body::Body as _;
use hyper::{Response, StatusCode};
use tokio::time::Instant;

use super::authorize::AuthorizedCaller;
use super::idempotency::is_replayed;
use body::{Body, counted, full};
use calls::{CallLog, Door, EndedCall, EndedProblem, Recording};
use problem::Problem;

/// A request whose record is written when it ends. If the caller does not wait for the answer, the
/// request is dropped, and its record has the status of the answer, if there was one.
pub struct OpenCall<'a> {
    /// The notes of the stages.
    pub recording: Recording,
    /// `None` once the record is written.
    log: Option<&'a CallLog>,
    request_id: &'a str,
    connector: &'a str,
    operation: &'a str,
    door: Door,
    arrived: Instant,
    /// The status of an answer that was measured, and is perhaps still compressed.
    status: Option<u16>,
}

/// The facts about an answer that its record has, from before the answer is compressed.
#[derive(Clone, Copy)]
pub struct Measured {
    is_replayed: bool,
    /// Zero if the bytes are counted while the body is sent.
    bytes_out: u64,
}

impl<'a> OpenCall<'a> {
    /// A request for an operation, or around the operations.
    pub fn begin(
        log: &'a CallLog,
        request_id: &'a str,
        (connector, operation): (&'a str, &'a str),
        arrived: Instant,
    ) -> Self {
        let recording = log.begin();
        Self { recording, log: Some(log), request_id, connector, operation, door: Door::Caller, arrived, status: None }
    }

    /// The same request, which connects an account.
    pub fn connecting(mut self) -> Self {
        self.door = Door::Connection;
        self
    }

    /// A request that has no record.
    pub fn unrecorded(arrived: Instant) -> Self {
        Self {
            recording: Recording::default(),
            log: None,
            request_id: "",
            connector: "",
            operation: "",
            door: Door::Caller,
            arrived,
            status: None,
        }
    }

    /// The caller is known.
    pub fn is_of(&self, caller: &AuthorizedCaller) {
        self.recording.is_of(caller.tenant(), caller.subject(), caller.key_id().map(|id| id.0.as_str()));
    }

    /// The request is answered. The bytes of a body whose size is not known are counted while it is
    /// sent.
    pub fn end(&mut self, response: &mut Response<Body>, problem: Option<EndedProblem>) {
        let measured = self.measure(response);
        self.end_measured(response.status(), problem, measured);
    }

    /// Measures an answer that may be compressed before the request ends. The bytes of a body whose
    /// size is not known are counted while it is sent.
    pub fn measure(&mut self, response: &mut Response<Body>) -> Measured {
        self.status = Some(response.status().as_u16());
        let size = response.body().size_hint().exact();
        if size.is_none() {
            self.count_as_read(response);
        }
        Measured { is_replayed: is_replayed(response), bytes_out: size.unwrap_or_default() }
    }

    /// The request gets an answer with this status, which [`OpenCall::measure`] has seen.
    pub fn end_measured(&mut self, status: StatusCode, problem: Option<EndedProblem>, measured: Measured) {
        self.write(Some(status.as_u16()), problem, measured.is_replayed, measured.bytes_out);
    }

    /// A part of a request is answered, and the request itself shows what it reads of the answer.
    pub fn end_of_part(&mut self, response: &mut Response<Body>) {
        self.count_as_read(response);
        self.write(Some(response.status().as_u16()), None, is_replayed(response), 0);
    }

    /// Counts the bytes of the body while it is read.
    fn count_as_read(&self, response: &mut Response<Body>) {
        let late = self.log.and_then(|log| log.late_bytes(&self.recording, self.connector, self.operation));
        if let Some(late) = late.filter(|_| self.door == Door::Caller) {
            let body = std::mem::replace(response.body_mut(), full(""));
            *response.body_mut() = counted(body, move |bytes| late.add(bytes));
        }
    }

    /// A part of a request has ended with a problem, and the request itself is answered.
    pub fn fail(&mut self, problem: &Problem) {
        self.write(Some(problem.code()), Some(ended(problem)), false, 0);
    }

    fn write(&mut self, status: Option<u16>, problem: Option<EndedProblem>, is_replayed: bool, bytes_out: u64) {
        let Some(log) = self.log.take() else { return };
        let call = EndedCall {
            request_id: self.request_id,
            connector: self.connector,
            operation: self.operation,
            began: self.arrived,
            status,
            problem,
            is_replayed,
            door: self.door,
            bytes_out,
        };
        log.end(&self.recording, &call);
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.write(self.status, None, false, 0);
    }
}

/// The part of a problem that the record of a call has.
pub fn ended(problem: &Problem) -> EndedProblem {
    EndedProblem {
        name: problem.name().to_owned(),
        owner: problem.owned_by(),
        detail: problem.detail().to_owned(),
        pointers: problem.pointers(),
    }
}
