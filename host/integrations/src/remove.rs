//! The removal of an integration: its tokens are revoked at the provider if possible, and it is
//! deleted in any case.

use std::sync::Arc;

use tokio::time::{Instant, sleep};

use super::account_secret::digest_of;
use super::events::Change;
use super::freshness::Freshness;
use super::provider::{Issuer, NoIssuer};
use super::refresh::{LEASE, MAX_WAIT, POLL};
use super::{AccountSecret, IntegrationError, Integrations};
use oauth::Revocation;
use store::{Holder, Integration};

impl Integrations {
    /// Revokes the tokens of an integration and deletes it. Returns whether the provider revoked
    /// them, or `None` if the integration does not exist. The work finishes even if the caller
    /// disconnects.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn remove(
        self: &Arc<Self>,
        holder: &Holder,
        user_identifier: &str,
    ) -> Result<Option<bool>, IntegrationError> {
        match self.store.integrations().get(holder, user_identifier).await? {
            Some(Integration { id, .. }) => self.remove_by_id(id).await,
            None => Ok(None),
        }
    }

    /// As [`Integrations::remove`], for the integration with this id. If its user has deleted it
    /// and connected another one under its name, the other one stays.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn remove_by_id(self: &Arc<Self>, id: String) -> Result<Option<bool>, IntegrationError> {
        let this = Arc::clone(self);
        let task = self.spawn(async move { this.revoke_and_delete(&id).await });
        // The task ends early only if the process does.
        task.await.unwrap_or(Err(IntegrationError::Stopping))
    }

    async fn revoke_and_delete(self: &Arc<Self>, id: &str) -> Result<Option<bool>, IntegrationError> {
        self.refresh_for_revocation(id).await?;
        let fence = self.lease_for_removal(id).await?;
        let Some(mut integration) = self.store.integrations().by_id(id).await? else { return Ok(None) };
        let secret = self.secret_bytes(&integration).await.ok().flatten();
        // The revocation comes first: if the process dies in between, the integration is still
        // there and can be removed again.
        let revoked = match fence {
            Some(fence) => self.store_leased(id, fence, self.revoke(&integration)).await,
            None => self.revoke(&integration).await,
        };
        let event = self.event_deliveries(&integration.holder, &integration.user_identifier, Change::Removed).await?;
        while !self.store.integrations().delete(id, integration.version, event.clone()).await? {
            let Some(current) = self.store.integrations().by_id(id).await? else { break };
            // The user has connected the account again in the meantime. The new tokens are kept.
            if let Some(secret) = &secret
                && !self.holds_secret(&current, &digest_of(secret)).await?
            {
                if let Some(fence) = fence {
                    self.store.integrations().release_refresh(id, fence).await?;
                }
                break;
            }
            integration = current;
        }
        self.events.stored();
        self.cache.changed(&integration.holder, &integration.user_identifier).await;
        tracing::info!(
            integration = id,
            connector = integration.holder.connector,
            tenant = integration.holder.tenant,
            user_identifier = integration.user_identifier,
            revoked,
            "account disconnected"
        );
        Ok(Some(revoked))
    }

    /// Refreshes an expired access token if the provider needs it for the revocation.
    async fn refresh_for_revocation(self: &Arc<Self>, id: &str) -> Result<(), IntegrationError> {
        let Some(integration) = self.store.integrations().by_id(id).await? else { return Ok(()) };
        // A token that was made from the account's own credentials ends by itself.
        if integration.grant_type.is_some() {
            return Ok(());
        }
        let needs_access_token =
            self.issuer_of(&integration).await.is_ok_and(|issuer| issuer.provider.revokes_by_access_token());
        if needs_access_token && Freshness::at(&integration.details, clock::now()) == Freshness::Expired {
            self.refresh(id, integration.version).await;
        }
        Ok(())
    }

    /// Takes the refresh lease, so that no process refreshes the tokens while they are revoked. A
    /// token from such a refresh would stay valid at the provider.
    ///
    /// Returns the fence that gives the lease back. Returns `None` if the integration is gone, or
    /// if another process keeps the lease for too long.
    async fn lease_for_removal(&self, id: &str) -> Result<Option<i64>, IntegrationError> {
        let give_up_at = Instant::now() + MAX_WAIT;
        loop {
            let fence = self.store.integrations().lease_refresh(id, LEASE).await?;
            if fence.is_some() || Instant::now() >= give_up_at || self.store.integrations().by_id(id).await?.is_none() {
                return Ok(fence);
            }
            sleep(POLL).await;
        }
    }

    /// Revokes the tokens at the provider. Returns whether the provider confirmed it.
    async fn revoke(&self, integration: &Integration) -> bool {
        let name = &integration.holder.connector;
        if integration.grant_type.is_some() {
            return self.revoke_token(integration).await;
        }
        let result = async {
            let Issuer { auth, provider } = match self.issuer_of(integration).await {
                Ok(issuer) => issuer,
                Err(NoIssuer::Changed(_)) => return Ok(false),
                Err(error) => return Err(error.to_string()),
            };
            let secret = self.account_secret(integration, &auth, None).await;
            let AccountSecret::OAuth2 { tokens, .. } = secret.map_err(|error| error.to_string())? else {
                return Ok(false);
            };
            let revocation = provider.revoke(&tokens).await.map_err(|error| error.to_string())?;
            Ok::<_, String>(revocation == Revocation::Revoked)
        };
        result.await.unwrap_or_else(|error| {
            tracing::warn!(
                integration = integration.id,
                tenant = integration.holder.tenant,
                connector = name,
                user_identifier = integration.user_identifier,
                error,
                "the tokens are not revoked"
            );
            false
        })
    }

    /// Revokes the access token of an account that brought its own credentials. Returns whether the
    /// provider confirmed it.
    async fn revoke_token(&self, integration: &Integration) -> bool {
        let Some(issuer) = self.account_issuer(&integration.holder.connector) else { return false };
        let result = async {
            let secret =
                self.account_secret(integration, &issuer.auth, None).await.map_err(|error| error.to_string())?;
            let AccountSecret::OAuth2 { tokens, .. } = secret else { return Ok(false) };
            let (Some(grant), Some(provider)) = (&tokens.grant, issuer.provider(&self.config, &self.egress)) else {
                return Ok(false);
            };
            let source = provider.source(grant).map_err(|error| error.to_string())?;
            let revocation = source.revoke(&tokens).await.map_err(|error| error.to_string())?;
            Ok::<_, String>(revocation == Revocation::Revoked)
        };
        result.await.unwrap_or_else(|error| {
            tracing::warn!(integration = integration.id, error, "the access token is not revoked");
            false
        })
    }
}
