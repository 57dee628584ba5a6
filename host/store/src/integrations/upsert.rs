//! The row of an account that is connected, in an open transaction.

use database::connection::Connection;
use database::id::random_id;
use database::value::values;

use super::columns::text_of_labels;
use super::queries::{COLUMNS, find_integration, with_details};
use super::{Account, Connected, Details, GrantType, Holder, Integration};
use crate::{NewDelivery, StoreError, Stored, caps, storage, webhooks};

/// Stores an integration. See `store.integrations().connect`.
///
/// # Errors
/// Fails with [`StoreError::IntegrationChanged`] if the holder has another integration under the
/// name than `connected` may overwrite, and with [`StoreError::TooManyIntegrations`] if the holder
/// has too many.
pub(crate) fn upsert_integration(
    connection: &mut dyn Connection,
    holder: &Holder,
    user_identifier: &str,
    connected: &Connected,
    deliveries: &[NewDelivery],
) -> Stored<Integration> {
    let Connected { auth_type, details, labels, oauth_client, grant_type, .. } = connected;
    let Holder { tenant, subject, connector } = holder;
    let labels = labels.as_ref().map(text_of_labels);
    let (auth_type, grant_type) = (auth_type.name(), grant_type.map(GrantType::name));
    let id = random_id("int_")?;
    prepare_to_connect(connection, holder, user_identifier, connected)?;
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
            values![&id, tenant, subject, connector, user_identifier, auth_type, labels, oauth_client, grant_type],
        ),
    )
}

/// Checks the limit of a new integration. Deletes the connector's stored values of an existing one
/// if the account is another one, so that one account never sees the values of another.
fn prepare_to_connect(
    connection: &mut dyn Connection,
    holder: &Holder,
    user_identifier: &str,
    Connected { details: Details { account, .. }, overwrites, .. }: &Connected,
) -> Stored<()> {
    // Without the lock, two calls that connect different accounts at the same time would both find
    // the previous account.
    connection.lock(&connection_lock(holder, user_identifier))?;
    let previous = find_integration(connection, holder, user_identifier)?;
    if !overwrites.include(previous.as_ref()) {
        return Err(StoreError::IntegrationChanged);
    }
    let Some(previous) = previous else { return caps::check_integrations(connection, holder) };
    if is_other(account, &previous.details.account) {
        storage::clear_values(connection, &holder.connector, &previous.id)?;
    }
    Ok(())
}

/// Returns `true` if an account is not known to be the previous one. An account without an id and
/// without an email address was not asked for its identity, and counts as the previous one.
fn is_other(account: &Account, previous: &Account) -> bool {
    let has_other_identity = match (&account.id, &account.email) {
        (Some(_), _) => account.id != previous.id,
        (None, Some(_)) => account.email != previous.email,
        (None, None) => false,
    };
    has_other_identity || account.address != previous.address
}

/// The name of the lock of a transaction that connects an account under a name.
pub(super) fn connection_lock(holder: &Holder, user_identifier: &str) -> String {
    let Holder { tenant, subject, connector } = holder;
    format!("connection\0{tenant}\0{subject}\0{connector}\0{user_identifier}")
}
