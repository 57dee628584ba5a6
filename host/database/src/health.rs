//! The failures of the database that this process has seen, and the leases that it has seen end.
//!
//! A lease must not be taken from a gateway that lives. Its end by the clock of the database proves
//! nothing: the database may have been away, so that no gateway could renew, or its clock may have
//! jumped. Two gateways that share a database lose it at the same time. When it is back, the one
//! that holds new tokens must store them before the other one takes over its lease.
//!
//! So a process takes over a lease only after it has seen the lease ended, and not renewed, for the
//! time [`GRACE`] of this process's monotonic clock, in which the database served it promptly and
//! took its writes. A gateway that lives renews in this time, or stores its result. An error of the
//! database, and a statement that took longer than [`PROMPT`], forget what was seen until then.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::connection::Durability;
use crate::{Database, StoreError};

/// Time for which a lease is seen ended before it is taken over. It is longer than the delay
/// between two attempts of a gateway to store new tokens, together with the time in which it
/// notices that its connection is broken (`postgres::address`).
pub const GRACE: Duration = Duration::from_secs(6);

/// A use of the database that takes longer than this met a database that did not respond for a
/// while.
pub(crate) const PROMPT: Duration = Duration::from_secs(2);

/// An end that was seen is forgotten if no one looked again for this time. It is long, because only
/// the caller of a call that was lost looks at its lease, perhaps once a day. A process uses its
/// database every few seconds, so that it notes the failures between two looks.
const FORGET: Duration = Duration::from_secs(7 * 24 * 3600);

/// The value of `leased_until` of a lease whose holder is known to be dead.
pub const DEAD: i64 = 0;

/// Time for which the result of [`Database::is_answering`] is kept, because any client may
/// trigger it.
const RESULT_LIFE: Duration = Duration::from_secs(1);

/// Maximum wait for the database in the health check.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The failures that this process has seen.
#[derive(Debug, Default)]
pub struct Health {
    /// Leases that this process has seen end, by the name of the leased thing.
    ended: Mutex<HashMap<String, EndedLease>>,
    /// The uses of the database that have not ended, with their beginnings. One that hangs is a
    /// failure that is not noted yet.
    in_flight: Mutex<HashMap<u64, Instant>>,
    next_use: AtomicU64,
    /// Set by a failed write, and cleared when the probe has written, because reads may succeed
    /// while the disk is full. Other writes do not clear it: many of them change no row, and
    /// succeed on a full disk too.
    writes_fail: AtomicBool,
    /// The last result of [`Database::is_answering`].
    asked: tokio::sync::Mutex<Option<(Instant, bool)>>,
}

/// A lease that has ended, as it was seen.
#[derive(Debug)]
struct EndedLease {
    /// Both change when the lease is renewed, or taken by another process.
    fence: i64,
    leased_until: i64,
    first_seen: Instant,
    last_seen: Instant,
}

/// A use of the database, from its beginning to its end. If the caller drops it early, it counts as
/// not prompt after a while, and then no longer.
pub(crate) struct Use<'a> {
    health: &'a Health,
    number: u64,
    began: Instant,
}

impl Health {
    /// Notes that a use of the database begins.
    pub(crate) fn begin(&self) -> Use<'_> {
        let (number, began) = (self.next_use.fetch_add(1, Ordering::Relaxed), Instant::now());
        self.in_flight.lock().insert(number, began);
        Use { health: self, number, began }
    }

    /// Forgets which leases were seen ended, because the database did not respond now: their
    /// holders could not renew them.
    pub(crate) fn note_failure(&self) {
        self.ended.lock().clear();
    }

    /// Returns whether a lease that has ended belongs to no living process, as far as this process
    /// can know: it has seen the lease unchanged for [`GRACE`], or its holder is known to be dead.
    /// The first call for a lease begins the time. Call it in a transaction that a database without
    /// writes refuses, because no one can renew in such a database.
    pub fn is_abandoned(&self, name: &str, fence: i64, leased_until: i64) -> bool {
        if leased_until == DEAD {
            return true;
        }
        let now = Instant::now();
        if self.is_stalled() {
            self.note_failure();
        }
        let mut ended = self.ended.lock();
        ended.retain(|_, lease| now - lease.last_seen < FORGET);
        let lease =
            ended.entry(name.to_owned()).or_insert(EndedLease { fence, leased_until, first_seen: now, last_seen: now });
        if (lease.fence, lease.leased_until) != (fence, leased_until) {
            *lease = EndedLease { fence, leased_until, first_seen: now, last_seen: now };
        }
        lease.last_seen = now;
        now - lease.first_seen >= GRACE
    }

    /// Returns whether a use of the database hangs.
    fn is_stalled(&self) -> bool {
        self.in_flight.lock().values().any(|began| began.elapsed() > PROMPT)
    }

    /// Makes what was seen old enough, so that tests need not wait.
    #[cfg(any(test, feature = "testing"))]
    pub fn pass_grace(&self) {
        self.ended.lock().values_mut().for_each(|lease| lease.first_seen -= GRACE);
    }
}

impl Use<'_> {
    /// Notes the result of a use that only reads.
    pub(crate) fn end<T>(self, result: &Result<T, StoreError>) {
        if result.as_ref().is_err_and(StoreError::is_failure) || self.began.elapsed() > PROMPT {
            self.health.note_failure();
        }
    }

    /// Notes the result of a transaction that writes.
    pub(crate) fn end_write<T>(self, result: &Result<T, StoreError>) {
        if result.as_ref().is_err_and(StoreError::is_failure) {
            self.health.writes_fail.store(true, Ordering::Relaxed);
        }
        self.end(result);
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        self.health.in_flight.lock().remove(&self.number);
    }
}

impl Database {
    /// Returns whether the database answers, and takes writes if the last one failed.
    pub async fn is_answering(&self) -> bool {
        let mut asked = self.health.asked.lock().await;
        if let Some((at, answer)) = *asked
            && at.elapsed() < RESULT_LIFE
        {
            return answer;
        }
        let answer = tokio::time::timeout(MAX_WAIT, self.probe()).await.is_ok_and(|result| result.is_ok());
        *asked = Some((Instant::now(), answer));
        answer
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.check().await?;
        if self.health.writes_fail.load(Ordering::Relaxed) {
            let [change, change_back] = self.tables.probe;
            self.write(Durability::PowerLoss, move |connection| {
                connection.execute(change, &[])?;
                connection.execute(change_back, &[])
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

    on_every_database!(a_database_answers_again_once_a_write_succeeds);

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_abandoned_once_it_was_seen_ended_and_unchanged_for_the_grace_time() {
        let health = Health::default();
        assert!(!health.is_abandoned("one", 1, 100));
        tokio::time::advance(GRACE - Duration::from_millis(1)).await;
        assert!(!health.is_abandoned("one", 1, 100));
        assert!(!health.is_abandoned("other", 1, 100));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(health.is_abandoned("one", 1, 100));
        assert!(!health.is_abandoned("one", 1, 101), "it was renewed");
        tokio::time::advance(GRACE).await;
        assert!(!health.is_abandoned("one", 2, 101), "another process has taken it");
        assert!(health.is_abandoned("dead", 1, DEAD));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_looked_at_once_a_day_is_abandoned_at_the_second_look() {
        let health = Health::default();
        assert!(!health.is_abandoned("one", 1, 100));
        tokio::time::advance(Duration::from_secs(24 * 3600)).await;
        assert!(health.is_abandoned("one", 1, 100));
        tokio::time::advance(FORGET).await;
        health.is_abandoned("other", 1, 100);
        assert_eq!(health.ended.lock().len(), 1, "what no one looks at is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_that_fails_or_stalls_begins_the_grace_time_again() {
        let health = Health::default();
        health.is_abandoned("an error", 1, 100);
        tokio::time::advance(GRACE).await;
        health.begin().end::<()>(&Err(StoreError::Closed));
        assert!(!health.is_abandoned("an error", 1, 100));
        tokio::time::advance(GRACE).await;
        health.begin().end_write::<()>(&Err(StoreError::Closed));
        assert!(!health.is_abandoned("an error", 1, 100), "a write has failed");
        health.is_abandoned("slow", 1, 100);
        let slow = health.begin();
        tokio::time::advance(GRACE).await;
        assert!(!health.is_abandoned("slow", 1, 100), "a use of the database hangs");
        slow.end(&Ok(()));
        tokio::time::advance(GRACE).await;
        health.begin().end(&Ok(()));
        assert!(!health.is_abandoned("slow", 1, 100), "the end of the slow use has begun the time again");
        tokio::time::advance(GRACE).await;
        assert!(health.is_abandoned("slow", 1, 100));
    }

    async fn a_database_answers_again_once_a_write_succeeds(site: Site) {
        assert!(site.database.is_answering().await);
        let failing =
            site.database.write(Durability::PowerLoss, |connection| connection.execute("DELETE FROM nowhere", &[]));
        assert!(failing.await.unwrap_err().is_failure());
        // A write that changes no row does not prove that the disk has space.
        let nothing = "UPDATE notes SET number = 0 WHERE id = 'unknown'";
        site.database.write(Durability::PowerLoss, |connection| connection.execute(nothing, &[])).await.unwrap();
        assert!(site.database.health.writes_fail.load(Ordering::Relaxed));
        *site.database.health.asked.lock().await = None;
        assert!(site.database.is_answering().await);
        assert!(!site.database.health.writes_fail.load(Ordering::Relaxed));
    }
}
