//! The credential of one operation, and its renewal when the service refuses it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use secrecy::ExposeSecret;

use super::account_secret::AccountSecret;
use super::cache::{CachedIntegration, UnsealedCredential};
use super::freshness::{Owner, Reason};
use super::key::Key;
use super::{AccessError, IntegrationError, Integrations};
use crate::oauth::Tokens;
use crate::registry::Connector;
use contract::AuthScheme;
use egress::Credential;
use sandbox::http::CredentialSource;
use store::{AuthType, Details, Integration, Status};

/// What an operation runs with: an integration and its credential, from its beginning to its end.
pub struct LiveCredential {
    integrations: Arc<Integrations>,
    connector: Arc<Connector>,
    /// The row as it was last read, and the credential that requests carry now.
    present: Mutex<(Arc<CachedIntegration>, Credential)>,
    /// Whether the one renewal that an operation may ask for was made. Parallel requests wait for it here.
    renewed: tokio::sync::Mutex<bool>,
    /// Why there is no better credential, once one was asked for.
    ended: Mutex<Option<AccessError>>,
}

impl Integrations {
    /// Unseals a credential and makes it ready for requests.
    pub(super) async fn open(
        &self,
        integration: &Integration,
        scheme: &AuthScheme,
    ) -> Result<UnsealedCredential, IntegrationError> {
        let secret = self.account_secret(integration, scheme).await?;
        let is_refreshable = matches!(&secret, AccountSecret::OAuth2 { tokens, .. } if tokens.refresh_token.is_some());
        let credential = secret
            .credential()?
            .ok_or_else(|| IntegrationError::Secret("the connector's users need none".to_owned()))?;
        Ok(UnsealedCredential { credential, is_refreshable })
    }

    /// Unseals what the user gave.
    pub(super) async fn account_secret(
        &self,
        integration: &Integration,
        scheme: &AuthScheme,
    ) -> Result<AccountSecret, IntegrationError> {
        let none = || IntegrationError::Secret("there is none of the connector's kind".to_owned());
        let bytes = self.secret(integration).await?.ok_or_else(none)?;
        Ok(match scheme {
            AuthScheme::Oauth2(_) => AccountSecret::OAuth2 {
                tokens: Tokens::from_bytes(bytes.expose_secret())?,
                scopes: integration.details.scopes.clone(),
                since: integration.updated_at,
            },
            AuthScheme::ApiKey(key) => {
                AccountSecret::ApiKey(Key::from_bytes(bytes.expose_secret())?, key.placement.clone())
            }
            AuthScheme::None => return Err(none()),
        })
    }

    /// Another credential than the one that a service has refused. None where there can be no other: a key is what it is; and
    /// where refresh_limit come so often that it cannot be for the credential's age.
    async fn replacement(
        self: &Arc<Self>,
        known: &Integration,
        refused: &Credential,
        scheme: &AuthScheme,
    ) -> Result<Option<(Arc<CachedIntegration>, Credential)>, AccessError> {
        if known.auth_type != AuthType::OAuth2 {
            return Ok(None);
        }
        // Credentials are compared, not rows: a row changes for other reasons, and is sealed anew when keys are exchanged.
        let row = self.reread(known).await?;
        let opened = self.open(&row, scheme).await?;
        if !opened.credential.holds_the_same(refused) {
            return Ok(Some(ready(row, opened)));
        }
        if !opened.is_refreshable {
            return Err(self.give_up(&row).await?);
        }
        // A renewal that failed a moment ago would fail again.
        if let (Some(_), Some(pause)) = (&row.details.reason, pause(&row.details)) {
            return Err(not_refreshed(&row, pause));
        }
        if !self.refresh_limit.allow(&row) {
            return Ok(None);
        }
        self.refresh(&row.id, row.version).await;
        let row = self.reread(known).await?;
        let opened = self.open(&row, scheme).await?;
        if opened.credential.holds_the_same(refused) {
            return Err(not_refreshed(&row, pause(&row.details).unwrap_or(Duration::from_secs(1))));
        }
        Ok(Some(ready(row, opened)))
    }

    /// The row as it is now, if the integration can still be used.
    async fn reread(&self, known: &Integration) -> Result<Integration, AccessError> {
        self.cache.changed(&known.holder).await;
        let row = self.store.integration_by_id(&known.id).await?;
        let row = row.ok_or_else(|| AccessError::Required { named: Some(known.user_identifier.clone()) })?;
        if row.details.status == Status::Active { Ok(row) } else { Err(reauthorize(&row)) }
    }

    /// Notes that the service refuses a credential that nothing renews.
    async fn give_up(&self, row: &Integration) -> Result<AccessError, IntegrationError> {
        let reason = Reason::new(Owner::User, "The service no longer accepts the access that the user gave.");
        let details =
            Details { status: Status::Revoked, reason: reason.to_text(), next_refresh_at: None, ..row.details.clone() };
        self.store.update_integration(&row.id, row.version, details).await?;
        self.cache.changed(&row.holder).await;
        tracing::info!(integration = row.id, connector = row.holder.connector, "the service refuses the credential");
        Ok(AccessError::Reauthorize { user_identifier: row.user_identifier.clone(), detail: reason.detail })
    }
}

fn ready(integration: Integration, opened: UnsealedCredential) -> (Arc<CachedIntegration>, Credential) {
    let credential = opened.credential.clone();
    (CachedIntegration::opened(integration, Some(opened)), credential)
}

/// How long until a renewal is tried again.
fn pause(details: &Details) -> Option<Duration> {
    details.next_refresh_at?.duration_since(SystemTime::now()).ok()
}

pub(super) fn reauthorize(integration: &Integration) -> AccessError {
    let reason = Reason::of(&integration.details, SystemTime::now());
    AccessError::Reauthorize {
        user_identifier: integration.user_identifier.clone(),
        detail: reason.map_or_else(|| "The access has ended.".to_owned(), |reason| reason.detail),
    }
}

pub(super) fn not_refreshed(integration: &Integration, retry_after: Duration) -> AccessError {
    let reason = Reason::of(&integration.details, SystemTime::now());
    AccessError::NotRefreshed {
        user_identifier: integration.user_identifier.clone(),
        reason: reason.unwrap_or_else(|| Reason::new(Owner::Provider, "The service did not renew the access in time.")),
        retry_after,
    }
}

impl LiveCredential {
    pub(super) fn new(
        integrations: &Arc<Integrations>,
        connector: &Arc<Connector>,
        row: Arc<CachedIntegration>,
        credential: Credential,
    ) -> Self {
        Self {
            integrations: Arc::clone(integrations),
            connector: Arc::clone(connector),
            present: Mutex::new((row, credential)),
            renewed: tokio::sync::Mutex::new(false),
            ended: Mutex::new(None),
        }
    }

    /// The integration's id: the partition of the connector's storage.
    pub fn integration_id(&self) -> String {
        self.with_present(|(row, _)| row.integration.id.clone())
    }

    /// Why there is no better credential than one that the service has refused, if one was asked for.
    pub fn take_access_error(&self) -> Option<AccessError> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether a refused credential means that the user has to authorize again.
    pub fn is_oauth2(&self) -> bool {
        self.with_present(|(row, _)| row.integration.auth_type == AuthType::OAuth2)
    }

    /// The connector says that the service has refused the credential, and it was not to be renewed.
    pub fn refused(&self, detail: String) -> AccessError {
        let user_identifier = self.with_present(|(row, _)| row.integration.user_identifier.clone());
        AccessError::Reauthorize { user_identifier, detail }
    }

    fn with_present<T>(&self, read: impl FnOnce(&mut (Arc<CachedIntegration>, Credential)) -> T) -> T {
        read(&mut self.present.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn refresh_once(&self, refused: &Credential) -> Option<Credential> {
        let mut renewed = self.renewed.lock().await;
        let (row, present) = self.with_present(|present| present.clone());
        if !present.is(refused) {
            return Some(present);
        }
        if std::mem::replace(&mut *renewed, true) {
            return None;
        }
        match self.integrations.replacement(&row.integration, refused, &self.connector.manifest().auth).await {
            Ok(Some(better)) => {
                let credential = better.1.clone();
                self.with_present(|present| *present = better);
                Some(credential)
            }
            Ok(None) => None,
            Err(error) => {
                *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                None
            }
        }
    }
}

impl CredentialSource for LiveCredential {
    fn credential(&self) -> Credential {
        self.with_present(|(_, credential)| credential.clone())
    }

    fn refresh<'a>(&'a self, refused: &'a Credential) -> BoxFuture<'a, Option<Credential>> {
        self.refresh_once(refused).boxed()
    }
}
