//! An account is disconnected: given back to the provider as well as it can be, and deleted in any case.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use super::grant::Grant;
use super::standing::Standing;
use super::{Failure, Integrations};
use crate::oauth::Revocation;
use crate::sandbox::manifest::AuthScheme;
use crate::store::{Holder, Integration};

impl Integrations {
    /// Revokes an integration's grant and deletes it. Says whether the provider has taken the grant back; none where there is no
    /// such integration. Goes on to its end even if the caller goes away.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn remove(self: &Arc<Self>, holder: &Holder, user_identifier: &str) -> Result<Option<bool>, Failure> {
        let Some(integration) = self.store.integration(holder, user_identifier).await? else { return Ok(None) };
        let this = Arc::clone(self);
        let task = self.tasks.spawn(async move {
            // In this order: a process that dies in between leaves something that can be removed again.
            let revoked = this.revoke(&integration).await;
            this.store.delete_integration(&integration.id).await?;
            this.cache.changed(&integration.holder).await;
            tracing::info!(
                integration = integration.id,
                connector = integration.holder.connector,
                tenant = integration.holder.tenant,
                revoked,
                "account disconnected"
            );
            Ok(Some(revoked))
        });
        // It ends early only with the process.
        task.await.unwrap_or(Err(Failure::Stopping))
    }

    /// Whether the provider has taken the grant back.
    async fn revoke(self: &Arc<Self>, integration: &Integration) -> bool {
        let name = &integration.holder.connector;
        let Some(connector) = self.registry.get(name) else { return false };
        let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return false };
        let result = async {
            let provider = self.provider(&connector, scheme).map_err(|error| error.to_string())?;
            let mut row = Cow::Borrowed(integration);
            // A token that has expired proves nothing to a provider that wants it as the proof.
            if provider.revokes_by_access_token() && Standing::of(&row.details, SystemTime::now()) == Standing::Stale {
                self.refresh(&row.id, row.version).await;
                let renewed = self.store.integration_by_id(&row.id).await.map_err(|error| error.to_string())?;
                row = renewed.map_or(row, Cow::Owned);
            }
            let Grant::OAuth2 { tokens, .. } =
                self.grant(&row, &connector.manifest().auth).await.map_err(|error| error.to_string())?
            else {
                return Ok(false);
            };
            let revocation = provider.revoke(&tokens).await.map_err(|error| error.to_string())?;
            Ok::<_, String>(revocation == Revocation::Revoked)
        };
        result.await.unwrap_or_else(|error| {
            tracing::warn!(integration = integration.id, connector = name, error, "the grant is not revoked");
            false
        })
    }
}
