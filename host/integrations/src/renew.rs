//! Refreshing an integration at the operator's request.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::freshness::Freshness;
use super::live_credential::not_refreshed;
use super::reason::Reason;
use super::{AccessError, IntegrationError, Integrations};
use contract::Owner;
use oauth::Tokens;
use store::{Acting, AuthType, Integration, Status, acting};

/// A refresh is overdue if it was due this long ago, and was not done or has failed since.
pub const OVERDUE: Duration = Duration::from_secs(60);

/// Why an integration has no new tokens.
pub enum NotRenewed {
    /// It has no tokens that could be refreshed.
    NoTokens,
    /// The provider gave no tokens, or the gateway failed.
    Access {
        /// The connector's identifier.
        connector: String,
        /// The reason.
        error: Box<AccessError>,
    },
}

/// Returns `true` if the refresh of an integration is overdue.
pub fn is_overdue(integration: &Integration, now: SystemTime) -> bool {
    let details = &integration.details;
    let due_at = details.refresh_failing_since.or(details.next_refresh_at);
    details.status == Status::Active
        && integration.auth_type == AuthType::OAuth2
        && due_at.is_some_and(|due| now.duration_since(due).is_ok_and(|late| late >= OVERDUE))
}

/// The last failure of a refresh since the last success.
pub fn last_error(integration: &Integration, now: SystemTime) -> Option<String> {
    Reason::at(&integration.details, now).map(|reason| reason.detail)
}

/// As [`last_error`], if the operator has to act before a refresh can succeed.
pub fn error_for_operator(integration: &Integration, now: SystemTime) -> Option<String> {
    let reason = Reason::at(&integration.details, now)?;
    (reason.owner == Owner::Operator).then_some(reason.detail)
}

impl Integrations {
    /// Refreshes the tokens of an integration now, whether or not they are due. Returns `None` if
    /// there is no such integration.
    ///
    /// # Errors
    /// If it has no tokens to refresh, if the provider gives no new ones, or if the store fails.
    pub async fn renew(self: &Arc<Self>, id: &str) -> Result<Option<Integration>, NotRenewed> {
        let failed = |connector: &str, error: AccessError| NotRenewed::Access {
            connector: connector.to_owned(),
            error: Box::new(error),
        };
        let read = async || {
            let read = self.store.integrations().by_id(id).await;
            read.map_err(|error| failed("", IntegrationError::from(error).into()))
        };
        let Some(before) = read().await? else { return Ok(None) };
        let connector = before.holder.connector.clone();
        if before.auth_type != AuthType::OAuth2 {
            return Err(NotRenewed::NoTokens);
        }
        let now = clock::now();
        if Freshness::at(&before.details, now) == Freshness::Ended {
            return Err(failed(&connector, self.reauthorize(&before)));
        }
        // A refresh without a refresh token would end an access that may still work.
        let secret = self.secret_bytes(&before).await.map_err(|error| failed(&connector, error.into()))?;
        let tokens = secret.and_then(|secret| Tokens::from_bytes(&secret).ok());
        if !tokens.is_some_and(|tokens| tokens.are_renewable()) {
            return Err(NotRenewed::NoTokens);
        }
        let by = Acting::current().renewing();
        let end = acting(by, async { self.refresh(id, before.version).await }).await;
        end.in_the_row().map_err(|error| failed(&connector, error.into()))?;
        let Some(after) = read().await? else { return Ok(None) };
        if Reason::at(&after.details, clock::now()).is_none() {
            return Ok(Some(after));
        }
        Err(failed(
            &connector,
            match Freshness::at(&after.details, clock::now()) {
                Freshness::Ended => self.reauthorize(&after),
                _ => {
                    let until = after.details.next_refresh_at.and_then(|at| at.duration_since(clock::now()).ok());
                    not_refreshed(&after, until.unwrap_or_default())
                }
            },
        ))
    }
}
