//! Setting, finding and deleting clients.

use std::time::Duration;

use database::connection::{Connection, Durability};
use database::id::random_id;
use database::time::millis;
use database::value::values;

use super::{NewOauthClient, TenantOauthClient};
use crate::audit::{self, Acting, AuditAction};
use crate::handles::OauthClients;
use crate::{StoreError, Stored};

/// The columns of a [`TenantOauthClient`], in the order in which they are read.
const COLUMNS: &str = "id, tenant, name, client_id, data_key, secret, scopes, redirect_url, created_at, updated_at,
    (SELECT count(*) FROM integrations WHERE oauth_client = oauth_clients.id)";

/// Time for which a replaced client is kept even if no integration uses it: authorizations in
/// progress and grants that wait for their revocation may need it.
const KEPT_AFTER_REPLACEMENT: Duration = Duration::from_secs(2 * 24 * 3600);

impl OauthClients<'_> {
    /// Sets the client of a tenant for a connector or a provider. A client with the same
    /// `client_id` changes, for example its secret. A client with another `client_id` is replaced,
    /// and kept for the integrations that were connected with it.
    pub async fn set(self, client: NewOauthClient) -> Stored<TenantOauthClient> {
        let by = Acting::current();
        self.0.write(Durability::PowerLoss, move |connection| set(connection, &by, &client)).await
    }

    /// Returns the client of a tenant for new authorizations: the first of these names that has
    /// one.
    pub async fn get(self, tenant: &str, names: &[&str]) -> Stored<Option<TenantOauthClient>> {
        let (tenant, names) = (tenant.to_owned(), names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        self.0
            .read(move |connection| {
                for name in &names {
                    if let Some(found) = find_current(connection, &tenant, name)? {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            })
            .await
    }

    /// Returns a client by its id, also a replaced one.
    pub async fn by_id(self, id: &str) -> Stored<Option<TenantOauthClient>> {
        let by_id = format!("SELECT {COLUMNS} FROM oauth_clients WHERE id = $1");
        self.0.read_optional(by_id, values![id]).await
    }

    /// Returns the clients of a tenant for new authorizations, in the order of their names.
    pub async fn of(self, tenant: &str) -> Stored<Vec<TenantOauthClient>> {
        let of = format!("SELECT {COLUMNS} FROM oauth_clients WHERE tenant = $1 AND replaced_at IS NULL ORDER BY name");
        self.0.read_all(of, values![tenant]).await
    }

    /// Deletes the client of a tenant for a connector or a provider, with those that it has
    /// replaced. Returns the number of integrations that were connected with them, or `None` if
    /// there is no such client.
    pub async fn delete(self, tenant: &str, name: &str) -> Stored<Option<u64>> {
        let (tenant, name, by) = (tenant.to_owned(), name.to_owned(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                lock(connection, &tenant, &name)?;
                let integrations: u64 = connection.one(
                    "SELECT count(*) FROM integrations
                 WHERE oauth_client IN (SELECT id FROM oauth_clients WHERE tenant = $1 AND name = $2)",
                    values![&tenant, &name],
                )?;
                let deleted = connection
                    .execute("DELETE FROM oauth_clients WHERE tenant = $1 AND name = $2", values![&tenant, &name])?;
                if deleted == 0 {
                    return Ok(None);
                }
                let detail = format!("{integrations} accounts were connected with it");
                audit::note(connection, &by, AuditAction::OauthClientDeleted, &name, &tenant, &detail)?;
                Ok(Some(integrations))
            })
            .await
    }

    /// Deletes replaced clients that no integration uses any more.
    pub async fn sweep(self) -> Stored<u64> {
        let sweep = "DELETE FROM oauth_clients WHERE replaced_at <= now_ms() - $1
             AND NOT EXISTS (SELECT 1 FROM integrations WHERE oauth_client = oauth_clients.id)";
        self.0.execute(Durability::ProcessKill, sweep, values![millis(KEPT_AFTER_REPLACEMENT)]).await
    }
}

/// Without the lock, two calls that set a client at the same time would each find no current one.
fn lock(connection: &mut dyn Connection, tenant: &str, name: &str) -> Stored<()> {
    connection.lock(&format!("oauth client\0{tenant}\0{name}"))
}

fn set(connection: &mut dyn Connection, by: &Acting, client: &NewOauthClient) -> Stored<TenantOauthClient> {
    let NewOauthClient { tenant, name, client_id, secret, scopes, redirect_url } = client;
    lock(connection, tenant, name)?;
    let (key_id, bytes) = secret.as_ref().map(|sealed| (&sealed.key_id, &sealed.bytes)).unzip();
    let scopes = scopes.clone().map(|scopes| serde_json::Value::from(scopes).to_string());
    let changed = connection.execute(
        "UPDATE oauth_clients SET data_key = $1, secret = $2, scopes = $3, redirect_url = $4, updated_at = now_ms()
         WHERE tenant = $5 AND name = $6 AND client_id = $7 AND replaced_at IS NULL",
        values![key_id, bytes, &scopes, redirect_url, tenant, name, client_id],
    )?;
    if changed == 0 {
        connection.execute(
            "UPDATE oauth_clients SET replaced_at = now_ms() WHERE tenant = $1 AND name = $2 AND replaced_at IS NULL",
            values![tenant, name],
        )?;
        let id = random_id("oac_")?;
        connection.execute(
            "INSERT INTO oauth_clients (id, tenant, name, client_id, data_key, secret, scopes, redirect_url, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now_ms(), now_ms())",
            values![&id, tenant, name, client_id, key_id, bytes, &scopes, redirect_url],
        )?;
    }
    audit::note(connection, by, AuditAction::OauthClientSet, name, tenant, &format!("client {client_id}"))?;
    find_current(connection, tenant, name)?.ok_or(StoreError::Duplicate)
}

fn find_current(connection: &mut dyn Connection, tenant: &str, name: &str) -> Stored<Option<TenantOauthClient>> {
    connection.optional(
        &format!("SELECT {COLUMNS} FROM oauth_clients WHERE tenant = $1 AND name = $2 AND replaced_at IS NULL"),
        values![tenant, name],
    )
}
