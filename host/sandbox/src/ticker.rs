//! The clock that bounds how long a guest computes. It ticks while guests run, so that an idle gateway sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::Engine;

/// The epoch advances this often. It is the unit of every CPU budget.
pub(super) const TICK: Duration = Duration::from_millis(1);

/// The clock stops once this many ticks in a row found no guest: to wake it costs more than a few needless ticks.
const IDLE_TICKS: u32 = 100;

/// How often a clock that has stopped looks whether its engine is still there.
const NAP: Duration = Duration::from_secs(10);

/// The clock of an engine.
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Default)]
struct Shared {
    guests: AtomicUsize,
    /// Whether the clock has stopped, or is about to.
    stopped: AtomicBool,
}

/// Keeps the clock ticking.
pub(super) struct Running(Arc<Ticker>);

impl Ticker {
    /// Starts the clock; it ends with the engine.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(engine: &Engine) -> std::io::Result<Arc<Self>> {
        let engine = engine.weak();
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let handle = thread::Builder::new().name("epoch".to_owned()).spawn(move || {
            let mut idle = 0;
            while let Some(engine) = engine.upgrade() {
                engine.increment_epoch();
                drop(engine);
                idle = if seen.guests.load(Ordering::Relaxed) == 0 { idle + 1 } else { 0 };
                if idle < IDLE_TICKS {
                    thread::sleep(TICK);
                    continue;
                }
                idle = 0;
                // In this order, and the other way round in `run`: so one of the two sees the other.
                seen.stopped.store(true, Ordering::SeqCst);
                if seen.guests.load(Ordering::SeqCst) == 0 {
                    thread::park_timeout(NAP);
                }
                seen.stopped.store(false, Ordering::SeqCst);
            }
        })?;
        Ok(Arc::new(Self { shared, thread: handle.thread().clone() }))
    }

    /// Has the clock tick until the guard is dropped.
    pub(super) fn run(self: &Arc<Self>) -> Running {
        self.shared.guests.fetch_add(1, Ordering::SeqCst);
        if self.shared.stopped.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Running(Arc::clone(self))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.shared.guests.fetch_sub(1, Ordering::Relaxed);
    }
}
