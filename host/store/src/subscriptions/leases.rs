//! Leases of subscriptions. Of all gateways on one database, one at a time works on a subscription.
//!
//! Each lease has a higher fence than the one before. What a step has found is stored only with the
//! fence of its lease, so a gateway that was slow stores nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::{Value, values, without_zero_bytes};
use vault::Vault;

use super::types::{Blocked, ReadEvents, Subscription, SubscriptionStep};
use crate::handles::Subscriptions;
use crate::triggers::{NewEvent, insert_events, settle, triggers_of};
use crate::{Sealed, Stored};

/// The columns of a [`Subscription`], in the order in which they are read, with an expression for
/// `is_ended`.
macro_rules! columns {
    ($is_ended:literal) => {
        concat!(
            "id, tenant, subject, connector, user_identifier, inbox, address, former_address, data_key, secret,
    cursor_key, cursor, standing, kinds, base, expires_at, renewed_at, renew_at, last_push_at, last_read_at, read_at,
    failed_renewals, failed_reads, empty_reads, reason, blocked, rung, shakes_hands AND COALESCE(leased_until, 0) > now_ms(), is_identified,
    ",
            $is_ended,
            ", fence, now_ms()"
        )
    };
}

/// The columns of a [`Subscription`], in the order in which they are read.
pub(super) const COLUMNS: &str = columns!(
    "EXISTS (SELECT 1 FROM integrations AS account WHERE account.tenant = subscriptions.tenant AND account.subject = subscriptions.subject
        AND account.connector = subscriptions.connector AND account.user_identifier = subscriptions.user_identifier
        AND account.status <> 'active')"
);

/// The same for a notification, which does not ask if the access has ended: `blocked` says so.
pub(super) const COLUMNS_OF_PUSH: &str = columns!("FALSE");

/// A subscription that is due: its tenant, its place in the order of the tenant, its id, its fence
/// and the end of its last lease.
type Due = ((String, i64), (String, i64, Option<i64>));

/// The longest time between a failed read and the next one after a notification.
const RUNG_DELAY: Duration = Duration::from_secs(60);

impl Subscriptions<'_> {
    /// Takes the leases of at most `limit` subscriptions that are due, for the time `life`. Tenants
    /// take turns. `running` has the number of steps that the caller already works on, by tenant: the
    /// one with the fewest is first.
    pub async fn take(self, life: Duration, limit: u32, running: &BTreeMap<String, u32>) -> Stored<Vec<Subscription>> {
        let health = Arc::clone(self.0.database.health());
        // Before the subscriptions of the other tenants, so many of each of these may be listed.
        let listed = limit.saturating_mul(u32::try_from(running.len()).unwrap_or(u32::MAX).saturating_add(1));
        // An idle gateway looks often, and must not hold the write lock.
        let due: Vec<Due> = self.0.read(move |connection| {
                let due: Vec<Due> = connection.all(
                    "SELECT tenant, turn, id, fence, leased_until FROM (
                         SELECT tenant, id, fence, leased_until, due_at,
                             row_number() OVER (PARTITION BY tenant ORDER BY due_at, id) AS turn
                         FROM subscriptions WHERE due_at <= now_ms() AND (leased_until IS NULL OR leased_until <= now_ms())
                     ) AS due ORDER BY turn, due_at, id LIMIT $1",
                    values![listed],
                )?;
                let is_free = |(_, (id, fence, until)): &Due| {
                    until.is_none_or(|until| health.is_abandoned(id, *fence, until))
                };
                Ok(due.into_iter().filter(is_free).collect())
            })
            .await?;
        let due = in_turn(due, running, limit);
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

    /// Lets no lease last longer than `life`, the time for which each lease is taken, and makes work on
    /// its subscription due when it ends. A lease becomes longer if the clock of the database is set
    /// back. The gateway that has the lease keeps it for the time `life`. Returns the number of leases.
    pub async fn shorten_leases(self, life: Duration) -> Stored<u64> {
        // Gateways look often, and must not hold the write lock for nothing.
        let look = "SELECT EXISTS (SELECT 1 FROM subscriptions WHERE leased_until > now_ms() + $1)";
        if !self.0.read_one::<bool>(look, values![millis(life)]).await? {
            return Ok(0);
        }
        let shorten = "UPDATE subscriptions SET leased_until = now_ms() + $1,
                 due_at = CASE WHEN due_at > now_ms() THEN now_ms() ELSE due_at END
             WHERE leased_until > now_ms() + $1";
        self.0.execute(Durability::ProcessKill, shorten, values![millis(life)]).await
    }

    /// Takes the lease of a subscription, also if it is not due. `None` if another gateway has it.
    pub async fn take_one(self, id: &str, life: Duration) -> Stored<Option<Subscription>> {
        let id = id.to_owned();
        self.0.write(Durability::PowerLoss, move |connection| take(connection, &id, life, "")).await
    }

    /// Returns a subscription.
    pub async fn get(self, id: &str) -> Stored<Option<Subscription>> {
        self.0.read_optional(format!("SELECT {COLUMNS} FROM subscriptions WHERE id = $1"), values![id]).await
    }

    /// Lets the service prove, while the lease lasts, that the address is the gateway's.
    pub async fn begin_handshake(self, id: &str, fence: i64) -> Stored<bool> {
        self.shake_hands(id, fence, true).await
    }

    /// Ends what [`begin_handshake`](Self::begin_handshake) has begun.
    pub async fn end_handshake(self, id: &str, fence: i64) -> Stored<bool> {
        self.shake_hands(id, fence, false).await
    }

    async fn shake_hands(self, id: &str, fence: i64, is_waiting: bool) -> Stored<bool> {
        let change = "UPDATE subscriptions SET shakes_hands = $1 WHERE id = $2 AND fence = $3";
        Ok(self.0.execute(Durability::PowerLoss, change, values![is_waiting, id, fence]).await? > 0)
    }

    /// Gives a subscription other addresses, before the service is told the first one: its own, and
    /// the address of the subscription that it replaces. `secret` has the secret of both. Returns
    /// `false` if another gateway has taken the lease since.
    pub async fn readdress(
        self,
        of: &Subscription,
        addresses: (Option<&str>, Option<&str>),
        secret: &Sealed,
    ) -> Stored<bool> {
        let change = "UPDATE subscriptions SET address = $1, former_address = $2, data_key = $3, secret = $4
             WHERE id = $5 AND fence = $6";
        let (address, former) = addresses;
        let values = values![address, former, &secret.key_id, &secret.bytes, &of.id, of.fence];
        Ok(self.0.execute(Durability::PowerLoss, change, values).await? > 0)
    }

    /// Stores events that were read together with the cursor behind them. The lease stays. Returns
    /// the number of events that were new, or `None` if another gateway has taken the lease since;
    /// nothing is stored then.
    ///
    /// # Errors
    /// Fails with [`StoreError::TenantFull`](crate::StoreError::TenantFull) if the tenant stores
    /// too much and there are events.
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
        let of = of.clone();
        self.0.write(Durability::PowerLoss, move |connection| end_step(connection, &of, step)).await
    }

    /// The same, with events that tell of it. They are stored if the result is.
    pub async fn end_step_with(
        self,
        vault: &Vault,
        of: &Subscription,
        step: SubscriptionStep,
        events: Vec<NewEvent>,
    ) -> Stored<Option<Subscription>> {
        let (of, vault) = (of.clone(), vault.clone());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let now = end_step(connection, &of, step)?;
                if now.is_some() {
                    insert_events(connection, &vault, &events, &[])?;
                }
                Ok(now)
            })
            .await
    }

    /// Releases the lease of a subscription that ended at the service while a trigger was added, so
    /// that the next step makes another one. `secret` no longer has the answers of the service.
    pub async fn start_over(self, id: &str, fence: i64, secret: &Sealed) -> Stored<bool> {
        let change = "UPDATE subscriptions SET data_key = $1, secret = $2, address = NULL, former_address = NULL,
                 leased_until = NULL, due_at = now_ms()
             WHERE id = $3 AND fence = $4";
        let values = values![&secret.key_id, &secret.bytes, id, fence];
        Ok(self.0.execute(Durability::PowerLoss, change, values).await? > 0)
    }

    /// Deletes a subscription without triggers, with the fence of its lease.
    pub async fn delete(self, id: &str, fence: i64) -> Stored<bool> {
        let delete = "DELETE FROM subscriptions WHERE id = $1 AND fence = $2
             AND NOT EXISTS (SELECT 1 FROM triggers WHERE subscription = subscriptions.id)";
        Ok(self.0.execute(Durability::PowerLoss, delete, values![id, fence]).await? > 0)
    }

    /// Makes work due on subscriptions that services know under another URL of the gateway. Returns
    /// their number.
    pub async fn wake_moved(self, base: &str) -> Stored<u64> {
        let wake = "UPDATE subscriptions SET due_at = now_ms()
             WHERE base IS NOT NULL AND base <> $1 AND due_at > now_ms()";
        self.0.execute(Durability::PowerLoss, wake, values![base]).await
    }

    /// Makes a read of a subscription due, as a notification does. `remake` lets the service be
    /// asked for another one, and does not wait.
    pub async fn wake(self, id: &str, remake: bool) -> Stored<bool> {
        let change = match remake {
            true => "renew_at = now_ms(), standing = 'new', blocked = NULL, limited_until = NULL, read_at = now_ms(),
                 due_at = now_ms(), rung = rung + 1"
                .to_owned(),
            false => ring(),
        };
        let wake = format!("UPDATE subscriptions SET {change} WHERE id = $1");
        Ok(self.0.execute(Durability::PowerLoss, wake, values![id]).await? > 0)
    }

    /// Makes the renewal of a subscription due now.
    pub async fn renew_now(self, id: &str) -> Stored<()> {
        let renew = "UPDATE subscriptions SET renew_at = now_ms(), due_at = now_ms(), rung = rung + 1 WHERE id = $1";
        self.0.execute(Durability::PowerLoss, renew, values![id]).await.map(drop)
    }

    /// Makes a read of a subscription due now because a caller has requested it, at most once in
    /// the time `pause`, and not while the service wants none. Returns the time until there may be
    /// one, if there may be none now.
    pub async fn request_read(self, id: &str, pause: Duration) -> Stored<Option<Duration>> {
        let (id, pause) = (id.to_owned(), millis(pause));
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let requested = connection.execute(
                    "UPDATE subscriptions SET tried_at = now_ms(), read_at = now_ms(), due_at = now_ms(), rung = rung + 1
                     WHERE id = $1 AND COALESCE(limited_until, 0) <= now_ms()
                         AND COALESCE(tried_at, 0) <= now_ms() - $2 AND COALESCE(last_read_at, 0) <= now_ms() - $2",
                    values![&id, pause],
                )?;
                if requested > 0 {
                    return Ok(None);
                }
                let times: Option<(i64, i64, i64)> = connection.optional(
                    "SELECT COALESCE(limited_until, 0) - now_ms(), COALESCE(tried_at, 0) + $2 - now_ms(),
                         COALESCE(last_read_at, 0) + $2 - now_ms()
                     FROM subscriptions WHERE id = $1",
                    values![&id, pause],
                )?;
                let wait = |(limited, tried, read): (i64, i64, i64)| limited.max(tried).max(read);
                Ok(times.map(wait).map(|wait| Duration::from_millis(u64::try_from(wait).unwrap_or_default())))
            })
            .await
    }
}

/// The ids of at most `limit` subscriptions, in the order in which they are taken. Each step in
/// progress counts as a turn of its tenant. `due` has them in their order without these steps.
fn in_turn(mut due: Vec<Due>, running: &BTreeMap<String, u32>, limit: u32) -> Vec<String> {
    due.sort_by_key(|((tenant, turn), _)| turn + running.get(tenant).map_or(0, |steps| i64::from(*steps)));
    due.into_iter().take(limit as usize).map(|(_, (id, ..))| id).collect()
}

/// The changes with which a notification makes a read due. After a failed read, that is not before
/// the next attempt, but at most until `RUNG_DELAY` after the last one. A time that the service has
/// named holds.
pub(super) fn ring() -> String {
    let soon = RUNG_DELAY.as_millis();
    let at = format!(
        "(CASE WHEN failed_reads = 0 OR read_at IS NULL OR read_at <= now_ms() THEN now_ms()
               WHEN limited_until > now_ms() OR read_at <= COALESCE(tried_at, 0) + {soon} THEN read_at
               WHEN COALESCE(tried_at, 0) + {soon} <= now_ms() THEN now_ms()
               ELSE tried_at + {soon} END)"
    );
    format!("rung = rung + 1, read_at = {at}, due_at = CASE WHEN due_at < {at} THEN due_at ELSE {at} END")
}

/// Takes the lease of a subscription, and reads its triggers in the same transaction. A step needs
/// no other one to begin.
fn take(connection: &mut dyn Connection, id: &str, life: Duration, condition: &str) -> Stored<Option<Subscription>> {
    let taken: Option<Subscription> = connection.optional(
        &format!(
            "UPDATE subscriptions SET fence = fence + 1, leased_until = now_ms() + $1, shakes_hands = $2
             WHERE id = $3 AND (leased_until IS NULL OR leased_until <= now_ms()) {condition} RETURNING {COLUMNS}"
        ),
        values![millis(life), false, id],
    )?;
    let Some(mut taken) = taken else { return Ok(None) };
    taken.triggers = triggers_of(connection, id)?;
    Ok(Some(taken))
}

/// Stores the result of a step of a subscription with this id and fence. See
/// [`Subscriptions::end_step`].
fn end_step(
    connection: &mut dyn Connection,
    of: &Subscription,
    step: SubscriptionStep,
) -> Stored<Option<Subscription>> {
    let settled = step.settled.clone();
    let (changes, values) = changes_of(step, &of.id, of.fence, of.rung);
    let now: Option<Subscription> = connection.optional(
        &format!("UPDATE subscriptions SET {changes} WHERE id = $1 AND fence = $2 RETURNING {COLUMNS}"),
        &values,
    )?;
    if let (Some(_), Some((state, reason))) = (&now, settled) {
        settle(connection, &of.triggers, state, reason.as_deref())?;
    }
    Ok(now)
}

/// The changed columns of a subscription at the end of a step, and the parameters of their
/// statement, of which the first two are the id and the fence.
fn changes_of(step: SubscriptionStep, id: &str, fence: i64, rung: i64) -> (String, Vec<Value>) {
    let next = [step.renew_in, step.read_in].into_iter().flatten().fold(step.look_in, Duration::min);
    let mut changes = "shakes_hands = $3, leased_until = NULL".to_owned();
    let rung_in = match (step.read, step.read_in, step.limited) {
        // A notification is a sign that the service works, unless the service has named a time.
        (Some(false), Some(planned), None) => planned.min(RUNG_DELAY),
        (Some(false), Some(planned), Some(_)) => planned,
        _ => Duration::ZERO,
    };
    let mut values = values![id, fence, false, rung, millis(rung_in)].to_vec();
    // Each `?` stands for the value.
    let mut set = |change: &str, value: Value| {
        values.push(value);
        changes.push_str(", ");
        changes.push_str(&change.replace('?', &format!("${}", values.len())));
    };
    // A service or a module may have written it, and the step must end.
    set("reason = ?", step.reason.as_deref().map(without_zero_bytes).into());
    set("blocked = ?", step.blocked.map(Blocked::name).into());
    set(
        "renew_at = CASE WHEN rung <> $4 AND renew_at <= now_ms() THEN renew_at ELSE now_ms() + ? END",
        step.renew_in.map(millis).into(),
    );
    // The notification has set the time of a read that is held.
    let rung_at = if step.is_held { "read_at" } else { "now_ms()" };
    let read_at = format!("read_at = CASE WHEN rung <> $4 THEN {rung_at} + $5 ELSE now_ms() + ? END");
    set(&read_at, step.read_in.map(millis).into());
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
    if let Some((address, former_address)) = step.addresses {
        set("address = ?", address.into());
        set("former_address = ?", former_address.into());
    }
    if let Some(route) = step.identified {
        set("is_identified = ?", true.into());
        set("route = ?", route.map(|route| route.0).into());
    }
    if let Some(base) = step.base {
        set("base = ?", base.into());
    }
    if let Some((standing, kinds, life)) = step.standing {
        set("standing = ?", standing.name().into());
        set("kinds = ?", kinds.into());
        set("expires_at = now_ms() + ?", life.map(millis).into());
    }
    if step.has_tried {
        set("tried_at = now_ms(), limited_until = now_ms() + ?", step.limited.map(millis).into());
    } else if step.read == Some(true) {
        changes.push_str(", tried_at = NULL, limited_until = NULL");
    }
    if step.forgets_cursor {
        changes.push_str(", cursor_key = NULL, cursor = NULL");
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
