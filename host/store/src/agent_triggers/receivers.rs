//! The receivers of agents: their secrets, what they have received, and the challenges that they
//! have answered.

use std::time::Duration;

use database::connection::Durability;
use database::time::millis;
use database::value::values;

use super::types::{AgentReceiver, DeliveryReport, hash_of_receiver};
use crate::Stored;
use crate::handles::AgentTriggers;

impl AgentTriggers<'_> {
    /// Returns the receiver of a trigger. `None` if the trigger has ended, or if its agent polls.
    pub async fn receiver(self, trigger: &str) -> Stored<Option<AgentReceiver>> {
        let receiver =
            "SELECT id, data_key, secrets FROM agent_triggers WHERE trigger_id = $1 AND data_key IS NOT NULL";
        self.0.read_optional(receiver, values![trigger]).await
    }

    /// Notes the result of an attempt: why it failed, or `None` if it was received.
    pub async fn note_delivery(self, trigger: &str, error: Option<&'static str>) -> Stored<()> {
        let note = "UPDATE agent_triggers SET last_error = $1,
             last_delivery_at = CASE WHEN $2 THEN now_ms() ELSE last_delivery_at END WHERE trigger_id = $3";
        self.0.execute(Durability::ProcessKill, note, values![error, error.is_none(), trigger]).await.map(drop)
    }

    /// Returns what the receiver of a trigger has received. `None` if the trigger has ended.
    pub async fn deliveries(self, trigger: &str) -> Stored<Option<DeliveryReport>> {
        let report = "SELECT last_delivery_at, last_error,
             (SELECT failing_since FROM triggers WHERE triggers.id = trigger_id)
             FROM agent_triggers WHERE trigger_id = $1";
        self.0.read_optional(report, values![trigger]).await
    }

    /// Returns the number of the last event of a trigger up to which nothing is left to deliver,
    /// not counting the event `except`.
    pub async fn delivered_up_to(self, trigger: &str, except: &str) -> Stored<i64> {
        let (trigger, except) = (trigger.to_owned(), except.to_owned());
        self.0
            .read(move |connection| {
                let pending: Option<i64> = connection.one(
                    "SELECT min(sequence) FROM trigger_events WHERE trigger_id = $1 AND id <> $2 AND (
                     id IN (SELECT message_id FROM webhook_deliveries WHERE trigger_id = $1 AND status = 'pending')
                     OR (queued = $3 AND data_key IS NOT NULL))",
                    values![&trigger, &except, false],
                )?;
                let last: Option<i64> =
                    connection.optional("SELECT sequence FROM triggers WHERE id = $1", values![&trigger])?;
                Ok(pending.map_or(last.unwrap_or_default(), |pending| pending - 1))
            })
            .await
    }

    /// Returns `true` if the receiver has answered a challenge of this caller.
    pub async fn is_verified_receiver(self, tenant: &str, subject: &str, url: &str) -> Stored<bool> {
        let verified = "SELECT EXISTS (SELECT 1 FROM verified_receivers WHERE hash = $1 AND expires_at > now_ms())";
        self.0.read_one(verified, values![hash_of_receiver(tenant, subject, url)]).await
    }

    /// Notes that the receiver has answered a challenge of this caller. Deletes what has expired.
    ///
    /// # Errors
    /// Fails with [`StoreError::TenantFull`](crate::StoreError::TenantFull) if the tenant stores
    /// too much.
    pub async fn add_verified_receiver(self, tenant: &str, subject: &str, url: &str, life: Duration) -> Stored<()> {
        let (hash, tenant, quota) = (hash_of_receiver(tenant, subject, url), tenant.to_owned(), self.0.quota);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                quota.check(connection, &tenant)?;
                connection.execute("DELETE FROM verified_receivers WHERE expires_at <= now_ms()", &[])?;
                connection.run(
                    "INSERT INTO verified_receivers (hash, tenant, expires_at) VALUES ($1, $2, now_ms() + $3)
                 ON CONFLICT (hash) DO UPDATE SET expires_at = excluded.expires_at",
                    values![&hash, &tenant, millis(life)],
                )
            })
            .await
    }
}
