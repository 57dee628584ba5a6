//! Storing, finding, selecting and deleting integrations.

use std::time::SystemTime;

use database::connection::{Connection, Durability};
use database::value::{Value, values, without_zero_bytes};

use super::columns::{text_of_address, text_of_label};
use super::upsert::upsert_integration;
use super::{Account, Connected, Details, Holder, Integration, IntegrationFilter};
use crate::audit::{self, Acting, AuditAction};
use crate::handles::Integrations;
use crate::pending_grants::insert_grant;
use crate::{NewDelivery, PendingGrant, Stored, storage, webhooks};

/// The columns of an [`Integration`], in the order in which they are read.
pub(super) const COLUMNS: &str =
    "id, tenant, subject, connector, user_identifier, auth_type, selected, created_at, updated_at, version,
    status, reason, account_id, account_email, account_name, address, scopes, expires_at, last_refreshed_at,
    next_refresh_at, CASE WHEN reason IS NOT NULL THEN refresh_failing_since END, data_key, secret, labels, oauth_client, grant_type";

/// Sets the columns of [`Details`]. [`with_details`] gives the parameters `$1` to `$13`.
const SET_DETAILS: &str =
    "status = $1, reason = $2, account_id = $3, account_email = $4, account_name = $5, scopes = $6,
    expires_at = $7, last_refreshed_at = $8, next_refresh_at = $9, data_key = $10, secret = $11,
    address = $12, refresh_failing_since = $13, version = version + 1, updated_at = now_ms()";

/// The status at this moment. An active integration has expired when its tokens have, if no refresh
/// can help.
const STATUS_NOW: &str = "CASE WHEN status = 'active' AND expires_at <= now_ms() AND next_refresh_at IS NULL
    THEN 'expired' ELSE status END";

impl Integrations<'_> {
    /// Stores an integration. If the holder already has one under this `user_identifier`, that one
    /// is overwritten: it keeps its id and its selection. It also keeps the connector's stored
    /// values, unless the account is another one. The same transaction stores the `deliveries` of
    /// webhooks about it, and the grant that it has `replaced`.
    ///
    /// # Errors
    /// Fails with [`StoreError::TooManyIntegrations`](crate::StoreError::TooManyIntegrations) if
    /// the holder has too many, and with
    /// [`StoreError::IntegrationChanged`](crate::StoreError::IntegrationChanged) if an integration is
    /// there that `connected` may not overwrite.
    pub async fn connect(
        self,
        holder: &Holder,
        user_identifier: &str,
        connected: Connected,
        deliveries: Vec<NewDelivery>,
        replaced: Option<PendingGrant>,
    ) -> Stored<Integration> {
        let (holder, user_identifier, by) = (holder.clone(), user_identifier.to_owned(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                replaced.iter().try_for_each(|replaced| insert_grant(connection, replaced))?;
                let integration = upsert_integration(connection, &holder, &user_identifier, &connected, &deliveries)?;
                note(connection, &by, AuditAction::IntegrationConnected, &integration)?;
                Ok(integration)
            })
            .await
    }

    /// Returns the integration that a holder has under a `user_identifier`, if there is one.
    pub async fn get(self, holder: &Holder, user_identifier: &str) -> Stored<Option<Integration>> {
        let (holder, user_identifier) = (holder.clone(), user_identifier.to_owned());
        self.0.read(move |connection| find_integration(connection, &holder, &user_identifier)).await
    }

    /// Returns the integration with an id, if there is one.
    pub async fn by_id(self, id: &str) -> Stored<Option<Integration>> {
        self.0.read_optional(select("WHERE id = $1"), values![id]).await
    }

    /// Returns all integrations of a holder, the oldest first. A holder may have so many that only
    /// tests read them all.
    #[cfg(test)]
    pub(crate) async fn of(self, holder: &Holder) -> Stored<Vec<Integration>> {
        let of = select("WHERE tenant = $1 AND subject = $2 AND connector = $3 ORDER BY created_at, id");
        self.0.read_all(of, values![&holder.tenant, &holder.subject, &holder.connector]).await
    }

    /// Returns a page of a user's integrations with any connector, in the order of connectors and
    /// user identifiers.
    pub async fn of_subject(self, tenant: &str, subject: &str, filter: IntegrationFilter) -> Stored<Vec<Integration>> {
        let (after_connector, after_user) = filter.after.unwrap_or_default();
        let mut condition = "WHERE tenant = $1 AND subject = $2 AND (connector, user_identifier) > ($3, $4)".to_owned();
        let mut values = values![tenant, subject, after_connector, after_user, filter.limit].to_vec();
        if let Some(connector) = filter.connector {
            values.push(connector.into());
            condition += &format!(" AND connector = ${}", values.len());
        }
        if let Some(among) = filter.among {
            // PostgreSQL has no empty list.
            if among.is_empty() {
                return Ok(Vec::new());
            }
            let first = values.len() + 1;
            values.extend(among.into_iter().map(Value::from));
            let places: Vec<String> = (first..=values.len()).map(|number| format!("${number}")).collect();
            condition += &format!(" AND connector IN ({})", places.join(", "));
        }
        if let Some(user_identifier) = filter.user_identifier {
            values.push(user_identifier.into());
            condition += &format!(" AND user_identifier = ${}", values.len());
        }
        if let Some(status) = filter.status {
            values.push(status.name().into());
            condition += &format!(" AND {STATUS_NOW} = ${}", values.len());
        }
        for (name, value) in &filter.labels {
            // The members of the column are written in one way, so each of them is a part of it.
            // `replace` distinguishes upper and lower case on both databases, other than `LIKE`.
            values.push(text_of_label(name, value).into());
            condition += &format!(" AND replace(labels, ${}, '') <> labels", values.len());
        }
        let page = select(&format!("{condition} ORDER BY connector, user_identifier LIMIT $5"));
        self.0.read_all(page, &values).await
    }

    /// Returns a page of a holder's integrations that may be of an account, in the order of user
    /// identifiers: those with its id, and those without an id. If the account has no id, the email
    /// address decides in the same way. If it has neither, all may be of it.
    pub async fn possibly_of(
        self,
        holder: &Holder,
        account: &Account,
        after: &str,
        limit: u32,
    ) -> Stored<Vec<Integration>> {
        let mut condition = "WHERE tenant = $1 AND subject = $2 AND connector = $3 AND user_identifier > $4".to_owned();
        let mut values = values![&holder.tenant, &holder.subject, &holder.connector, after, limit].to_vec();
        let identities = [("account_id", &account.id), ("account_email", &account.email)];
        let known = identities.into_iter().find_map(|(column, value)| Some((column, value.as_deref()?)));
        if let Some((column, value)) = known {
            values.push(value.into());
            condition += &format!(" AND ({column} = $6 OR {column} IS NULL)");
        }
        self.0.read_all(select(&format!("{condition} ORDER BY user_identifier LIMIT $5")), &values).await
    }

    /// Selects an integration for calls that name no integration, instead of the previously
    /// selected one. Returns `None` and changes nothing if there is no such integration.
    pub async fn select(self, holder: &Holder, user_identifier: &str) -> Stored<Option<Integration>> {
        let (holder, user_identifier, by) = (holder.clone(), user_identifier.to_owned(), Acting::current());
        let quota = self.0.quota;
        self.0
            .write(Durability::PowerLoss, move |connection| {
                quota.check(connection, &holder.tenant)?;
                select_one(connection, &by, &holder, &user_identifier)
            })
            .await
    }

    /// Writes the details, and stores the `deliveries` of webhooks about it. Returns `None` and
    /// writes nothing if the integration no longer has `expected_version` or was deleted.
    pub async fn update(
        self,
        id: &str,
        expected_version: i64,
        details: Details,
        deliveries: Vec<NewDelivery>,
    ) -> Stored<Option<Integration>> {
        let id = id.to_owned();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let written = connection.optional(
                    &format!(
                        "UPDATE integrations SET {SET_DETAILS} WHERE id = $14 AND version = $15 RETURNING {COLUMNS}"
                    ),
                    &with_details(&details, values![&id, expected_version]),
                )?;
                store_deliveries_if_written(connection, written, &deliveries)
            })
            .await
    }

    /// As `store.integrations().update`, for the worker that has the lease with this fence.
    /// Releases the lease, and stores the `deliveries` of webhooks about it. Returns `None` and
    /// writes nothing if another worker has taken a lease since.
    pub async fn update_leased(
        self,
        id: &str,
        expected_version: i64,
        fence: i64,
        details: Details,
        deliveries: Vec<NewDelivery>,
    ) -> Stored<Option<Integration>> {
        let (id, by) = (id.to_owned(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let written: Option<Integration> = connection.optional(
                    &format!(
                        "UPDATE integrations SET {SET_DETAILS}, leased_until = NULL
                     WHERE id = $14 AND version = $15 AND fence = $16 RETURNING {COLUMNS}"
                    ),
                    &with_details(&details, values![&id, expected_version, fence]),
                )?;
                if let Some(written) =
                    written.as_ref().filter(|written| by.renews() && written.details.reason.is_none())
                {
                    note(connection, &by, AuditAction::IntegrationRenewed, written)?;
                }
                store_deliveries_if_written(connection, written, &deliveries)
            })
            .await
    }

    /// Deletes an integration and the values that its connector stored for it, and stores the
    /// `deliveries` of webhooks about it. Returns `false` and changes nothing if it no longer has
    /// this version or was deleted before.
    pub async fn delete(self, id: &str, version: i64, deliveries: Vec<NewDelivery>) -> Stored<bool> {
        let (id, by) = (id.to_owned(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let deleted: Option<Integration> = connection.optional(
                    &format!("DELETE FROM integrations WHERE id = $1 AND version = $2 RETURNING {COLUMNS}"),
                    values![&id, version],
                )?;
                let Some(deleted) = deleted else { return Ok(false) };
                note(connection, &by, AuditAction::IntegrationDeleted, &deleted)?;
                storage::clear_values(connection, &deleted.holder.connector, &id)?;
                webhooks::insert_deliveries(connection, &deliveries)?;
                Ok(true)
            })
            .await
    }
}

/// Adds the entry of a change of an integration to the audit.
pub(crate) fn note(
    connection: &mut dyn Connection,
    by: &Acting,
    action: AuditAction,
    integration: &Integration,
) -> Stored<()> {
    let Integration { id, holder: Holder { tenant, subject, connector }, user_identifier, .. } = integration;
    let of = if subject.is_empty() { String::new() } else { format!(" of {subject}") };
    audit::note(connection, by, action, id, tenant, &format!("{connector}: {user_identifier}{of}"))
}

/// Stores the deliveries of webhooks about a change, if the change was written.
fn store_deliveries_if_written(
    connection: &mut dyn Connection,
    written: Option<Integration>,
    deliveries: &[NewDelivery],
) -> Stored<Option<Integration>> {
    if written.is_some() {
        webhooks::insert_deliveries(connection, deliveries)?;
    }
    Ok(written)
}

pub(super) fn find_integration(
    connection: &mut dyn Connection,
    holder: &Holder,
    user_identifier: &str,
) -> Stored<Option<Integration>> {
    // No account has such a name, and PostgreSQL cannot look for it.
    if user_identifier.contains('\0') {
        return Ok(None);
    }
    connection.optional(
        &select("WHERE tenant = $1 AND subject = $2 AND connector = $3 AND user_identifier = $4"),
        values![&holder.tenant, &holder.subject, &holder.connector, user_identifier],
    )
}

fn select_one(
    connection: &mut dyn Connection,
    by: &Acting,
    holder: &Holder,
    user_identifier: &str,
) -> Stored<Option<Integration>> {
    let Holder { tenant, subject, connector } = holder;
    // Without the lock, two calls at the same time could each leave an integration selected.
    connection.lock(&format!("selection\0{tenant}\0{subject}\0{connector}"))?;
    let Some(mut integration) = find_integration(connection, holder, user_identifier)? else { return Ok(None) };
    if !integration.selected {
        connection.execute(
            "UPDATE integrations SET selected = FALSE
             WHERE tenant = $1 AND subject = $2 AND connector = $3 AND selected",
            values![tenant, subject, connector],
        )?;
        let updated_at: Option<SystemTime> = connection.optional(
            "UPDATE integrations SET selected = TRUE, updated_at = now_ms() WHERE id = $1 RETURNING updated_at",
            values![&integration.id],
        )?;
        // Another call deleted the integration after it was found.
        let Some(updated_at) = updated_at else { return Ok(None) };
        (integration.selected, integration.updated_at) = (true, updated_at);
        note(connection, by, AuditAction::IntegrationSelected, &integration)?;
    }
    Ok(Some(integration))
}

pub(crate) fn select(condition: &str) -> String {
    format!("SELECT {COLUMNS} FROM integrations {condition}")
}

/// The parameters of [`SET_DETAILS`], followed by others.
pub(super) fn with_details(details: &Details, others: &[Value]) -> Vec<Value> {
    let secret = details.secret.as_ref();
    // Services and modules write these texts. A refresh must end, whatever they say.
    let text = |text: &Option<String>| Value::from(text.as_deref().map(without_zero_bytes));
    let mut values = vec![
        details.status.name().into(),
        text(&details.reason),
        text(&details.account.id),
        text(&details.account.email),
        text(&details.account.name),
        serde_json::Value::from(details.scopes.clone()).to_string().into(),
        details.expires_at.into(),
        details.last_refreshed_at.into(),
        details.next_refresh_at.into(),
        secret.map(|sealed| &sealed.key_id).into(),
        secret.map(|sealed| &sealed.bytes).into(),
        text_of_address(&details.account.address).into(),
        details.refresh_failing_since.into(),
    ];
    values.extend_from_slice(others);
    values
}
