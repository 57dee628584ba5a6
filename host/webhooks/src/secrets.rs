//! The secrets of a tenant.

use std::time::Duration;

use super::signature::SigningSecret;
use super::{WebhookError, Webhooks};
use store::{ShownOnce, StoreError, WebhookSecret};

/// Time for which the previous secret stays valid, so that receivers can be changed one after the
/// other.
const OVERLAP: Duration = Duration::from_secs(24 * 3600);

/// A secret that was just made.
pub struct NewSecret {
    /// Its record.
    pub record: WebhookSecret,
    /// The secret itself, which is shown only now.
    pub secret: ShownOnce,
}

impl Webhooks {
    /// Makes a secret for a tenant. The previous secret stays valid for 24 hours. Older secrets
    /// end.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn create_secret(&self, tenant: &str) -> Result<NewSecret, WebhookError> {
        let (id, secret) = (WebhookSecret::new_id()?, SigningSecret::random()?);
        let sealed = self.vault.seal(&WebhookSecret::context(tenant, &id), secret.bytes()).await?;
        let mut added = self.store.webhooks().add_secret(tenant, &id, sealed.clone(), OVERLAP).await;
        // The database may have stored the secret, and its answer was lost. The caller would make
        // another one then, which would end the secret that its receivers have.
        if added.as_ref().is_err_and(StoreError::may_have_written) {
            let again = self.store.webhooks().add_secret(tenant, &id, sealed, OVERLAP).await;
            added = Ok(again.map_err(WebhookError::SecretMayBeStored)?);
        }
        let record = added?;
        tracing::info!(tenant, secret_id = id, "webhook secret made");
        Ok(NewSecret { record, secret: secret.to_text() })
    }

    /// The valid secrets of a tenant: the current one first.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn secrets(&self, tenant: &str) -> Result<Vec<WebhookSecret>, WebhookError> {
        Ok(self.store.webhooks().secrets(tenant).await?)
    }

    /// Ends a secret. Returns `false` if the tenant has no valid secret with this id.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn delete_secret(&self, tenant: &str, id: &str) -> Result<bool, WebhookError> {
        let deleted = self.store.webhooks().delete_secret(tenant, id).await?;
        if deleted {
            tracing::info!(tenant, secret_id = id, "webhook secret deleted");
        }
        Ok(deleted)
    }

    /// The unsealed valid secrets of a tenant.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub(super) async fn signing_secrets(&self, tenant: &str) -> Result<Vec<SigningSecret>, WebhookError> {
        let mut secrets = Vec::new();
        for WebhookSecret { id, secret, .. } in self.store.webhooks().secrets(tenant).await? {
            let bytes = self.vault.unseal(&WebhookSecret::context(tenant, &id), &secret).await?;
            secrets.push(SigningSecret::from_bytes(bytes)?);
        }
        Ok(secrets)
    }
}
