//! Getting the next credential of an integration.
//!
//! Many providers take each refresh token once, and some end the whole grant when it comes twice. So one task in the process
//! renews an integration ([`OngoingRefreshes`]), and of all processes the one that holds the lease in its row. Whoever has waited for
//! another reads the row again and finds the work done. What a provider has answered is written before anybody uses it,
//! even if the one who asked has gone away; only a process that is killed between the two loses it, and then the
//! integration is found expired at its next renewal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use secrecy::{ExposeSecret, SecretSlice};
use tokio::time::{Instant, sleep};

use super::account_secret::AccountSecret;
use super::freshness::{Owner, Reason, due_at, retry_at};
use super::{IntegrationError, Integrations};
use crate::metrics::OutcomeLabels;
use crate::oauth::{CALL_TIMEOUT, TokenError, Tokens};
use contract::AuthScheme;
use store::{Details, Integration, Status};

/// Outlives the call to the provider and the writing of its answer. A process that dies keeps others waiting for so long, which
/// is less than an operation may take.
pub(super) const LEASE: Duration = Duration::from_secs(CALL_TIMEOUT.as_secs() + 5);

/// How often a process that waits for another looks whether it is done.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// The pauses before a write that failed is tried again: each twice the one before, up to the longest. New tokens exist nowhere
/// else, so it goes on for longer than a database takes to come back.
const FIRST_WRITE_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_WRITE_PAUSE: Duration = Duration::from_secs(5);
const WRITE_ATTEMPTS: u32 = 200;

/// Left over of the lease when the call to the provider may take its whole time.
const MARGIN: Duration = Duration::from_secs(1);

/// Renewals under way in this process, by integration and the version that is to be replaced.
#[derive(Default)]
pub(super) struct OngoingRefreshes(Mutex<HashMap<Key, OngoingRefresh>>);

type Key = (String, i64);

/// Done when the renewal is over, however it ended: the row says how.
pub(super) type OngoingRefresh = Shared<BoxFuture<'static, ()>>;

impl OngoingRefreshes {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, OngoingRefresh>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a refresh off the list, also when its task ends by a panic.
struct RemoveWhenDone {
    integrations: Arc<Integrations>,
    key: Key,
}

impl Drop for RemoveWhenDone {
    fn drop(&mut self) {
        self.integrations.refreshes.lock().remove(&self.key);
    }
}

/// How a renewal ended, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Refreshed,
    /// Somebody else did it, or the integration is gone.
    Superseded,
    /// There was not enough left of the turn to ask the provider.
    Late,
    Refused,
    Misconfigured,
    Unavailable,
    NotUnderstood,
    /// The gateway's own parts failed.
    Failed,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Refreshed => "refreshed",
            Self::Superseded => "superseded",
            Self::Late => "late",
            Self::Refused => "refused",
            Self::Misconfigured => "misconfigured",
            Self::Unavailable => "unavailable",
            Self::NotUnderstood => "not_understood",
            Self::Failed => "failed",
        }
    }
}

impl Integrations {
    /// Renews the credential of an integration unless its row is newer than `version` already. It goes on to its end whether or
    /// not anybody waits for it.
    pub(super) fn refresh(self: &Arc<Self>, id: &str, version: i64) -> OngoingRefresh {
        let key = (id.to_owned(), version);
        let mut refreshes = self.refreshes.lock();
        if let Some(refresh) = refreshes.get(&key) {
            return refresh.clone();
        }
        let entry = RemoveWhenDone { integrations: Arc::clone(self), key: key.clone() };
        let task = self.tasks.spawn(async move {
            let (id, version) = &entry.key;
            entry.integrations.refresh_and_record(id, *version).await;
        });
        let refresh = task.map(|_| ()).boxed().shared();
        refreshes.insert(key, refresh.clone());
        refresh
    }

    async fn refresh_and_record(&self, id: &str, version: i64) {
        let mut connector = String::new();
        let outcome = match self.lease(id, version).await {
            Ok(None) => Outcome::Superseded,
            Ok(Some(lease)) => {
                let Lease { integration, fence, .. } = &lease;
                connector.clone_from(&integration.holder.connector);
                let outcome = self.refresh_leased(&lease).await;
                // What was written has freed the lease. Where nothing was, nobody is to wait for it.
                if !matches!(outcome, Ok(Outcome::Refreshed))
                    && let Err(error) = self.store.release_refresh(id, *fence).await
                {
                    tracing::warn!(integration = id, %error, "a lease is not given back; it runs out by itself");
                }
                self.cache.changed(&integration.holder).await;
                outcome.unwrap_or_else(|error| failed(id, &error))
            }
            Err(error) => failed(id, &error),
        };
        tracing::debug!(integration = id, connector, outcome = outcome.name(), "renewal ended");
        let labels = OutcomeLabels { connector, outcome: outcome.name().to_owned() };
        self.metrics.refreshes.get_or_create_owned(&labels).inc();
    }

    /// Waits for the turn to renew an integration. None when somebody else has done it, or it is no longer to be done.
    async fn lease(&self, id: &str, version: i64) -> Result<Option<Lease>, IntegrationError> {
        let enough = Instant::now() + 2 * LEASE;
        while self.unchanged(id, version).await?.is_some() && Instant::now() < enough {
            let taken_at = Instant::now();
            let Some(fence) = self.store.lease_refresh(id, LEASE).await? else {
                sleep(POLL).await;
                continue;
            };
            // Whoever held it before may have come to its end between the two.
            if let Some(integration) = self.unchanged(id, version).await? {
                return Ok(Some(Lease { integration, fence, taken_at }));
            }
            self.store.release_refresh(id, fence).await?;
            break;
        }
        Ok(None)
    }

    /// The integration, if it is active and nobody has written it since.
    async fn unchanged(&self, id: &str, version: i64) -> Result<Option<Integration>, IntegrationError> {
        let integration = self.store.integration_by_id(id).await?;
        Ok(integration.filter(|now| now.version == version && now.details.status == Status::Active))
    }

    /// Asks the provider, and writes what it says.
    async fn refresh_leased(&self, lease: &Lease) -> Result<Outcome, IntegrationError> {
        let Lease { integration, fence, .. } = lease;
        let fence = *fence;
        let Some(connector) = self.registry.get(&integration.holder.connector) else {
            return self.postpone(integration, fence, operator("The connector is not installed.")).await;
        };
        let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else {
            return self.postpone(integration, fence, operator("The connector no longer uses OAuth 2.")).await;
        };
        let provider = match self.provider(&connector, scheme) {
            Ok(provider) => provider,
            Err(error) => return self.postpone(integration, fence, operator(&format!("{error}."))).await,
        };
        let AccountSecret::OAuth2 { tokens: former, .. } =
            self.account_secret(integration, &connector.manifest().auth).await?
        else {
            return Ok(Outcome::Superseded);
        };
        let Some(refresh_token) = &former.refresh_token else {
            return self.expire(integration, fence, "The service gave no means to renew the access.").await;
        };
        // With the lease over, another process would send the same refresh token.
        if lease.taken_at.elapsed() + CALL_TIMEOUT + MARGIN > LEASE {
            return Ok(Outcome::Late);
        }
        let asked_at = SystemTime::now();
        match provider.refresh(refresh_token).await {
            Ok(tokens) => {
                match self.write_tokens(integration, fence, &former, &tokens, asked_at).await? {
                    Written::Written => return Ok(Outcome::Refreshed),
                    // To revoke one grant of a user may end the other.
                    Written::Replaced => {}
                    Written::Gone => {
                        if let Err(error) = provider.revoke(&tokens).await {
                            tracing::warn!(integration = integration.id, %error, "tokens that nobody needs are not revoked");
                        }
                    }
                }
                Ok(Outcome::Superseded)
            }
            Err(error) => self.note_failure(integration, fence, &former, &error).await,
        }
    }

    /// What is written after a success.
    async fn refreshed_details(
        &self,
        integration: &Integration,
        tokens: &Tokens,
        asked_at: SystemTime,
    ) -> Result<Details, IntegrationError> {
        let context = integration.holder.secret_context(&integration.user_identifier);
        let secret = self.vault.seal(&context, tokens.to_bytes().expose_secret()).await?;
        let former = integration.details.clone();
        Ok(Details {
            status: Status::Active,
            reason: None,
            account: former.account,
            scopes: tokens.scopes.clone().unwrap_or(former.scopes),
            expires_at: tokens.expires_in.and_then(|life| asked_at.checked_add(life)),
            last_refreshed_at: Some(asked_at),
            next_refresh_at: tokens.refresh_token.as_ref().and_then(|_| due_at(asked_at, tokens.expires_in)),
            secret: Some(secret),
        })
    }

    /// Writes what exists nowhere else.
    async fn write_tokens(
        &self,
        integration: &Integration,
        fence: i64,
        former: &Tokens,
        tokens: &Tokens,
        asked_at: SystemTime,
    ) -> Result<Written, IntegrationError> {
        let (mut pause, mut attempts) = (FIRST_WRITE_PAUSE, 0);
        loop {
            let kept = async {
                let details = self.refreshed_details(integration, tokens, asked_at).await?;
                self.try_write_tokens(integration, fence, former, &details).await
            };
            attempts += 1;
            match kept.await {
                Err(error) if attempts < WRITE_ATTEMPTS => {
                    tracing::warn!(integration = integration.id, %error, "a new credential is not stored yet");
                    sleep(pause).await;
                    pause = LONGEST_WRITE_PAUSE.min(2 * pause);
                }
                result => return result,
            }
        }
    }

    async fn try_write_tokens(
        &self,
        integration: &Integration,
        fence: i64,
        former: &Tokens,
        details: &Details,
    ) -> Result<Written, IntegrationError> {
        let id = &integration.id;
        if self.store.update_leased(id, integration.version, fence, details.clone()).await?.is_some() {
            return Ok(Written::Written);
        }
        // Somebody wrote the row, or the lease ran out while this process stood still. As long as the row holds the tokens that
        // these came from, these are the newer ones.
        while let Some(now) = self.store.integration_by_id(id).await? {
            if !self.holds(&now, former.to_bytes().expose_secret()).await? {
                return Ok(Written::Replaced);
            }
            if self.store.update_integration(id, now.version, details.clone()).await?.is_some() {
                return Ok(Written::Written);
            }
        }
        Ok(Written::Gone)
    }

    /// Whether a row holds this secret.
    pub(super) async fn holds(&self, integration: &Integration, secret: &[u8]) -> Result<bool, IntegrationError> {
        Ok(self.secret(integration).await?.is_some_and(|held| held.expose_secret() == secret))
    }

    /// What is sealed in a row.
    pub(super) async fn secret(&self, integration: &Integration) -> Result<Option<SecretSlice<u8>>, IntegrationError> {
        let Some(sealed) = &integration.details.secret else { return Ok(None) };
        let context = integration.holder.secret_context(&integration.user_identifier);
        Ok(Some(self.vault.unseal(&context, sealed).await?))
    }

    async fn note_failure(
        &self,
        integration: &Integration,
        fence: i64,
        former: &Tokens,
        error: &TokenError,
    ) -> Result<Outcome, IntegrationError> {
        tracing::warn!(
            integration = integration.id,
            connector = integration.holder.connector,
            %error,
            "a credential is not renewed"
        );
        let detail = sentence(&error.to_string());
        match error {
            TokenError::Refused { .. } => {
                // Somebody may have used the refresh token before us, and have written what came of it.
                let now = self.store.integration_by_id(&integration.id).await?;
                match now {
                    Some(now) if self.holds(&now, former.to_bytes().expose_secret()).await? => {
                        self.expire(integration, fence, &detail).await
                    }
                    _ => Ok(Outcome::Superseded),
                }
            }
            TokenError::Misconfigured { .. } => self.postpone(integration, fence, operator(&detail)).await,
            TokenError::Unavailable { retry_after, .. } => {
                let postponement = Postponement {
                    owner: Owner::Provider,
                    detail,
                    patience: *retry_after,
                    outcome: Outcome::Unavailable,
                };
                self.postpone(integration, fence, postponement).await
            }
            TokenError::NotUnderstood { .. } => {
                let postponement =
                    Postponement { owner: Owner::Provider, detail, patience: None, outcome: Outcome::NotUnderstood };
                self.postpone(integration, fence, postponement).await
            }
        }
    }

    /// Writes that only the user can mend it.
    async fn expire(&self, integration: &Integration, fence: i64, detail: &str) -> Result<Outcome, IntegrationError> {
        let details = Details {
            status: Status::Expired,
            reason: Reason::new(Owner::User, detail).to_text(),
            next_refresh_at: None,
            ..integration.details.clone()
        };
        self.store.update_leased(&integration.id, integration.version, fence, details).await?;
        Ok(Outcome::Refused)
    }

    /// Writes what is wrong and when to try again. A credential that is still good goes on serving.
    async fn postpone(
        &self,
        integration: &Integration,
        fence: i64,
        postponement: Postponement,
    ) -> Result<Outcome, IntegrationError> {
        let now = SystemTime::now();
        let details = Details {
            reason: Reason::new(postponement.owner, postponement.detail).to_text(),
            next_refresh_at: Some(retry_at(integration.details.expires_at, postponement.patience, now)),
            ..integration.details.clone()
        };
        self.store.update_leased(&integration.id, integration.version, fence, details).await?;
        Ok(postponement.outcome)
    }
}

/// The turn to renew an integration.
struct Lease {
    integration: Integration,
    fence: i64,
    /// Not later than the database has it.
    taken_at: Instant,
}

/// What became of new tokens.
enum Written {
    Written,
    /// The user has connected the account anew meanwhile.
    Replaced,
    /// The account was disconnected meanwhile.
    Gone,
}

/// Why a renewal is put off.
struct Postponement {
    owner: Owner,
    detail: String,
    /// How long the provider wants to be left alone.
    patience: Option<Duration>,
    outcome: Outcome,
}

fn operator(detail: &str) -> Postponement {
    Postponement { owner: Owner::Operator, detail: detail.to_owned(), patience: None, outcome: Outcome::Misconfigured }
}

fn failed(id: &str, error: &IntegrationError) -> Outcome {
    tracing::error!(integration = id, %error, "a credential is not renewed");
    Outcome::Failed
}

/// A fragment as a sentence.
fn sentence(fragment: &str) -> String {
    let mut characters = fragment.chars();
    let first: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", characters.as_str().trim_end_matches('.'))
}
