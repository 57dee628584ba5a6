//! Beginning and ending a call with an idempotency key.

use std::sync::Arc;
use std::time::Duration;

use database::connection::{Connection, Durability};
use database::health::Health;
use database::time::millis;
use database::value::values;

use super::{IdempotentCall, KeyState, TakenKey};
use crate::handles::Idempotency;
use crate::integrations::read_sealed;
use crate::records::record;
use crate::{Sealed, Stored};

/// Time after which the key of a call that was lost is deleted. It is longer than a jump of the
/// clock of a server, because the key of a call that runs must stay.
const KEEP_LOST: Duration = Duration::from_secs(7 * 24 * 3600);

record! {
    row =>
    /// The columns that give the state of a key.
    struct Found {
        fingerprint: Vec<u8>,
        leased_until: Option<i64>,
        has_ended: Option<bool>,
        sealed: Option<Sealed> = read_sealed(row)?,
    }
}

impl Idempotency<'_> {
    /// Begins a call: takes its key if it is new or has expired. The call then runs under a lease
    /// of the time `lease`, and the key is kept for the time `keep`.
    ///
    /// # Errors
    /// Fails if the database does not answer. The call must then not run.
    pub async fn begin(self, call: &IdempotentCall, lease: Duration, keep: Duration) -> Stored<KeyState> {
        let (call, health, quota) = (call.clone(), Arc::clone(self.0.database.health()), self.0.quota);
        // The call may do something that cannot be undone. After a power loss, the key must still
        // say that the call has begun.
        self.0
            .write(Durability::PowerLoss, move |connection| {
                // The key of a call that runs never expires, however far the clock of the database
                // jumps.
                connection.execute(
                    "DELETE FROM idempotency_keys WHERE id = $1 AND expires_at <= now_ms() AND leased_until IS NULL",
                    values![&call.id],
                )?;
                let taken: Option<i64> = connection.optional(
                    "INSERT INTO idempotency_keys (id, tenant, fingerprint, leased_until, expires_at)
                 VALUES ($1, $2, $3, now_ms() + $4, now_ms() + $5) ON CONFLICT (id) DO NOTHING RETURNING expires_at",
                    values![&call.id, &call.tenant, &call.fingerprint, millis(lease), millis(keep)],
                )?;
                if let Some(expires_at) = taken {
                    quota.check(connection, &call.tenant)?;
                    return Ok(KeyState::New(TakenKey { expires_at }));
                }
                state(connection, &health, &call, lease)
            })
            .await
    }

    /// Extends the lease of a running call to the time `lease` from now.
    pub async fn renew(self, id: &str, lease: Duration) -> Stored<()> {
        let renew =
            "UPDATE idempotency_keys SET leased_until = now_ms() + $1 WHERE id = $2 AND leased_until IS NOT NULL";
        self.0.execute(Durability::ProcessKill, renew, values![millis(lease), id]).await.map(drop)
    }

    /// Ends a call, and keeps its answer if there is one.
    pub async fn end(self, id: &str, answer: Option<Sealed>) -> Stored<()> {
        let (data_key, bytes) = answer.as_ref().map(|sealed| (&sealed.key_id, &sealed.bytes)).unzip();
        let end = "UPDATE idempotency_keys SET leased_until = NULL, data_key = $1, answer = $2
             WHERE id = $3 AND leased_until IS NOT NULL";
        self.0.execute(Durability::PowerLoss, end, values![data_key, bytes, id]).await.map(drop)
    }

    /// Releases the key of a call that has done nothing, so that the next call with the key runs.
    /// Does nothing if it was released before, even if another call has taken it since. So it may be
    /// repeated when its answer was lost.
    pub async fn release(self, id: &str, taken: TakenKey) -> Stored<()> {
        let release = "DELETE FROM idempotency_keys WHERE id = $1 AND expires_at = $2 AND leased_until IS NOT NULL";
        self.0.execute(Durability::ProcessKill, release, values![id, taken.expires_at]).await.map(drop)
    }

    /// Releases the key of a call whose [`begin`](Self::begin) has failed, if the key was taken
    /// nevertheless. The call must not have run. `lease` and `keep` are the times of that attempt, and
    /// `keep` has a [mark](IdempotentCall::new_mark), so that the key of another attempt stays. Returns
    /// `false` if there is no such key.
    pub async fn release_unanswered(self, call: &IdempotentCall, lease: Duration, keep: Duration) -> Stored<bool> {
        // Both times of the row began at the same moment, which SQLite may read from two sides of a
        // millisecond, and no one has renewed the lease.
        let release = "DELETE FROM idempotency_keys WHERE id = $1 AND expires_at - leased_until BETWEEN $2 AND $2 + 1";
        let values = values![&call.id, millis(keep) - millis(lease)];
        Ok(self.0.execute(Durability::ProcessKill, release, values).await? > 0)
    }

    /// Deletes expired keys, and returns their number.
    pub async fn sweep(self) -> Stored<u64> {
        const EXPIRED: &str = "expires_at <= now_ms() AND (leased_until IS NULL OR leased_until <= now_ms() - $1)";
        // The condition is there twice, because a gateway may renew a lease in between.
        let sweep = format!(
            "DELETE FROM idempotency_keys WHERE {EXPIRED}
                 AND id IN (SELECT id FROM idempotency_keys WHERE {EXPIRED} ORDER BY expires_at LIMIT $2)"
        );
        self.0.delete_in_batches(sweep, values![millis(KEEP_LOST)]).await
    }
}

/// The state of an existing key. A call whose lease has ended still runs until this process has
/// seen the lease abandoned ([`database::health`]): its gateway may be about to store its end.
fn state(connection: &mut dyn Connection, health: &Health, call: &IdempotentCall, lease: Duration) -> Stored<KeyState> {
    let found: Option<Found> = connection.optional(
        "SELECT fingerprint, leased_until, leased_until <= now_ms() OR leased_until > now_ms() + $1, data_key, answer
         FROM idempotency_keys WHERE id = $2",
        values![millis(lease), &call.id],
    )?;
    Ok(match found {
        // Another call has just released it.
        None => KeyState::Running,
        Some(found) if found.fingerprint != call.fingerprint => KeyState::OfOtherRequest,
        Some(Found { leased_until: Some(until), has_ended, .. }) => {
            match has_ended == Some(true) && health.is_abandoned(&call.id, 0, until) {
                true => KeyState::Lost,
                false => KeyState::Running,
            }
        }
        Some(Found { sealed: Some(sealed), .. }) => KeyState::Ended(sealed),
        Some(Found { sealed: None, .. }) => KeyState::EndedWithoutAnswer,
    })
}
