//! Adding, finding, changing and deleting triggers.

use std::collections::BTreeSet;
use std::time::Duration;

use database::conditions::Conditions;
use database::connection::{Connection, Durability};
use database::digest::sha256_hex;
use database::time::millis;
use database::value::{values, without_zero_bytes};

use super::types::{NewTrigger, Removed, Trigger, TriggerChange, TriggerFilter, TriggerState};
use super::waiting::{note_backlog, unqueue_pending_events};
use crate::agent_triggers::{AgentPart, insert_part};
use crate::audit::{self, Acting, AuditAction};
use crate::handles::Triggers;
use crate::integrations::text_of_labels;
use crate::subscriptions::NewSubscription;
use crate::{Labels, Sealed, StoreError, Stored};

/// Time in which a subscription without triggers is left to the one who has deleted its last
/// trigger.
const END_DELAY: Duration = Duration::from_secs(60);

/// The columns of a [`Trigger`], in the order in which they are read, without the number of its
/// webhooks that wait and the columns of the part of an agent.
const OWN_COLUMNS: &str =
    "id, tenant, subject, connector, type, user_identifier, subscription, data_key, definition, labels,
    poll_s, state, reason, last_event_at, told_degraded, told_disabled, created_at";

/// The number of its webhooks that wait. There may be many.
const PENDING: &str = "(SELECT count(*) FROM webhook_deliveries WHERE trigger_id = triggers.id AND status = 'pending')";

/// The columns of a [`Trigger`], in the order in which they are read.
pub(super) fn all_columns() -> String {
    format!("{OWN_COLUMNS}, {PENDING}, {}", AgentPart::COLUMNS)
}

impl Triggers<'_> {
    /// Adds a trigger, and its subscription unless another trigger has the same one. Returns the id
    /// of the subscription.
    ///
    /// # Errors
    /// Fails with [`StoreError::TooManyTriggers`] if the tenant has `limit` triggers, or with
    /// [`StoreError::TenantFull`] if it stores too much.
    pub async fn add(
        self,
        new: NewTrigger,
        subscription: Option<NewSubscription>,
        limit: u64,
    ) -> Stored<Option<String>> {
        let (by, quota) = (Acting::current(), self.0.quota);
        self.0.write(Durability::PowerLoss, move |connection| {
            quota.check(connection, &new.tenant)?;
            connection.lock(&format!("triggers\0{}", new.tenant))?;
            let known: u64 = connection.one("SELECT count(*) FROM triggers WHERE tenant = $1", values![&new.tenant])?;
            if known >= limit {
                return Err(StoreError::TooManyTriggers { limit });
            }
            let subscription = match subscription {
                Some(subscription) => Some(find_or_insert(connection, &new, subscription)?),
                None => None,
            };
            let state = if subscription.is_some() { TriggerState::Pending } else { TriggerState::Live };
            let NewTrigger { id, tenant, subject, connector, kind, user_identifier, definition, labels, poll_s, agent } =
                &new;
            let (Sealed { key_id, bytes }, labels, state) = (definition, text_of_labels(labels), state.name());
            connection.execute(
                "INSERT INTO triggers (id, tenant, subject, connector, type, user_identifier, subscription, data_key, definition,
                     labels, poll_s, state, created_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now_ms())",
                values![
                    id, tenant, subject, connector, kind, user_identifier, &subscription, key_id, bytes, labels, *poll_s, state
                ],
            )?;
            if let Some(part) = agent {
                insert_part(connection, id, part)?;
            }
            audit::note(connection, &by, AuditAction::TriggerCreated, id, tenant, &format!("{connector}.{kind}"))?;
            Ok(subscription)
        })
        .await
    }

    /// Returns a trigger.
    pub async fn get(self, id: &str) -> Stored<Option<Trigger>> {
        let id = id.to_owned();
        self.0.read(move |connection| find(connection, &id)).await
    }

    /// Returns a page of triggers, the newest first.
    pub async fn list(self, filter: TriggerFilter) -> Stored<Vec<Trigger>> {
        let TriggerFilter { tenant, subject, connector, kind, user_identifier, labels, before, limit } = filter;
        let mut conditions = Conditions::with_limit(limit);
        let columns = [
            ("tenant", tenant),
            ("subject", subject),
            ("connector", connector),
            ("type", kind),
            ("user_identifier", user_identifier),
        ];
        for (column, value) in columns {
            conditions.equal(column, value);
        }
        for (name, value) in &labels {
            let member = text_of_labels(&Labels::from_iter([(name.clone(), value.clone())]));
            conditions.contains("labels", member.trim_matches(['{', '}']));
        }
        conditions.after("created_at, id", before);
        let (clause, values) = conditions.finish();
        let columns = all_columns();
        let page = format!("SELECT {columns} FROM triggers {clause} ORDER BY created_at DESC, id DESC LIMIT $1");
        self.0.read_all(page, &values).await
    }

    /// Returns the triggers of a subscription, the oldest first, without the number of their
    /// webhooks that wait.
    pub async fn of(self, subscription: &str) -> Stored<Vec<Trigger>> {
        let subscription = subscription.to_owned();
        self.0.read(move |connection| triggers_of(connection, &subscription)).await
    }

    /// Returns triggers without a subscription that have ended and whose receivers do not know it, in
    /// the order of their ids after one of them.
    pub async fn ended_untold(self, after: &str, limit: u32) -> Stored<Vec<Trigger>> {
        let untold = format!(
            "SELECT {} FROM triggers
             WHERE subscription IS NULL AND state = 'failed' AND NOT told_disabled AND id > $1 ORDER BY id LIMIT $2",
            all_columns()
        );
        self.0.read_all(untold, values![after, limit]).await
    }

    /// Changes a trigger. Its cursor and its subscription stay. If it continues after a pause, the
    /// events that were kept meanwhile become a backlog. Returns `None` if there is no such trigger.
    pub async fn change(self, id: &str, change: TriggerChange) -> Stored<Option<Trigger>> {
        let (id, by) = (id.to_owned(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let Some(before) = find(connection, &id)? else { return Ok(None) };
                // A step locks the subscription before its triggers too.
                wake(connection, before.subscription.as_deref())?;
                let TriggerChange { definition, labels, poll_s, paused } = change;
                if let Some(definition) = definition {
                    connection.execute(
                        "UPDATE triggers SET data_key = $1, definition = $2 WHERE id = $3",
                        values![&definition.key_id, &definition.bytes, &id],
                    )?;
                }
                if let Some(labels) = labels {
                    connection.execute(
                        "UPDATE triggers SET labels = $1 WHERE id = $2",
                        values![text_of_labels(&labels), &id],
                    )?;
                }
                if let Some(poll_s) = poll_s {
                    connection.execute("UPDATE triggers SET poll_s = $1 WHERE id = $2", values![poll_s, &id])?;
                }
                let is_paused = before.state == TriggerState::Paused;
                match paused {
                    Some(true) if !is_paused => {
                        set_state(connection, &id, TriggerState::Paused, None)?;
                        unqueue_pending_events(connection, &id)?;
                        audit::note(connection, &by, AuditAction::TriggerPaused, &id, &before.tenant, "")?;
                    }
                    Some(false) if before.state != TriggerState::Pending => {
                        // This locks the row: an event is stored before it and waits, or after it
                        // and sees the backlog.
                        set_state(connection, &id, TriggerState::Live, None)?;
                        connection
                            .execute("UPDATE triggers SET told_disabled = $1 WHERE id = $2", values![false, &id])?;
                        note_backlog(connection, &id)?;
                    }
                    _ => {}
                }
                audit::note(connection, &by, AuditAction::TriggerChanged, &id, &before.tenant, "")?;
                find(connection, &id)
            })
            .await
    }

    /// Deletes a trigger with its events. Its webhooks that are not delivered yet are not sent.
    /// Returns `None` if there is no such trigger.
    pub async fn remove(self, id: &str) -> Stored<Option<Removed>> {
        let (id, by) = (id.to_owned(), Acting::current());
        self.0.write(Durability::PowerLoss, move |connection| remove(connection, &by, &id, END_DELAY)).await
    }
}

/// The triggers of a subscription, the oldest first, without the number of their webhooks that
/// wait.
pub(crate) fn triggers_of(connection: &mut dyn Connection, subscription: &str) -> Stored<Vec<Trigger>> {
    let part = AgentPart::COLUMNS;
    connection.all(
        &format!(
            "SELECT {OWN_COLUMNS}, CAST(0 AS BIGINT), {part} FROM triggers WHERE subscription = $1 ORDER BY created_at, id"
        ),
        values![subscription],
    )
}

/// Stores the state of triggers whose subscription was made, or refused for good. These are the
/// ones that a step has seen: one that was added since has not been looked at.
pub(crate) fn settle(
    connection: &mut dyn Connection,
    triggers: &[Trigger],
    state: TriggerState,
    reason: Option<&str>,
) -> Stored<()> {
    let reason = reason.map(without_zero_bytes);
    // Each transaction locks triggers in the same order.
    let ids: BTreeSet<&str> = triggers.iter().map(|trigger| trigger.id.as_str()).collect();
    for id in ids {
        connection.execute(
            "UPDATE triggers SET state = $1, reason = $2 WHERE id = $3 AND state IN ('pending', 'live')
                 AND (state <> $1 OR COALESCE(reason, '') <> COALESCE($2, ''))",
            values![state.name(), reason.as_deref(), id],
        )?;
    }
    Ok(())
}

pub(crate) fn find(connection: &mut dyn Connection, id: &str) -> Stored<Option<Trigger>> {
    connection.optional(&format!("SELECT {} FROM triggers WHERE id = $1", all_columns()), values![id])
}

/// Deletes a trigger. A subscription without triggers is left to the caller for the time
/// `left_for`.
pub(crate) fn remove(
    connection: &mut dyn Connection,
    by: &Acting,
    id: &str,
    left_for: Duration,
) -> Stored<Option<Removed>> {
    let Some(trigger) = find(connection, id)? else { return Ok(None) };
    if let Some(subscription) = &trigger.subscription {
        // A step locks the subscription before its triggers too.
        lock_subscription(connection, subscription)?;
    }
    unqueue_pending_events(connection, id)?;
    connection.execute("DELETE FROM triggers WHERE id = $1", values![id])?;
    audit::note(connection, by, AuditAction::TriggerDeleted, id, &trigger.tenant, "")?;
    let is_last = match &trigger.subscription {
        None => false,
        Some(subscription) => {
            let others: u64 =
                connection.one("SELECT count(*) FROM triggers WHERE subscription = $1", values![subscription])?;
            match others {
                // The caller ends it now. If the gateway dies before, another one does.
                0 => {
                    connection.execute(
                        "UPDATE subscriptions SET due_at = now_ms() + $1 WHERE id = $2",
                        values![millis(left_for), subscription],
                    )?;
                }
                _ => wake(connection, Some(subscription))?,
            }
            others == 0
        }
    };
    Ok(Some(Removed { subscription: trigger.subscription, is_last }))
}

pub(super) fn set_state(
    connection: &mut dyn Connection,
    id: &str,
    state: TriggerState,
    reason: Option<&str>,
) -> Stored<()> {
    let reason = reason.map(without_zero_bytes);
    connection.run(
        "UPDATE triggers SET state = $1, reason = $2, failing_since = NULL WHERE id = $3",
        values![state.name(), reason, id],
    )
}

/// Locks the row of a subscription until the transaction ends.
pub(super) fn lock_subscription(connection: &mut dyn Connection, id: &str) -> Stored<()> {
    connection.run("UPDATE subscriptions SET rung = rung WHERE id = $1", values![id])
}

/// Makes a step of a subscription due.
pub(super) fn wake(connection: &mut dyn Connection, subscription: Option<&str>) -> Stored<()> {
    if let Some(subscription) = subscription {
        connection.execute(
            "UPDATE subscriptions SET due_at = now_ms(), rung = rung + 1 WHERE id = $1",
            values![subscription],
        )?;
    }
    Ok(())
}

/// The id of the subscription of a new trigger.
fn find_or_insert(connection: &mut dyn Connection, new: &NewTrigger, subscription: NewSubscription) -> Stored<String> {
    let NewSubscription { id, covers, inbox, address, route, is_identified, secret: Sealed { key_id, bytes } } =
        subscription;
    let NewTrigger { tenant, subject, connector, user_identifier, .. } = new;
    let (covers, route) = (sha256_hex(covers.as_bytes()), route.map(|route| route.0));
    // The update locks the row against the deletion of a subscription whose last trigger has gone.
    let known: Option<String> = connection.optional(
        "UPDATE subscriptions SET due_at = now_ms(), rung = rung + 1, empty_reads = 0
         WHERE tenant = $1 AND subject = $2 AND connector = $3 AND user_identifier = $4 AND covers = $5 RETURNING id",
        values![tenant, subject, connector, user_identifier, &covers],
    )?;
    if let Some(known) = known {
        // One without triggers is about to end, or has ended, so the service is asked for another
        // one. Its cursor is not for the new trigger.
        connection.execute(
            "UPDATE subscriptions SET standing = 'new', cursor_key = NULL, cursor = NULL, expires_at = NULL, renewed_at = NULL,
                 renew_at = NULL, read_at = NULL, limited_until = NULL, tried_at = NULL, failed_renewals = 0, failed_reads = 0,
                 reason = NULL
             WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM triggers WHERE subscription = subscriptions.id)",
            values![&known],
        )?;
        return Ok(known);
    }
    connection.execute(
        "INSERT INTO subscriptions (id, tenant, subject, connector, user_identifier, covers, inbox, address, route, data_key,
             secret, is_identified, standing, kinds, due_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'new', '[]', now_ms())",
        values![
            &id,
            tenant,
            subject,
            connector,
            user_identifier,
            &covers,
            inbox,
            address,
            route,
            key_id,
            &bytes,
            is_identified
        ],
    )?;
    Ok(id)
}
