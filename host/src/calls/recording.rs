//! The notes on one call while it runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;

use crate::metrics::StageKind;
use egress::CallRecord;

/// The notes on one call. Clones are the same notes. There are none if calls are not recorded, and
/// nothing is allocated then.
///
/// Every call of a gateway that records failures takes notes, and most calls do not fail. So a note
/// takes no lock.
#[derive(Clone, Default)]
pub struct Recording(Option<Arc<Notes>>);

#[derive(Default)]
pub(super) struct Notes {
    /// The version of the connector that runs the call.
    pub(super) version: OnceLock<String>,
    /// The body, whose values are not shown in paths of requests. It is not a part of the record.
    pub(super) body: OnceLock<Bytes>,
    /// The requests to upstreams.
    pub(super) requests: OnceLock<Arc<CallRecord>>,
    /// Nanoseconds in each stage. 0 stands for a stage that has not begun.
    stages: [AtomicU64; StageKind::ALL.len()],
    /// `true` if the call has an idempotency key.
    pub(super) has_key: AtomicBool,
    pub(super) job_id: OnceLock<String>,
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
    pub(super) fn new(is_on: bool) -> Self {
        Self(is_on.then(Arc::default))
    }

    /// Returns `true` if the call is recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The version of the connector that runs the call. The first note of a kind counts.
    pub fn runs(&self, version: &str) {
        self.note(|notes| note_once(&notes.version, || version.to_owned()));
    }

    /// The body of the call.
    pub fn takes(&self, body: &Bytes) {
        self.note(|notes| note_once(&notes.body, || body.clone()));
    }

    /// The requests that the call sends.
    pub fn sends(&self, requests: &Arc<CallRecord>) {
        self.note(|notes| note_once(&notes.requests, || Arc::clone(requests)));
    }

    /// The call has an idempotency key.
    pub fn has_key(&self) {
        self.note(|notes| notes.has_key.store(true, Relaxed));
    }

    /// The job that the call added, or that it runs.
    pub fn is_job(&self, id: &str) {
        self.note(|notes| note_once(&notes.job_id, || id.to_owned()));
    }

    /// The call spent this time in a stage. Times in the same stage are added.
    pub fn stage(&self, kind: StageKind, time: Duration) {
        self.note(|notes| {
            let total = &notes.stages[kind as usize];
            let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1);
            // The stages of a call follow one another, so no time is added in between.
            total.store(total.load(Relaxed).saturating_add(time), Relaxed);
        });
    }

    /// The notes so far. `None` if the call is not recorded.
    pub(super) fn notes(&self) -> Option<&Notes> {
        self.0.as_deref()
    }

    fn note(&self, write: impl FnOnce(&Notes)) {
        if let Some(notes) = &self.0 {
            write(notes);
        }
    }
}

fn note_once<T>(note: &OnceLock<T>, value: impl FnOnce() -> T) {
    note.get_or_init(value);
}
