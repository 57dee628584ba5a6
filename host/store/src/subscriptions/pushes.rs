//! Notifications of services: the subscriptions that they are for, and what they change.

use database::connection::{Connection, Durability};
use database::value::values;
use vault::Vault;

use super::leases::{COLUMNS, COLUMNS_OF_PUSH, ring};
use super::types::{PushedEvents, Route, StoredPush, Subscription};
use crate::Stored;
use crate::handles::Subscriptions;
use crate::inboxes::keep_shared;
use crate::triggers::{NewEvent, insert_told_events, is_known, triggers_of};

/// Milliseconds in which one notification is noted at a subscription and at an inbox. A service may
/// send hundreds in a second, and the rows are large.
const NOTED_MS: i64 = 1_000;

impl Subscriptions<'_> {
    /// Returns the subscription with an address, with its triggers. It may be the address of the one
    /// that it has replaced.
    pub async fn at(self, address: &str) -> Stored<Option<Subscription>> {
        let address = address.to_owned();
        self.0
            .read(move |connection| {
                let found: Option<Subscription> = connection.optional(
                    &format!("SELECT {COLUMNS_OF_PUSH} FROM subscriptions WHERE address = $1 OR former_address = $1"),
                    values![&address],
                )?;
                found.map(|found| with_triggers(connection, found)).transpose()
            })
            .await
    }

    /// Returns the subscriptions of an account at an inbox of an application, with their triggers,
    /// unless they wait for the user. `tenant` is empty for the subscriptions of all tenants.
    pub async fn on_route(
        self,
        connector: &str,
        inbox: &str,
        tenant: &str,
        route: &Route,
    ) -> Stored<Vec<Subscription>> {
        let on_route = format!(
            "SELECT {COLUMNS_OF_PUSH} FROM subscriptions
             WHERE connector = $1 AND inbox = $2 AND route = $3 AND ($4 = '' OR tenant = $4)
                 AND (blocked IS NULL OR blocked <> 'user') ORDER BY id"
        );
        let values = values![connector, inbox, &route.0, tenant].to_vec();
        self.0
            .read(move |connection| {
                let found: Vec<Subscription> = connection.all(&on_route, &values)?;
                found.into_iter().map(|found| with_triggers(connection, found)).collect()
            })
            .await
    }

    /// Returns subscriptions of accounts at an inbox of an application, unless they wait for the
    /// user, in the order of their ids after one of them. `tenant` is empty for the subscriptions of
    /// all tenants.
    pub async fn at_inbox(
        self,
        connector: &str,
        inbox: &str,
        tenant: &str,
        after: &str,
        limit: u32,
    ) -> Stored<Vec<Subscription>> {
        let at_inbox = format!(
            "SELECT {COLUMNS} FROM subscriptions
             WHERE connector = $1 AND inbox = $2 AND route IS NOT NULL AND ($3 = '' OR tenant = $3) AND id > $4
                 AND (blocked IS NULL OR blocked <> 'user') ORDER BY id LIMIT $5"
        );
        self.0.read_all(at_inbox, values![connector, inbox, tenant, after, limit]).await
    }

    /// Stores everything that a request of a service changes, in one transaction. Requests that come
    /// at the same time may share it.
    pub async fn store_pushed(self, vault: &Vault, pushed: PushedEvents) -> Stored<StoredPush> {
        let (vault, quota) = (vault.clone(), self.0.quota);
        self.0
            .write_together(Durability::PowerLoss, move |connection| {
                let PushedEvents {
                    events,
                    max_pending,
                    mut about,
                    mut renewed_now,
                    mut shared,
                    max_shared,
                    inbox,
                    is_former,
                } = pushed;
                if !shared.is_empty() && are_known(connection, &events)? {
                    shared.retain(|new| new.instead.is_none());
                }
                // Each transaction locks rows in the same order, and subscriptions before their
                // triggers, as the end of a step does.
                about.sort_unstable();
                // It is no sign of the subscription that has replaced the one that it is from.
                let push = if is_former { "" } else { ", last_push_at = now_ms()" };
                for (id, is_read) in &about {
                    if !*is_read && is_noted(connection, id, is_former)? {
                        continue;
                    }
                    let read = if *is_read { format!(", {}", ring()) } else { String::new() };
                    connection.execute(
                        &format!("UPDATE subscriptions SET empty_reads = 0{push}{read} WHERE id = $1"),
                        values![id],
                    )?;
                }
                renewed_now.sort_unstable();
                for id in &renewed_now {
                    // After a failure, the time of the next attempt holds.
                    connection.execute(
                        "UPDATE subscriptions SET renew_at = now_ms(), rung = rung + 1, due_at = now_ms()
                         WHERE id = $1 AND (failed_renewals = 0 OR renew_at IS NULL OR renew_at <= now_ms())",
                        values![id],
                    )?;
                }
                let stored = insert_told_events(connection, &vault, events, (quota, max_pending))?;
                for new in &shared {
                    keep_shared(connection, new, max_shared)?;
                }
                if let Some(inbox) = inbox {
                    // Without the condition, all notifications of an application would wait for one row.
                    connection.execute(
                        "UPDATE inboxes SET last_accepted_at = now_ms()
                         WHERE id = $1 AND COALESCE(last_accepted_at, 0) <= now_ms() - $2",
                        values![&inbox, NOTED_MS],
                    )?;
                }
                Ok(stored)
            })
            .await
    }
}

/// Locks a subscription. Returns `true` if a notification that carries its events changes nothing
/// of it: another one was noted a moment ago, by the one that stands at the service now.
fn is_noted(connection: &mut dyn Connection, id: &str, is_former: bool) -> Stored<bool> {
    let lock = connection.lock_rows();
    let noted: Option<bool> = connection.optional(
        &format!(
            "SELECT empty_reads = 0 AND ($1 OR COALESCE(last_push_at > now_ms() - $2 AND last_push_at >= COALESCE(renewed_at, 0), FALSE))
             FROM subscriptions WHERE id = $3 {lock}"
        ),
        values![is_former, NOTED_MS, id],
    )?;
    // The subscription may be gone.
    Ok(noted.unwrap_or(true))
}

fn with_triggers(connection: &mut dyn Connection, found: Subscription) -> Stored<Subscription> {
    let triggers = triggers_of(connection, &found.id)?;
    Ok(Subscription { triggers, ..found })
}

/// Returns `true` if all of these events are known. The notification that they are of came before,
/// and the service was asked about it then.
fn are_known(connection: &mut dyn Connection, events: &[NewEvent]) -> Stored<bool> {
    for event in events {
        if !is_known(connection, &event.id)? {
            return Ok(false);
        }
    }
    Ok(!events.is_empty())
}
