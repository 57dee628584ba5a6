//! Notifications whose accounts are found after the service has got its answer, by one gateway at a
//! time: those that other accounts may see too, and those about lost events.

use std::time::Duration;

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::values;
use vault::Vault;

use super::types::{EndedShared, NewShared, SharedNotification};
use crate::handles::Inboxes;
use crate::triggers::{insert_told_events, lock_subscriptions_of};
use crate::{Stored, StoredPush};

/// Time until a notification is taken that stands for others. It stands for all that came in this
/// time.
const INSTEAD_DELAY: Duration = Duration::from_secs(60);

/// The longest time after which services send a notification again. Until then, they are not asked
/// about it a second time.
const REPEATED: Duration = Duration::from_secs(25 * 3600);

/// Time until accounts get the gap of a notification whose events are lost. One gap stands for all
/// notifications that have ended in this time.
const TELL_DELAY: Duration = Duration::from_secs(5);

/// The most notifications of an inbox that tell of lost events. A further one is for all accounts.
const MAX_LOST: u32 = 8;

/// The columns of a [`SharedNotification`], in the order in which they are read.
const COLUMNS: &str = "id, inbox, data_key, body, attempts, created_at, now_ms() - created_at";

/// Notifications that one transaction forgets, so that it does not delay other writes.
const SWEEP_BATCH: u32 = 500;

impl Inboxes<'_> {
    /// Returns the inboxes with notifications that are due. While a service is to be left in peace,
    /// only those about lost events are. The inbox with the oldest one is first.
    pub async fn with_shared(self) -> Stored<Vec<String>> {
        let due = "SELECT inbox FROM shared_notifications
             WHERE due_at <= now_ms()
                 AND (is_lost OR inbox NOT IN (SELECT id FROM inboxes WHERE quiet_until > now_ms()))
             GROUP BY inbox ORDER BY min(due_at), inbox";
        self.0.read_all(due, &[]).await
    }

    /// Takes notifications of an inbox that are due, for the time `life`: those about lost events
    /// first, and others unless the service is to be left in peace. Each is due again after this
    /// time, unless it was ended or put back.
    pub async fn take_shared(self, inbox: &str, life: Duration, limit: u32) -> Stored<Vec<SharedNotification>> {
        let inbox = inbox.to_owned();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let mut taken = Vec::new();
                for is_lost in [true, false] {
                    let left = limit.saturating_sub(u32::try_from(taken.len()).unwrap_or(u32::MAX));
                    let take = format!(
                        "UPDATE shared_notifications SET due_at = now_ms() + $1 WHERE id IN
                             (SELECT id FROM shared_notifications WHERE inbox = $2 AND is_lost = $4 AND due_at <= now_ms()
                                  AND ($4 OR NOT EXISTS (SELECT 1 FROM inboxes WHERE id = $2 AND quiet_until > now_ms()))
                              ORDER BY due_at, id LIMIT $3 {})
                         RETURNING {COLUMNS}",
                        connection.skip_locked()
                    );
                    let mut found: Vec<SharedNotification> =
                        connection.all(&take, values![millis(life), &inbox, left, is_lost])?;
                    taken.append(&mut found);
                }
                Ok(taken)
            })
            .await
    }

    /// Returns notifications of an inbox that are at least this old, the oldest first, without
    /// those about lost events.
    pub async fn old_shared(self, inbox: &str, age: Duration, limit: u32) -> Stored<Vec<SharedNotification>> {
        let old = format!(
            "SELECT {COLUMNS} FROM shared_notifications
             WHERE inbox = $1 AND is_lost = $4 AND created_at <= now_ms() - $2 ORDER BY created_at, id LIMIT $3"
        );
        self.0.read_all(old, values![inbox, millis(age), limit, false]).await
    }

    /// Makes a notification due after a time. `was_asked` counts an attempt to ask the service.
    pub async fn put_back_shared(self, id: &str, delay: Duration, was_asked: bool) -> Stored<()> {
        let put_back = "UPDATE shared_notifications SET due_at = now_ms() + $1, attempts = attempts + $2 WHERE id = $3";
        let attempts = i64::from(was_asked);
        self.0.execute(Durability::PowerLoss, put_back, values![millis(delay), attempts, id]).await.map(drop)
    }

    /// Leaves the service of an inbox in peace for a time.
    pub async fn quiet(self, inbox: &str, delay: Duration) -> Stored<()> {
        let quiet = "UPDATE inboxes SET quiet_until = now_ms() + $1
             WHERE id = $2 AND (quiet_until IS NULL OR quiet_until < now_ms() + $1)";
        self.0.execute(Durability::PowerLoss, quiet, values![millis(delay), inbox]).await.map(drop)
    }

    /// Notes that the service of an inbox has not answered. Returns the time since the first time
    /// that this was noted after its last answer.
    pub async fn note_unanswered(self, inbox: &str) -> Stored<Duration> {
        let inbox = inbox.to_owned();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let since: Option<i64> = connection.optional(
                    "UPDATE inboxes SET unanswered_since = COALESCE(unanswered_since, now_ms()) WHERE id = $1
                     RETURNING now_ms() - unanswered_since",
                    values![&inbox],
                )?;
                Ok(Duration::from_millis(since.and_then(|since| u64::try_from(since).ok()).unwrap_or_default()))
            })
            .await
    }

    /// Notes that the service of an inbox has answered.
    pub async fn note_answered(self, inbox: &str) -> Stored<()> {
        let answered = "UPDATE inboxes SET unanswered_since = NULL WHERE id = $1 AND unanswered_since IS NOT NULL";
        self.0.execute(Durability::ProcessKill, answered, values![inbox]).await.map(drop)
    }

    /// Stores the events of a notification for the accounts that see it, and does not ask about it
    /// again. An event that is known is not stored again, so it does no harm if two gateways do
    /// this.
    pub async fn end_shared(self, vault: &Vault, id: &str, ended: EndedShared) -> Stored<StoredPush> {
        let (id, vault, quota) = (id.to_owned(), vault.clone(), self.0.quota);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let EndedShared { events, max_pending, lost } = ended;
                lock_subscriptions_of(connection, &events)?;
                let stored = insert_told_events(connection, &vault, events, (quota, max_pending))?;
                let came: Option<i64> = connection
                    .optional("SELECT created_at FROM shared_notifications WHERE id = $1", values![&id])?;
                connection.run("DELETE FROM shared_notifications WHERE id = $1", values![&id])?;
                connection.run(
                    "INSERT INTO asked_notifications (id, expires_at) VALUES ($1, now_ms() + $2) ON CONFLICT (id) DO NOTHING",
                    values![&id, millis(REPEATED)],
                )?;
                // Without a time, another gateway has ended it.
                if let (Some(lost), Some(came)) = (lost, came) {
                    keep_lost(connection, &lost, came)?;
                }
                Ok(stored)
            })
            .await
    }

    /// Forgets a notification about lost events. The service may send it again.
    pub async fn forget_shared(self, id: &str) -> Stored<()> {
        let forget = "DELETE FROM shared_notifications WHERE id = $1";
        self.0.execute(Durability::PowerLoss, forget, values![id]).await.map(drop)
    }

    /// Forgets about which notifications services were asked, once they send them no more.
    pub async fn sweep_asked(self) -> Stored<()> {
        let sweep = "DELETE FROM asked_notifications WHERE id IN
             (SELECT id FROM asked_notifications WHERE expires_at <= now_ms() LIMIT $1)";
        while self.0.execute(Durability::ProcessKill, sweep, values![SWEEP_BATCH]).await? == u64::from(SWEEP_BATCH) {}
        Ok(())
    }
}

/// Keeps a notification, unless it is kept or the service was asked about it. If `max_waiting` wait
/// at its inbox, a smaller one takes its place.
pub(crate) fn keep_shared(connection: &mut dyn Connection, new: &NewShared, max_waiting: u32) -> Stored<()> {
    let NewShared { id, inbox, body, instead } = new;
    let is_known: bool = connection.one(
        "SELECT EXISTS (SELECT 1 FROM shared_notifications WHERE id = $1)
             OR EXISTS (SELECT 1 FROM asked_notifications WHERE id = $1 AND expires_at > now_ms())",
        values![id],
    )?;
    if is_known {
        return Ok(());
    }
    let waiting: u64 = connection.one(
        "SELECT count(*) FROM (SELECT 1 FROM shared_notifications WHERE inbox = $1 LIMIT $2) AS waiting",
        values![inbox, max_waiting],
    )?;
    let (id, body, delay, is_lost) = match instead {
        Some((id, body)) if waiting >= u64::from(max_waiting) => (id, body, INSTEAD_DELAY, true),
        _ => (id, body, Duration::ZERO, instead.is_none()),
    };
    connection.run(
        "INSERT INTO shared_notifications (id, inbox, data_key, body, due_at, created_at, is_lost)
         VALUES ($1, $2, $3, $4, now_ms() + $5, now_ms(), $6) ON CONFLICT (id) DO NOTHING",
        values![id, inbox, &body.key_id, &body.bytes, millis(delay), is_lost],
    )
}

/// Keeps a notification about lost events of another one, as if it had come at the same time
/// `came`. If many such ones wait, the one for all accounts takes its place.
fn keep_lost(connection: &mut dyn Connection, lost: &NewShared, came: i64) -> Stored<()> {
    let NewShared { id, inbox, body, instead } = lost;
    let waiting: u64 = connection.one(
        "SELECT count(*) FROM shared_notifications WHERE inbox = $1 AND is_lost AND id <> $2",
        values![inbox, id],
    )?;
    let (id, body) = match instead {
        Some((id, body)) if waiting >= u64::from(MAX_LOST) => (id, body),
        _ => (id, body),
    };
    connection.run(
        "INSERT INTO shared_notifications (id, inbox, data_key, body, due_at, created_at, is_lost)
         VALUES ($1, $2, $3, $4, now_ms() + $5, $6, $7) ON CONFLICT (id) DO NOTHING",
        values![id, inbox, &body.key_id, &body.bytes, millis(TELL_DELAY), came, true],
    )
}
