//! An account is disconnected: given back to the provider as well as it can be, and deleted in any case.

use std::sync::Arc;
use std::time::SystemTime;

use secrecy::ExposeSecret;
use tokio::time::{Instant, sleep};

use super::account_secret::AccountSecret;
use super::freshness::Freshness;
use super::refresh::{LEASE, POLL};
use super::{IntegrationError, Integrations};
use crate::oauth::Revocation;
use contract::AuthScheme;
use store::{Holder, Integration};

impl Integrations {
    /// Revokes an integration's grant and deletes it. Says whether the provider has taken the grant back; none where there is no
    /// such integration. Goes on to its end even if the caller goes away.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn remove(
        self: &Arc<Self>,
        holder: &Holder,
        user_identifier: &str,
    ) -> Result<Option<bool>, IntegrationError> {
        let Some(Integration { id, .. }) = self.store.integration(holder, user_identifier).await? else {
            return Ok(None);
        };
        let this = Arc::clone(self);
        let task = self.tasks.spawn(async move { this.revoke_and_delete(&id).await });
        // It ends early only with the process.
        task.await.unwrap_or(Err(IntegrationError::Stopping))
    }

    async fn revoke_and_delete(self: &Arc<Self>, id: &str) -> Result<Option<bool>, IntegrationError> {
        self.refresh_for_revocation(id).await?;
        let fence = self.lease_for_removal(id).await?;
        let Some(mut row) = self.store.integration_by_id(id).await? else { return Ok(None) };
        let secret = self.secret(&row).await.ok().flatten();
        // In this order: a process that dies in between leaves something that can be removed again.
        let revoked = self.revoke(&row).await;
        while !self.store.delete_integration(id, row.version).await? {
            let Some(now) = self.store.integration_by_id(id).await? else { break };
            // What the user has connected meanwhile is another grant, and stays.
            if let Some(secret) = &secret
                && !self.holds(&now, secret.expose_secret()).await?
            {
                if let Some(fence) = fence {
                    self.store.release_refresh(id, fence).await?;
                }
                break;
            }
            row = now;
        }
        self.cache.changed(&row.holder).await;
        tracing::info!(
            integration = id,
            connector = row.holder.connector,
            tenant = row.holder.tenant,
            revoked,
            "account disconnected"
        );
        Ok(Some(revoked))
    }

    /// Renews a token that has expired where the provider wants it as the proof that it may be taken back.
    async fn refresh_for_revocation(self: &Arc<Self>, id: &str) -> Result<(), IntegrationError> {
        let Some(row) = self.store.integration_by_id(id).await? else { return Ok(()) };
        let Some(connector) = self.registry.get(&row.holder.connector) else { return Ok(()) };
        let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return Ok(()) };
        let wants_access_token =
            self.provider(&connector, scheme).is_ok_and(|provider| provider.revokes_by_access_token());
        if wants_access_token && Freshness::of(&row.details, SystemTime::now()) == Freshness::Expired {
            self.refresh(id, row.version).await;
        }
        Ok(())
    }

    /// Keeps others from renewing while the grant is given back: a token that is renewed then would live on at the provider.
    /// Says by which number the lease is given back; none where another does not come to an end, or there is nothing to renew.
    async fn lease_for_removal(&self, id: &str) -> Result<Option<i64>, IntegrationError> {
        let enough = Instant::now() + LEASE;
        loop {
            let fence = self.store.lease_refresh(id, LEASE).await?;
            if fence.is_some() || Instant::now() >= enough || self.store.integration_by_id(id).await?.is_none() {
                return Ok(fence);
            }
            sleep(POLL).await;
        }
    }

    /// Whether the provider has taken the grant back.
    async fn revoke(&self, integration: &Integration) -> bool {
        let name = &integration.holder.connector;
        let Some(connector) = self.registry.get(name) else { return false };
        let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return false };
        let result = async {
            let provider = self.provider(&connector, scheme).map_err(|error| error.to_string())?;
            let AccountSecret::OAuth2 { tokens, .. } = self
                .account_secret(integration, &connector.manifest().auth)
                .await
                .map_err(|error| error.to_string())?
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
