//! The credential of one operation, and its renewal when the service refuses it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use secrecy::ExposeSecret;

use super::cache::{Opened, Row};
use super::grant::{Grant, auth_type};
use super::key::Key;
use super::lookup::{choose, usable};
use super::standing::{Owner, Reason, Standing};
use super::{AccessError, Failure, Integrations};
use crate::oauth::Tokens;
use crate::registry::Connector;
use contract::AuthScheme;
use egress::Credential;
use sandbox::http::CredentialSource;
use store::{AuthType, Details, Holder, Integration, Status};

/// How often a credential is looked for anew when it was found stale. Once is the rule; a row that others write at the same time
/// may take more.
const ATTEMPTS: usize = 4;

/// What an operation runs with: an integration and its credential, from its beginning to its end.
pub struct Session {
    integrations: Arc<Integrations>,
    connector: Arc<Connector>,
    /// The row as it was last read, and the credential that requests carry now.
    present: Mutex<(Arc<Row>, Credential)>,
    /// Whether the one renewal that an operation may ask for was made. Parallel requests wait for it here.
    renewed: tokio::sync::Mutex<bool>,
    /// Why there is no better credential, once one was asked for.
    ended: Mutex<Option<AccessError>>,
}

impl Integrations {
    /// Finds the integration that an operation runs on, and makes its credential ready; one that has expired is renewed first.
    ///
    /// # Errors
    /// When there is none, none can be chosen, or it has no good credential.
    pub async fn session(
        self: &Arc<Self>,
        connector: &Arc<Connector>,
        holder: &Holder,
        named: Option<&str>,
    ) -> Result<Session, AccessError> {
        let scheme = &connector.manifest().auth;
        for _ in 0..ATTEMPTS {
            let read = self.store.integrations_of(holder);
            let rows = self.cache.rows(holder, connector.digest(), read).await?;
            let usable = usable(&rows.rows, auth_type(scheme));
            let row = choose(&usable, named)?;
            let Integration { id, version, details, .. } = &row.integration;
            match Standing::of(details, SystemTime::now()) {
                Standing::Good => {}
                // It goes on by itself.
                Standing::Due => drop(self.refresh(id, *version)),
                Standing::Stale => {
                    self.refresh(id, *version).await;
                    self.cache.changed(holder).await;
                    continue;
                }
                Standing::Waiting(pause) => return Err(not_renewed(&row.integration, pause)),
                Standing::Over => return Err(reauthorize(&row.integration)),
            }
            let opened = row.opened.get_or_try_init(|| self.open(&row.integration, scheme)).await?.clone();
            return Ok(Session {
                integrations: Arc::clone(self),
                connector: Arc::clone(connector),
                present: Mutex::new((Arc::clone(row), opened.credential)),
                renewed: tokio::sync::Mutex::new(false),
                ended: Mutex::new(None),
            });
        }
        Err(Failure::Secret("it changes faster than it can be read".to_owned()).into())
    }

    /// Unseals a credential and makes it ready for requests.
    async fn open(&self, integration: &Integration, scheme: &AuthScheme) -> Result<Opened, Failure> {
        let grant = self.grant(integration, scheme).await?;
        let renewable = matches!(&grant, Grant::OAuth2 { tokens, .. } if tokens.refresh_token.is_some());
        let credential =
            grant.credential()?.ok_or_else(|| Failure::Secret("the connector's users need none".to_owned()))?;
        Ok(Opened { credential, renewable })
    }

    /// Unseals what the user gave.
    pub(super) async fn grant(&self, integration: &Integration, scheme: &AuthScheme) -> Result<Grant, Failure> {
        let none = || Failure::Secret("there is none of the connector's kind".to_owned());
        let bytes = self.secret(integration).await?.ok_or_else(none)?;
        Ok(match scheme {
            AuthScheme::Oauth2(_) => Grant::OAuth2 {
                tokens: Tokens::from_bytes(bytes.expose_secret())?,
                scopes: integration.details.scopes.clone(),
                since: integration.updated_at,
            },
            AuthScheme::ApiKey(key) => Grant::ApiKey(Key::from_bytes(bytes.expose_secret())?, key.placement.clone()),
            AuthScheme::None => return Err(none()),
        })
    }

    /// Another credential than the one that a service has refused. None where there can be no other: a key is what it is; and
    /// where refusals come so often that it cannot be for the credential's age.
    async fn replacement(
        self: &Arc<Self>,
        known: &Integration,
        refused: &Credential,
        scheme: &AuthScheme,
    ) -> Result<Option<(Arc<Row>, Credential)>, AccessError> {
        if known.auth_type != AuthType::OAuth2 {
            return Ok(None);
        }
        // Credentials are compared, not rows: a row changes for other reasons, and is sealed anew when keys are exchanged.
        let row = self.reread(known).await?;
        let opened = self.open(&row, scheme).await?;
        if !opened.credential.holds_the_same(refused) {
            return Ok(Some(ready(row, opened)));
        }
        if !opened.renewable {
            return Err(self.give_up(&row).await?);
        }
        // A renewal that failed a moment ago would fail again.
        if let (Some(_), Some(pause)) = (&row.details.reason, pause(&row.details)) {
            return Err(not_renewed(&row, pause));
        }
        if !self.refusals.allow(&row) {
            return Ok(None);
        }
        self.refresh(&row.id, row.version).await;
        let row = self.reread(known).await?;
        let opened = self.open(&row, scheme).await?;
        if opened.credential.holds_the_same(refused) {
            return Err(not_renewed(&row, pause(&row.details).unwrap_or(Duration::from_secs(1))));
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
    async fn give_up(&self, row: &Integration) -> Result<AccessError, Failure> {
        let reason = Reason::new(Owner::User, "The service no longer accepts the access that the user gave.");
        let details =
            Details { status: Status::Revoked, reason: reason.to_text(), next_refresh_at: None, ..row.details.clone() };
        self.store.update_integration(&row.id, row.version, details).await?;
        self.cache.changed(&row.holder).await;
        tracing::info!(integration = row.id, connector = row.holder.connector, "the service refuses the credential");
        Ok(AccessError::Reauthorize { user_identifier: row.user_identifier.clone(), detail: reason.detail })
    }
}

fn ready(integration: Integration, opened: Opened) -> (Arc<Row>, Credential) {
    let credential = opened.credential.clone();
    (Row::opened(integration, Some(opened)), credential)
}

/// How long until a renewal is tried again.
fn pause(details: &Details) -> Option<Duration> {
    details.next_refresh_at?.duration_since(SystemTime::now()).ok()
}

fn reauthorize(integration: &Integration) -> AccessError {
    let reason = Reason::of(&integration.details, SystemTime::now());
    AccessError::Reauthorize {
        user_identifier: integration.user_identifier.clone(),
        detail: reason.map_or_else(|| "The access has ended.".to_owned(), |reason| reason.detail),
    }
}

fn not_renewed(integration: &Integration, retry_after: Duration) -> AccessError {
    let reason = Reason::of(&integration.details, SystemTime::now());
    AccessError::NotRenewed {
        user_identifier: integration.user_identifier.clone(),
        reason: reason.unwrap_or_else(|| Reason::new(Owner::Provider, "The service did not renew the access in time.")),
        retry_after,
    }
}

impl Session {
    /// The integration's id: the partition of the connector's storage.
    pub fn integration_id(&self) -> String {
        self.with_present(|(row, _)| row.integration.id.clone())
    }

    /// Why there is no better credential than one that the service has refused, if one was asked for.
    pub fn take_end(&self) -> Option<AccessError> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether a refused credential means that the user has to authorize again.
    pub fn is_authorization(&self) -> bool {
        self.with_present(|(row, _)| row.integration.auth_type == AuthType::OAuth2)
    }

    /// The connector says that the service has refused the credential, and it was not to be renewed.
    pub fn refused(&self, detail: String) -> AccessError {
        let user_identifier = self.with_present(|(row, _)| row.integration.user_identifier.clone());
        AccessError::Reauthorize { user_identifier, detail }
    }

    fn with_present<T>(&self, read: impl FnOnce(&mut (Arc<Row>, Credential)) -> T) -> T {
        read(&mut self.present.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn renew_once(&self, refused: &Credential) -> Option<Credential> {
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

impl CredentialSource for Session {
    fn credential(&self) -> Credential {
        self.with_present(|(_, credential)| credential.clone())
    }

    fn renew<'a>(&'a self, refused: &'a Credential) -> BoxFuture<'a, Option<Credential>> {
        self.renew_once(refused).boxed()
    }
}
