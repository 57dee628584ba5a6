//! The notes on one call while it runs.

use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::registry::Connector;
use egress::CallRecord;

/// The notes on one call. Clones are the same notes. There are none if calls are not recorded, and
/// nothing is allocated then.
#[derive(Clone, Default)]
pub struct Recording(Option<Arc<Mutex<Notes>>>);

#[derive(Default)]
pub(super) struct Notes {
    /// The version of the connector that runs the call.
    pub(super) connector: Option<Arc<Connector>>,
    /// The body, whose values are not shown in paths of requests. It is not a part of the record.
    pub(super) body: Option<Bytes>,
    /// The requests to upstreams.
    pub(super) requests: Option<Arc<CallRecord>>,
    /// In the order in which they first began.
    pub(super) stages: Vec<(&'static str, Duration)>,
    /// `true` if the call has an idempotency key.
    pub(super) has_key: bool,
    pub(super) job_id: Option<String>,
}

impl Recording {
    pub(super) fn new(is_on: bool) -> Self {
        Self(is_on.then(Arc::default))
    }

    /// Returns `true` if the call is recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The connector that runs the call.
    pub fn runs(&self, connector: &Arc<Connector>) {
        self.note(|notes| notes.connector = Some(Arc::clone(connector)));
    }

    /// The body of the call.
    pub fn takes(&self, body: &Bytes) {
        self.note(|notes| notes.body = Some(body.clone()));
    }

    /// The requests that the call sends.
    pub fn sends(&self, requests: &Arc<CallRecord>) {
        self.note(|notes| notes.requests = Some(Arc::clone(requests)));
    }

    /// The call has an idempotency key.
    pub fn has_key(&self) {
        self.note(|notes| notes.has_key = true);
    }

    /// The job that the call added, or that it runs.
    pub fn is_job(&self, id: &str) {
        self.note(|notes| notes.job_id = Some(id.to_owned()));
    }

    /// The call spent this time in a stage. Times in the same stage are added.
    pub fn stage(&self, name: &'static str, time: Duration) {
        self.note(|notes| match notes.stages.iter_mut().find(|(known, _)| *known == name) {
            Some((_, total)) => *total += time,
            None => notes.stages.push((name, time)),
        });
    }

    /// Takes the notes out.
    pub(super) fn take(&self) -> Notes {
        self.0.as_ref().map(|notes| take(&mut *notes.lock())).unwrap_or_default()
    }

    fn note(&self, write: impl FnOnce(&mut Notes)) {
        if let Some(notes) = &self.0 {
            write(&mut notes.lock());
        }
    }
}
