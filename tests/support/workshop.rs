//! Folders in which tests make projects and build them, as authors do.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use parking_lot::Mutex;

use crate::{module, wait_at_most};

/// The number of tests that make projects at once. A test keeps about one core busy, because the
/// crates of a project wait for each other.
const WORKSHOPS: u32 = 2;

/// Longest wait for a workshop. The tests before build for minutes.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// The folders of one test at a time, with what Cargo has built for the tests before. Each workshop
/// has its own folder that Cargo builds into, because Cargo locks that folder while it builds.
pub struct Workshop {
    number: u32,
    /// Locked until it is closed. Test programs that run at the same time see the lock too.
    _lock: File,
}

impl Workshop {
    /// Waits for a workshop that no test uses.
    ///
    /// # Panics
    /// When its folders cannot be made, or none is free within an hour.
    #[track_caller]
    pub fn enter() -> Self {
        // In one program, the test that has waited longest is the next one. Otherwise a long test may be
        // the last one, and the other workshop is empty meanwhile.
        static QUEUE: Mutex<()> = Mutex::new(());
        let _first = QUEUE.lock();
        let folder = folder();
        fs::create_dir_all(&folder).expect("the folder can be made");
        wait_at_most(MAX_WAIT, "a workshop that is free", || {
            (1..=WORKSHOPS).find_map(|number| {
                let lock = File::create(folder.join(format!("workshop-{number}.lock"))).expect("the file can be made");
                lock.try_lock().is_ok().then_some(Self { number, _lock: lock })
            })
        })
    }

    /// The name of a folder of this workshop.
    pub fn own(&self, name: &str) -> String {
        format!("{name}-{}", self.number)
    }

    /// The folder that Cargo builds into.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn built(&self) -> PathBuf {
        let folder = folder().join(self.own("built"));
        fs::create_dir_all(&folder).expect("the folder can be made");
        folder.canonicalize().expect("the folder exists")
    }
}

fn folder() -> PathBuf {
    module::root().join("target/authors")
}
