//! Idle connections, and the threads that database work runs on.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::StoreError;

/// A limited number of connections. One call at a time uses a connection. A connection that broke,
/// or whose call panicked, is not put back. A later call opens a new one.
#[derive(Debug)]
pub(crate) struct Pool<C> {
    /// One permit for each connection that may be in use.
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<C>>,
}

impl<C: Send + 'static> Pool<C> {
    /// Makes an empty pool that lets `size` calls use a connection at the same time.
    pub(crate) fn new(size: usize) -> Arc<Self> {
        Arc::new(Self { permits: Arc::new(Semaphore::new(size)), idle: Mutex::default() })
    }

    /// Takes an idle connection, the one that was used last. Returns `None` if there is no idle
    /// one.
    pub(crate) fn take_idle(&self) -> Option<C> {
        self.idle.lock().pop()
    }

    /// Puts a connection back for the next call.
    pub(crate) fn put_idle(&self, connection: C) {
        self.idle.lock().push(connection);
    }

    /// Waits for a permit, then runs `work` on a blocking thread. The work is finished even if the
    /// caller drops the future.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let pool = Arc::clone(self);
        on_blocking_thread(move || {
            // The permit belongs to the work, because the caller may be dropped before the work has
            // finished.
            let _permit = permit;
            work(&pool)
        })
        .await
    }
}

/// Runs work that blocks on a thread that may block. A panic of the work is propagated to the
/// caller.
pub(crate) async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Closed),
        },
    }
}
