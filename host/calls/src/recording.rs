//! The notes on one call while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use egress::CallRecord;
use metrics::StageKind;

/// The notes on one call. Clones are the same notes. There are none if calls are neither recorded
/// nor counted, and nothing is allocated then.
///
/// Every call of a gateway takes notes, and most calls do not fail. So a note costs little: the
/// parts of a call follow one another, and do not wait for the lock.
#[derive(Clone, Default)]
pub struct Recording(Option<Arc<Notes>>);

#[derive(Default)]
pub(super) struct Notes {
    pub(super) facts: Mutex<Facts>,
    /// `false` if the notes are for the counts of usage alone.
    is_recorded: bool,
    /// `true` if there is the operation that was called.
    pub(super) is_known: AtomicBool,
    /// Bytes of the body.
    pub(super) bytes_in: AtomicU64,
    /// Nanoseconds in each stage. 0 stands for a stage that has not begun.
    stages: [AtomicU64; StageKind::ALL.len()],
}

/// The notes that a call takes once.
#[derive(Default)]
pub(super) struct Facts {
    /// A request without a valid token has none, and no record.
    pub(super) caller: Option<NotedCaller>,
    /// The version of the connector that runs the call.
    pub(super) version: Option<String>,
    /// The body, whose values are not shown in paths of requests. It is not a part of the record.
    pub(super) body: Option<Bytes>,
    /// The requests to upstreams.
    pub(super) requests: Option<Arc<CallRecord>>,
    /// `true` if the call has an idempotency key.
    pub(super) has_key: bool,
    pub(super) job_id: Option<String>,
    /// The account that the call runs on, or that it cannot run on.
    pub(super) user_identifier: Option<String>,
}

/// A caller, in texts of the call's own: all calls of the caller would write the count of shared
/// ones.
#[derive(Clone)]
pub(super) struct NotedCaller {
    pub(super) tenant: String,
    /// The user. Empty if the caller speaks for its tenant.
    pub(super) subject: String,
    /// `None` if the caller sent a JWT.
    pub(super) key_id: Option<String>,
}

impl Notes {
    /// The stages that have begun, with the time in each.
    pub(super) fn stages(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let times = StageKind::ALL.into_iter().zip(&self.stages);
        times
            .map(|(kind, time)| (kind.name(), Duration::from_nanos(time.load(Relaxed))))
            .filter(|(_, time)| !time.is_zero())
    }
}

impl Recording {
    /// Notes for a record, or for the counts of usage alone.
    pub(super) fn new(is_recorded: bool) -> Self {
        Self(Some(Arc::new(Notes { is_recorded, ..Notes::default() })))
    }

    /// Returns `true` if the call may have a record.
    pub fn is_on(&self) -> bool {
        self.0.as_ref().is_some_and(|notes| notes.is_recorded)
    }

    /// There is the operation that was called. Callers could invent any number of others.
    pub fn is_known(&self) {
        if let Some(notes) = &self.0 {
            notes.is_known.store(true, Relaxed);
        }
    }

    /// The call has sent these bytes of its body, in addition to others.
    pub fn received(&self, bytes: usize) {
        if let Some(notes) = &self.0 {
            notes.bytes_in.fetch_add(bytes as u64, Relaxed);
        }
    }

    /// The caller: its tenant, its user, which is empty for the tenant itself, and the id of its key.
    pub fn is_of(&self, tenant: &str, subject: &str, key_id: Option<&str>) {
        let Some(notes) = &self.0 else { return };
        let (tenant, subject) = (tenant.to_owned(), subject.to_owned());
        notes.facts.lock().caller = Some(NotedCaller { tenant, subject, key_id: key_id.map(str::to_owned) });
    }

    /// The version of the connector that runs the call.
    pub fn runs(&self, version: &str) {
        self.note(|facts| facts.version = Some(version.to_owned()));
    }

    /// The account that the call runs on, or that it cannot run on.
    pub fn uses(&self, user_identifier: &str) {
        self.note(|facts| facts.user_identifier = Some(user_identifier.to_owned()));
    }

    /// The body of the call.
    pub fn takes(&self, body: &Bytes) {
        self.received(body.len());
        self.note(|facts| facts.body = Some(body.clone()));
    }

    /// The requests that the call sends.
    pub fn sends(&self, requests: &Arc<CallRecord>) {
        if let Some(notes) = &self.0 {
            notes.facts.lock().requests = Some(Arc::clone(requests));
        }
    }

    /// Returns `true` if the call has begun to send a request to an upstream.
    pub fn has_sent(&self) -> bool {
        let requests = self.0.as_ref().and_then(|notes| notes.facts.lock().requests.clone());
        requests.is_some_and(|requests| requests.attempts_begun() > 0)
    }

    /// The call has an idempotency key.
    pub fn has_key(&self) {
        self.note(|facts| facts.has_key = true);
    }

    /// The job that the call added, or that it runs.
    pub fn is_job(&self, id: &str) {
        self.note(|facts| facts.job_id = Some(id.to_owned()));
    }

    /// The call spent this time in a stage. Times in the same stage are added.
    pub fn stage(&self, kind: StageKind, time: Duration) {
        let Some(notes) = self.0.as_ref().filter(|notes| notes.is_recorded) else { return };
        let total = &notes.stages[kind as usize];
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1);
        // The stages of a call follow one another, so no time is added in between.
        total.store(total.load(Relaxed).saturating_add(time), Relaxed);
    }

    /// The notes so far. `None` if the call is neither recorded nor counted.
    pub(super) fn notes(&self) -> Option<&Notes> {
        self.0.as_deref()
    }

    fn note(&self, write: impl FnOnce(&mut Facts)) {
        if let Some(notes) = self.0.as_ref().filter(|notes| notes.is_recorded) {
            write(&mut notes.facts.lock());
        }
    }
}
