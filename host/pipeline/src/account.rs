//! The account that a call runs on, and its credential.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use super::{AUTHOR, Error, RunAs, Services, UpstreamError};
use calls::Recording;
use contract::AuthScheme;
use integrations::{ChosenIntegration, LiveCredential, RefreshWait};
use registry::{Connector, Upstreams};
use sandbox::http::CredentialSource;
use store::Holder;

/// The account of a call before its credential is ready.
pub(super) enum ChosenAccount {
    /// The users of the connector need no account.
    NotNeeded {
        /// The tenant's share of the connector's storage.
        partition: Arc<str>,
    },
    /// An account of the connector's author, with separate storage.
    Author(Option<Arc<dyn CredentialSource>>, Arc<Upstreams>),
    /// An account that is being connected.
    New(Arc<dyn CredentialSource>, Arc<Upstreams>),
    /// A connected account.
    Integration(ChosenIntegration),
}

/// The parts of an account that an invocation may use.
pub(super) struct Account {
    /// The upstreams as the account has them.
    pub(super) upstreams: Arc<Upstreams>,
    /// Adds the account's credential to requests. `None` if the users of the connector need no
    /// account.
    pub(super) credentials: Option<Arc<dyn CredentialSource>>,
    /// The share of the connector's storage that the invocation sees. `None` if it may store
    /// nothing.
    pub(super) partition: Option<Arc<str>>,
    /// The same as `credentials`, for an integration.
    live: Option<Arc<LiveCredential>>,
}

/// Chooses the account of a call. Sends no request to the provider.
///
/// # Errors
/// `Access` if the user must connect or select an account, or authorize again.
pub(super) async fn choose_account(
    services: Services<'_>,
    connector: &Arc<Connector>,
    run_as: &RunAs<'_>,
    deadline: Instant,
    recording: &Recording,
) -> Result<ChosenAccount, Error> {
    let (tenant, subject, user_identifier) = match run_as {
        RunAs::Caller { tenant, subject, user_identifier } => (*tenant, *subject, *user_identifier),
        RunAs::Author { credential, address } => {
            let source = credential.clone().map(|credential| Arc::new(credential) as Arc<dyn CredentialSource>);
            let upstreams = connector.upstreams_at(address).map_err(Error::Egress)?;
            return Ok(ChosenAccount::Author(source, upstreams));
        }
        RunAs::NewAccount { credential, address, .. } => {
            let upstreams = connector.upstreams_at(address).map_err(Error::Egress)?;
            return Ok(ChosenAccount::New(Arc::new(credential.clone()), upstreams));
        }
    };
    let manifest = connector.manifest();
    if matches!(manifest.auth, AuthScheme::None) {
        return Ok(ChosenAccount::NotNeeded { partition: tenant.into() });
    }
    let holder =
        Holder { tenant: tenant.to_owned(), subject: subject.to_owned(), connector: manifest.identifier.clone() };
    let chosen = services.integrations.choose(connector, &holder, user_identifier);
    let chosen = timeout_at(deadline, chosen).await.map_err(|_| Error::StoreTimedOut)?;
    let account = match &chosen {
        Ok(chosen) => Some(chosen.user_identifier()),
        Err(error) => error.user_identifier(),
    };
    if let Some(account) = account {
        recording.uses(account);
    }
    Ok(ChosenAccount::Integration(chosen?))
}

impl ChosenAccount {
    /// The integration, if it is one.
    pub(super) fn user_identifier(&self) -> Option<&str> {
        match self {
            Self::NotNeeded { .. } | Self::Author(..) | Self::New(..) => None,
            Self::Integration(chosen) => Some(chosen.user_identifier()),
        }
    }

    /// Makes the credential ready. An access token that has expired is refreshed at the provider
    /// first.
    ///
    /// # Errors
    /// `Access` if there is no good credential. If the refresh takes too long, the error of the
    /// party that it waits for.
    pub(super) async fn prepare_credential(
        self,
        services: Services<'_>,
        connector: &Arc<Connector>,
        deadline: Instant,
    ) -> Result<Account, Error> {
        let chosen = match self {
            Self::NotNeeded { partition } => {
                let upstreams = Arc::clone(connector.upstreams());
                return Ok(Account { upstreams, credentials: None, partition: Some(partition), live: None });
            }
            Self::Author(credentials, upstreams) => {
                return Ok(Account { upstreams, credentials, partition: Some(AUTHOR.into()), live: None });
            }
            Self::New(credentials, upstreams) => {
                return Ok(Account { upstreams, credentials: Some(credentials), partition: None, live: None });
            }
            Self::Integration(chosen) => chosen,
        };
        let id = chosen.id().to_owned();
        let live = services.integrations.live_credential(connector, chosen);
        let live = timeout_at(deadline, live).await.map_err(|_| refresh_timed_out(services, &id));
        let live = Arc::new(live??);
        let credentials: Arc<dyn CredentialSource> = Arc::<LiveCredential>::clone(&live);
        let partition = live.integration_id().into();
        let upstreams = connector.upstreams_at(&live.address()).map_err(Error::Egress)?;
        Ok(Account { upstreams, credentials: Some(credentials), partition: Some(partition), live: Some(live) })
    }
}

/// The error of a refresh that did not end before the deadline of the call.
fn refresh_timed_out(services: Services<'_>, integration: &str) -> Error {
    match services.integrations.refresh_waits_for(integration) {
        RefreshWait::Store => Error::StoreTimedOut,
        RefreshWait::OtherProcess => Error::RefreshedElsewhere,
        RefreshWait::Provider => Error::RefreshTimedOut,
    }
}

impl Account {
    /// Refreshes the credential, which the connector says was refused. Returns `false` if there is
    /// no other credential before the deadline.
    pub(super) async fn refresh(&self, deadline: Instant) -> bool {
        let Some(live) = &self.live else { return false };
        let refused = live.credential();
        timeout_at(deadline, live.refresh(&refused)).await.is_ok_and(|other| other.is_some())
    }

    /// The reason why a refused credential was not replaced, if there is one, in place of the
    /// upstream's error.
    pub(super) fn explain(&self, services: Services<'_>, error: Error) -> Error {
        let Some(live) = &self.live else { return error };
        match live.take_access_error() {
            Some(reason) => Error::Access(reason),
            None if live.refresh_has_not_ended() => refresh_timed_out(services, &live.integration_id()),
            None => error,
        }
    }

    /// As [`Account::explain`], for the response to a request with the credential, or for a fault
    /// of the connector. A 401 means the credential, so the user must authorize again.
    pub(super) fn explain_refusal(&self, services: Services<'_>, error: Error) -> Error {
        match (self.explain(services, error), &self.live) {
            (Error::Upstream(upstream), Some(live)) if upstream.status == 401 && live.is_oauth2() => {
                Error::Access(live.refused(upstream.detail))
            }
            // The user has to give another key.
            (Error::Upstream(upstream), Some(_)) if upstream.status == 401 => {
                Error::Upstream(Box::new(UpstreamError { is_for_user: true, ..*upstream }))
            }
            (error, _) => error,
        }
    }
}
