//! A record of what happened to the requests of one call. The problem that the caller gets depends
//! on it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use hyper::{Method, StatusCode};
use parking_lot::Mutex;
use smallvec::SmallVec;

/// Maximum number of attempts that one record keeps: the last ones.
const MAX_ATTEMPTS: usize = 64;

/// An attempt to send a request, for people who look for the reason of a failure.
#[derive(Clone, Debug)]
pub struct SentAttempt {
    /// The method.
    pub method: Method,
    /// The host that was called, and the path. The query may be secret, and is not kept.
    pub(super) address: String,
    /// The length of the host.
    pub(super) host: usize,
    /// The length of the part of the path that every request to the upstream has.
    pub(super) base: usize,
    /// `None` if there was no response.
    pub status: Option<u16>,
    /// 1 for the first attempt of a request, 2 for its first retry, and so on.
    pub attempt: u32,
    /// Time from the beginning to the head of the response.
    pub took: Duration,
    /// Time before the beginning: in the queue of the upstream, or before a retry.
    pub paused: Duration,
}

impl SentAttempt {
    /// The host that was called.
    pub fn host(&self) -> &str {
        self.parts().0
    }

    /// The path in two parts: the beginning that every request to the upstream
    /// has, and the rest.
    pub fn path(&self) -> (&str, &str) {
        let path = self.parts().1;
        path.split_at_checked(self.base).unwrap_or(("", path))
    }

    fn parts(&self) -> (&str, &str) {
        self.address.split_at_checked(self.host).unwrap_or((&self.address, ""))
    }
}

/// Notes about all requests of one call. The requests may run in parallel.
#[derive(Debug, Default)]
pub struct CallRecord {
    /// The number of requests that were composed.
    requests: AtomicU32,
    /// The number of attempts to change data that the upstream may have acted on.
    writes: AtomicU32,
    /// `true` if the last response is the success of a request that changes data.
    ends_with_write: AtomicBool,
    /// The last response, and the last one with a status of 400 or above. See [`packed`].
    last: AtomicU32,
    last_refusal: AtomicU32,
    /// The number of attempts that have begun.
    begun: AtomicU32,
    /// `None` if attempts are not kept. Most calls make one.
    attempts: Option<Mutex<SmallVec<[SentAttempt; 1]>>>,
}

impl CallRecord {
    /// A record that keeps attempts too.
    pub fn keeping_attempts() -> Self {
        Self { attempts: Some(Mutex::default()), ..Self::default() }
    }

    /// The last attempts, the oldest first.
    pub fn attempts(&self) -> Vec<SentAttempt> {
        self.attempts.iter().flat_map(|attempts| attempts.lock().to_vec()).collect()
    }

    /// Counts an attempt to send a request.
    pub(super) fn attempt_begins(&self) {
        self.begun.fetch_add(1, Relaxed);
    }

    /// The number of attempts so far, also of those that are not kept.
    pub fn attempts_begun(&self) -> u32 {
        self.begun.load(Relaxed)
    }

    /// Returns `true` if attempts are kept.
    pub(super) fn keeps_attempts(&self) -> bool {
        self.attempts.is_some()
    }

    /// Keeps an attempt that has ended.
    pub(super) fn attempt_ended(&self, attempt: SentAttempt) {
        let Some(attempts) = &self.attempts else { return };
        let mut attempts = attempts.lock();
        if attempts.len() == MAX_ATTEMPTS {
            attempts.remove(0);
        }
        attempts.push(attempt);
    }

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

    /// Notes a response. `upstream_status` is the status as the upstream sent it, and `status` is
    /// the status that the gateway makes of it.
    pub(super) fn response_arrived(&self, is_write: bool, status: StatusCode, upstream_status: StatusCode) {
        self.ends_with_write.store(is_write && status.is_success(), Relaxed);
        self.last.store(packed(status, upstream_status), Relaxed);
        if status.as_u16() >= 400 {
            self.last_refusal.store(packed(status, upstream_status), Relaxed);
        }
    }

    /// Returns `true` if an upstream may have acted on a request that changes data. `is_refusal`
    /// says that the connector reports a refusal. Some upstreams refuse with the status 200, so the
    /// refusal is then about the last request.
    pub fn may_have_changed_data(&self, is_refusal: bool) -> bool {
        let refused = u32::from(is_refusal && self.ends_with_write.load(Relaxed));
        self.writes.load(Relaxed) > refused
    }

    /// The status that the upstream sent, where the gateway or the connector reports `status`.
    /// `None` if there was no response.
    pub fn upstream_status(&self, status: u16) -> Option<u16> {
        let (refusal, last) = (self.last_refusal.load(Relaxed), self.last.load(Relaxed));
        let packed = if refusal >> 16 == u32::from(status) { refusal } else { last };
        u16::try_from(packed & 0xffff).ok().filter(|status| *status > 0)
    }
}

/// Both forms of a status in one value, so that they are read and written together.
fn packed(status: StatusCode, upstream_status: StatusCode) -> u32 {
    u32::from(status.as_u16()) << 16 | u32::from(upstream_status.as_u16())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16) -> StatusCode {
        StatusCode::from_u16(code).unwrap()
    }

    #[test]
    fn a_refusal_with_a_status_of_success_is_about_the_last_request() {
        let record = CallRecord::default();
        record.write_begins();
        assert!(record.may_have_changed_data(true), "there is no response yet");
        record.response_arrived(true, status(200), status(200));
        assert!(!record.may_have_changed_data(true));
        assert!(record.may_have_changed_data(false));
        record.response_arrived(false, status(404), status(404));
        assert!(record.may_have_changed_data(true), "the refusal is about the request after the one that changed data");
    }

    #[test]
    fn the_status_that_the_upstream_sent_is_known() {
        let record = CallRecord::default();
        assert_eq!(record.upstream_status(429), None);
        record.response_arrived(false, status(429), status(403));
        record.response_arrived(false, status(200), status(200));
        assert_eq!(record.upstream_status(429), Some(403));
        assert_eq!(record.upstream_status(404), Some(200), "the connector has read the refusal in a body");
    }
}
