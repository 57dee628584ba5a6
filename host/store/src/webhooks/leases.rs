//! Leases of deliveries. Of all gateways on one database, one at a time attempts a delivery.
//!
//! A lease expires, because the gateway that holds it may crash. Each lease of a delivery has a
//! higher fence than the previous one. A result with an old fence is not stored.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::values;

use super::deliveries::delete_body;
use super::types::{Attempts, COLUMNS, SOURCE_COLUMNS};
use super::{ClaimedDelivery, Delivery, DeliveryAttempt, DeliveryStatus, Payload, WebhookSource};
use crate::handles::Webhooks;
use crate::records::record;
use crate::triggers::{AttemptOfEvent, note_attempt};
use crate::{Sealed, Stored};

/// Limits of the deliveries that are attempted at the same time by all gateways together, and of
/// one claim. Without them, one slow receiver would delay the others.
#[derive(Clone, Copy, Debug)]
pub struct ClaimLimits {
    /// Concurrent attempts at one receiver of one tenant.
    pub of_receiver: u32,
    /// Concurrent attempts of one tenant.
    pub of_tenant: u32,
    /// Maximum number of deliveries that this claim returns.
    pub of_claim: u32,
    /// Maximum size of the bodies that this claim returns. The last body may exceed it.
    pub bytes: u32,
}

/// The state of a delivery after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptResult {
    /// The receiver has accepted the webhook.
    Delivered,
    /// The webhook is sent again after this time.
    RetryAfter(Duration),
    /// No further attempt is made.
    Failed,
    /// The receiver wants no more webhooks. No further attempt is made.
    Gone,
}

/// The condition of deliveries that the database stored before its clock was set back: their leases
/// last longer than any, or they were due when they were added, and are due later now.
const SET_BACK: &str = "status = 'pending'
     AND (leased_until > now_ms() + $1 OR (fence = 0 AND next_attempt_at > now_ms() + $1))";

impl Webhooks<'_> {
    /// Lets no lease last longer than `life`, the time for which each lease is taken. A lease becomes
    /// longer if the clock of the database is set back, and its delivery would wait until the clock
    /// shows the old time again. The worker that has the lease keeps it for the time `life`. Returns
    /// the number of leases and of new deliveries that were due too late.
    pub async fn shorten_leases(self, life: Duration) -> Stored<u64> {
        // Gateways look often, and must not hold the write lock for nothing.
        let look = format!("SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE {SET_BACK})");
        if !self.0.read_one::<bool>(look, values![millis(life)]).await? {
            return Ok(0);
        }
        // A delivery that has a lease was due when it was taken.
        let shorten = format!(
            "UPDATE webhook_deliveries
             SET leased_until = CASE WHEN leased_until > now_ms() + $1 THEN now_ms() + $1 ELSE leased_until END,
                 next_attempt_at = CASE WHEN next_attempt_at > now_ms() THEN now_ms() ELSE next_attempt_at END
             WHERE {SET_BACK}"
        );
        self.0
            .write(Durability::ProcessKill, move |connection| {
                connection.lock("webhook deliveries")?;
                connection.execute(&shorten, values![millis(life)])
            })
            .await
    }

    /// Takes the leases of deliveries that are due, for the time `life`. Tenants and receivers take
    /// turns: the first delivery of each comes before the second of any.
    pub async fn claim_deliveries(self, life: Duration, limits: ClaimLimits) -> Stored<Vec<ClaimedDelivery>> {
        if limits.of_claim == 0 || limits.bytes == 0 || !self.0.read(is_any_due).await? {
            return Ok(Vec::new());
        }
        // A database server may lose its power while the worker continues. Its lease must then not
        // be given to another one.
        self.0.write(Durability::PowerLoss, move |connection| claim_due(connection, life, limits)).await
    }

    /// Stores the attempts of a delivery, with the last one, and its state after that. Releases the
    /// lease. The URL and body of a delivery that ends are kept for the time `keep`. Returns `false`
    /// and stores nothing if another worker has taken a lease since.
    ///
    /// # Errors
    /// Fails if the database does not answer. The delivery is then attempted again after the end of
    /// the lease.
    pub async fn finish_attempt(
        self,
        webhook_id: &str,
        fence: i64,
        attempts: &[DeliveryAttempt],
        result: AttemptResult,
        keep: Duration,
    ) -> Stored<bool> {
        let is_first = attempts.len() == 1;
        let (webhook_id, attempts) = (webhook_id.to_owned(), Attempts::to_text(attempts));
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let written = match result {
                AttemptResult::RetryAfter(delay) => connection.execute(
                    "UPDATE webhook_deliveries SET attempts = $1, next_attempt_at = now_ms() + $2, leased_until = NULL
                     WHERE webhook_id = $3 AND fence = $4 AND status = 'pending'",
                    values![&attempts, millis(delay), &webhook_id, fence],
                ),
                AttemptResult::Delivered => {
                    end_delivery(connection, &webhook_id, fence, &attempts, DeliveryStatus::Delivered, keep)
                }
                AttemptResult::Failed | AttemptResult::Gone => {
                    end_delivery(connection, &webhook_id, fence, &attempts, DeliveryStatus::Failed, keep)
                }
            }?;
                if written == 0 {
                    return Ok(false);
                }
                let trigger: Option<Option<String>> = connection.optional(
                    "SELECT trigger_id FROM webhook_deliveries WHERE webhook_id = $1",
                    values![&webhook_id],
                )?;
                if let Some(trigger) = trigger.flatten() {
                    let result = match result {
                        AttemptResult::Delivered => AttemptOfEvent::Received,
                        AttemptResult::Gone => AttemptOfEvent::Gone,
                        AttemptResult::RetryAfter(_) | AttemptResult::Failed => AttemptOfEvent::Failed { is_first },
                    };
                    note_attempt(connection, &trigger, &webhook_id, result)?;
                }
                Ok(true)
            })
            .await
    }
}

/// A claim takes the write lock, so a gateway without work must not try one every second.
fn is_any_due(connection: &mut dyn Connection) -> Stored<bool> {
    connection.one(
        "SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE status = 'pending' AND next_attempt_at <= now_ms()
             AND (leased_until IS NULL OR leased_until <= now_ms()))",
        &[],
    )
}

fn claim_due(connection: &mut dyn Connection, life: Duration, limits: ClaimLimits) -> Stored<Vec<ClaimedDelivery>> {
    // Without the lock, two gateways that claim at the same time could together exceed the limits.
    connection.lock("webhook deliveries")?;
    // Deliveries with a lease come first in each partition, so that they count towards its limit.
    // The conditions at the end are checked again if a late worker stores a result in the meantime.
    let claimed: Vec<Claimed> = connection.all(
        &format!(
            "UPDATE webhook_deliveries SET fence = fence + 1, leased_until = now_ms() + $1 WHERE webhook_id IN (
                 SELECT webhook_id FROM (
                     SELECT webhook_id, of_tenant, next_attempt_at, size, CAST(sum(size) OVER (
                         ORDER BY of_tenant, next_attempt_at, webhook_id ROWS UNBOUNDED PRECEDING
                     ) AS BIGINT) AS size_up_to_here FROM (
                         SELECT webhook_id, is_leased, next_attempt_at, size, row_number() OVER (
                             PARTITION BY tenant ORDER BY is_leased DESC, of_receiver, next_attempt_at, webhook_id
                         ) AS of_tenant FROM (
                             SELECT webhook_id, tenant, is_leased, next_attempt_at, size, row_number() OVER (
                                 PARTITION BY tenant, receiver ORDER BY is_leased DESC, next_attempt_at, webhook_id
                             ) AS of_receiver FROM (
                                 SELECT webhook_id, tenant, receiver, next_attempt_at, size,
                                     CASE WHEN leased_until > now_ms() THEN 1 ELSE 0 END AS is_leased
                                 FROM webhook_deliveries WHERE status = 'pending' AND next_attempt_at <= now_ms()
                             ) AS due
                         ) AS by_receiver WHERE of_receiver <= $2
                     ) AS by_tenant WHERE of_tenant <= $3 AND is_leased = 0
                 ) AS by_size WHERE size_up_to_here - size < $4
                 ORDER BY of_tenant, next_attempt_at, webhook_id LIMIT $5
             ) AND status = 'pending' AND next_attempt_at <= now_ms() AND (leased_until IS NULL OR leased_until <= now_ms())
             RETURNING {COLUMNS}, tenant, {SOURCE_COLUMNS}, data_key, url, payload_id, fence, resent"
        ),
        values![millis(life), limits.of_receiver, limits.of_tenant, limits.bytes, limits.of_claim],
    )?;
    let mut payloads: HashMap<String, Arc<Payload>> = HashMap::new();
    claimed.into_iter().map(|claimed| claimed.with_payload(connection, &mut payloads)).collect()
}

/// Ends a delivery. Its URL and body are kept for the time `keep`, so that it can be sent again.
fn end_delivery(
    connection: &mut dyn Connection,
    webhook_id: &str,
    fence: i64,
    attempts: &str,
    status: DeliveryStatus,
    keep: Duration,
) -> Stored<u64> {
    let payload_id: Option<String> = connection.optional(
        "UPDATE webhook_deliveries
         SET attempts = $1, status = $2, leased_until = NULL, resent = FALSE, body_until = now_ms() + $5,
             expires_at = CASE WHEN expires_at < now_ms() + $5 THEN now_ms() + $5 ELSE expires_at END
         WHERE webhook_id = $3 AND fence = $4 AND status = 'pending' RETURNING payload_id",
        values![attempts, status.name(), webhook_id, fence, millis(keep)],
    )?;
    let Some(payload_id) = payload_id else { return Ok(0) };
    if keep.is_zero() {
        delete_body(connection, webhook_id, &payload_id)?;
    }
    Ok(1)
}

record! {
    row =>
    /// A claimed delivery, before its body is read.
    struct Claimed {
        delivery: Delivery,
        tenant: String,
        source: WebhookSource = WebhookSource::read(row)?,
        url: Sealed,
        payload_id: String,
        fence: i64,
        resent: bool,
    }
}

impl Claimed {
    /// Reads the body, unless another claimed delivery has the same one.
    fn with_payload(
        self,
        connection: &mut dyn Connection,
        payloads: &mut HashMap<String, Arc<Payload>>,
    ) -> Stored<ClaimedDelivery> {
        let Self { delivery, tenant, source, url, payload_id, fence, resent } = self;
        let payload = match payloads.get(&payload_id) {
            Some(payload) => Arc::clone(payload),
            None => {
                let payload: Payload = connection
                    .one("SELECT id, data_key, payload FROM webhook_payloads WHERE id = $1", values![&payload_id])?;
                let payload = Arc::new(payload);
                payloads.insert(payload_id, Arc::clone(&payload));
                payload
            }
        };
        Ok(ClaimedDelivery { delivery, tenant, source, url, payload, fence, resent })
    }
}
