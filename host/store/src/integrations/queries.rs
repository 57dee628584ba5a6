//! Storing, finding, selecting and deleting integrations.

use std::time::SystemTime;

use database::connection::{Connection, Durability};
use database::id::random_id;
use database::value::{FromValue, Row, Value, values};

use super::address::{read_address, text_of_address};
use super::labels::{read_labels, text_of_label, text_of_labels};
use super::{Account, AuthType, Connected, Details, GrantType, Holder, Integration, IntegrationFilter};
use crate::audit::{self, Acting, AuditAction};
use crate::handles::Integrations;
use crate::pending_grants::insert_grant;
use crate::records::record;
use crate::{NewDelivery, PendingGrant, Sealed, Stored, caps, storage, webhooks};

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
    /// the holder has too many, or if the database does not answer.
    pub async fn connect(
        self,
        holder: &Holder,
        user_identifier: &str,
        auth_type: AuthType,
        details: Details,
        deliveries: Vec<NewDelivery>,
        replaced: Option<PendingGrant>,
    ) -> Stored<Integration> {
        let connected = Connected { auth_type, details, labels: None, oauth_client: None, grant_type: None };
        self.connect_labelled(holder, user_identifier, connected, deliveries, replaced).await
    }

    /// As `store.integrations().connect`, with labels.
    ///
    /// # Errors
    /// As `store.integrations().connect`.
    pub async fn connect_labelled(
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
        let id = id.to_owned();
        self.0.read(move |connection| connection.optional(&select("WHERE id = $1"), values![&id])).await
    }

    /// Returns all integrations of a holder, the oldest first. A holder may have so many that only
    /// tests read them all.
    #[cfg(test)]
    pub(crate) async fn of(self, holder: &Holder) -> Stored<Vec<Integration>> {
        let holder = holder.clone();
        self.0
            .read(move |connection| {
                connection.all(
                    &select("WHERE tenant = $1 AND subject = $2 AND connector = $3 ORDER BY created_at, id"),
                    values![&holder.tenant, &holder.subject, &holder.connector],
                )
            })
            .await
    }

    /// Returns a page of a user's integrations with any connector, in the order of connectors and
    /// user identifiers.
    pub async fn of_subject(self, tenant: &str, subject: &str, filter: IntegrationFilter) -> Stored<Vec<Integration>> {
        let (tenant, subject) = (tenant.to_owned(), subject.to_owned());
        self.0
            .read(move |connection| {
                let (connector, user_identifier) = filter.after.unwrap_or_default();
                let mut condition =
                    "WHERE tenant = $1 AND subject = $2 AND (connector, user_identifier) > ($3, $4)".to_owned();
                let mut values = values![&tenant, &subject, &connector, &user_identifier, filter.limit].to_vec();
                if let Some(connector) = &filter.connector {
                    values.push(connector.into());
                    condition += &format!(" AND connector = ${}", values.len());
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
                connection.all(&select(&format!("{condition} ORDER BY connector, user_identifier LIMIT $5")), &values)
            })
            .await
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

/// Stores an integration. See `store.integrations().connect`.
pub(crate) fn upsert_integration(
    connection: &mut dyn Connection,
    holder: &Holder,
    user_identifier: &str,
    connected: &Connected,
    deliveries: &[NewDelivery],
) -> Stored<Integration> {
    let Connected { auth_type, details, labels, oauth_client, grant_type } = connected;
    let labels = labels.as_ref().map(text_of_labels);
    let id = random_id("int_")?;
    prepare_to_connect(connection, holder, user_identifier, &details.account)?;
    webhooks::insert_deliveries(connection, deliveries)?;
    connection.one(
        &format!(
            "INSERT INTO integrations (status, reason, account_id, account_email, account_name, scopes, expires_at,
                 last_refreshed_at, next_refresh_at, data_key, secret, address, refresh_failing_since, id, tenant,
                 subject, connector, user_identifier, auth_type, labels, oauth_client, grant_type, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
                 coalesce($20, '{{}}'), $21, $22, now_ms(), now_ms())
             ON CONFLICT (tenant, subject, connector, user_identifier) DO UPDATE SET
                 status = excluded.status, reason = excluded.reason, account_id = excluded.account_id,
                 account_email = excluded.account_email, account_name = excluded.account_name,
                 scopes = excluded.scopes, expires_at = excluded.expires_at,
                 last_refreshed_at = excluded.last_refreshed_at, next_refresh_at = excluded.next_refresh_at,
                 data_key = excluded.data_key, secret = excluded.secret, auth_type = excluded.auth_type,
                 address = excluded.address, labels = coalesce($20, integrations.labels),
                 refresh_failing_since = excluded.refresh_failing_since,
                 oauth_client = excluded.oauth_client, grant_type = excluded.grant_type, imported = NULL,
                 version = integrations.version + 1, updated_at = excluded.updated_at
             RETURNING {COLUMNS}"
        ),
        &with_details(
            details,
            values![
                &id,
                &holder.tenant,
                &holder.subject,
                &holder.connector,
                user_identifier,
                auth_type.name(),
                labels,
                oauth_client,
                grant_type.map(GrantType::name)
            ],
        ),
    )
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

/// Checks the limit of a new integration. Deletes the connector's stored values of an existing one
/// if the account is another one, so that one account never sees the values of another.
fn prepare_to_connect(
    connection: &mut dyn Connection,
    holder: &Holder,
    user_identifier: &str,
    account: &Account,
) -> Stored<()> {
    let Holder { tenant, subject, connector } = holder;
    // Without the lock, two calls that connect different accounts at the same time would both find
    // the previous account.
    connection.lock(&format!("connection\0{tenant}\0{subject}\0{connector}\0{user_identifier}"))?;
    let Some(previous) = find_integration(connection, holder, user_identifier)? else {
        return caps::check_integrations(connection, holder);
    };
    let is_other = account.id.is_some() && account.id != previous.details.account.id;
    if is_other || account.address != previous.details.account.address {
        storage::clear_values(connection, connector, &previous.id)?;
    }
    Ok(())
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
fn with_details(details: &Details, others: &[Value]) -> Vec<Value> {
    let secret = details.secret.as_ref();
    let mut values = vec![
        details.status.name().into(),
        (&details.reason).into(),
        (&details.account.id).into(),
        (&details.account.email).into(),
        (&details.account.name).into(),
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

record! {
    row => Integration: id, holder, user_identifier, auth_type, selected, created_at, updated_at, version,
        details = Details {
            status: row.read()?,
            reason: row.read()?,
            account: Account {
                id: row.read()?,
                email: row.read()?,
                name: row.read()?,
                address: read_address(row)?,
            },
            scopes: row.read::<Scopes>()?.0,
            expires_at: row.read()?,
            last_refreshed_at: row.read()?,
            next_refresh_at: row.read()?,
            refresh_failing_since: row.read()?,
            secret: read_sealed(row)?,
        },
        labels = read_labels(row)?, oauth_client, grant_type
}

/// Reads two columns: the id of the data key and the sealed bytes.
pub(crate) fn read_sealed(row: &mut Row) -> Stored<Option<Sealed>> {
    let (key_id, bytes) = (row.read::<Option<String>>()?, row.read::<Option<Vec<u8>>>()?);
    Ok(key_id.zip(bytes).map(|(key_id, bytes)| Sealed { key_id, bytes }))
}

/// A column with a JSON list of strings.
struct Scopes(Vec<String>);

impl FromValue for Scopes {
    fn from_value(value: Value) -> Option<Self> {
        serde_json::from_str(&String::from_value(value)?).ok().map(Self)
    }
}
