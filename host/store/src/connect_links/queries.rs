//! Adding, finding, listing, claiming and ending links.

use std::time::Duration;

use database::conditions::Conditions;
use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::{Value, values};

use super::{ConnectLink, ConnectLinkFilter, LinkEnd, LinkHash, NewConnectLink};
use crate::audit::{self, Acting, AuditAction};
use crate::handles::ConnectLinks;
use crate::integrations::text_of_labels;
use crate::records::new_id;
use crate::{StoreError, Stored};

/// Time after its expiry for which a link is kept. Until then its page says that it has expired.
const KEPT_AFTER_EXPIRY: Duration = Duration::from_secs(7 * 24 * 3600);

/// Links of one tenant that can be used. Without the limit, one tenant could fill the database.
const MAX_OPEN: u64 = 10_000;

/// The columns of a [`ConnectLink`], in the order in which they are read. A link is deleted as soon
/// as the key that made it is revoked, or the agent session is deleted.
const COLUMNS: &str = "id, hash, tenant, subject, connectors, user_identifier, callback_url, labels, key_id, expires_at, browser, \
     CASE WHEN ended IS NULL \
             AND (EXISTS (SELECT 1 FROM api_keys WHERE api_keys.id = connect_links.key_id AND revoked_at IS NOT NULL) \
                 OR EXISTS (SELECT 1 FROM agent_sessions WHERE agent_sessions.id = connect_links.key_id AND ended_at IS NOT NULL)) \
         THEN 'deleted' ELSE ended END, \
     expires_at <= now_ms()";

new_id! {
    /// Makes the id of a link.
    new_link_id = "lnk_"
}

impl ConnectLinks<'_> {
    /// Adds a link, and returns it. Deletes those that expired more than a week ago.
    ///
    /// # Errors
    /// Fails with [`StoreError::TooManyLinks`] if the tenant has too many that can be used.
    pub async fn add(self, new: NewConnectLink) -> Stored<ConnectLink> {
        let (by, quota) = (Acting::current(), self.0.quota);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                quota.check(connection, &new.tenant)?;
                connection.execute(
                    "DELETE FROM connect_links WHERE expires_at <= now_ms() - $1",
                    values![millis(KEPT_AFTER_EXPIRY)],
                )?;
                let open: u64 = connection.one(
                    "SELECT count(*) FROM connect_links WHERE tenant = $1 AND ended IS NULL AND expires_at > now_ms()",
                    values![&new.tenant],
                )?;
                if open >= MAX_OPEN {
                    return Err(StoreError::TooManyLinks { limit: MAX_OPEN });
                }
                insert_link(connection, &new)?;
                let connectors = new.connectors.join(" ");
                audit::note(connection, &by, AuditAction::ConnectLinkCreated, &new.id, &new.tenant, &connectors)?;
                find(connection, "id", new.id.into())?.ok_or(StoreError::Unexpected("a link was not stored"))
            })
            .await
    }

    /// Returns the link with this id.
    pub async fn get(self, id: &str) -> Stored<Option<ConnectLink>> {
        let id = id.to_owned();
        self.0.read(move |connection| find(connection, "id", id.into())).await
    }

    /// Returns the link whose URL has this secret part.
    pub async fn by_hash(self, hash: &LinkHash) -> Stored<Option<ConnectLink>> {
        let hash = *hash;
        self.0.read(move |connection| find(connection, "hash", Value::from(&hash))).await
    }

    /// Returns a page of the links of all tenants. The one that expires last is first, so that those
    /// that can be used come before the others.
    pub async fn page(self, filter: ConnectLinkFilter) -> Stored<Vec<ConnectLink>> {
        self.0
            .read(move |connection| {
                let mut conditions = Conditions::with_limit(filter.limit);
                conditions.equal("tenant", filter.tenant);
                conditions.equal("subject", filter.subject);
                conditions.after("expires_at, id", filter.before);
                let (clause, values) = conditions.finish();
                select(connection, &format!("{clause} ORDER BY expires_at DESC, id DESC LIMIT $1"), &values)
            })
            .await
    }

    /// Gives a link to the browser with this secret, if no browser has it. Returns `true` if this
    /// browser has the link now.
    pub async fn claim(self, id: &str, browser: &LinkHash) -> Stored<bool> {
        let claim = "UPDATE connect_links SET browser = $1 WHERE id = $2 AND (browser IS NULL OR browser = $1)";
        Ok(self.0.execute(Durability::PowerLoss, claim, values![browser, id]).await? > 0)
    }

    /// Notes that an integration was connected by a link.
    pub async fn note_account(self, id: &str, connector: &str, user_identifier: &str) -> Stored<()> {
        let note = "INSERT INTO connect_link_accounts (link, connector, user_identifier)
             SELECT id, $2, $3 FROM connect_links WHERE id = $1
             ON CONFLICT (link, connector) DO UPDATE SET user_identifier = excluded.user_identifier";
        self.0.execute(Durability::PowerLoss, note, values![id, connector, user_identifier]).await.map(drop)
    }

    /// Ends a link. Returns `false` if it had ended.
    pub async fn end(self, id: &str, end: LinkEnd) -> Stored<bool> {
        let (id, by) = (id.to_owned(), Acting::current());
        self.0.write(Durability::PowerLoss, move |connection| {
            let tenant: Option<String> = connection.optional(
                "UPDATE connect_links SET ended = $1 WHERE id = $2 AND ended IS NULL AND expires_at > now_ms() RETURNING tenant",
                values![end.name(), &id],
            )?;
            let Some(tenant) = tenant else { return Ok(false) };
            if end == LinkEnd::Deleted {
                audit::note(connection, &by, AuditAction::ConnectLinkDeleted, &id, &tenant, "")?;
            }
            Ok(true)
        })
        .await
    }
}

pub(super) fn insert_link(connection: &mut dyn Connection, new: &NewConnectLink) -> Stored<()> {
    let NewConnectLink { id, hash, tenant, subject, user_identifier, callback_url, .. } = new;
    let (connectors, labels) = (new.connectors.join(" "), new.labels.as_ref().map(text_of_labels));
    let (key_id, lifetime) = (new.key_id.as_ref(), millis(new.lifetime));
    connection.run(
        "INSERT INTO connect_links (id, hash, tenant, subject, connectors, user_identifier, callback_url, labels, key_id, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now_ms() + $10)",
        values![id, hash, tenant, subject, connectors, user_identifier, callback_url, labels, key_id, lifetime],
    )
}

fn find(connection: &mut dyn Connection, column: &str, value: Value) -> Stored<Option<ConnectLink>> {
    Ok(select(connection, &format!("WHERE {column} = $1"), &[value])?.pop())
}

/// Reads links, with the accounts that they have connected.
fn select(connection: &mut dyn Connection, clause: &str, values: &[Value]) -> Stored<Vec<ConnectLink>> {
    let mut links: Vec<ConnectLink> =
        connection.all(&format!("SELECT {COLUMNS} FROM connect_links {clause}"), values)?;
    let accounts: Vec<(String, String, String)> = connection.all(
        &format!(
            "SELECT link, connector, user_identifier FROM connect_link_accounts
             WHERE link IN (SELECT id FROM connect_links {clause}) ORDER BY link, connector"
        ),
        values,
    )?;
    for (id, connector, user_identifier) in accounts {
        if let Some(link) = links.iter_mut().find(|link| link.id == id) {
            link.accounts.push((connector, user_identifier));
        }
    }
    Ok(links)
}
