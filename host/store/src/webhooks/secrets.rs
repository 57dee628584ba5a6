//! Storing, replacing and deleting the secrets of webhooks.

use std::time::Duration;

use database::connection::Durability;
use database::time::millis;
use database::value::values;

use super::WebhookSecret;
use crate::audit::{self, Acting, AuditAction};
use crate::handles::Webhooks;
use crate::{Sealed, Stored};

/// The columns of a [`WebhookSecret`], in the order in which they are read.
const COLUMNS: &str = "id, created_at, expires_at, data_key, secret";

impl Webhooks<'_> {
    /// Stores a secret as the current one of a tenant. The previous one stays valid for the time
    /// `overlap`, also if the current one was deleted and it is the last that receivers have. Older
    /// ones are deleted, so that at most two are valid. A secret that is there already does not change,
    /// so it may be added again when the answer of the database was lost.
    pub async fn add_secret(self, tenant: &str, id: &str, secret: Sealed, overlap: Duration) -> Stored<WebhookSecret> {
        let (tenant, id, by, quota) = (tenant.to_owned(), id.to_owned(), Acting::current(), self.0.quota);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                // Without the lock, two calls at the same time could each leave a current secret.
                connection.lock(&format!("webhook secrets\0{tenant}"))?;
                let added: Option<WebhookSecret> = connection.optional(
                    &format!("SELECT {COLUMNS} FROM webhook_secrets WHERE id = $1 AND tenant = $2"),
                    values![&id, &tenant],
                )?;
                if let Some(added) = added {
                    return Ok(added);
                }
                quota.check(connection, &tenant)?;
                audit::note(connection, &by, AuditAction::WebhookSecretCreated, &id, &tenant, "")?;
                let has_current: bool = connection.one(
                    "SELECT EXISTS (SELECT 1 FROM webhook_secrets WHERE tenant = $1 AND expires_at IS NULL)",
                    values![&tenant],
                )?;
                // Without a current secret, the one that ends is the previous one. One that has ended
                // must not become valid again.
                connection.execute(
                    "DELETE FROM webhook_secrets WHERE tenant = $1 AND expires_at IS NOT NULL AND ($2 OR expires_at <= now_ms())",
                    values![&tenant, has_current],
                )?;
                connection.execute(
                    "UPDATE webhook_secrets SET expires_at = now_ms() + $1 WHERE tenant = $2",
                    values![millis(overlap), &tenant],
                )?;
                connection.one(
                    &format!(
                        "INSERT INTO webhook_secrets (id, tenant, created_at, data_key, secret)
                     VALUES ($1, $2, now_ms(), $3, $4) RETURNING {COLUMNS}"
                    ),
                    values![&id, &tenant, &secret.key_id, &secret.bytes],
                )
            })
            .await
    }

    /// Returns the valid secrets of a tenant: the current one first.
    pub async fn secrets(self, tenant: &str) -> Stored<Vec<WebhookSecret>> {
        let valid = format!(
            "SELECT {COLUMNS} FROM webhook_secrets
             WHERE tenant = $1 AND (expires_at IS NULL OR expires_at > now_ms())
             ORDER BY expires_at IS NOT NULL, id"
        );
        self.0.read_all(valid, values![tenant]).await
    }

    /// Deletes a secret. Returns `false` if the tenant has no valid secret with this id.
    pub async fn delete_secret(self, tenant: &str, id: &str) -> Stored<bool> {
        let (tenant, id, by) = (tenant.to_owned(), id.to_owned(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let deleted = connection.execute(
                    "DELETE FROM webhook_secrets
                 WHERE tenant = $1 AND id = $2 AND (expires_at IS NULL OR expires_at > now_ms())",
                    values![&tenant, &id],
                )?;
                if deleted > 0 {
                    audit::note(connection, &by, AuditAction::WebhookSecretDeleted, &id, &tenant, "")?;
                }
                Ok(deleted > 0)
            })
            .await
    }
}
