//! Events whose webhooks wait: events of a trigger that is paused, and events of a tenant that has
//! too many webhooks that are not delivered.

use std::collections::{BTreeMap, BTreeSet};

use database::connection::{Connection, Durability};
use database::value::values;
use vault::Vault;

use super::events::{EventWebhooks, OLDEST_FIRST, delete_delivery, insert_events, insert_webhooks, is_known, page};
use super::queries::{all_columns, lock_subscription};
use super::types::{NewEvent, StoredEvent, Trigger};
use crate::handles::Events;
use crate::stored_bytes::Quota;
use crate::{StoreError, Stored, StoredPush};

impl Events<'_> {
    /// Returns the number of a tenant's webhooks about events that are not delivered yet.
    pub async fn pending(self, tenant: &str) -> Stored<u64> {
        let tenant = tenant.to_owned();
        self.0.read(move |connection| pending_of(connection, &tenant)).await
    }

    /// Returns the events of a trigger whose webhooks wait, the oldest first: at most `limit`, and not
    /// more than [`EVENTS_BYTES`](super::EVENTS_BYTES).
    pub async fn waiting(self, trigger: &str, limit: u32) -> Stored<Vec<StoredEvent>> {
        let trigger = trigger.to_owned();
        self.0
            .read(move |connection| {
                page(connection, ("trigger_id = $1 AND NOT queued", OLDEST_FIRST), values![&trigger], limit)
            })
            .await
    }

    /// Returns triggers whose events have waited: until their tenant has fewer than `max_pending`
    /// webhooks about events that are not delivered, and until they continue after a pause.
    pub async fn triggers_with_backlog(self, max_pending: u64, limit: u32) -> Stored<Vec<Trigger>> {
        self.0.read(move |connection| {
            let tenants: Vec<String> = connection
                .all("SELECT DISTINCT tenant FROM triggers WHERE has_backlog AND state = 'live'", &[])?;
            let mut found = Vec::new();
            for tenant in tenants {
                if pending_of(connection, &tenant)? < max_pending {
                    found.extend(connection.all(
                        &format!(
                            "SELECT {} FROM triggers WHERE has_backlog AND state = 'live' AND tenant = $1 ORDER BY id LIMIT $2",
                            all_columns()
                        ),
                        values![&tenant, limit],
                    )?);
                }
            }
            Ok(found)
        })
        .await
    }

    /// Stores webhooks of events that have waited, unless the trigger was paused since.
    pub async fn queue_backlog(self, vault: &Vault, trigger: &Trigger, waiting: Vec<EventWebhooks>) -> Stored<()> {
        let (vault, trigger) = (vault.clone(), trigger.clone());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let is_live = connection.execute(
                    "UPDATE triggers SET sequence = sequence WHERE id = $1 AND state = 'live'",
                    values![&trigger.id],
                )?;
                if is_live == 0 {
                    return Ok(());
                }
                queue_waiting_events(connection, &vault, &trigger, &waiting)?;
                note_backlog(connection, &trigger.id)
            })
            .await
    }
}

fn pending_of(connection: &mut dyn Connection, tenant: &str) -> Stored<u64> {
    connection.one(
        "SELECT count(*) FROM webhook_deliveries WHERE tenant = $1 AND status = 'pending' AND trigger_id IS NOT NULL",
        values![tenant],
    )
}

/// Stores events that a service has told. `room` has the most bytes that a tenant may store, and
/// the number of its webhooks that may wait for their delivery. Beyond the first, events are
/// dropped; beyond the second, their webhooks wait. A trigger gets nothing if another account was
/// connected since, or if the access of its account has ended. The caller has locked the
/// subscriptions.
pub(crate) fn insert_told_events(
    connection: &mut dyn Connection,
    vault: &Vault,
    events: Vec<NewEvent>,
    room: (Quota, u64),
) -> Stored<StoredPush> {
    let (quota, max_pending) = room;
    let mut of_account = Vec::with_capacity(events.len());
    for event in events {
        if may_be_told(connection, &event.trigger)? {
            of_account.push(event);
        }
    }
    let events = of_account;
    let (mut full, mut held) = (Vec::new(), Vec::new());
    let mut tenants = BTreeMap::<&String, bool>::new();
    for event in &events {
        *tenants.entry(&event.tenant).or_default() |= !event.deliveries.is_empty();
    }
    for (tenant, has_webhooks) in tenants {
        match quota.check(connection, tenant) {
            // Counting them takes long if there are many.
            Ok(()) if has_webhooks && pending_of(connection, tenant)? >= max_pending => held.push(tenant.clone()),
            Ok(()) => {}
            Err(StoreError::TenantFull { .. }) => full.push(tenant.clone()),
            Err(error) => return Err(error),
        }
    }
    let (refused, admitted): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| full.contains(&event.tenant));
    let mut dropped = Vec::new();
    for event in refused {
        if !is_known(connection, &event.id)? {
            dropped.push(event.trigger);
        }
    }
    Ok(StoredPush { stored: insert_events(connection, vault, &admitted, &held)?, dropped })
}

/// Locks the subscriptions of these events, before their triggers are locked. Each transaction
/// locks them in the same order, and no account is changed until it ends.
pub(crate) fn lock_subscriptions_of(connection: &mut dyn Connection, events: &[NewEvent]) -> Stored<()> {
    let mut subscriptions = BTreeSet::new();
    for trigger in events.iter().map(|event| &event.trigger).collect::<BTreeSet<_>>() {
        let of: Option<Option<String>> =
            connection.optional("SELECT subscription FROM triggers WHERE id = $1", values![trigger])?;
        subscriptions.extend(of.flatten());
    }
    for id in &subscriptions {
        lock_subscription(connection, id)?;
    }
    Ok(())
}

/// Returns `true` if the account of a trigger is the one for which its service tells of events, and
/// can be used.
fn may_be_told(connection: &mut dyn Connection, trigger: &str) -> Stored<bool> {
    connection.one(
        "SELECT EXISTS (SELECT 1 FROM triggers JOIN subscriptions ON subscriptions.id = triggers.subscription
             WHERE triggers.id = $1 AND subscriptions.is_identified AND COALESCE(subscriptions.blocked, '') <> 'user')",
        values![trigger],
    )
}

/// Takes back the webhooks of a trigger that were not delivered yet. Its events wait.
pub(super) fn unqueue_pending_events(connection: &mut dyn Connection, trigger: &str) -> Stored<()> {
    let pending: Vec<(String, Option<String>)> = connection.all(
        "SELECT webhook_id, message_id FROM webhook_deliveries WHERE trigger_id = $1 AND status = 'pending'",
        values![trigger],
    )?;
    for (webhook, event) in &pending {
        delete_delivery(connection, webhook)?;
        connection.execute("UPDATE trigger_events SET queued = $1 WHERE id = $2", values![false, event.as_deref()])?;
    }
    Ok(())
}

/// Notes if webhooks of events of a live trigger wait. The caller has locked its row.
pub(super) fn note_backlog(connection: &mut dyn Connection, trigger: &str) -> Stored<()> {
    connection.run(
        "UPDATE triggers SET has_backlog = EXISTS
             (SELECT 1 FROM trigger_events WHERE trigger_id = triggers.id AND NOT queued AND data_key IS NOT NULL)
         WHERE id = $1",
        values![trigger],
    )
}

/// Stores the webhooks of events that have waited.
fn queue_waiting_events(
    connection: &mut dyn Connection,
    vault: &Vault,
    trigger: &Trigger,
    waiting: &[EventWebhooks],
) -> Stored<()> {
    for (event, deliveries, body) in waiting {
        let queued = connection.execute(
            "UPDATE trigger_events SET queued = $1 WHERE id = $2 AND queued = $3",
            values![true, event, false],
        )?;
        if queued > 0 {
            insert_webhooks(connection, vault, (&trigger.id, &trigger.tenant), event, deliveries, body)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{LONG, add, delivery, event, key, settle};
    use super::*;
    use crate::testing::{Site, on_every_database, sealed};
    use crate::{PushedEvents, ReadEvents, Store};

    on_every_database!(
        webhooks_of_told_events_wait_while_their_tenant_has_too_many,
        a_tenant_that_stores_too_much_gets_no_event,
    );

    fn pushed(events: Vec<NewEvent>) -> PushedEvents {
        PushedEvents { events, max_pending: 1, ..PushedEvents::default() }
    }

    async fn webhooks_of_told_events_wait_while_their_tenant_has_too_many(site: Site) {
        let (store, vault) = (&site.store, site.vault().await);
        vault.know_newest_key().await.unwrap();
        let key = key(store).await;
        let (id, subscription) = add(store, "acme", "a").await;
        let (other, of_other) = add(store, "globex", "a").await;
        settle(store, &subscription).await;
        settle(store, &of_other).await;
        let told = |trigger: &str, tenant: &str, name: &str| {
            let new = event(trigger, tenant, name);
            NewEvent { deliveries: vec![delivery(&new.id, "https://app.example/", &key)], ..new }
        };
        let stored = |stored| StoredPush { stored, dropped: Vec::new() };
        for name in ["x", "y", "z"] {
            let push = pushed(vec![told(&id, "acme", name)]);
            assert_eq!(store.subscriptions().store_pushed(&vault, push).await.unwrap(), stored(1));
        }
        store.subscriptions().store_pushed(&vault, pushed(vec![told(&other, "globex", "x")])).await.unwrap();
        let pending = async |id: &str| store.triggers().get(id).await.unwrap().unwrap().pending_deliveries;
        assert_eq!((pending(&id).await, pending(&other).await), (1, 1));
        // Without a webhook, nothing waits.
        store.subscriptions().store_pushed(&vault, pushed(vec![event(&other, "globex", "y")])).await.unwrap();
        assert_eq!(store.events().triggers_with_backlog(1, 9).await.unwrap(), []);
        let found = store.events().triggers_with_backlog(2, 9).await.unwrap();
        assert_eq!(found.iter().map(|trigger| &trigger.id).collect::<Vec<_>>(), [&id]);

        // An event does not pass those that wait.
        store.events().add(&vault, vec![told(&id, "acme", "last")]).await.unwrap();
        let waiting = async || store.events().waiting(&id, 9).await.unwrap();
        assert_eq!(waiting().await.iter().map(|event| event.sequence).collect::<Vec<_>>(), [2, 3, 4]);
        let webhooks = |events: &[StoredEvent]| -> Vec<EventWebhooks> {
            let of = |event: &StoredEvent| {
                (event.id.clone(), vec![delivery(&event.id, "https://app.example/", &key)], b"{}".to_vec())
            };
            events.iter().map(of).collect()
        };
        let first = &waiting().await[..1];
        store.events().queue_backlog(&vault, &found[0], webhooks(first)).await.unwrap();
        store.events().queue_backlog(&vault, &found[0], webhooks(first)).await.unwrap();
        assert_eq!((pending(&id).await, waiting().await.len()), (2, 2), "each webhook once");
        store.events().queue_backlog(&vault, &found[0], webhooks(&waiting().await)).await.unwrap();
        assert_eq!(store.events().triggers_with_backlog(9, 9).await.unwrap(), []);
        store.events().add(&vault, vec![told(&id, "acme", "after")]).await.unwrap();
        assert_eq!((pending(&id).await, waiting().await.len()), (5, 0));
    }

    async fn a_tenant_that_stores_too_much_gets_no_event(site: Site) {
        let (store, vault) = (&site.store, site.vault().await);
        vault.know_newest_key().await.unwrap();
        let key = key(store).await;
        let (id, subscription) = add(store, "acme", "a").await;
        let known = event(&id, "acme", "known");
        store.events().add(&vault, vec![known.clone()]).await.unwrap();
        let full = Store::clone(store).with_quota(1);
        let push = pushed(vec![known, event(&id, "acme", "new")]);
        let dropped = vec![id.clone()];
        assert_eq!(full.subscriptions().store_pushed(&vault, push).await.unwrap(), StoredPush { stored: 0, dropped });
        let taken = full.subscriptions().take_one(&subscription, LONG).await.unwrap().unwrap();
        let read =
            |events| full.subscriptions().store_read(&vault, &taken, ReadEvents { cursor: sealed(&key), events }, LONG);
        let refused = read(vec![event(&id, "acme", "read")]).await;
        assert!(matches!(refused, Err(StoreError::TenantFull { limit: 1 })), "{refused:?}");
        assert_eq!(read(Vec::new()).await.unwrap(), Some(0), "there is nothing to store");
        assert_eq!(store.events().of(&id, 0, 9).await.unwrap().events.len(), 1);
    }
}
