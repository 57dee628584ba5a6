//! The refresh of an integration's tokens.
//!
//! Many providers accept each refresh token once, and some end all access of a user when one is
//! sent twice. So one task in the process refreshes an integration ([`OngoingRefreshes`]), and only
//! the process that holds the lease in its row does (`lease`). A task that waited for another
//! process reads the row again and finds new tokens. If the database is away for longer than a
//! lease, the process that has new tokens stores them before another one takes over its lease
//! (`database::health`).
//!
//! The provider's tokens are stored before they are used (`write`), even if the caller has
//! disconnected. Only a process that is killed between the two loses the tokens; the next refresh
//! then finds the integration expired. A failed refresh is stored with the time of the next attempt
//! (`failure`). Until the database has them, new tokens are in a file (`journal`), which the next
//! start reads.
//!
//! An account that brought credentials of its own has no refresh token. The gateway gets its next
//! access token with the credentials, under the same lease (`account_grant`).

mod account_grant;
mod failure;
mod journal;
mod lease;
mod outcome;
mod write;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;

pub(super) use self::journal::Journal;
pub(super) use self::lease::{LEASE, MAX_WAIT, POLL};

use self::journal::JournalEntry;
use self::lease::RefreshLease;
use self::outcome::Outcome;
use self::write::Written;
use super::provider::{CLIENT_DELETED, Issuer, NoIssuer};
use super::{AccountSecret, IntegrationError, Integrations};
use contract::words::sentence;
use metrics::OutcomeLabels;
use store::Integration;

/// Refreshes in progress in this process.
#[derive(Default)]
pub(super) struct OngoingRefreshes {
    /// By the integration's id and the version of its row that is to be replaced.
    ends: Mutex<HashMap<(String, i64), OngoingRefresh>>,
    /// By the integration's id. A refresh that is not here waits for the store.
    waits: Mutex<HashMap<String, RefreshWait>>,
}

impl OngoingRefreshes {
    fn wait_for(&self, id: &str, wait: RefreshWait) {
        self.waits.lock().insert(id.to_owned(), wait);
    }
}

/// The party for which a refresh waits, so that an error names the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshWait {
    /// The store has not answered.
    Store,
    /// Another process has the lease. It may be waiting for the provider, or have died.
    OtherProcess,
    /// The provider was asked, and has not answered.
    Provider,
}

/// Ends with the refresh, after success and after failure. The row then has the result, unless
/// the gateway itself failed.
pub(super) type OngoingRefresh = Shared<BoxFuture<'static, RefreshEnd>>;

/// The end of a refresh, for the calls that wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefreshEnd {
    /// The row has new tokens, or the reason why there are no new tokens.
    InTheRow,
    /// The database failed, so the row says nothing about this refresh.
    StoreFailed,
    /// The disk has no room for new tokens, so the provider was not asked.
    NoRoom,
    /// The gateway itself failed, for example because the tokens cannot be unsealed. The row says
    /// nothing about it.
    Failed,
}

impl RefreshEnd {
    /// # Errors
    /// If the row says nothing about the refresh.
    pub(super) fn in_the_row(self) -> Result<(), IntegrationError> {
        match self {
            Self::InTheRow => Ok(()),
            Self::StoreFailed => Err(IntegrationError::RefreshNotStored),
            Self::NoRoom => Err(IntegrationError::NoRoomForTokens),
            Self::Failed => Err(IntegrationError::Secret("the refresh has failed; the log has the cause".to_owned())),
        }
    }
}

/// Removes a refresh from the list when its task ends, even by a panic.
struct RemoveWhenDone {
    integrations: Arc<Integrations>,
    key: (String, i64),
}

impl Drop for RemoveWhenDone {
    fn drop(&mut self) {
        self.integrations.refreshes.ends.lock().remove(&self.key);
        self.integrations.refreshes.waits.lock().remove(&self.key.0);
    }
}

impl Integrations {
    /// Stores the new tokens that an earlier process of this gateway had received and not stored
    /// when it was killed. Only the first call does so. No refresh begins before it has succeeded.
    ///
    /// # Errors
    /// If the store fails. The next call tries again.
    pub async fn store_journaled_tokens(&self) -> Result<(), IntegrationError> {
        self.journal_is_stored.get_or_try_init(|| self.store_journal()).await.map(drop)
    }

    async fn store_journal(&self) -> Result<(), IntegrationError> {
        for (path, entry) in self.journal.entries() {
            let row = self.store.integrations().by_id(&entry.id).await?;
            if let Some(details) = row.and_then(|row| entry.details(&row)) {
                let JournalEntry { id, version, fence, .. } = &entry;
                match self.try_write(id, *version, *fence, entry.previous().as_ref(), &details).await {
                    Ok(Written::Stored) => {
                        tracing::info!(integration = id, "stored the tokens that a killed gateway had received");
                    }
                    Ok(Written::Replaced | Written::Gone) => {}
                    Err(IntegrationError::Store(error)) if error.is_failure() => return Err(error.into()),
                    // Their data key was deleted, or the tokens in their place cannot be unsealed. No refresh
                    // of any account would begin while this file is there.
                    Err(error) => {
                        let file = journal::put_aside(&path);
                        tracing::error!(
                            integration = id,
                            %error,
                            file = %file.display(),
                            "the tokens that a killed gateway had received cannot be stored; the file has them, sealed, and can be \
                             deleted once the user has connected the account again"
                        );
                        continue;
                    }
                }
            }
            journal::remove(&path);
        }
        Ok(())
    }

    /// Refreshes the tokens of an integration, unless its row is newer than `version`. The refresh
    /// runs in the background, whether or not the caller awaits it.
    pub(super) fn refresh(self: &Arc<Self>, id: &str, version: i64) -> OngoingRefresh {
        let key = (id.to_owned(), version);
        let mut refreshes = self.refreshes.ends.lock();
        if let Some(ongoing) = refreshes.get(&key) {
            return ongoing.clone();
        }
        let entry = RemoveWhenDone { integrations: Arc::clone(self), key: key.clone() };
        let task = self.spawn(async move {
            let (id, version) = &entry.key;
            entry.integrations.refresh_and_count(id, *version).await
        });
        let ongoing = task.map(|end| end.unwrap_or(RefreshEnd::InTheRow)).boxed().shared();
        refreshes.insert(key, ongoing.clone());
        ongoing
    }

    /// The party for which the refresh of an integration waits.
    pub fn refresh_waits_for(&self, id: &str) -> RefreshWait {
        self.refreshes.waits.lock().get(id).copied().unwrap_or(RefreshWait::Store)
    }

    /// Sends a token request, which the refresh of an integration waits for.
    async fn await_provider<T>(&self, id: &str, request: impl Future<Output = T>) -> T {
        self.refreshes.wait_for(id, RefreshWait::Provider);
        let answer = request.await;
        self.refreshes.wait_for(id, RefreshWait::Store);
        answer
    }

    /// Waits for the lease, refreshes, and counts the outcome.
    async fn refresh_and_count(&self, id: &str, version: i64) -> RefreshEnd {
        let mut connector = String::new();
        let lease = async {
            self.store_journaled_tokens().await?;
            self.lease(id, version).await
        };
        let outcome = match lease.await {
            Ok(None) => Outcome::Superseded,
            Ok(Some(lease)) => {
                connector.clone_from(&lease.integration.holder.connector);
                let outcome = self.store_leased(id, lease.fence, self.refresh_leased(&lease)).await;
                // Storing new tokens has freed the lease. After any other outcome, other processes
                // must not wait for it.
                if !matches!(outcome, Ok(Outcome::Refreshed))
                    && let Err(error) = self.store.integrations().release_refresh(id, lease.fence).await
                {
                    tracing::warn!(integration = id, %error, "a refresh lease cannot be given back; it will time out");
                }
                let Integration { holder, user_identifier, .. } = &lease.integration;
                self.cache.changed(holder, user_identifier).await;
                outcome.unwrap_or_else(|error| failed(id, &error))
            }
            Err(error) => failed(id, &error),
        };
        tracing::debug!(integration = id, connector, outcome = outcome.name(), "refresh ended");
        let labels = OutcomeLabels { connector, outcome: outcome.name().to_owned() };
        self.metrics.refreshes.get_or_create_owned(&labels).inc();
        match outcome {
            Outcome::StoreFailed => RefreshEnd::StoreFailed,
            Outcome::NoRoom => RefreshEnd::NoRoom,
            Outcome::Failed => RefreshEnd::Failed,
            _ => RefreshEnd::InTheRow,
        }
    }

    /// Sends the refresh token to the provider, or the account's own credentials, and stores the
    /// result.
    async fn refresh_leased(&self, lease: &RefreshLease) -> Result<Outcome, IntegrationError> {
        let integration = &lease.integration;
        if integration.grant_type.is_some() {
            return self.renew_leased(lease).await;
        }
        let Issuer { auth, provider } = match self.issuer_of(integration).await {
            Ok(issuer) => issuer,
            Err(NoIssuer::ClientDeleted) => return self.expire(lease, CLIENT_DELETED).await,
            Err(NoIssuer::Failed(error)) => return Err(error),
            Err(NoIssuer::Changed(reason)) => return self.postpone_for_operator(lease, &sentence(reason)).await,
            Err(NoIssuer::NotConfigured(error)) => {
                return self.postpone_for_operator(lease, &format!("{error}.")).await;
            }
        };
        let secret = self.account_secret(integration, &auth, None).await?;
        let AccountSecret::OAuth2 { tokens: previous, .. } = secret else { return Ok(Outcome::Superseded) };
        let Some(refresh_token) = &previous.refresh_token else {
            return self.expire(lease, "The service gave no refresh token.").await;
        };
        // If the lease ran out before its next renewal, another process would send the same refresh
        // token.
        if !lease.is_fresh() {
            return Ok(Outcome::Late);
        }
        let Ok(place) = self.journal.reserve(&integration.id, lease.fence) else { return Ok(Outcome::NoRoom) };
        let requested_at = clock::now();
        match self.await_provider(&integration.id, provider.refresh(refresh_token)).await {
            Ok(tokens) => {
                match self.write_tokens(lease, place, &previous, &tokens, requested_at).await? {
                    Written::Stored => return Ok(Outcome::Refreshed),
                    // Otherwise the provider might end the access that the user has just given.
                    Written::Replaced if provider.revokes_replaced_grants() => {
                        self.revoke_late(integration, &tokens, requested_at).await?;
                    }
                    Written::Replaced => {}
                    Written::Gone => {
                        if let Err(error) = provider.revoke(&tokens).await {
                            let Integration { id, holder, user_identifier, .. } = integration;
                            tracing::warn!(
                                integration = id,
                                tenant = holder.tenant,
                                connector = holder.connector,
                                user_identifier,
                                %error,
                                "tokens of a removed integration are not revoked"
                            );
                        }
                    }
                }
                Ok(Outcome::Superseded)
            }
            Err(error) => self.note_failure(lease, &previous, &error).await,
        }
    }
}

fn failed(id: &str, error: &IntegrationError) -> Outcome {
    if let IntegrationError::Store(error) = error {
        // The store has logged that the database fails.
        tracing::debug!(integration = id, %error, "a refresh failed with the database");
        return Outcome::StoreFailed;
    }
    tracing::error!(integration = id, %error, "a refresh failed in the gateway itself");
    Outcome::Failed
}

#[cfg(test)]
mod tests;
