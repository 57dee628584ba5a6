//! The storing of new tokens. They exist nowhere else, so it is tried until the database is back.

use std::time::{Duration, SystemTime};

use secrecy::ExposeSecret;
use tokio::time::sleep;

use super::lease::RefreshLease;
use crate::integrations::freshness::due_at;
use crate::integrations::{IntegrationError, Integrations};
use crate::oauth::Tokens;
use store::{Details, Integration, Status};

/// Pause after the first failed write. Each further pause is twice as long, up to the longest. The longest is so short that the
/// tokens are stored before another gateway takes over the lease (`store::health`). All attempts together outlast the restart of a
/// database by far.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
const ATTEMPTS: u32 = 2000;

/// The result of writing new tokens.
pub(super) enum Written {
    /// The integration has the new tokens.
    Stored,
    /// The user has connected the account again meanwhile.
    Replaced,
    /// The account was disconnected meanwhile.
    Gone,
}

impl Integrations {
    /// Stores new tokens in place of the `former` ones.
    pub(super) async fn write_tokens(
        &self,
        lease: &RefreshLease,
        former: &Tokens,
        tokens: &Tokens,
        requested_at: SystemTime,
    ) -> Result<Written, IntegrationError> {
        let (mut pause, mut attempts) = (FIRST_PAUSE, 0);
        loop {
            let written = async {
                let details = self.refreshed_details(&lease.integration, tokens, requested_at).await?;
                self.try_write(lease, former, &details).await
            };
            attempts += 1;
            match written.await {
                Err(error) if attempts < ATTEMPTS => {
                    if attempts == 1 {
                        let Integration { id, holder, user_identifier, .. } = &lease.integration;
                        tracing::warn!(
                            integration = id,
                            tenant = holder.tenant,
                            connector = holder.connector,
                            user_identifier,
                            %error,
                            "new tokens are not stored yet; trying until the database is back"
                        );
                    }
                    sleep(pause).await;
                    pause = LONGEST_PAUSE.min(2 * pause);
                }
                result => return result,
            }
        }
    }

    /// The stored details of an integration after a refresh.
    async fn refreshed_details(
        &self,
        integration: &Integration,
        tokens: &Tokens,
        requested_at: SystemTime,
    ) -> Result<Details, IntegrationError> {
        let context = integration.holder.secret_context(&integration.user_identifier);
        let sealed = self.vault.seal(&context, tokens.to_bytes().expose_secret()).await?;
        let former = integration.details.clone();
        Ok(Details {
            status: Status::Active,
            reason: None,
            account: former.account,
            scopes: tokens.scopes.clone().unwrap_or(former.scopes),
            expires_at: tokens.expires_in.and_then(|lifetime| requested_at.checked_add(lifetime)),
            last_refreshed_at: Some(requested_at),
            next_refresh_at: tokens.refresh_token.as_ref().and_then(|_| due_at(requested_at, tokens.expires_in)),
            secret: Some(sealed),
        })
    }

    async fn try_write(
        &self,
        lease: &RefreshLease,
        former: &Tokens,
        details: &Details,
    ) -> Result<Written, IntegrationError> {
        let Integration { id, version, .. } = &lease.integration;
        if self.store.update_leased(id, *version, lease.fence, details.clone(), Vec::new()).await?.is_some() {
            return Ok(Written::Stored);
        }
        // The row was changed, or the lease ran out while this process was suspended. If the row still has the former tokens,
        // the new ones replace them.
        while let Some(current) = self.store.integration_by_id(id).await? {
            if !self.holds_secret(&current, former.to_bytes().expose_secret()).await? {
                return Ok(Written::Replaced);
            }
            if self.store.update_integration(id, current.version, details.clone(), Vec::new()).await?.is_some() {
                return Ok(Written::Stored);
            }
        }
        Ok(Written::Gone)
    }
}
