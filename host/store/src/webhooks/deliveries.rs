//! Storing and reading deliveries of webhooks.

use std::collections::BTreeSet;

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::values;

use super::types::{COLUMNS, MORE_COLUMNS};
use super::{AnyDelivery, Delivery, NewDelivery, Payload};
use crate::handles::Webhooks;
use crate::{Sealed, Stored};

/// URLs and bodies that one transaction deletes, so that it does not delay other writes.
const SWEEP_BATCH: usize = 200;

impl Webhooks<'_> {
    /// Stores deliveries, to be attempted immediately.
    pub async fn add_deliveries(self, deliveries: Vec<NewDelivery>) -> Stored<()> {
        self.0.write(Durability::PowerLoss, move |connection| insert_deliveries(connection, &deliveries)).await
    }

    /// Stores a delivery, to be attempted immediately. Returns `false` and stores nothing if its id
    /// is already stored.
    pub async fn add_delivery_once(self, delivery: NewDelivery) -> Stored<bool> {
        self.0
            .write(Durability::PowerLoss, move |connection| {
                connection.lock(&format!("webhook delivery\0{}", delivery.webhook_id))?;
                let is_known: bool = connection.one(
                    "SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE webhook_id = $1)",
                    values![&delivery.webhook_id],
                )?;
                if !is_known {
                    insert_deliveries(connection, std::slice::from_ref(&delivery))?;
                }
                Ok(!is_known)
            })
            .await
    }

    /// Returns the deliveries of an event, in the order of their ids.
    pub async fn deliveries_of_event(self, event: &str) -> Stored<Vec<AnyDelivery>> {
        let of_event = "WHERE message_id = $1 ORDER BY webhook_id";
        let of_event = format!("SELECT {COLUMNS}, {MORE_COLUMNS} FROM webhook_deliveries {of_event}");
        self.0.read_all(of_event, values![event]).await
    }

    /// Returns the deliveries about the end of a job, in the order of their ids.
    pub async fn deliveries_of(self, job_id: &str) -> Stored<Vec<Delivery>> {
        let of_job = format!("SELECT {COLUMNS} FROM webhook_deliveries WHERE job_id = $1 ORDER BY webhook_id");
        self.0.read_all(of_job, values![job_id]).await
    }

    /// Deletes the URLs and bodies of deliveries that have ended and that are no longer kept, the
    /// records of deliveries that have expired, and secrets that have expired. Returns the number
    /// of records and secrets.
    pub async fn sweep(self) -> Stored<u64> {
        while self.0.write(Durability::ProcessKill, delete_old_bodies).await? == SWEEP_BATCH {}
        let expired = "DELETE FROM webhook_deliveries WHERE webhook_id IN (SELECT webhook_id FROM webhook_deliveries
             WHERE status <> 'pending' AND payload_id IS NULL AND expires_at <= now_ms() ORDER BY expires_at LIMIT $1)";
        let deliveries = self.0.delete_in_batches(expired, &[]).await?;
        let secrets = "DELETE FROM webhook_secrets WHERE expires_at <= now_ms()";
        Ok(deliveries + self.0.execute(Durability::ProcessKill, secrets, &[]).await?)
    }
}

/// Deletes some of the URLs and bodies that are no longer kept. Returns their number.
fn delete_old_bodies(connection: &mut dyn Connection) -> Stored<usize> {
    let ended: Vec<(String, String)> = connection.all(
        "SELECT webhook_id, payload_id FROM webhook_deliveries
         WHERE status <> 'pending' AND payload_id IS NOT NULL AND body_until <= now_ms() ORDER BY payload_id LIMIT $1",
        values![u32::try_from(SWEEP_BATCH).unwrap_or(u32::MAX)],
    )?;
    ended.iter().try_for_each(|(webhook_id, payload_id)| delete_body(connection, webhook_id, payload_id))?;
    Ok(ended.len())
}

/// Deletes the URL of a delivery that has ended, and its body if no other delivery has it. The
/// database keeps no secret that is no longer needed.
pub(crate) fn delete_body(connection: &mut dyn Connection, webhook_id: &str, payload_id: &str) -> Stored<()> {
    // Without the lock, if the last two deliveries of a body ended at the same time, each would see
    // the other one.
    lock_payload(connection, payload_id)?;
    // An operator may have requested another attempt since.
    connection.execute(
        "UPDATE webhook_deliveries SET data_key = NULL, url = NULL, payload_id = NULL, body_until = NULL
         WHERE webhook_id = $1 AND status <> 'pending'",
        values![webhook_id],
    )?;
    forget_payload(connection, payload_id)
}

fn lock_payload(connection: &mut dyn Connection, payload_id: &str) -> Stored<()> {
    connection.lock(&format!("webhook payload\0{payload_id}"))
}

/// Deletes a body unless a delivery has it. The caller has locked its name.
fn forget_payload(connection: &mut dyn Connection, payload_id: &str) -> Stored<()> {
    connection.run(
        "DELETE FROM webhook_payloads WHERE id = $1
             AND NOT EXISTS (SELECT 1 FROM webhook_deliveries WHERE payload_id = webhook_payloads.id)",
        values![payload_id],
    )
}

/// Stores deliveries in an open transaction, to be attempted immediately. A delivery whose id is
/// already stored does not change, and a body that no delivery has is not stored.
pub(crate) fn insert_deliveries(connection: &mut dyn Connection, deliveries: &[NewDelivery]) -> Stored<()> {
    let mut stored = None;
    let mut unused = BTreeSet::new();
    for NewDelivery { webhook_id, tenant, source, receiver, url, url_hash, payload, kept_for } in deliveries {
        if stored != Some(&payload.id) {
            insert_payload(connection, tenant, payload)?;
            stored = Some(&payload.id);
            unused.insert(payload.id.as_str());
        }
        let (trigger, event) = source.event().unzip();
        let (kind, job, kept_for) = (source.kind(), source.job(), millis(*kept_for));
        let size = i64::try_from(payload.sealed.bytes.len()).unwrap_or(i64::MAX);
        let (Sealed { key_id, bytes }, payload) = (url, &payload.id);
        let inserted = connection.execute(
            "INSERT INTO webhook_deliveries (webhook_id, tenant, kind, job_id, receiver, data_key, url, payload_id, size,
                 status, attempts, next_attempt_at, created_at, expires_at, url_hash, trigger_id, message_id)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'pending', '[]', now_ms(), now_ms(), now_ms() + $10, $11, $12, $13)
             ON CONFLICT (webhook_id) DO NOTHING",
            values![
                webhook_id, tenant, kind, job, receiver, key_id, bytes, payload, size, kept_for, url_hash, trigger, event
            ],
        )?;
        if inserted > 0 {
            unused.remove(payload.as_str());
        }
    }
    for payload in unused {
        lock_payload(connection, payload)?;
        forget_payload(connection, payload)?;
    }
    Ok(())
}

fn insert_payload(connection: &mut dyn Connection, tenant: &str, payload: &Payload) -> Stored<()> {
    connection.run(
        "INSERT INTO webhook_payloads (id, tenant, data_key, payload) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING",
        values![&payload.id, tenant, &payload.sealed.key_id, &payload.sealed.bytes],
    )
}
