//! Leases of subscriptions. Of all gateways on one database, one at a time works on a subscription.
//!
//! Each lease has a higher fence than the one before. What a step has found is stored only with the
//! fence of its lease, so a gateway that was slow stores nothing.

use std::sync::Arc;
use std::time::Duration;

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::{Value, values};
use vault::Vault;

use super::types::{Blocked, ReadEvents, Route, Subscription, SubscriptionStep};
use crate::Stored;
use crate::handles::Subscriptions;
use crate::triggers::{insert_events, settle, triggers_of};

/// The columns of a [`Subscription`], in the order in which they are read.
pub(super) const COLUMNS: &str = "id, tenant, subject, connector, user_identifier, inbox, address, data_key, secret,
    cursor_key, cursor, standing, kinds, base, expires_at, renewed_at, renew_at, last_push_at, last_read_at, read_at,
    failed_renewals, failed_reads, empty_reads, reason, blocked, rung, shakes_hands AND COALESCE(leased_until, 0) > now_ms(), is_identified,
    fence, now_ms()";

impl Subscriptions<'_> {
    /// Takes the leases of subscriptions that are due, for the time `life`. Tenants take turns.
    pub async fn take(self, life: Duration, limit: u32) -> Stored<Vec<Subscription>> {
        let health = Arc::clone(self.0.database.health());
        // An idle gateway looks often, and must not hold the write lock.
        let due: Vec<String> = self.0.read(move |connection| {
                let due: Vec<(String, i64, Option<i64>)> = connection.all(
                    "SELECT id, fence, leased_until FROM (
                         SELECT id, fence, leased_until, due_at, row_number() OVER (PARTITION BY tenant ORDER BY due_at, id) AS turn
                         FROM subscriptions WHERE due_at <= now_ms() AND (leased_until IS NULL OR leased_until <= now_ms())
                     ) AS due ORDER BY turn, due_at, id LIMIT $1",
                    values![limit],
                )?;
                let is_free = |(id, fence, until): &(String, i64, Option<i64>)| {
                    until.is_none_or(|until| health.is_abandoned(id, *fence, until))
                };
                Ok(due.into_iter().filter(is_free).map(|(id, ..)| id).collect())
            })
            .await?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let mut taken = Vec::with_capacity(due.len());
                for id in &due {
                    taken.extend(take(connection, id, life, "AND due_at <= now_ms()")?);
                }
                Ok(taken)
            })
            .await
    }

    /// Takes the lease of a subscription, also if it is not due. `None` if another gateway has it.
    pub async fn take_one(self, id: &str, life: Duration) -> Stored<Option<Subscription>> {
        let id = id.to_owned();
        self.0.write(Durability::PowerLoss, move |connection| take(connection, &id, life, "")).await
    }

    /// Returns a subscription.
    pub async fn get(self, id: &str) -> Stored<Option<Subscription>> {
        let id = id.to_owned();
        self.0
            .read(move |connection| {
                connection.optional(&format!("SELECT {COLUMNS} FROM subscriptions WHERE id = $1"), values![&id])
            })
            .await
    }

    /// Lets the service prove, while the lease lasts, that the address is the gateway's.
    pub async fn begin_handshake(self, id: &str, fence: i64) -> Stored<bool> {
        let id = id.to_owned();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let begun = connection.execute(
                    "UPDATE subscriptions SET shakes_hands = $1 WHERE id = $2 AND fence = $3",
                    values![true, &id, fence],
                )?;
                Ok(begun > 0)
            })
            .await
    }

    /// Stores events that were read together with the cursor behind them. The lease stays. Returns
    /// the number of events that were new, or `None` if another gateway has taken the lease since;
    /// nothing is stored then.
    ///
    /// # Errors
    /// Fails with [`StoreError::TenantFull`](crate::StoreError::TenantFull) if the tenant stores
    /// too much and there are events, or if the database does not answer.
    pub async fn store_read(
        self,
        vault: &Vault,
        of: &Subscription,
        read: ReadEvents,
        life: Duration,
    ) -> Stored<Option<u64>> {
        let (id, tenant, fence) = (of.id.clone(), of.tenant.clone(), of.fence);
        let (vault, quota) = (vault.clone(), self.0.quota);
        self.0.write(Durability::PowerLoss, move |connection| {
            let ReadEvents { cursor, events } = read;
            if !events.is_empty() {
                quota.check(connection, &tenant)?;
            }
            let held = connection.execute(
                "UPDATE subscriptions SET cursor_key = $1, cursor = $2, last_read_at = now_ms(), leased_until = now_ms() + $3,
                     empty_reads = CASE WHEN $4 THEN empty_reads + 1 ELSE 0 END
                 WHERE id = $5 AND fence = $6",
                values![&cursor.key_id, &cursor.bytes, millis(life), events.is_empty(), &id, fence],
            )?;
            if held == 0 {
                return Ok(None);
            }
            insert_events(connection, &vault, &events, &[]).map(Some)
        })
        .await
    }

    /// Stores the result of a step, and releases the lease. `rung` is the value that the step began
    /// with: if the service has notified the gateway since, the next step is due now. If the last
    /// trigger was deleted since, the time of the next step stays, because the one who deleted it
    /// ends the subscription. Returns the subscription as it is then, or `None` if another gateway
    /// has taken the lease since; nothing is stored then.
    pub async fn end_step(self, of: &Subscription, step: SubscriptionStep) -> Stored<Option<Subscription>> {
        let (id, fence, rung) = (of.id.clone(), of.fence, of.rung);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let settled = step.settled.clone();
                let (changes, values) = changes_of(step, &id, fence, rung);
                let now: Option<Subscription> = connection.optional(
                    &format!("UPDATE subscriptions SET {changes} WHERE id = $1 AND fence = $2 RETURNING {COLUMNS}"),
                    &values,
                )?;
                if let (Some(_), Some((state, reason))) = (&now, settled) {
                    settle(connection, &id, state, reason.as_deref())?;
                }
                Ok(now)
            })
            .await
    }

    /// Deletes a subscription without triggers, with the fence of its lease.
    pub async fn delete(self, id: &str, fence: i64) -> Stored<bool> {
        let id = id.to_owned();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let deleted = connection.execute(
                    "DELETE FROM subscriptions WHERE id = $1 AND fence = $2
                     AND NOT EXISTS (SELECT 1 FROM triggers WHERE subscription = subscriptions.id)",
                    values![&id, fence],
                )?;
                Ok(deleted > 0)
            })
            .await
    }

    /// Makes work due on subscriptions that services know under another URL of the gateway. Returns
    /// their number.
    pub async fn wake_moved(self, base: &str) -> Stored<u64> {
        let base = base.to_owned();
        self.0.write(Durability::PowerLoss, move |connection| {
            connection.execute(
                "UPDATE subscriptions SET due_at = now_ms() WHERE base IS NOT NULL AND base <> $1 AND due_at > now_ms()",
                values![&base],
            )
        })
        .await
    }

    /// Makes work on a subscription due now. `remake` lets the service be asked for another one.
    pub async fn wake(self, id: &str, remake: bool) -> Stored<bool> {
        let id = id.to_owned();
        self.0.write(Durability::PowerLoss, move |connection| {
            let change = if remake { "renew_at = now_ms(), standing = 'new', blocked = NULL," } else { "" };
            let found = connection.execute(
                &format!(
                    "UPDATE subscriptions SET {change} read_at = now_ms(), due_at = now_ms(), rung = rung + 1 WHERE id = $1"
                ),
                values![&id],
            )?;
            Ok(found > 0)
        })
        .await
    }
}

/// Takes the lease of a subscription, and reads its triggers in the same transaction. A step needs
/// no other one to begin.
fn take(connection: &mut dyn Connection, id: &str, life: Duration, condition: &str) -> Stored<Option<Subscription>> {
    let taken: Option<Subscription> = connection.optional(
        &format!(
            "UPDATE subscriptions SET fence = fence + 1, leased_until = now_ms() + $1
             WHERE id = $2 AND (leased_until IS NULL OR leased_until <= now_ms()) {condition} RETURNING {COLUMNS}"
        ),
        &[Value::from(millis(life)), Value::from(id)],
    )?;
    let Some(mut taken) = taken else { return Ok(None) };
    taken.triggers = triggers_of(connection, id)?;
    Ok(Some(taken))
}

/// The changed columns of a subscription at the end of a step, and the parameters of their
/// statement, of which the first two are the id and the fence.
fn changes_of(step: SubscriptionStep, id: &str, fence: i64, rung: i64) -> (String, Vec<Value>) {
    let next = [step.renew_in, step.read_in].into_iter().flatten().fold(step.look_in, Duration::min);
    let mut changes = "shakes_hands = $3, leased_until = NULL".to_owned();
    let mut values = values![id, fence, false, rung].to_vec();
    // Each `?` stands for the value.
    let mut set = |change: &str, value: Value| {
        values.push(value);
        changes.push_str(", ");
        changes.push_str(&change.replace('?', &format!("${}", values.len())));
    };
    set("reason = ?", step.reason.into());
    set("blocked = ?", Blocked::column(step.blocked).into());
    set(
        "renew_at = CASE WHEN rung <> $4 AND renew_at <= now_ms() THEN renew_at ELSE now_ms() + ? END",
        step.renew_in.map(millis).into(),
    );
    set("read_at = CASE WHEN rung <> $4 THEN now_ms() ELSE now_ms() + ? END", step.read_in.map(millis).into());
    set(
        "due_at = CASE WHEN NOT EXISTS (SELECT 1 FROM triggers WHERE subscription = subscriptions.id) THEN due_at
             WHEN rung <> $4 THEN now_ms() ELSE now_ms() + ? END",
        millis(next).into(),
    );
    if let Some(secret) = step.secret {
        set("data_key = ?", secret.key_id.into());
        set("secret = ?", (&secret.bytes).into());
    }
    if let Some((cursor, empty_reads)) = step.cursor {
        set("cursor_key = ?", cursor.key_id.into());
        set("cursor = ?", (&cursor.bytes).into());
        set("empty_reads = empty_reads + ?", empty_reads.into());
    }
    if let Some(route) = step.identified {
        set("is_identified = ?", true.into());
        set("route = ?", route.map(Route::text).into());
    }
    if let Some(base) = step.base {
        set("base = ?", base.into());
    }
    if let Some((standing, kinds, life)) = step.standing {
        set("standing = ?", standing.name().into());
        set("kinds = ?", kinds.into());
        set("expires_at = now_ms() + ?", life.map(millis).into());
    }
    for (failed, at, result) in
        [("failed_renewals", "renewed_at", step.renewed), ("failed_reads", "last_read_at", step.read)]
    {
        match result {
            Some(true) => changes.push_str(&format!(", {failed} = 0, {at} = now_ms()")),
            Some(false) => changes.push_str(&format!(", {failed} = {failed} + 1")),
            None => {}
        }
    }
    (changes, values)
}
