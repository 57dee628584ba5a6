//! Counts of calls, for people who look at what tenants use.
//!
//! Each core counts in its own memory, and a task writes what all cores have counted every few
//! seconds. A gateway that is killed loses the counts since then.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, UNIX_EPOCH};

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::recording::{Facts, NotedCaller, Notes};
use super::{Door, EndedCall};
use store::{NewUsageBatch, Store, UsageCounts, UsageKey, new_usage_batch_id};

/// Time between two writes. A gateway that is killed loses at most the counts of this time.
const PAUSE: Duration = Duration::from_secs(10);

/// Rows that one transaction writes.
const BATCH: usize = 500;

/// The most rows that a core has in memory while the store does not answer. Tenants with JWTs may
/// have any number of users.
const MAX_ROWS: usize = 100_000;

/// The counts of a gateway. Clones count in the same memory.
#[derive(Clone)]
pub(super) struct Usage {
    /// The counts of this core.
    own: Arc<Mutex<Tally>>,
    /// Those of all cores.
    all: Tallies,
    dropped: Counter,
}

/// The counts of all cores, each in separate memory.
type Tallies = Arc<Mutex<Vec<Arc<Mutex<Tally>>>>>;

/// Counts that are not written yet, by day and tenant. Maps in maps, so that a lookup needs no copy
/// of a name.
#[derive(Default)]
struct Tally {
    days: BTreeMap<u32, HashMap<String, OfTenant>>,
    rows: usize,
}

#[derive(Default)]
struct OfTenant {
    operations: HashMap<String, HashMap<String, UsageCounts>>,
    subjects: HashMap<String, UsageCounts>,
}

impl Usage {
    pub(super) fn new(dropped: Counter) -> Self {
        let own: Arc<Mutex<Tally>> = Arc::default();
        Self { all: Arc::new(Mutex::new(vec![Arc::clone(&own)])), own, dropped }
    }

    /// The same counts, in separate memory for one core.
    pub(super) fn for_core(&self) -> Self {
        let own: Arc<Mutex<Tally>> = Arc::default();
        self.all.lock().push(Arc::clone(&own));
        Self { own, ..self.clone() }
    }

    /// The task that writes the counts of all cores.
    pub(super) fn writer(&self, store: Store, stop: CancellationToken) -> UsageWriter {
        UsageWriter { all: Arc::clone(&self.all), store, stop, waiting: VecDeque::new() }
    }

    /// Counts a call that has ended.
    pub(super) fn count(&self, caller: &NotedCaller, facts: &Facts, notes: &Notes, call: &EndedCall<'_>) {
        let failed = u64::from(call.has_failed());
        let mut counts = requests_of(facts);
        match call.door {
            Door::Caller => {
                (counts.calls, counts.failed) = (1, failed);
                (counts.bytes_in, counts.bytes_out) = (notes.bytes_in.load(Relaxed), call.bytes_out);
            }
            // The call that added the job has counted itself and its body.
            Door::Job => (counts.jobs, counts.failed, counts.bytes_out) = (1, failed, call.bytes_out),
            Door::Trigger => {}
            Door::Connection => return,
        }
        let is_known = call.door != Door::Caller || notes.is_known.load(Relaxed);
        self.add(caller, named(is_known, call.connector, call.operation), counts);
    }

    /// Counts the requests of a run of a job that has not ended the job.
    pub(super) fn count_requests(&self, caller: &NotedCaller, facts: &Facts, connector: &str, operation: &str) {
        self.add(caller, (connector, operation), requests_of(facts));
    }

    /// Counts bytes of an answer later.
    pub(super) fn late_bytes(
        &self,
        caller: &NotedCaller,
        notes: &Notes,
        connector: &str,
        operation: &str,
    ) -> LateBytes {
        let (connector, operation) = named(notes.is_known.load(Relaxed), connector, operation);
        LateBytes {
            usage: self.clone(),
            caller: caller.clone(),
            connector: connector.to_owned(),
            operation: operation.to_owned(),
        }
    }

    fn add(&self, caller: &NotedCaller, (connector, operation): (&str, &str), counts: UsageCounts) {
        if counts == UsageCounts::default() {
            return;
        }
        let mut tally = self.own.lock();
        if !tally.add(today(), caller, (connector, operation), counts) {
            self.dropped.inc();
        }
    }
}

/// The count of the requests that a call has sent.
fn requests_of(facts: &Facts) -> UsageCounts {
    let requests = facts.requests.as_ref().map_or(0, |requests| requests.attempts_begun());
    UsageCounts { upstream_requests: requests.into(), ..UsageCounts::default() }
}

/// The connector and the operation of a call. Both are empty if there is no such operation, because
/// callers could invent any number of names.
fn named<'a>(is_known: bool, connector: &'a str, operation: &'a str) -> (&'a str, &'a str) {
    if is_known { (connector, operation) } else { ("", "") }
}

/// Days since 1970, in UTC.
fn today() -> u32 {
    let seconds = clock::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    u32::try_from(seconds / 86_400).unwrap_or(u32::MAX)
}

impl Tally {
    /// Returns `false` if there is no room for a further row.
    fn add(&mut self, day: u32, caller: &NotedCaller, call: (&str, &str), counts: UsageCounts) -> bool {
        let (connector, operation) = call;
        let tenants = self.days.entry(day).or_default();
        if let Some(of_tenant) = tenants.get_mut(&caller.tenant)
            && let Some(of_operation) =
                of_tenant.operations.get_mut(connector).and_then(|operations| operations.get_mut(operation))
            && let Some(of_subject) = of_tenant.subjects.get_mut(&caller.subject)
        {
            *of_operation += counts;
            *of_subject += counts;
            return true;
        }
        if self.rows >= MAX_ROWS {
            return false;
        }
        // At most one row for the operation and one for the user are new.
        self.rows += 2;
        let of_tenant = tenants.entry(caller.tenant.clone()).or_default();
        let operations = of_tenant.operations.entry(connector.to_owned()).or_default();
        *operations.entry(operation.to_owned()).or_default() += counts;
        *of_tenant.subjects.entry(caller.subject.clone()).or_default() += counts;
        true
    }
}

/// Bytes of an answer that is sent after the end of its call.
pub struct LateBytes {
    usage: Usage,
    caller: NotedCaller,
    connector: String,
    operation: String,
}

impl LateBytes {
    /// Counts the bytes that were sent.
    pub fn add(self, bytes: u64) {
        let counts = UsageCounts { bytes_out: bytes, ..UsageCounts::default() };
        self.usage.add(&self.caller, (&self.connector, &self.operation), counts);
    }
}

/// The task that writes counts.
pub(super) struct UsageWriter {
    all: Tallies,
    store: Store,
    stop: CancellationToken,
    /// Batches that were taken from memory. The first one may have been written already, if the
    /// database failed at the end of its transaction.
    waiting: VecDeque<NewUsageBatch>,
}

impl UsageWriter {
    /// Writes until the log is stopped and everything is written.
    pub(super) async fn run(mut self) {
        let mut is_failing = false;
        loop {
            let is_stopped = tokio::select! {
                biased;
                () = self.stop.cancelled() => true,
                () = sleep(PAUSE) => false,
            };
            let written = self.write().await;
            let was_failing = std::mem::replace(&mut is_failing, written.is_err());
            if let Err(error) = written
                && !was_failing
            {
                tracing::warn!(%error, "the usage cannot be stored; the gateway counts on, and stores it later");
            }
            if is_stopped {
                return;
            }
        }
    }

    async fn write(&mut self) -> Result<(), store::StoreError> {
        self.write_waiting().await?;
        let id = new_usage_batch_id()?;
        let counts = self.take();
        let batches = counts.chunks(BATCH).enumerate();
        self.waiting.extend(
            batches.map(|(number, counts)| NewUsageBatch { id: format!("{id}_{number}"), counts: counts.to_vec() }),
        );
        self.write_waiting().await
    }

    async fn write_waiting(&mut self) -> Result<(), store::StoreError> {
        while let Some(batch) = self.waiting.front() {
            self.store.usage().add(batch.clone()).await?;
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Takes the counts of all cores out of memory, in the order in which they are written.
    fn take(&self) -> Vec<(u32, String, UsageKey, UsageCounts)> {
        let tallies: Vec<_> = self.all.lock().clone();
        // Gateways write the rows of a table in the same order, so that two of them never wait for each
        // other's rows.
        let mut sums: BTreeMap<(bool, u32, String, UsageKey), UsageCounts> = BTreeMap::new();
        for tally in tallies {
            let Tally { days, .. } = std::mem::take(&mut *tally.lock());
            for (day, tenants) in days {
                for (tenant, OfTenant { operations, subjects }) in tenants {
                    let mut add = |key: UsageKey, counts| {
                        let is_of_user = matches!(key, UsageKey::Subject(_));
                        *sums.entry((is_of_user, day, tenant.clone(), key)).or_default() += counts;
                    };
                    for (connector, operations) in operations {
                        for (operation, counts) in operations {
                            add(UsageKey::Operation { connector: connector.clone(), operation }, counts);
                        }
                    }
                    for (subject, counts) in subjects {
                        add(UsageKey::Subject(subject), counts);
                    }
                }
            }
        }
        sums.into_iter().map(|((_, day, tenant, key), counts)| (day, tenant, key, counts)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(subject: &str) -> NotedCaller {
        NotedCaller { tenant: "acme".to_owned(), subject: subject.to_owned(), key_id: None }
    }

    fn calls(calls: u64) -> UsageCounts {
        UsageCounts { calls, ..UsageCounts::default() }
    }

    #[tokio::test]
    async fn the_counts_of_all_cores_are_added_up_and_written_once() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let usage = Usage::new(Counter::default());
        let mut writer = usage.writer(store.clone(), CancellationToken::new());
        for core in [usage.for_core(), usage.for_core()] {
            core.add(&caller("ann"), ("mail", "send"), calls(2));
            core.add(&caller(""), ("mail", "send"), calls(1));
        }
        for _ in 0..2 {
            writer.write().await.unwrap();
        }
        let filter = store::UsageFilter { by: store::UsageBy::Subject, limit: 10, ..Default::default() };
        let rows = store.usage().list(filter).await.unwrap();
        let seen: Vec<_> = rows.iter().map(|row| (row.names[1].as_str(), row.counts.calls)).collect();
        assert_eq!(seen, [("", 2), ("ann", 4)]);
    }

    #[test]
    fn names_beyond_the_memory_are_dropped_and_known_ones_are_not() {
        let mut tally = Tally::default();
        let add = |tally: &mut Tally, subject: &str| tally.add(1, &caller(subject), ("mail", "send"), calls(1));
        let room = (0..MAX_ROWS).take_while(|number| add(&mut tally, &number.to_string())).count();
        assert_eq!(room, MAX_ROWS / 2);
        assert!(!add(&mut tally, "another") && add(&mut tally, "0"));
    }
}
