//! Calls that go on, one after the other on several connections, while a test does something else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::client::{Answer, Call};
use crate::{runtime, wait_for};

/// Calls at once.
const CONNECTIONS: usize = 4;

/// What came of the calls.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Calls that were answered as they should be.
    pub succeeded: usize,
    /// What came instead, in words.
    pub failures: Vec<String>,
}

/// Calls under way.
#[must_use]
pub struct Load {
    stop: Arc<AtomicBool>,
    succeeded: Arc<AtomicUsize>,
    tasks: Vec<tokio::task::JoinHandle<Vec<String>>>,
}

impl Load {
    /// Begins to call. `check` says what is wrong with an answer, or nothing.
    pub fn start(
        call: impl Fn() -> Call + Clone + Send + 'static,
        check: impl Fn(&Answer) -> Result<(), String> + Clone + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let succeeded = Arc::new(AtomicUsize::new(0));
        let tasks = (0..CONNECTIONS)
            .map(|_| {
                let (stop, succeeded) = (Arc::clone(&stop), Arc::clone(&succeeded));
                let (call, check) = (call.clone(), check.clone());
                runtime().spawn(async move {
                    let mut failures = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let answer = call().run().await.map_err(|error| format!("no answer: {error:?}"));
                        match answer.and_then(|answer| check(&answer)) {
                            Ok(()) => {
                                succeeded.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(failure) => failures.push(failure),
                        }
                    }
                    failures
                })
            })
            .collect();
        Self { stop, succeeded, tasks }
    }

    /// Calls that have succeeded so far.
    pub fn succeeded(&self) -> usize {
        self.succeeded.load(Ordering::Relaxed)
    }

    /// Waits until a further number of calls has succeeded, so that what was done before is sure to have met some.
    ///
    /// # Panics
    /// When they do not.
    pub fn wait_for_more(&self, calls: usize) {
        let wanted = self.succeeded() + calls;
        wait_for("more calls to succeed", || (self.succeeded() >= wanted).then_some(()));
    }

    /// Lets the calls under way end, and tells what came of all.
    ///
    /// # Panics
    /// When a check did.
    pub fn stop(mut self) -> Outcome {
        self.stop.store(true, Ordering::Relaxed);
        let tasks = std::mem::take(&mut self.tasks);
        let failures = tasks.into_iter().flat_map(|task| runtime().block_on(task).unwrap()).collect();
        Outcome { succeeded: self.succeeded(), failures }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // For tests that fail on the way.
        self.stop.store(true, Ordering::Relaxed);
    }
}
