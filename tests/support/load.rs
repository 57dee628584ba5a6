//! Calls in the background, on several connections, while a test does something else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::client::{Answer, Call};
use crate::{runtime, wait_for};

/// Number of connections. Each makes one call after the other.
const CONNECTIONS: usize = 4;

/// The result of all calls.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of calls whose answer passed the check.
    pub succeeded: usize,
    /// One sentence for each other call.
    pub failures: Vec<String>,
}

/// Calls that are being made. They stop when this is dropped.
#[must_use]
pub struct Load {
    stop: Arc<AtomicBool>,
    succeeded: Arc<AtomicUsize>,
    tasks: Vec<tokio::task::JoinHandle<Vec<String>>>,
}

impl Load {
    /// Starts to call. `check` returns an error that says what is wrong with an answer.
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

    /// Number of calls that have succeeded so far.
    pub fn succeeded(&self) -> usize {
        self.succeeded.load(Ordering::Relaxed)
    }

    /// Waits until this many further calls have succeeded. Everything done before has then been met
    /// by some calls.
    ///
    /// # Panics
    /// When they do not succeed within four minutes.
    pub fn wait_for_more(&self, calls: usize) {
        let wanted = self.succeeded() + calls;
        wait_for("more calls to succeed", || (self.succeeded() >= wanted).then_some(()));
    }

    /// Waits for the calls that have begun, and returns the result of all calls.
    ///
    /// # Panics
    /// When a check panicked.
    pub fn stop(mut self) -> Outcome {
        self.stop.store(true, Ordering::Relaxed);
        let tasks = std::mem::take(&mut self.tasks);
        let failures = tasks.into_iter().flat_map(|task| runtime().block_on(task).unwrap()).collect();
        Outcome { succeeded: self.succeeded(), failures }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // A test that fails drops this without a call of `stop`.
        self.stop.store(true, Ordering::Relaxed);
    }
}
