//! Notifications of services: the subscriptions that they are for, and what they change.

use database::connection::{Connection, Durability};
use database::value::values;
use vault::Vault;

use super::leases::COLUMNS;
use super::types::{PushedEvents, Route, StoredPush, Subscription};
use crate::Stored;
use crate::handles::Subscriptions;
use crate::triggers::{NewEvent, insert_told_events, is_known};

impl Subscriptions<'_> {
    /// Returns the subscription with an address.
    pub async fn at(self, address: &str) -> Stored<Option<Subscription>> {
        let address = address.to_owned();
        self.0
            .read(move |connection| {
                connection
                    .optional(&format!("SELECT {COLUMNS} FROM subscriptions WHERE address = $1"), values![&address])
            })
            .await
    }

    /// Returns the subscriptions of an account at an inbox of an application. `tenant` is empty for
    /// those of all tenants.
    pub async fn on_route(
        self,
        connector: &str,
        inbox: &str,
        tenant: &str,
        route: &Route,
    ) -> Stored<Vec<Subscription>> {
        let [connector, inbox, tenant] = [connector, inbox, tenant].map(str::to_owned);
        let Route(route) = route.clone();
        self.0
            .read(move |connection| {
                connection.all(
                    &format!(
                        "SELECT {COLUMNS} FROM subscriptions
                     WHERE connector = $1 AND inbox = $2 AND route = $3 AND ($4 = '' OR tenant = $4) ORDER BY id"
                    ),
                    values![&connector, &inbox, &route, &tenant],
                )
            })
            .await
    }

    /// Stores everything that a request of a service changes, in one transaction.
    ///
    /// # Errors
    /// Fails if the database does not answer. Nothing is stored then.
    pub async fn store_pushed(self, vault: &Vault, pushed: PushedEvents) -> Stored<StoredPush> {
        let (vault, quota) = (vault.clone(), self.0.quota);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let PushedEvents { events, max_pending, mut about, mut renewed_now, shared, inbox } = pushed;
                let is_shared_before = shared.is_some() && are_known(connection, &events)?;
                let stored = insert_told_events(connection, &vault, events, (quota, max_pending))?;
                // Each transaction locks rows in the same order.
                about.sort_unstable();
                for (id, is_read) in &about {
                    let change = if *is_read { ", rung = rung + 1, due_at = now_ms(), read_at = now_ms()" } else { "" };
                    connection.execute(
                        &format!(
                            "UPDATE subscriptions SET last_push_at = now_ms(), empty_reads = 0{change} WHERE id = $1"
                        ),
                        values![id],
                    )?;
                }
                renewed_now.sort_unstable();
                for id in &renewed_now {
                    connection.execute(
                    "UPDATE subscriptions SET renew_at = now_ms(), rung = rung + 1, due_at = now_ms() WHERE id = $1",
                    values![id],
                )?;
                }
                if let Some((id, inbox, body)) = shared.filter(|_| !is_shared_before) {
                    connection.execute(
                        "INSERT INTO shared_notifications (id, inbox, data_key, body, due_at, created_at)
                     VALUES ($1, $2, $3, $4, now_ms(), now_ms()) ON CONFLICT (id) DO NOTHING",
                        values![&id, &inbox, &body.key_id, &body.bytes],
                    )?;
                }
                if let Some(inbox) = inbox {
                    connection
                        .execute("UPDATE inboxes SET last_accepted_at = now_ms() WHERE id = $1", values![&inbox])?;
                }
                Ok(stored)
            })
            .await
    }
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
