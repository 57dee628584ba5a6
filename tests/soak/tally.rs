//! The outcomes of calls: how many there were of each kind, and which were not expected.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use support::Answer;

/// Unexpected outcomes that are described. Further ones are only counted.
const DESCRIBED: usize = 20;

/// Time after a failure has ended in which its consequences are still expected.
const AFTERMATH: Duration = Duration::from_secs(8);

/// The outcome of a call that no complete answer came to.
pub(crate) const NO_ANSWER: &str = "no answer";

/// The outcome of a call whose answer has the right status, and is not the right one.
pub(crate) const WRONG: &str = "a wrong answer";

/// All outcomes so far.
#[derive(Default)]
pub(crate) struct Tally {
    counts: Mutex<BTreeMap<(&'static str, String), Count>>,
    unexpected: Mutex<Vec<String>>,
}

/// The number of calls of one load with one outcome.
#[derive(Clone, Copy, Default)]
pub(crate) struct Count {
    pub(crate) calls: u64,
    pub(crate) unexpected: u64,
}

impl Tally {
    /// Counts an outcome of a load. `detail` is called if the outcome is not expected.
    pub(crate) fn note(&self, load: &'static str, outcome: &str, expected: bool, detail: impl FnOnce() -> String) {
        let mut counts = self.counts.lock();
        let count = counts.entry((load, outcome.to_owned())).or_default();
        count.calls += 1;
        if !expected {
            count.unexpected += 1;
            drop(counts);
            self.complain(format!("{load}: {outcome}: {}", detail()));
        }
    }

    /// Notes something else that is not expected.
    pub(crate) fn complain(&self, what: String) {
        let mut unexpected = self.unexpected.lock();
        if unexpected.len() < DESCRIBED {
            unexpected.push(what);
        }
    }

    /// Every load with its outcomes.
    pub(crate) fn counts(&self) -> Vec<(&'static str, String, Count)> {
        self.counts.lock().iter().map(|((load, outcome), count)| (*load, outcome.clone(), *count)).collect()
    }

    /// Number of all calls.
    pub(crate) fn calls(&self) -> u64 {
        self.counts.lock().values().map(|count| count.calls).sum()
    }

    /// Descriptions of what was not expected.
    pub(crate) fn unexpected(&self) -> Vec<String> {
        self.unexpected.lock().clone()
    }
}

/// The outcome of a call in a few words: the status, and the kind of a problem.
pub(crate) fn outcome(answer: &Answer) -> String {
    let kind = serde_json::from_slice::<serde_json::Value>(&answer.body).ok().and_then(|problem| {
        let kind = problem["type"].as_str()?.strip_prefix("urn:connector-gateway:problem:")?;
        Some(kind.to_owned())
    });
    kind.map_or_else(|| answer.status.to_string(), |kind| format!("{} {kind}", answer.status))
}

/// The times in which something was away.
#[derive(Default)]
pub(crate) struct Absence(Mutex<Vec<(Instant, Option<Instant>)>>);

impl Absence {
    /// It is away from now on.
    pub(crate) fn begin(&self) {
        self.0.lock().push((Instant::now(), None));
    }

    /// It is back.
    pub(crate) fn end(&self) {
        if let Some((_, end)) = self.0.lock().last_mut() {
            *end = Some(Instant::now());
        }
    }

    /// Returns `true` if it was away at some time since `began`, or shortly before.
    pub(crate) fn affects(&self, began: Instant) -> bool {
        self.0.lock().iter().any(|(_, end)| end.is_none_or(|end| end + AFTERMATH >= began))
    }
}
