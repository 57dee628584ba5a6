//! Stores a failed refresh: the reason, and the time of the next attempt.

use std::time::{Duration, SystemTime};

use super::lease::RefreshLease;
use super::outcome::Outcome;
use crate::account_secret::digest_of;
use crate::events::Change;
use crate::freshness::retry_at;
use crate::reason::Reason;
use crate::{IntegrationError, Integrations};
use contract::Owner;
use contract::words::sentence;
use oauth::{TokenError, Tokens};
use store::{Details, Status};

/// Refusals in a row, in words that the gateway does not know, after which an account may end.
const FINAL_REFUSALS: u32 = 3;

/// Time for which an account whose access token has not expired yet is refused before it ends. A
/// proxy in front of a provider may refuse for some minutes.
const LONGEST_REFUSAL: Duration = Duration::from_secs(10 * 60);

/// Returns `true` if a refusal in words that the gateway does not know is not transient.
fn is_final(reason: &Reason, details: &Details, now: SystemTime) -> bool {
    let has_passed = |time, since: Option<SystemTime>| {
        since.and_then(|since| now.duration_since(since).ok()).is_some_and(|passed| passed >= time)
    };
    reason.refusals() >= FINAL_REFUSALS
        && (has_passed(Duration::ZERO, details.expires_at)
            || has_passed(LONGEST_REFUSAL, details.refresh_failing_since))
}

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
            TokenError::Refused { .. } => self.end_refused(lease, previous, &detail).await,
            TokenError::Misconfigured { .. } => self.postpone_for_operator(lease, &detail).await,
            TokenError::Unavailable { retry_after, .. } => {
                self.postpone(lease, Reason::new(Owner::Provider, detail), *retry_after).await?;
                Ok(Outcome::Unavailable)
            }
            TokenError::NotUnderstood { is_refusal: true, .. } => {
                let reason = Reason::of_refusal(Owner::Provider, &*detail, &integration.details);
                if is_final(&reason, &integration.details, clock::now()) {
                    return self.end_refused(lease, previous, &detail).await;
                }
                self.postpone(lease, reason, None).await?;
                Ok(Outcome::NotUnderstood)
            }
            TokenError::NotUnderstood { is_refusal: false, .. } => {
                self.postpone(lease, Reason::new(Owner::Provider, detail), None).await?;
                Ok(Outcome::NotUnderstood)
            }
        }
    }

    /// Stores that the user has to authorize again, unless another process has used the refresh
    /// token first and has stored the new tokens.
    async fn end_refused(
        &self,
        lease: &RefreshLease,
        previous: &Tokens,
        detail: &str,
    ) -> Result<Outcome, IntegrationError> {
        match self.store.integrations().by_id(&lease.integration.id).await? {
            Some(current) if self.holds_secret(&current, &digest_of(&previous.to_bytes())).await? => {
                self.expire(lease, detail).await
            }
            _ => Ok(Outcome::Superseded),
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
            refresh_failing_since: None,
            ..integration.details.clone()
        };
        let event =
            self.event_deliveries(&integration.holder, &integration.user_identifier, Change::Expired(&reason)).await?;
        self.store
            .integrations()
            .update_leased(&integration.id, integration.version, lease.fence, details, event)
            .await?;
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

    /// Stores the reason, the time of the next attempt, and since when refreshes fail. The
    /// credential stays in use until it expires.
    async fn postpone(
        &self,
        lease: &RefreshLease,
        reason: Reason,
        retry_after: Option<Duration>,
    ) -> Result<(), IntegrationError> {
        let integration = &lease.integration;
        let Details { expires_at, next_refresh_at, refresh_failing_since, .. } = integration.details;
        let now = clock::now();
        // A service may refuse a credential long before its refresh is due.
        let due_at = next_refresh_at.map_or(now, |due| due.min(now));
        let details = Details {
            reason: reason.to_text(),
            next_refresh_at: Some(retry_at(expires_at, retry_after, now)),
            refresh_failing_since: Some(refresh_failing_since.unwrap_or(due_at)),
            ..integration.details.clone()
        };
        self.store
            .integrations()
            .update_leased(&integration.id, integration.version, lease.fence, details, Vec::new())
            .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::integration;

    #[test]
    fn a_refusal_in_unknown_words_ends_an_account_once_it_was_repeated() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let minute = Duration::from_secs(60);
        let mut details = Details { expires_at: Some(now + minute), ..integration("int_1", 1).details };
        let refuse = |details: &mut Details| {
            let reason = Reason::of_refusal(Owner::Provider, "No.", details);
            details.reason = reason.to_text();
            is_final(&reason, details, now)
        };
        let ends = [(); 4].map(|()| refuse(&mut details));
        assert_eq!(ends, [false; 4], "the access token is still good");
        details.refresh_failing_since = Some(now - 9 * minute);
        assert!(!refuse(&mut details));
        details.refresh_failing_since = Some(now - 10 * minute);
        assert!(refuse(&mut details));
        // Another failure in between was no refusal.
        details.reason = Reason::new(Owner::Provider, "It answers with status 503.").to_text();
        details.expires_at = Some(now);
        let ends = [(); 3].map(|()| refuse(&mut details));
        assert_eq!(ends, [false, false, true]);
        assert_eq!(
            serde_json::json!(Reason::at(&details, now)),
            serde_json::json!({"owner": "provider", "detail": "No."})
        );
    }
}
