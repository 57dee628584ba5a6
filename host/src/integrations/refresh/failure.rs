//! Stores a failed refresh: the reason, and the time of the next attempt.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::lease::RefreshLease;
use super::outcome::Outcome;
use crate::clock;
use crate::integrations::events::Change;
use crate::integrations::freshness::retry_at;
use crate::integrations::reason::Reason;
use crate::integrations::{IntegrationError, Integrations};
use crate::oauth::{TokenError, Tokens};
use contract::Owner;
use contract::words::sentence;
use store::{Details, Status};

impl Integrations {
    /// Stores why the provider gave no tokens.
    pub(super) async fn note_failure(
        &self,
        lease: &RefreshLease,
        previous: &Tokens,
        error: &TokenError,
    ) -> Result<Outcome, IntegrationError> {
        let integration = &lease.integration;
        tracing::warn!(
            integration = integration.id,
            tenant = integration.holder.tenant,
            connector = integration.holder.connector,
            user_identifier = integration.user_identifier,
            %error,
            "the provider did not refresh a credential"
        );
        let detail = sentence(&error.to_string());
        match error {
            TokenError::Refused { .. } => {
                // Another process may have used the refresh token first, and have stored the new
                // tokens.
                let current = self.store.integration_by_id(&integration.id).await?;
                match current {
                    Some(current) if self.holds_secret(&current, previous.to_bytes().expose_secret()).await? => {
                        self.expire(lease, &detail).await
                    }
                    _ => Ok(Outcome::Superseded),
                }
            }
            TokenError::Misconfigured { .. } => self.postpone_for_operator(lease, &detail).await,
            TokenError::Unavailable { retry_after, .. } => {
                self.postpone(lease, Reason::new(Owner::Provider, detail), *retry_after).await?;
                Ok(Outcome::Unavailable)
            }
            TokenError::NotUnderstood { .. } => {
                self.postpone(lease, Reason::new(Owner::Provider, detail), None).await?;
                Ok(Outcome::NotUnderstood)
            }
        }
    }

    /// Stores that the user has to authorize again.
    pub(super) async fn expire(&self, lease: &RefreshLease, detail: &str) -> Result<Outcome, IntegrationError> {
        let integration = &lease.integration;
        let reason = Reason::new(Owner::User, detail);
        let details = Details {
            status: Status::Expired,
            reason: reason.to_text(),
            next_refresh_at: None,
            ..integration.details.clone()
        };
        let event =
            self.event_deliveries(&integration.holder, &integration.user_identifier, Change::Expired(&reason)).await?;
        self.store.update_leased(&integration.id, integration.version, lease.fence, details, event).await?;
        self.events.stored();
        Ok(Outcome::Refused)
    }

    /// Stores that the operator has to change the configuration, and when the next attempt is made.
    pub(super) async fn postpone_for_operator(
        &self,
        lease: &RefreshLease,
        detail: &str,
    ) -> Result<Outcome, IntegrationError> {
        self.postpone(lease, Reason::new(Owner::Operator, detail), None).await?;
        Ok(Outcome::Misconfigured)
    }

    /// Stores the reason and the time of the next attempt. The credential stays in use until it
    /// expires.
    async fn postpone(
        &self,
        lease: &RefreshLease,
        reason: Reason,
        retry_after: Option<Duration>,
    ) -> Result<(), IntegrationError> {
        let integration = &lease.integration;
        let details = Details {
            reason: reason.to_text(),
            next_refresh_at: Some(retry_at(integration.details.expires_at, retry_after, clock::now())),
            ..integration.details.clone()
        };
        self.store.update_leased(&integration.id, integration.version, lease.fence, details, Vec::new()).await?;
        Ok(())
    }
}
