//! The backlog: records that wait or need an operator's attention, in numbers for metrics.

use std::time::{Duration, SystemTime};

use database::time::millis;
use database::value::values;

use crate::integrations::OVERDUE_AT;
use crate::{Store, Stored};

/// The largest number that a count shows. Counting more rows would delay other statements.
const MAX: u32 = 10_000;

/// Numbers of rows that wait. No number is larger than [`MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Accounts whose refresh was due at the time of the question, and was not done or has failed
    /// since.
    pub overdue_refreshes: u64,
    /// Webhooks that are not delivered yet, and that are sent again.
    pub pending_webhooks: u64,
    /// Valid API keys that expire soon. A key whose whole life is that short is not counted: it is
    /// meant to expire.
    pub expiring_keys: u64,
    /// Time for which the subscription that was due first has waited for a gateway. Zero if none waits.
    pub trigger_lag: Duration,
    /// Subscriptions at services in each of [`SUBSCRIPTION_STATES`], in their order.
    pub subscriptions: [u64; 5],
}

/// The states of subscriptions: the service was not asked yet, it notifies the gateway, the gateway
/// reads at intervals, the user must connect the account again, and the service has refused for
/// good.
pub const SUBSCRIPTION_STATES: [&str; 5] = ["pending", "push", "poll", "needs-user", "failed"];

/// The rows in each of them. An index has the columns.
const IN_STATES: [&str; 5] = [
    "blocked IS NULL AND standing = 'new'",
    "blocked IS NULL AND standing = 'active'",
    "blocked IS NULL AND standing IN ('none', 'lost')",
    "blocked = 'user'",
    "blocked = 'final'",
];

impl Store {
    /// Counts what waits: refreshes that were due at `due_before`, webhooks, and keys that expire
    /// within the time `soon`.
    pub async fn backlog(&self, due_before: SystemTime, soon: Duration) -> Stored<Backlog> {
        self.read(move |connection| {
            let mut subscriptions = [0; SUBSCRIPTION_STATES.len()];
            for (count, is_in_state) in subscriptions.iter_mut().zip(IN_STATES) {
                *count = connection.one(
                    &format!(
                        "SELECT count(*) FROM (SELECT 1 FROM subscriptions WHERE {is_in_state} LIMIT $1) AS in_state"
                    ),
                    values![MAX],
                )?;
            }
            Ok(Backlog {
                subscriptions,
                overdue_refreshes: connection.one(
                    &format!("SELECT count(*) FROM (SELECT 1 FROM integrations WHERE {OVERDUE_AT} $1 LIMIT $2) AS overdue"),
                    values![due_before, MAX],
                )?,
                pending_webhooks: connection.one(
                    "SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries WHERE status = 'pending' LIMIT $1) AS pending",
                    values![MAX],
                )?,
                expiring_keys: connection.one(
                    "SELECT count(*) FROM (SELECT 1 FROM api_keys WHERE revoked_at IS NULL AND expires_at > now_ms()
                         AND expires_at <= now_ms() + $1 AND expires_at - created_at > $1 LIMIT $2) AS expiring",
                    values![millis(soon), MAX],
                )?,
                trigger_lag: Duration::from_millis(connection.one(
                    "SELECT COALESCE(now_ms() - min(due_at), 0) FROM subscriptions
                     WHERE due_at <= now_ms() AND (leased_until IS NULL OR leased_until <= now_ms())",
                    &[],
                )?),
            })
        })
        .await
    }
}

#[cfg(test)]
mod tests;
