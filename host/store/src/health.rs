//! The failures of the database that this process has seen.
//!
//! Two gateways that share a database lose it at the same time. When it is back, the one that holds
//! new tokens must store them before the other one takes over its lease. A gateway that has seen a
//! failure therefore waits before it takes over leases.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::connection::Durability;
use crate::{Store, StoreError};

/// Time after the last failure until leases of other gateways are taken over. It is longer than the
/// delay between two attempts of a gateway to store new tokens, plus the time in which the gateway
/// notices that its connection is broken (`postgres::address`).
pub(crate) const RECOVERY: Duration = Duration::from_secs(6);

/// Time for which the result of [`crate::Store::is_answering`] is kept, because any client may
/// trigger it.
const RESULT_LIFE: Duration = Duration::from_secs(1);

/// Maximum wait for the database in the health check.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The failures that this process has seen.
#[derive(Debug, Default)]
pub(crate) struct Health {
    failed_at: Mutex<Option<Instant>>,
    /// Set by a failed write, and cleared when the probe has written, because reads may succeed
    /// while the disk is full. Other writes do not clear it: many of them change no row, and
    /// succeed on a full disk too.
    writes_fail: AtomicBool,
    /// The last result of [`crate::Store::is_answering`].
    asked: tokio::sync::Mutex<Option<(Instant, bool)>>,
}

impl Health {
    /// Notes the result of a use of the database.
    pub(crate) fn observe<T>(&self, result: &Result<T, StoreError>) {
        if result.as_ref().is_err_and(StoreError::is_failure) {
            self.note_failure();
        }
    }

    /// Notes the result of a transaction that writes.
    pub(crate) fn observe_write<T>(&self, result: &Result<T, StoreError>) {
        self.observe(result);
        if result.as_ref().is_err_and(StoreError::is_failure) {
            self.writes_fail.store(true, Ordering::Relaxed);
        }
    }

    /// Notes that the database did not answer now.
    pub(crate) fn note_failure(&self) {
        *self.failed_at.lock() = Some(Instant::now());
    }

    /// Returns whether other gateways have had time to store what they could not store during the
    /// last failure.
    pub(crate) fn has_recovered(&self) -> bool {
        self.failed_at.lock().is_none_or(|failed_at| failed_at.elapsed() >= RECOVERY)
    }

    /// Makes the last failure older, so that tests need not wait.
    #[cfg(test)]
    pub(crate) fn recover(&self) {
        *self.failed_at.lock() = None;
    }
}

impl Store {
    /// Returns whether the database answers, and takes writes if the last one failed.
    pub async fn is_answering(&self) -> bool {
        let mut asked = self.health.asked.lock().await;
        if let Some((at, answer)) = *asked
            && at.elapsed() < RESULT_LIFE
        {
            return answer;
        }
        let is_answering = tokio::time::timeout(MAX_WAIT, self.probe()).await.is_ok_and(|result| result.is_ok());
        *asked = Some((Instant::now(), is_answering));
        is_answering
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.check().await?;
        if self.health.writes_fail.load(Ordering::Relaxed) {
            // Changes a row and changes it back, because SQLite does not write a row that stays the
            // same. Every gateway has a data key.
            self.write(Durability::PowerLoss, |connection| {
                connection.execute("UPDATE data_keys SET created_at = created_at + 1 WHERE retired_at IS NULL", &[])?;
                connection.execute("UPDATE data_keys SET created_at = created_at - 1 WHERE retired_at IS NULL", &[])
            })
            .await?;
            self.health.writes_fail.store(false, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Site, on_every_database};

    on_every_database!(a_store_answers_again_once_a_write_succeeds);

    async fn a_store_answers_again_once_a_write_succeeds(site: Site) {
        assert!(site.store.is_answering().await);
        let failing =
            site.store.write(Durability::PowerLoss, |connection| connection.execute("DELETE FROM nowhere", &[]));
        assert!(failing.await.unwrap_err().is_failure());
        // A write that changes no row does not prove that the disk has space.
        let nothing = "UPDATE data_keys SET created_at = 0 WHERE id = 'unknown'";
        site.store.write(Durability::PowerLoss, |connection| connection.execute(nothing, &[])).await.unwrap();
        assert!(site.store.health.writes_fail.load(Ordering::Relaxed));
        *site.store.health.asked.lock().await = None;
        assert!(site.store.is_answering().await);
        assert!(!site.store.health.writes_fail.load(Ordering::Relaxed));
    }
}
