//! Work that goes on to its end, whether or not anybody waits for it: what a provider has given exists nowhere else until it is
//! written.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::RwLock;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::Instrument;

/// Tasks under way.
#[derive(Default)]
pub(super) struct Tasks {
    /// Each task holds it for reading.
    at_work: Arc<RwLock<()>>,
}

impl Tasks {
    /// Begins a task in the current span. Dropping the handle does not end the task.
    pub(super) fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        // None once `settle` waits: then the process is about to end.
        let mark = Arc::clone(&self.at_work).try_read_owned().ok();
        let task = async move {
            let result = work.await;
            drop(mark);
            result
        };
        tokio::spawn(task.in_current_span())
    }

    /// Waits for the tasks under way, but no longer than `patience`.
    pub(super) async fn settle(&self, patience: Duration) {
        if timeout(patience, self.at_work.write()).await.is_err() {
            tracing::warn!("some work at providers did not end in time and is cut off");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_nobody_waits_for_is_done_before_the_end() {
        let (tasks, done) = (Tasks::default(), Arc::new(AtomicBool::new(false)));
        let mark = Arc::clone(&done);
        drop(tasks.spawn(async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            mark.store(true, Ordering::Relaxed);
        }));
        tasks.settle(Duration::from_secs(60)).await;
        assert!(done.load(Ordering::Relaxed));
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_does_not_wait_for_ever() {
        let tasks = Tasks::default();
        drop(tasks.spawn(std::future::pending::<()>()));
        tasks.settle(Duration::from_secs(60)).await;
    }
}
