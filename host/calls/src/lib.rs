//! Records of calls, for people who look for the reason of a failure: the caller, the connector and
//! its version, the stages, and the requests to upstreams. Also counts of calls, for people who
//! look at what tenants use.
//!
//! A record has no body, no query, no header and no secret. Of a problem it has the detail and the
//! pointers, without the values that they lead to. It is written off the path of the call: a call
//! only puts it into a queue, and what does not fit is counted and dropped.
//!
//! - here: the log of a gateway
//! - [`recording`]: the notes on one call while it runs
//! - [`path`]: the paths of requests without the values in them
//! - [`record`]: the parts of a record that are stored as JSON
//! - [`writer`]: writes records in batches
//! - [`usage`]: counts calls, and writes the counts

pub mod idempotency;
mod path;
mod record;
mod recording;
mod usage;
mod writer;

use std::sync::Arc;
use std::time::SystemTime;

use prometheus_client::metrics::counter::Counter;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use self::record::{CallIdempotency, UpstreamCallRecord};
pub use self::recording::Recording;
pub use self::usage::LateBytes;

use self::record::upstream_json;
use self::recording::{Facts, NotedCaller, Notes};
use self::usage::{Usage, UsageWriter};
use self::writer::Writer;
use config::{self, KeptCalls};
use contract::Owner;
use metrics::Metrics;
use store::{Holder, KeyId, RecordedCall, Store};

/// Records that wait to be written. Further ones are dropped.
const QUEUE: usize = 8192;

/// The longest detail of a problem that a record has, in characters.
const MAX_DETAIL: usize = 1000;

/// The longest pointer, in characters, and the most pointers.
const MAX_POINTER: usize = 200;
const MAX_POINTERS: usize = 32;

/// The log of a gateway. Clones are the same log.
#[derive(Clone, Default)]
pub struct CallLog(Option<Arc<Log>>);

#[derive(Clone)]
struct Log {
    usage: Usage,
    /// `None` if the operator keeps no records.
    records: Option<Records>,
    stop: CancellationToken,
}

#[derive(Clone)]
struct Records {
    keeps_all: bool,
    gateway: String,
    queue: mpsc::Sender<(Instant, RecordedCall)>,
    dropped: Counter,
}

/// The tasks that write what a log has.
pub struct Writers {
    records: Option<Writer>,
    usage: UsageWriter,
}

impl Writers {
    /// Writes until the log is stopped and everything is written.
    pub async fn run(self) {
        let records = async {
            if let Some(records) = self.records {
                records.run().await;
            }
        };
        tokio::join!(records, self.usage.run());
    }
}

/// The way by which a call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// A caller has called an operation, or sent a request around the operations.
    Caller,
    /// A job has run. The call that added it came by another door.
    Job,
    /// The gateway has called an operation for a trigger.
    Trigger,
    /// A user has connected an account.
    Connection,
}

/// A call that has ended.
pub struct EndedCall<'a> {
    /// The id of the request, or of the job.
    pub request_id: &'a str,
    /// The connector, as the caller named it.
    pub connector: &'a str,
    /// The operation, as the caller named it.
    pub operation: &'a str,
    /// Arrival of the call.
    pub began: Instant,
    /// The status of the answer. `None` if the caller did not wait for it.
    pub status: Option<u16>,
    /// The problem that the call ended with.
    pub problem: Option<EndedProblem>,
    /// `true` if the answer was kept from the first call with its idempotency key.
    pub is_replayed: bool,
    /// The way by which it came.
    pub door: Door,
    /// Bytes of the answer's body, as far as they are known.
    pub bytes_out: u64,
}

/// The problem that a call ended with.
#[derive(Clone, Debug)]
pub struct EndedProblem {
    /// The name of the problem, or the code of a connection that has failed.
    pub name: String,
    /// The party that can solve it.
    pub owner: Owner,
    /// A sentence that says what happened and what to do.
    pub detail: String,
    /// JSON Pointers to what is not valid.
    pub pointers: Vec<String>,
}

/// The name that records have in place of an operation's, for the connection of an account.
pub const CONNECT: &str = "connect";

/// A connection of an account that a user has tried in a browser, or with a code for another
/// device.
pub struct Connection<'a> {
    /// The id of the request.
    pub request_id: &'a str,
    /// The holder that the account was to belong to.
    pub holder: &'a Holder,
    /// The key of the application that has sent the user.
    pub key_id: Option<&'a KeyId>,
    /// Arrival of the request.
    pub began: Instant,
    /// The status of the answer. `None` if no browser has waited for it.
    pub status: Option<u16>,
}

impl EndedCall<'_> {
    fn has_failed(&self) -> bool {
        self.problem.is_some() || self.status.is_none_or(|status| status >= 400)
    }
}

impl CallLog {
    /// A log of the gateway with this name, and the tasks that write it. There are no records if the
    /// operator keeps none.
    pub fn new(settings: &config::Calls, gateway: &str, store: &Store, metrics: &Metrics) -> (Self, Writers) {
        let stop = CancellationToken::new();
        let (records, writer) = match settings.keep {
            KeptCalls::None => (None, None),
            kept => {
                let (queue, records) = mpsc::channel(QUEUE);
                let dropped = metrics.dropped_call_records.clone();
                let writer = Writer::new(records, store.clone(), settings.max, dropped.clone(), stop.clone());
                let keeps_all = kept == KeptCalls::All;
                (Some(Records { keeps_all, gateway: gateway.to_owned(), queue, dropped }), Some(writer))
            }
        };
        let usage = Usage::new(metrics.dropped_usage.clone());
        let counting = usage.writer(store.clone(), stop.clone());
        (Self(Some(Arc::new(Log { usage, records, stop }))), Writers { records: writer, usage: counting })
    }

    /// The same log for the calls of one core, which then change no count of references that other
    /// cores change.
    pub fn for_core(&self) -> Self {
        Self(self.0.as_deref().map(|log| Arc::new(Log { usage: log.usage.for_core(), ..log.clone() })))
    }

    /// The notes on a call that begins.
    pub fn begin(&self) -> Recording {
        self.0.as_ref().map_or_else(Recording::default, |log| Recording::new(log.records.is_some()))
    }

    /// Counts a call that has ended if its caller is known, and records it if calls of its kind are
    /// kept.
    pub fn end(&self, recording: &Recording, call: &EndedCall<'_>) {
        let (Some(log), Some(notes)) = (&self.0, recording.notes()) else { return };
        let facts = notes.facts.lock();
        let Some(caller) = &facts.caller else { return };
        log.usage.count(caller, &facts, notes, call);
        let Some(log) = &log.records else { return };
        if !log.keeps_all && !call.has_failed() {
            return;
        }
        // A record that would be dropped is not made.
        match log.queue.try_reserve() {
            Ok(place) => place.send((call.began, log.record(caller, &facts, notes, call))),
            Err(_) => {
                log.dropped.inc();
            }
        }
    }

    /// Counts the requests of a run of a job that has not ended the job: the job waits again, or
    /// another process has cancelled it or taken it up.
    pub fn run_left_off(&self, recording: &Recording, connector: &str, operation: &str) {
        let (Some(log), Some(notes)) = (&self.0, recording.notes()) else { return };
        let facts = notes.facts.lock();
        if let Some(caller) = &facts.caller {
            log.usage.count_requests(caller, &facts, connector, operation);
        }
    }

    /// Counts the bytes of an answer later, for a call whose answer is sent after its end. `None` if
    /// the call is not counted.
    pub fn late_bytes(&self, recording: &Recording, connector: &str, operation: &str) -> Option<LateBytes> {
        let (log, notes) = (self.0.as_ref()?, recording.notes()?);
        let facts = notes.facts.lock();
        Some(log.usage.late_bytes(facts.caller.as_ref()?, notes, connector, operation))
    }

    /// Records a connection that has failed.
    pub fn connection_failed(&self, connection: &Connection<'_>, problem: EndedProblem) {
        let Connection { request_id, holder, key_id, began, status } = *connection;
        let recording = self.begin();
        recording.is_of(&holder.tenant, &holder.subject, key_id.map(|id| id.0.as_str()));
        let call = EndedCall {
            request_id,
            connector: &holder.connector,
            operation: CONNECT,
            began,
            status,
            problem: Some(problem),
            is_replayed: false,
            door: Door::Connection,
            bytes_out: 0,
        };
        self.end(&recording, &call);
    }

    /// Lets the tasks that write end, once everything is written.
    pub fn stop(&self) {
        if let Some(log) = &self.0 {
            log.stop.cancel();
        }
    }
}

impl Records {
    fn record(&self, caller: &NotedCaller, facts: &Facts, notes: &Notes, call: &EndedCall<'_>) -> RecordedCall {
        let (took, problem) = (call.began.elapsed(), call.problem.as_ref());
        let attempts = facts.requests.as_ref().map(|requests| requests.attempts()).unwrap_or_default();
        let idempotency = facts.has_key.then_some(match call.is_replayed {
            true => CallIdempotency::Replayed,
            false => CallIdempotency::First,
        });
        RecordedCall {
            number: 0,
            request_id: call.request_id.to_owned(),
            at: SystemTime::UNIX_EPOCH,
            gateway: self.gateway.clone(),
            tenant: caller.tenant.clone(),
            subject: caller.subject.clone(),
            key_id: caller.key_id.clone(),
            connector: call.connector.to_owned(),
            operation: call.operation.to_owned(),
            version: facts.version.clone(),
            status: call.status,
            problem: problem.map(|problem| problem.name.clone()),
            owner: problem.map(|problem| problem.owner.name().to_owned()),
            detail: problem.map(|problem| shortened(&problem.detail, MAX_DETAIL)),
            pointers: problem.and_then(|problem| pointers_json(&problem.pointers)),
            user_identifier: facts.user_identifier.clone(),
            duration_us: i64::try_from(took.as_micros()).unwrap_or(i64::MAX),
            stages: record::stages_json(notes.stages()),
            upstream: upstream_json(&attempts, facts.body.as_deref()),
            idempotency: idempotency.map(|used| used.name().to_owned()),
            job_id: facts.job_id.clone(),
        }
    }
}

/// The beginning of a text.
fn shortened(text: &str, max_characters: usize) -> String {
    text.chars().take(max_characters).collect()
}

/// Pointers as a JSON list. `None` if there are none.
fn pointers_json(pointers: &[String]) -> Option<String> {
    let shown: Vec<_> = pointers.iter().take(MAX_POINTERS).map(|pointer| shortened(pointer, MAX_POINTER)).collect();
    (!shown.is_empty()).then(|| serde_json::json!(shown).to_string())
}
