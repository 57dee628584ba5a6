//! The clock that limits the computing time of guests. It ticks only while guests run, so that an
//! idle gateway uses no CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::Engine;

/// The time between two ticks. It is the unit of every CPU budget.
pub(super) const TICK: Duration = Duration::from_millis(1);

/// The clock stops after this number of ticks without a guest. Waking it costs more than some
/// unneeded ticks.
const IDLE_TICKS: u32 = 100;

/// A stopped clock checks at this interval that its engine still exists.
const IDLE_CHECK: Duration = Duration::from_secs(10);

/// The clock of an engine, with its thread.
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Default)]
struct Shared {
    guests: AtomicUsize,
    /// `true` if the clock has stopped or is about to stop.
    stopped: AtomicBool,
}

impl Ticker {
    /// Starts the clock. It ends when the engine is dropped.
    ///
    /// # Errors
    /// If no thread can be started.
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
                // First store, then load. `guest_begins` does the two in the other order, so at
                // least one of the two sees the other.
                seen.stopped.store(true, Ordering::SeqCst);
                if seen.guests.load(Ordering::SeqCst) == 0 {
                    thread::park_timeout(IDLE_CHECK);
                }
                seen.stopped.store(false, Ordering::SeqCst);
            }
        })?;
        Ok(Arc::new(Self { shared, thread: handle.thread().clone() }))
    }

    /// A guest begins. The clock ticks until it ends.
    pub(super) fn guest_begins(&self) {
        self.shared.guests.fetch_add(1, Ordering::SeqCst);
        if self.shared.stopped.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
    }

    /// A guest has ended.
    pub(super) fn guest_ends(&self) {
        self.shared.guests.fetch_sub(1, Ordering::Relaxed);
    }
}
