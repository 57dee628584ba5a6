//! Notifications whose accounts are found after the service has got its answer, by one gateway at a
//! time: those that other accounts may see too, and those about lost events.

use std::time::Duration;

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::values;
use vault::Vault;

use super::types::{NewShared, SharedNotification};
use crate::handles::Inboxes;
use crate::triggers::{NewEvent, insert_told_events};
use crate::{Stored, StoredPush};

/// Time until a notification is taken that stands for others. It stands for all that came in this
/// time.
const INSTEAD_DELAY: Duration = Duration::from_secs(60);

/// The longest time after which services send a notification again. Until then, they are not asked
/// about it a second time.
const REPEATED: Duration = Duration::from_secs(25 * 3600);

/// Notifications that one transaction forgets, so that it does not delay other writes.
const SWEEP_BATCH: u32 = 500;

impl Inboxes<'_> {
    /// Returns the inboxes with notifications that are due, unless their services are to be left in
    /// peace. The inbox with the oldest one is first.
    pub async fn with_shared(self) -> Stored<Vec<String>> {
        let due = "SELECT inbox FROM shared_notifications
             WHERE due_at <= now_ms() AND inbox NOT IN (SELECT id FROM inboxes WHERE quiet_until > now_ms())
             GROUP BY inbox ORDER BY min(due_at), inbox";
        self.0.read_all(due, &[]).await
    }

    /// Takes notifications of an inbox that are due, for the time `life`. Each is due again after
    /// it, unless it was ended or put back.
    pub async fn take_shared(self, inbox: &str, life: Duration, limit: u32) -> Stored<Vec<SharedNotification>> {
        let inbox = inbox.to_owned();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                connection.all(
                    &format!(
                        "UPDATE shared_notifications SET due_at = now_ms() + $1 WHERE id IN
                         (SELECT id FROM shared_notifications WHERE inbox = $2 AND due_at <= now_ms()
                          ORDER BY due_at, id LIMIT $3 {})
                     RETURNING id, inbox, data_key, body, attempts, created_at, now_ms() - created_at",
                        connection.skip_locked()
                    ),
                    values![millis(life), &inbox, limit],
                )
            })
            .await
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

    /// Stores the events of a notification for the accounts that see it, and does not ask about it
    /// again. An event that is known is not stored again, so it does no harm if two gateways do
    /// this. For `max_pending`, see
    /// [`PushedEvents::max_pending`](crate::PushedEvents::max_pending).
    pub async fn end_shared(
        self,
        vault: &Vault,
        id: &str,
        events: Vec<NewEvent>,
        max_pending: u64,
    ) -> Stored<StoredPush> {
        let (id, vault, quota) = (id.to_owned(), vault.clone(), self.0.quota);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                connection.run("DELETE FROM shared_notifications WHERE id = $1", values![&id])?;
                connection.run(
                    "INSERT INTO asked_notifications (id, expires_at) VALUES ($1, now_ms() + $2) ON CONFLICT (id) DO NOTHING",
                    values![&id, millis(REPEATED)],
                )?;
                insert_told_events(connection, &vault, events, (quota, max_pending))
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
    let (id, body, delay) = match instead {
        Some((id, body)) if waiting >= u64::from(max_waiting) => (id, body, INSTEAD_DELAY),
        _ => (id, body, Duration::ZERO),
    };
    connection.run(
        "INSERT INTO shared_notifications (id, inbox, data_key, body, due_at, created_at)
         VALUES ($1, $2, $3, $4, now_ms() + $5, now_ms()) ON CONFLICT (id) DO NOTHING",
        values![id, inbox, &body.key_id, &body.bytes, millis(delay)],
    )
}
