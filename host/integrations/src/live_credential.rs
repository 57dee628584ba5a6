//! The credential of one operation, and its refresh when the service refuses it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::cache::{CachedIntegration, UnsealedCredential};
use super::choose::ChosenIntegration;
use super::conclude::are_different;
use super::events::Change;
use super::freshness::{Freshness, delay_until};
use super::reason::Reason;
use super::{AccessError, AccountSecret, ConnectAgain, DEVICE_CODE, IntegrationError, Integrations, Way};
use contract::{AuthScheme, Owner, Signature};
use egress::Credential;
use registry::Connector;
use sandbox::http::CredentialSource;
use store::{AccountAddress, AuthType, Details, Integration, Status};

/// Attempts to find a good credential. Usually one refresh is enough. More attempts are needed if
/// other processes write the integration at the same time.
const ATTEMPTS: usize = 4;

/// An integration and its credential, for the duration of one operation.
pub struct LiveCredential {
    integrations: Arc<Integrations>,
    connector: Arc<Connector>,
    /// The integration as it was last read, and the credential that requests carry now.
    current: Mutex<(Arc<CachedIntegration>, Credential)>,
    /// `true` once the operation has requested a refresh. It gets one. Parallel requests wait for
    /// it here.
    refreshed: tokio::sync::Mutex<bool>,
    /// Why the last refresh gave no credential. The answer to the caller explains it.
    access_error: Mutex<Option<AccessError>>,
    /// `true` while the operation waits for a refresh, and after that wait has reached the
    /// deadline.
    is_waiting: AtomicBool,
}

impl Integrations {
    /// Makes the credential of a chosen integration ready. An expired credential is refreshed
    /// first.
    ///
    /// # Errors
    /// If the refresh gives no good credential, or the credential cannot be unsealed.
    pub async fn live_credential(
        self: &Arc<Self>,
        connector: &Arc<Connector>,
        mut chosen: ChosenIntegration,
    ) -> Result<LiveCredential, AccessError> {
        let scheme = &connector.manifest().auth;
        let signature = connector.auth_additions().signature.as_ref();
        for _ in 0..ATTEMPTS {
            let ChosenIntegration(row) = &chosen;
            let Integration { id, version, holder, user_identifier, details, .. } = &row.integration;
            match Freshness::at(details, clock::now()) {
                Freshness::Fresh => {}
                // The refresh runs in the background; this call does not wait for it.
                Freshness::Due => drop(self.refresh(id, *version)),
                Freshness::Expired => {
                    self.refresh(id, *version).await.in_the_row()?;
                    self.cache.changed(holder, user_identifier).await;
                    chosen = self.choose(connector, holder, Some(user_identifier)).await?;
                    continue;
                }
                // The credential ended after the integration was chosen. A second choice gives
                // the reason.
                Freshness::RetryIn(_) | Freshness::Ended => {
                    chosen = self.choose(connector, holder, Some(user_identifier)).await?;
                    continue;
                }
            }
            let unsealed =
                row.credential.get_or_try_init(|| self.unseal(&row.integration, scheme, signature)).await?.clone();
            return Ok(LiveCredential::new(self, connector, chosen.0, unsealed.credential));
        }
        Err(IntegrationError::KeptChanging.into())
    }

    /// Unseals the credential of an integration.
    pub(super) async fn unseal(
        &self,
        integration: &Integration,
        scheme: &AuthScheme,
        signature: Option<&Signature>,
    ) -> Result<UnsealedCredential, IntegrationError> {
        let secret = self.account_secret(integration, scheme, signature).await?;
        let is_refreshable = matches!(&secret, AccountSecret::OAuth2 { tokens, .. } if tokens.are_renewable());
        let credential = secret
            .credential()?
            .ok_or_else(|| IntegrationError::Secret("the connector's users need no credential".to_owned()))?;
        Ok(UnsealedCredential { credential, is_refreshable })
    }

    /// A credential in place of the one that a service has refused.
    ///
    /// Returns `None` if there can be no other credential: an API key cannot be refreshed, and a
    /// credential that was refused too often is not refused because it is too old.
    async fn replacement(
        self: &Arc<Self>,
        known: &Integration,
        refused: &Credential,
        scheme: &AuthScheme,
    ) -> Result<Option<(Arc<CachedIntegration>, Credential)>, AccessError> {
        if known.auth_type != AuthType::OAuth2 {
            return Ok(None);
        }
        // Compares credentials instead of versions: a row also changes for other reasons, for
        // example when it is sealed again.
        let integration = self.reread(known).await?;
        let unsealed = self.unseal(&integration, scheme, None).await?;
        // Another call may have refreshed it. A credential that has expired since then is as
        // useless as the refused one.
        if !unsealed.credential.holds_the_same(refused) && is_good(&integration) {
            return Ok(Some(ready(integration, unsealed)));
        }
        if !unsealed.is_refreshable {
            return Err(self.mark_revoked(&integration).await?);
        }
        // A refresh failed a moment ago. Another one would fail again.
        if let (Some(_), Some(delay)) = (&integration.details.reason, retry_delay(&integration.details)) {
            return Err(not_refreshed(&integration, delay));
        }
        if !self.refresh_limit.allows(&integration) {
            return Ok(None);
        }
        self.refresh(&integration.id, integration.version).await.in_the_row()?;
        let integration = self.reread(known).await?;
        let unsealed = self.unseal(&integration, scheme, None).await?;
        if unsealed.credential.holds_the_same(refused) || !is_good(&integration) {
            let delay = retry_delay(&integration.details).unwrap_or(Duration::from_secs(1));
            return Err(not_refreshed(&integration, delay));
        }
        Ok(Some(ready(integration, unsealed)))
    }

    /// Reads an integration again. Fails if it was removed or is no longer active.
    async fn reread(&self, known: &Integration) -> Result<Integration, AccessError> {
        self.cache.changed(&known.holder, &known.user_identifier).await;
        let integration = self.store.integrations().by_id(&known.id).await?;
        let integration = integration.ok_or_else(|| gone(known))?;
        // The user has connected another account in the meantime. A call that has begun as the previous
        // one must not continue as the other, and its credential must not go to the previous address.
        if are_different(&known.details.account, &integration.details.account) {
            return Err(IntegrationError::KeptChanging.into());
        }
        if integration.details.status == Status::Active { Ok(integration) } else { Err(self.reauthorize(&integration)) }
    }

    /// Stores that the service refuses a credential that cannot be refreshed. Returns the error of the
    /// call.
    async fn mark_revoked(&self, integration: &Integration) -> Result<AccessError, IntegrationError> {
        let reason = Reason::new(Owner::User, "The service no longer accepts the access that the user gave.");
        let details = Details {
            status: Status::Revoked,
            reason: reason.to_text(),
            next_refresh_at: None,
            refresh_failing_since: None,
            ..integration.details.clone()
        };
        let event =
            self.event_deliveries(&integration.holder, &integration.user_identifier, Change::Refused(&reason)).await?;
        if self.store.integrations().update(&integration.id, integration.version, details, event).await?.is_none() {
            // Another call was faster, or the user has connected the account again: the refused credential
            // says nothing about the new one.
            return Ok(match self.reread(integration).await {
                Ok(_) => IntegrationError::KeptChanging.into(),
                Err(error) => error,
            });
        }
        self.events.stored();
        self.cache.changed(&integration.holder, &integration.user_identifier).await;
        tracing::info!(
            integration = integration.id,
            tenant = integration.holder.tenant,
            connector = integration.holder.connector,
            user_identifier = integration.user_identifier,
            "the service refuses a credential that cannot be refreshed; the user has to authorize again"
        );
        Ok(self.reauthorize_with_detail(integration, reason.detail))
    }

    /// The error of a call on an integration whose access has ended.
    pub(super) fn reauthorize(&self, integration: &Integration) -> AccessError {
        let reason = Reason::at(&integration.details, clock::now());
        let detail = reason.map_or_else(|| "The access has ended.".to_owned(), |reason| reason.detail);
        self.reauthorize_with_detail(integration, detail)
    }

    /// As [`Integrations::reauthorize`], with this sentence that says why.
    pub(super) fn reauthorize_with_detail(&self, integration: &Integration, detail: String) -> AccessError {
        AccessError::Reauthorize { again: self.connect_again(integration), detail }
    }

    /// How the user connects an account again.
    pub fn connect_again(&self, integration: &Integration) -> ConnectAgain {
        ConnectAgain {
            user_identifier: integration.user_identifier.clone(),
            auth_type: self.way_to_connect_again(integration),
            address: self.address_of_user(integration),
        }
    }

    /// The name of the way in which the user connects an account again: the way in which it was
    /// connected. The name of an account of OAuth does not say that it was connected by a code, which
    /// may be the only way of its connector.
    fn way_to_connect_again(&self, integration: &Integration) -> &'static str {
        let name = integration.auth_type_name();
        let Some(connector) = self.registry.get(&integration.holder.connector) else { return name };
        let ways = Way::of(&connector, &self.config);
        let offers = |name: &str| ways.iter().any(|way| way.name() == name);
        if name == AuthType::OAuth2.name() && !offers(name) && offers(DEVICE_CODE) { DEVICE_CODE } else { name }
    }

    /// The parts of an account's address that its user gives, as far as the connector still accepts
    /// them.
    fn address_of_user(&self, integration: &Integration) -> AccountAddress {
        let known = &integration.details.account.address;
        let Some(connector) = self.registry.get(&integration.holder.connector) else { return AccountAddress::new() };
        let parts = connector.address_parts().iter().filter(|part| part.is_from_user());
        let accepted = parts.filter_map(|part| {
            let value = known.get(&part.name).filter(|value| part.accepts(value))?;
            Some((part.name.clone(), value.clone()))
        });
        accepted.collect()
    }
}

impl LiveCredential {
    pub(super) fn new(
        integrations: &Arc<Integrations>,
        connector: &Arc<Connector>,
        integration: Arc<CachedIntegration>,
        credential: Credential,
    ) -> Self {
        Self {
            integrations: Arc::clone(integrations),
            connector: Arc::clone(connector),
            current: Mutex::new((integration, credential)),
            refreshed: tokio::sync::Mutex::new(false),
            access_error: Mutex::new(None),
            is_waiting: AtomicBool::new(false),
        }
    }

    /// The id of the integration, which is also the partition of the connector's storage.
    pub fn integration_id(&self) -> String {
        self.current.lock().0.integration.id.clone()
    }

    /// The address of the account. A refreshed credential is for the same address.
    pub fn address(&self) -> AccountAddress {
        self.current.lock().0.integration.details.account.address.clone()
    }

    /// Takes the error that explains why a refused credential was not replaced, if there is one.
    pub fn take_access_error(&self) -> Option<AccessError> {
        self.access_error.lock().take()
    }

    /// Returns `true` if the refresh of a refused credential did not end before the deadline, so that
    /// no one knows if the user has to act.
    pub fn refresh_has_not_ended(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }

    /// Returns whether the user authorized by OAuth 2, so that a refused credential means that the
    /// user has to do it again.
    pub fn is_oauth2(&self) -> bool {
        self.current.lock().0.integration.auth_type == AuthType::OAuth2
    }

    /// The error for a credential that the connector reports as refused and that was not refreshed.
    pub fn refused(&self, detail: String) -> AccessError {
        self.integrations.reauthorize_with_detail(&self.current.lock().0.integration, detail)
    }

    /// Refreshes the credential, once in an operation.
    async fn refresh_once(&self, refused: &Credential) -> Option<Credential> {
        let mut refreshed = self.refreshed.lock().await;
        let (row, current) = self.current.lock().clone();
        if !current.is(refused) {
            return Some(current);
        }
        if std::mem::replace(&mut *refreshed, true) {
            return None;
        }
        self.is_waiting.store(true, Ordering::Relaxed);
        let replacement =
            self.integrations.replacement(&row.integration, refused, &self.connector.manifest().auth).await;
        self.is_waiting.store(false, Ordering::Relaxed);
        match replacement {
            Ok(Some(replacement)) => {
                let credential = replacement.1.clone();
                *self.current.lock() = replacement;
                Some(credential)
            }
            Ok(None) => None,
            Err(error) => {
                *self.access_error.lock() = Some(error);
                None
            }
        }
    }
}

impl CredentialSource for LiveCredential {
    fn credential(&self) -> Credential {
        self.current.lock().1.clone()
    }

    fn refresh<'a>(&'a self, refused: &'a Credential) -> BoxFuture<'a, Option<Credential>> {
        self.refresh_once(refused).boxed()
    }
}

fn ready(integration: Integration, unsealed: UnsealedCredential) -> (Arc<CachedIntegration>, Credential) {
    let credential = unsealed.credential.clone();
    (CachedIntegration::with_credential(integration, Some(unsealed)), credential)
}

/// Returns whether the credential of an integration has not expired yet.
fn is_good(integration: &Integration) -> bool {
    matches!(Freshness::at(&integration.details, clock::now()), Freshness::Fresh | Freshness::Due)
}

/// Time until the next refresh, if it is in the future.
fn retry_delay(details: &Details) -> Option<Duration> {
    delay_until(details.next_refresh_at?, clock::now())
}

pub(super) fn not_refreshed(integration: &Integration, retry_after: Duration) -> AccessError {
    let reason = Reason::at(&integration.details, clock::now());
    let unknown = || Reason::new(Owner::Provider, "The service did not refresh the access in time.");
    AccessError::NotRefreshed {
        user_identifier: integration.user_identifier.clone(),
        reason: reason.unwrap_or_else(unknown),
        retry_after,
    }
}

/// The error of a call whose integration was removed in the middle of the call.
fn gone(known: &Integration) -> AccessError {
    AccessError::Required { named: Some(known.user_identifier.clone()), candidates: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{account, account_secret, holder, site};
    use store::Account;

    #[tokio::test]
    async fn a_call_does_not_continue_as_another_account() {
        let site = site().await;
        let secret = account_secret(Duration::from_secs(3600));
        let connect = async |id: &str| {
            let account = Account { id: Some(id.to_owned()), ..account("a@example.com") };
            site.integrations.connect(&holder("ann"), Some("work"), None, account, &secret).await.unwrap()
        };
        let known = connect("1").await;
        let again = connect("1").await;
        assert_eq!(site.integrations.reread(&known).await.unwrap().version, again.version);
        connect("2").await;
        let error = site.integrations.reread(&known).await.unwrap_err();
        assert!(matches!(error, AccessError::Failed(IntegrationError::KeptChanging)), "{error}");
    }

    #[tokio::test]
    async fn a_refused_credential_does_not_end_the_access_that_the_user_has_just_given() {
        let site = site().await;
        let secret = account_secret(Duration::from_secs(3600));
        let connect = async || {
            site.integrations
                .connect(&holder("ann"), Some("work"), None, account("a@example.com"), &secret)
                .await
                .unwrap()
        };
        let (refused, current) = (connect().await, connect().await);
        let error = site.integrations.mark_revoked(&refused).await.unwrap();
        assert!(matches!(error, AccessError::Failed(IntegrationError::KeptChanging)), "{error}");
        let read = site.integrations.find(&holder("ann"), "work").await.unwrap().unwrap();
        assert_eq!((read.version, read.details.status), (current.version, Status::Active));
        for call in ["the first one", "one at the same time"] {
            let error = site.integrations.mark_revoked(&current).await.unwrap();
            assert!(matches!(error, AccessError::Reauthorize { .. }), "{call}: {error}");
        }
    }
}
