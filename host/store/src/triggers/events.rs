//! Storing, reading and deleting events.

use std::slice;
use std::time::SystemTime;

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::{Value, values};
use vault::Vault;

use super::types::{EventDelivery, KeptEvents, NewEvent, StoredEvent, Told, Trigger};
use super::waiting::note_backlog;
use crate::audit::{self, Acting, AuditAction};
use crate::handles::{Events, Triggers};
use crate::webhooks::{delete_body, insert_deliveries};
use crate::{NewDelivery, Payload, Sealed, StoreError, Stored, WebhookSource};

/// Events that one transaction deletes, so that it does not delay other writes.
const SWEEP_BATCH: u32 = 200;

/// The most bytes of events that are read together, which are in memory several times. One event
/// may be larger.
pub const EVENTS_BYTES: usize = 8 << 20;

/// The orders of a page of events.
pub(super) const OLDEST_FIRST: &str = "sequence";
const NEWEST_FIRST: &str = "sequence DESC";

/// Webhooks of one event, with its id and the body that they have.
pub type EventWebhooks = (String, Vec<EventDelivery>, Vec<u8>);

/// The number of the last event of a trigger.
const LAST_SEQUENCE: &str = "SELECT sequence FROM triggers WHERE id = $1";

const COLUMNS: &str = "id, trigger_id, sequence, received_at, is_replayed, data_key, body";

impl Events<'_> {
    /// Stores events that no request of a service has brought, such as events of the gateway
    /// itself. Returns the number of those that were new.
    pub async fn add(self, vault: &Vault, events: Vec<NewEvent>) -> Stored<u64> {
        let vault = vault.clone();
        self.0.write(Durability::PowerLoss, move |connection| insert_events(connection, &vault, &events, &[])).await
    }

    /// Returns the events of a trigger after a number, the oldest first: at most `limit`, and not more
    /// than [`EVENTS_BYTES`].
    pub async fn of(self, trigger: &str, after: i64, limit: u32) -> Stored<KeptEvents> {
        let trigger = trigger.to_owned();
        self.0
            .read(move |connection| {
                // Two statements see two states of the database. An event that is stored between them is
                // among the events, or has a higher number than this one.
                let last: Option<i64> = connection.optional(LAST_SEQUENCE, values![&trigger])?;
                let last = last.unwrap_or_default();
                let events = page(
                    connection,
                    ("trigger_id = $1 AND sequence > $2", OLDEST_FIRST),
                    values![&trigger, after],
                    limit,
                )?;
                // Numbers have no holes, so one that is missing was deleted.
                let first = events.first().map_or(last + 1, |event| event.sequence);
                Ok(KeptEvents { events, are_older_gone: first > after + 1, last })
            })
            .await
    }

    /// Returns the last events of a trigger that are kept, the newest first: at most `limit`, and not
    /// more than [`EVENTS_BYTES`].
    pub async fn last(self, trigger: &str, limit: u32) -> Stored<Vec<StoredEvent>> {
        let trigger = trigger.to_owned();
        self.0
            .read(move |connection| page(connection, ("trigger_id = $1", NEWEST_FIRST), values![&trigger], limit))
            .await
    }

    /// Returns the events of a trigger that were stored since a time, the oldest first: at most
    /// `limit`, and not more than [`EVENTS_BYTES`].
    pub async fn since(self, trigger: &str, since: SystemTime, limit: u32) -> Stored<Vec<StoredEvent>> {
        let trigger = trigger.to_owned();
        self.0
            .read(move |connection| {
                page(
                    connection,
                    ("trigger_id = $1 AND received_at >= $2", OLDEST_FIRST),
                    values![&trigger, since],
                    limit,
                )
            })
            .await
    }

    /// Returns the ids of these events, whatever their size is.
    pub async fn ids_since(self, trigger: &str, since: SystemTime, limit: u32) -> Stored<Vec<String>> {
        let since_then = "SELECT id FROM trigger_events
             WHERE trigger_id = $1 AND received_at >= $2 AND data_key IS NOT NULL ORDER BY sequence LIMIT $3";
        self.0.read_all(since_then, values![trigger, since, limit]).await
    }

    /// Returns the number of the last event of a trigger.
    pub async fn last_sequence(self, trigger: &str) -> Stored<i64> {
        let last: Option<i64> = self.0.read_optional(LAST_SEQUENCE, values![trigger]).await?;
        Ok(last.unwrap_or_default())
    }

    /// Returns an event of a trigger that is still kept.
    pub async fn get(self, trigger: &str, id: &str) -> Stored<Option<StoredEvent>> {
        // No event has such an id, and PostgreSQL cannot look for it.
        if id.contains('\0') {
            return Ok(None);
        }
        let kept = "WHERE trigger_id = $1 AND id = $2 AND data_key IS NOT NULL";
        self.0.read_optional(format!("SELECT {COLUMNS} FROM trigger_events {kept}"), values![trigger, id]).await
    }

    /// Sends events once more, with the same ids and these bodies. Those of a trigger that is
    /// paused or has failed wait, as new ones do. Returns the number of events that have webhooks.
    pub async fn replay(self, vault: &Vault, trigger: &Trigger, events: Vec<EventWebhooks>) -> Stored<u64> {
        let (vault, trigger, by) = (vault.clone(), trigger.clone(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                // Locks the row, so that no one pauses the trigger meanwhile, or lets it continue.
                let lock = connection.lock_rows();
                let state: Option<String> = connection
                    .optional(&format!("SELECT state FROM triggers WHERE id = $1 {lock}"), values![&trigger.id])?;
                let Some(state) = state else { return Ok(0) };
                let is_sent = state != "paused" && state != "failed";
                let mut queued = 0;
                for (id, deliveries, body) in events.iter().filter(|(_, deliveries, _)| !deliveries.is_empty()) {
                    for delivery in deliveries {
                        delete_delivery(connection, &delivery.id)?;
                    }
                    // One that has waited is not sent a second time.
                    connection.execute(
                        "UPDATE trigger_events SET queued = $1, is_replayed = $2 WHERE id = $3",
                        values![is_sent, true, id],
                    )?;
                    if is_sent {
                        insert_webhooks(connection, &vault, (&trigger.id, &trigger.tenant), id, deliveries, body)?;
                    }
                    queued += 1;
                }
                if is_sent {
                    note_backlog(connection, &trigger.id)?;
                }
                audit::note(connection, &by, AuditAction::TriggerReplayed, &trigger.id, &trigger.tenant, "")?;
                Ok(queued)
            })
            .await
    }

    /// Deletes bodies that are no longer kept, and events that no one needs to know any more.
    pub async fn sweep(self) -> Stored<()> {
        let statements = [
            "UPDATE trigger_events SET data_key = NULL, body = NULL WHERE id IN
                 (SELECT id FROM trigger_events WHERE kept_until <= now_ms() AND data_key IS NOT NULL LIMIT $1)",
            "DELETE FROM trigger_events WHERE id IN (SELECT id FROM trigger_events WHERE expires_at <= now_ms() LIMIT $1)",
        ];
        for sweep in statements {
            let batch = values![SWEEP_BATCH];
            while self.0.execute(Durability::ProcessKill, sweep, batch).await? == u64::from(SWEEP_BATCH) {}
        }
        Ok(())
    }
}

impl Triggers<'_> {
    /// Tells the receivers of a trigger with this event how it is. Returns `false` if they were told
    /// before, or if it is paused.
    pub async fn tell(self, vault: &Vault, told: Told, event: NewEvent) -> Stored<bool> {
        let vault = vault.clone();
        let (is_degraded, is_disabled) = (told != Told::Recovered, told == Told::Disabled);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let told = connection.execute(
                    "UPDATE triggers SET told_degraded = $1, told_disabled = $2
                     WHERE id = $3 AND (told_degraded <> $1 OR told_disabled <> $2) AND state <> 'paused'",
                    values![is_degraded, is_disabled, &event.trigger],
                )?;
                if told > 0 {
                    insert_event_of_state(connection, &vault, &event)?;
                }
                Ok(told > 0)
            })
            .await
    }
}

/// The kept events that a condition selects, in an order: at most `limit`, and not more than
/// fit into [`EVENTS_BYTES`]. The first one is always there.
pub(super) fn page(
    connection: &mut dyn Connection,
    (condition, order): (&str, &str),
    parameters: &[Value],
    limit: u32,
) -> Stored<Vec<StoredEvent>> {
    let number = parameters.len() + 1;
    let selected =
        format!("FROM trigger_events WHERE {condition} AND data_key IS NOT NULL ORDER BY {order} LIMIT ${number}");
    let with_limit = |limit: u32| [parameters, values![limit]].concat();
    let sizes = format!("SELECT CAST(length(body) AS bigint) {selected}");
    let sizes: Vec<u64> = connection.all(&sizes, &with_limit(limit))?;
    let mut bytes = 0;
    let fits = |size: &&u64| {
        let is_first = bytes == 0;
        bytes += **size;
        is_first || bytes <= EVENTS_BYTES as u64
    };
    let fitting = u32::try_from(sizes.iter().take_while(fits).count()).unwrap_or(limit);
    connection.all(&format!("SELECT {COLUMNS} {selected}"), &with_limit(fitting))
}

/// Stores events that are not known yet, with their webhooks. Returns their number. A trigger that
/// was deleted since gets none. One that is paused or has failed, or whose tenant is one of `held`,
/// keeps them without webhooks.
pub(crate) fn insert_events(
    connection: &mut dyn Connection,
    vault: &Vault,
    events: &[NewEvent],
    held: &[String],
) -> Stored<u64> {
    insert(connection, vault, events, held, false)
}

/// The same for an event that tells of the trigger itself. It is sent also if the trigger has
/// failed, because it says so.
fn insert_event_of_state(connection: &mut dyn Connection, vault: &Vault, event: &NewEvent) -> Stored<u64> {
    insert(connection, vault, slice::from_ref(event), &[], true)
}

fn insert(
    connection: &mut dyn Connection,
    vault: &Vault,
    events: &[NewEvent],
    held: &[String],
    are_of_state: bool,
) -> Stored<u64> {
    let mut ordered: Vec<&NewEvent> = events.iter().collect();
    // Each transaction locks triggers in the same order. The events of one keep theirs.
    ordered.sort_by(|one, other| one.trigger.cmp(&other.trigger));
    let mut stored = 0;
    for event in ordered {
        // Locks the row, so that two transactions do not store the same event, or two of one
        // number.
        let lock = connection.lock_rows();
        let next: Option<(i64, String, bool)> = connection.optional(
            &format!("SELECT sequence + 1, state, has_backlog FROM triggers WHERE id = $1 {lock}"),
            values![&event.trigger],
        )?;
        let Some((sequence, state, has_backlog)) = next else { continue };
        if is_known(connection, &event.id)? {
            continue;
        }
        let NewEvent { id, trigger, tenant, body: (head, tail), deliveries, kept_for, known_for } = event;
        let is_paused = state == "paused" || state == "failed" && !are_of_state;
        // Events are sent in their order, so one does not pass those that wait.
        let is_held = !deliveries.is_empty() && (has_backlog || held.contains(tenant));
        let is_queued = !is_paused && !is_held;
        let body = format!("{head}{sequence}{tail}").into_bytes();
        let Sealed { key_id, bytes } = vault
            .seal_with_known_key(&StoredEvent::context(id), &body)
            .map_err(|_| StoreError::Unexpected("an event cannot be sealed"))?;
        connection.execute(
            "INSERT INTO trigger_events (id, trigger_id, tenant, sequence, received_at, queued, data_key, body, kept_until, expires_at)
             VALUES ($1, $2, $3, $4, now_ms(), $5, $6, $7, now_ms() + $8, now_ms() + $9)",
            values![id, trigger, tenant, sequence, is_queued, key_id, &bytes, millis(*kept_for), millis(*known_for)],
        )?;
        connection.execute(
            "UPDATE triggers SET sequence = $1, last_event_at = now_ms(), has_backlog = $2 WHERE id = $3",
            values![sequence, has_backlog || (is_held && !is_paused), trigger],
        )?;
        if is_queued {
            insert_webhooks(connection, vault, (trigger, tenant), id, deliveries, &body)?;
        }
        stored += 1;
    }
    Ok(stored)
}

/// Returns `true` if the event is stored, or was stored and is not forgotten.
pub(crate) fn is_known(connection: &mut dyn Connection, event: &str) -> Stored<bool> {
    connection.one("SELECT EXISTS (SELECT 1 FROM trigger_events WHERE id = $1)", values![event])
}

/// Stores the webhooks of an event. `of` is its trigger and its tenant.
pub(super) fn insert_webhooks(
    connection: &mut dyn Connection,
    vault: &Vault,
    of: (&str, &str),
    event: &str,
    deliveries: &[EventDelivery],
    body: &[u8],
) -> Stored<()> {
    if deliveries.is_empty() {
        return Ok(());
    }
    let (trigger, tenant) = of;
    // A replayed event has another body, so the id of the body is not the event's.
    let id = database::id::random_id("evb_")?;
    let sealed = vault
        .seal_with_known_key(&Payload::context(tenant, &id), body)
        .map_err(|_| StoreError::Unexpected("a webhook cannot be sealed"))?;
    let payload = std::sync::Arc::new(Payload { id, sealed });
    let webhooks: Vec<NewDelivery> = deliveries
        .iter()
        .map(|delivery| NewDelivery {
            webhook_id: delivery.id.clone(),
            tenant: tenant.to_owned(),
            source: match delivery.for_agent {
                true => WebhookSource::Agent { trigger: trigger.to_owned(), event: event.to_owned() },
                false => WebhookSource::Trigger { trigger: trigger.to_owned(), event: event.to_owned() },
            },
            receiver: delivery.receiver.clone(),
            url: delivery.url.clone(),
            url_hash: delivery.url_hash.clone(),
            payload: std::sync::Arc::clone(&payload),
            kept_for: std::time::Duration::ZERO,
        })
        .collect();
    insert_deliveries(connection, &webhooks)
}

pub(super) fn delete_delivery(connection: &mut dyn Connection, webhook_id: &str) -> Stored<()> {
    let payload: Option<Option<String>> = connection
        .optional("DELETE FROM webhook_deliveries WHERE webhook_id = $1 RETURNING payload_id", values![webhook_id])?;
    match payload.flatten() {
        Some(payload) => delete_body(connection, webhook_id, &payload),
        None => Ok(()),
    }
}
