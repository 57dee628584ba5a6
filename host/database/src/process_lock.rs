//! A lock that one process at a time holds, for work that must not run twice at the same time.

use std::fs::File;

use crate::postgres::CachedClient;
use crate::{Backend, Database, StoreError};

/// Holds the lock until it is dropped or the process ends, even by a kill.
#[derive(Debug)]
pub struct ProcessLock {
    _held: LockHolder,
}

/// Releases the lock when it is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "kept only to be dropped")]
pub(crate) enum LockHolder {
    /// A locked file. The operating system releases the lock when the file is closed.
    File(File),
    /// A connection with an advisory lock. The PostgreSQL server releases the lock when the
    /// connection ends.
    Client(Box<CachedClient>),
}

impl Database {
    /// Takes the lock of that name. Returns `None` if another process, or this one, holds it.
    ///
    /// # Errors
    /// Fails if the database does not answer, or the lock's file cannot be written.
    pub async fn try_process_lock(&self, name: &'static str) -> Result<Option<ProcessLock>, StoreError> {
        let held = match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.try_process_lock(name).await?,
            Backend::Postgres(postgres) => postgres.try_process_lock(name).await?,
            Backend::Simulated(_) => None,
        };
        Ok(held.map(|held| ProcessLock { _held: held }))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Site, on_every_database};

    on_every_database!(a_process_lock_is_held_once_and_free_again_after_it_is_dropped);

    async fn a_process_lock_is_held_once_and_free_again_after_it_is_dropped(site: Site) {
        let other = site.open_again().await;
        let lock = site.database.try_process_lock("test").await.unwrap().unwrap();
        assert!(other.try_process_lock("test").await.unwrap().is_none());
        assert!(other.try_process_lock("other").await.unwrap().is_some());
        drop(lock);
        // The server needs a moment to notice that the connection has ended.
        let mut tries = 0;
        while other.try_process_lock("test").await.unwrap().is_none() {
            tries += 1;
            assert!(tries < 1000);
        }
    }
}
