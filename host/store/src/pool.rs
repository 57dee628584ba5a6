//! Connections that wait to be used, and the threads they are used on.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use super::StoreError;

/// Up to so many connections, each used by one call at a time. One that broke, or that a panic took along, is not put back, and
/// the next call makes another.
#[derive(Debug)]
pub(super) struct Pool<C> {
    turns: Arc<Semaphore>,
    idle: Mutex<Vec<C>>,
}

impl<C: Send + 'static> Pool<C> {
    pub(super) fn new(size: usize) -> Arc<Self> {
        Arc::new(Self { turns: Arc::new(Semaphore::new(size)), idle: Mutex::default() })
    }

    pub(super) fn take(&self) -> Option<C> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(super) fn put(&self, connection: C) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }

    /// Does work that takes a connection from the pool, in turn. It goes on to its end even if the caller goes away.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let pool = Arc::clone(self);
        on_blocking_thread(move || {
            // Held here rather than by the caller, who may be cancelled while the work goes on.
            let _turn = turn;
            work(&pool)
        })
        .await
    }
}

/// Runs what may block where it may.
pub(super) async fn on_blocking_thread<T: Send + 'static>(
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
