//! New access tokens for an account that brought the credentials from which they are made.

use super::lease::RefreshLease;
use super::outcome::Outcome;
use super::write::Written;
use crate::{AccountSecret, IntegrationError, Integrations};
use oauth::Tokens;

impl Integrations {
    /// Gets an access token with the account's credentials, and stores it.
    pub(super) async fn renew_leased(&self, lease: &RefreshLease) -> Result<Outcome, IntegrationError> {
        let integration = &lease.integration;
        let Some(issuer) = self.account_issuer(&integration.holder.connector) else {
            return self
                .postpone_for_operator(lease, "The connector is not installed, or no longer uses OAuth 2.")
                .await;
        };
        let secret = self.account_secret(integration, &issuer.auth, None).await?;
        let AccountSecret::OAuth2 { tokens: previous, .. } = secret else { return Ok(Outcome::Superseded) };
        let Some(grant) = &previous.grant else { return Ok(Outcome::Superseded) };
        let Some(provider) = issuer.provider(&self.config, &self.egress) else { return Ok(Outcome::Superseded) };
        let source = match provider.source(grant) {
            Ok(source) => source,
            Err(error) => return self.postpone_for_operator(lease, &format!("{error}.")).await,
        };
        // The provider may end an earlier token, so only the holder of the lease gets one.
        if !lease.is_fresh() {
            return Ok(Outcome::Late);
        }
        let Ok(place) = self.journal.reserve(&integration.id, lease.fence) else { return Ok(Outcome::NoRoom) };
        let requested_at = clock::now();
        let tokens = match self.await_provider(&integration.id, source.fetch()).await {
            Ok(tokens) => Tokens { grant: previous.grant.clone(), ..tokens },
            Err(error) => return self.note_failure(lease, &previous, &error).await,
        };
        match self.write_tokens(lease, place, &previous, &tokens, requested_at).await? {
            Written::Stored => Ok(Outcome::Refreshed),
            Written::Replaced => Ok(Outcome::Superseded),
            Written::Gone => {
                if let Err(error) = source.revoke(&tokens).await {
                    tracing::warn!(integration = integration.id, %error, "the token of a removed integration is not revoked");
                }
                Ok(Outcome::Superseded)
            }
        }
    }
}
