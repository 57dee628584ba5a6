//! Adding, finding and deleting inboxes and their secrets.

use database::connection::{Connection, Durability};
use database::id::random_id;
use database::value::values;

use super::rejections::forget_rejections;
use super::types::{Inbox, NewInbox, SecretAdded};
use crate::audit::{self, Acting, AuditAction};
use crate::handles::Inboxes;
use crate::{Sealed, StoreError, Stored};

/// The secrets of an inbox that are valid at the same time.
const MAX_SECRETS: u64 = 2;

/// The columns of an [`Inbox`] without its secrets, in the order in which they are read.
const COLUMNS: &str =
    "id, connector, inbox, tenant, address, created_at, last_accepted_at, last_rejected_at, last_rejection";

impl Inboxes<'_> {
    /// Adds an inbox, and returns it.
    ///
    /// # Errors
    /// Fails with [`StoreError::Duplicate`] if the tenant has this inbox.
    pub async fn add(self, new: NewInbox) -> Stored<Inbox> {
        let by = Acting::current();
        self.0.write(Durability::PowerLoss, move |connection| {
            let NewInbox { connector, inbox, tenant, address } = &new;
            let id = random_id("inb_")?;
            let added = connection.execute(
                "INSERT INTO inboxes (id, connector, inbox, tenant, address, created_at) VALUES ($1, $2, $3, $4, $5, now_ms())
                 ON CONFLICT (connector, inbox, tenant) DO NOTHING",
                values![&id, connector, inbox, tenant, address],
            )?;
            if added == 0 {
                return Err(StoreError::Duplicate);
            }
            audit::note(connection, &by, AuditAction::InboxCreated, &id, tenant, &format!("{connector} {inbox}"))?;
            find(connection, "id", &id)?.ok_or(StoreError::Unexpected("an inbox was not stored"))
        })
        .await
    }

    /// Returns all inboxes, in the order of their ids.
    pub async fn list(self) -> Stored<Vec<Inbox>> {
        self.0
            .read(|connection| {
                let mut inboxes: Vec<Inbox> =
                    connection.all(&format!("SELECT {COLUMNS} FROM inboxes ORDER BY id"), &[])?;
                inboxes.iter_mut().try_for_each(|inbox| read_secrets(connection, inbox))?;
                Ok(inboxes)
            })
            .await
    }

    /// Returns an inbox.
    pub async fn get(self, id: &str) -> Stored<Option<Inbox>> {
        let id = id.to_owned();
        self.0.read(move |connection| find(connection, "id", &id)).await
    }

    /// Returns the inbox with an address.
    pub async fn at(self, address: &str) -> Stored<Option<Inbox>> {
        let address = address.to_owned();
        self.0.read(move |connection| find(connection, "address", &address)).await
    }

    /// Deletes an inbox. Returns `false` if there is none.
    pub async fn delete(self, id: &str) -> Stored<bool> {
        let (id, by) = (id.to_owned(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let deleted: Option<(String, String, String)> = connection
                    .optional("DELETE FROM inboxes WHERE id = $1 RETURNING tenant, connector, inbox", values![&id])?;
                let Some((tenant, connector, name)) = deleted else { return Ok(false) };
                forget_rejections(connection, &id)?;
                wake_subscriptions(connection, &connector, &name)?;
                audit::note(connection, &by, AuditAction::InboxDeleted, &id, &tenant, "")?;
                Ok(true)
            })
            .await
    }

    /// Adds a secret to an inbox.
    pub async fn add_secret(self, inbox: &str, id: &str, secret: Sealed) -> Stored<SecretAdded> {
        let (inbox, id, by) = (inbox.to_owned(), id.to_owned(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                // Locks the row, so that two secrets are not added at the same time.
                let found: Option<(String, String, String)> = connection.optional(
                    "UPDATE inboxes SET address = address WHERE id = $1 RETURNING tenant, connector, inbox",
                    values![&inbox],
                )?;
                let Some((tenant, connector, name)) = found else { return Ok(SecretAdded::Unknown) };
                let known: u64 =
                    connection.one("SELECT count(*) FROM inbox_secrets WHERE inbox = $1", values![&inbox])?;
                if known >= MAX_SECRETS {
                    return Ok(SecretAdded::Full);
                }
                connection.execute(
                "INSERT INTO inbox_secrets (id, inbox, created_at, data_key, secret) VALUES ($1, $2, now_ms(), $3, $4)",
                values![&id, &inbox, &secret.key_id, &secret.bytes],
            )?;
                // Subscriptions that have waited for the secret continue.
                wake_subscriptions(connection, &connector, &name)?;
                audit::note(connection, &by, AuditAction::InboxSecretAdded, &inbox, &tenant, &id)?;
                Ok(SecretAdded::Added)
            })
            .await
    }

    /// Deletes a secret of an inbox. Returns `false` if it has none with this id.
    pub async fn delete_secret(self, inbox: &str, id: &str) -> Stored<bool> {
        let (inbox, id, by) = (inbox.to_owned(), id.to_owned(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let deleted = connection
                    .execute("DELETE FROM inbox_secrets WHERE inbox = $1 AND id = $2", values![&inbox, &id])?;
                if deleted > 0 {
                    let tenant: String = connection.one("SELECT tenant FROM inboxes WHERE id = $1", values![&inbox])?;
                    audit::note(connection, &by, AuditAction::InboxSecretRemoved, &inbox, &tenant, &id)?;
                }
                Ok(deleted > 0)
            })
            .await
    }
}

/// Makes work due on the subscriptions of an inbox, because it can be used now, or no longer.
fn wake_subscriptions(connection: &mut dyn Connection, connector: &str, inbox: &str) -> Stored<()> {
    connection.run(
        "UPDATE subscriptions SET due_at = now_ms(), rung = rung + 1 WHERE connector = $1 AND inbox = $2",
        values![connector, inbox],
    )
}

/// The inbox that has this value in a column with distinct values.
fn find(connection: &mut dyn Connection, column: &str, value: &str) -> Stored<Option<Inbox>> {
    let found: Option<Inbox> =
        connection.optional(&format!("SELECT {COLUMNS} FROM inboxes WHERE {column} = $1"), values![value])?;
    let Some(mut inbox) = found else { return Ok(None) };
    read_secrets(connection, &mut inbox)?;
    Ok(Some(inbox))
}

fn read_secrets(connection: &mut dyn Connection, inbox: &mut Inbox) -> Stored<()> {
    inbox.secrets = connection.all(
        "SELECT id, created_at, data_key, secret FROM inbox_secrets WHERE inbox = $1 ORDER BY created_at, id",
        values![&inbox.id],
    )?;
    Ok(())
}
