//! The storing of new tokens. They exist nowhere else, so it is tried until the database is back.

use std::time::{Duration, Instant, SystemTime};

use tokio::time::sleep;

use super::journal::JournalFile;
use super::lease::RefreshLease;
use crate::account_secret::{SecretDigest, digest_of};
use crate::freshness::due_at;
use crate::{IntegrationError, Integrations};
use oauth::Tokens;
use store::{Details, Integration, Sealed, Status};

/// Pause after the first failed write. Each further backoff is twice as long, up to the longest.
/// The longest is so short that the tokens are stored before another gateway takes over the lease
/// (`database::health`).
const FIRST_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_millis(500);

/// The result of writing new tokens.
pub(super) enum Written {
    /// The integration has the new tokens.
    Stored,
    /// The user has connected the account again in the meantime.
    Replaced,
    /// The account was disconnected in the meantime.
    Gone,
}

impl Integrations {
    /// Stores new tokens in place of the `previous` ones. Until then they are in the `place` that was
    /// reserved for them.
    pub(super) async fn write_tokens(
        &self,
        lease: &RefreshLease,
        mut place: JournalFile,
        previous: &Tokens,
        tokens: &Tokens,
        requested_at: SystemTime,
    ) -> Result<Written, IntegrationError> {
        let answered = Instant::now();
        // Before everything else, because a kill of the process would lose the tokens. The newest
        // known key is good enough here.
        let context = lease.integration.holder.secret_context(&lease.integration.user_identifier);
        let sealed = self.vault.seal_with_known_key(&context, &tokens.to_bytes())?;
        let details = refreshed_details(&lease.integration, tokens, requested_at, sealed);
        let previous = digest_of(&previous.to_bytes());
        place.keep(&lease.integration, lease.fence, &details, &previous);
        let kept_us = answered.elapsed().as_micros() as u64;
        let (mut backoff, mut is_failing) = (FIRST_BACKOFF, false);
        loop {
            let written = async {
                let sealed = self.vault.seal(&context, &tokens.to_bytes()).await?;
                let details = Details { secret: Some(sealed), ..details.clone() };
                let Integration { id, version, .. } = &lease.integration;
                self.try_write(id, *version, lease.fence, Some(&previous), &details).await
            };
            match written.await {
                Err(error) => {
                    if !std::mem::replace(&mut is_failing, true) {
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
                    sleep(backoff).await;
                    backoff = MAX_BACKOFF.min(2 * backoff);
                }
                written => {
                    place.remove();
                    let stored_us = answered.elapsed().as_micros() as u64;
                    // `make bench` reads this line.
                    tracing::debug!(integration = lease.integration.id, kept_us, stored_us, "new tokens are stored");
                    return written;
                }
            }
        }
    }

    /// Stores details with new tokens once. If the row was changed, or the lease ran out while this
    /// process was suspended or dead, they replace the tokens with the digest `previous`.
    pub(super) async fn try_write(
        &self,
        id: &str,
        version: i64,
        fence: i64,
        previous: Option<&SecretDigest>,
        details: &Details,
    ) -> Result<Written, IntegrationError> {
        if self.store.integrations().update_leased(id, version, fence, details.clone(), Vec::new()).await?.is_some() {
            return Ok(Written::Stored);
        }
        while let Some(current) = self.store.integrations().by_id(id).await? {
            let has_previous = match previous {
                Some(previous) => self.holds_secret(&current, previous).await?,
                None => false,
            };
            if !has_previous {
                return Ok(Written::Replaced);
            }
            if self.store.integrations().update(id, current.version, details.clone(), Vec::new()).await?.is_some() {
                return Ok(Written::Stored);
            }
        }
        Ok(Written::Gone)
    }
}

/// The stored details of an integration after a refresh.
fn refreshed_details(integration: &Integration, tokens: &Tokens, requested_at: SystemTime, secret: Sealed) -> Details {
    let previous = integration.details.clone();
    Details {
        status: Status::Active,
        reason: None,
        account: previous.account,
        scopes: tokens.scopes.clone().unwrap_or(previous.scopes),
        expires_at: tokens.expires_in.and_then(|lifetime| requested_at.checked_add(lifetime)),
        last_refreshed_at: Some(requested_at),
        next_refresh_at: due_at(requested_at, tokens.expires_in).filter(|_| tokens.are_renewable()),
        refresh_failing_since: None,
        secret: Some(secret),
    }
}
