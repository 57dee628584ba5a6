//! A record of what happened to the requests of one call. The problem that the caller gets depends on it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use hyper::StatusCode;

/// Notes about all requests of one call. The requests may run in parallel.
#[derive(Debug, Default)]
pub struct Journal {
    /// The number of requests that were composed.
    requests: AtomicU32,
    /// The number of attempts to change data that the upstream may have acted on.
    writes: AtomicU32,
    /// `true` if the last response is the success of a request that changes data.
    ends_with_write: AtomicBool,
    /// `true` if the name of a host could not be resolved.
    is_unresolved: AtomicBool,
    /// `true` if the path of a request was too long.
    is_path_too_long: AtomicBool,
    /// The last response, and the last one with a status of 400 or above. See [`packed`].
    last: AtomicU32,
    last_refusal: AtomicU32,
}

impl Journal {
    /// Counts a request.
    pub fn request_begins(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    /// The number of requests so far.
    pub fn requests(&self) -> u32 {
        self.requests.load(Relaxed)
    }

    /// From here on the upstream may act on a request that changes data.
    pub(super) fn write_begins(&self) {
        self.writes.fetch_add(1, Relaxed);
        self.ends_with_write.store(false, Relaxed);
    }

    /// The request did not reach the upstream, or the upstream refused it.
    pub(super) fn write_was_refused(&self) {
        self.writes.fetch_sub(1, Relaxed);
    }

    /// Notes a response. `said` is the status as the upstream sent it.
    pub(super) fn answered(&self, is_write: bool, status: StatusCode, said: StatusCode) {
        self.ends_with_write.store(is_write && status.is_success(), Relaxed);
        self.last.store(packed(status, said), Relaxed);
        if status.as_u16() >= 400 {
            self.last_refusal.store(packed(status, said), Relaxed);
        }
    }

    /// Notes that the name of a host could not be resolved.
    pub(super) fn name_was_not_resolved(&self) {
        self.is_unresolved.store(true, Relaxed);
    }

    /// Returns `true` if the name of a host could not be resolved.
    pub fn is_unresolved(&self) -> bool {
        self.is_unresolved.load(Relaxed)
    }

    /// Notes that the path of a request was too long.
    pub(super) fn path_was_too_long(&self) {
        self.is_path_too_long.store(true, Relaxed);
    }

    /// Returns `true` if the path of a request was too long.
    pub fn is_path_too_long(&self) -> bool {
        self.is_path_too_long.load(Relaxed)
    }

    /// Returns `true` if an upstream may have acted on a request that changes data. `is_refusal` says that the connector reports
    /// a refusal. Some services refuse with the status 200, so the refusal is then about the last request.
    pub fn may_have_changed_data(&self, is_refusal: bool) -> bool {
        let refused = u32::from(is_refusal && self.ends_with_write.load(Relaxed));
        self.writes.load(Relaxed) > refused
    }

    /// The status that the upstream sent, where the gateway or the connector speaks of `status`. `None` if there was no response.
    pub fn status_said(&self, status: u16) -> Option<u16> {
        let (refusal, last) = (self.last_refusal.load(Relaxed), self.last.load(Relaxed));
        let said = if refusal >> 16 == u32::from(status) { refusal } else { last };
        u16::try_from(said & 0xffff).ok().filter(|said| *said > 0)
    }
}

/// Both forms of a status in one value, so that they are read and written together.
fn packed(status: StatusCode, said: StatusCode) -> u32 {
    u32::from(status.as_u16()) << 16 | u32::from(said.as_u16())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16) -> StatusCode {
        StatusCode::from_u16(code).unwrap()
    }

    #[test]
    fn a_refusal_with_a_status_of_success_is_about_the_last_request() {
        let journal = Journal::default();
        journal.write_begins();
        assert!(journal.may_have_changed_data(true), "there is no response yet");
        journal.answered(true, status(200), status(200));
        assert!(!journal.may_have_changed_data(true));
        assert!(journal.may_have_changed_data(false));
        journal.answered(false, status(404), status(404));
        assert!(
            journal.may_have_changed_data(true),
            "the refusal is about the request after the one that changed data"
        );
    }

    #[test]
    fn the_upstreams_own_status_is_told() {
        let journal = Journal::default();
        assert_eq!(journal.status_said(429), None);
        journal.answered(false, status(429), status(403));
        journal.answered(false, status(200), status(200));
        assert_eq!(journal.status_said(429), Some(403));
        assert_eq!(journal.status_said(404), Some(200), "the connector has read the refusal in a body");
    }
}
