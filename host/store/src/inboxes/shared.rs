//! Notifications that other accounts may see too. The service is asked for them after it has got
//! its answer, by one gateway at a time.

use std::time::Duration;

use database::connection::Durability;
use database::time::millis;
use database::value::values;
use vault::Vault;

use super::types::SharedNotification;
use crate::handles::Inboxes;
use crate::triggers::{NewEvent, insert_told_events};
use crate::{Stored, StoredPush};

impl Inboxes<'_> {
    /// Takes notifications that are due, for the time `life`. Each is due again after it, unless it
    /// was ended.
    pub async fn take_shared(self, life: Duration, limit: u32) -> Stored<Vec<SharedNotification>> {
        let is_any_due: bool = self
            .0
            .read(|connection| {
                connection.one("SELECT EXISTS (SELECT 1 FROM shared_notifications WHERE due_at <= now_ms())", &[])
            })
            .await?;
        if !is_any_due {
            return Ok(Vec::new());
        }
        self.0
            .write(Durability::PowerLoss, move |connection| {
                connection.all(
                    &format!(
                        "UPDATE shared_notifications SET due_at = now_ms() + $1, attempts = attempts + 1 WHERE id IN
                         (SELECT id FROM shared_notifications WHERE due_at <= now_ms() ORDER BY due_at LIMIT $2 {})
                     RETURNING id, inbox, data_key, body, attempts",
                        connection.skip_locked()
                    ),
                    values![millis(life), limit],
                )
            })
            .await
    }

    /// Stores the events of a notification for the accounts that see it, and forgets it. An event
    /// that is known is not stored again, so it does no harm if two gateways do this. For
    /// `max_pending`, see [`PushedEvents::max_pending`](crate::PushedEvents::max_pending).
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
                connection.execute("DELETE FROM shared_notifications WHERE id = $1", values![&id])?;
                insert_told_events(connection, &vault, events, (quota, max_pending))
            })
            .await
    }
}
