//! Integrations: the accounts that users have connected, and the credentials that operations run
//! with.
//!
//! # Layout
//! Connecting an account (`pipeline::connect` runs the stages):
//! - `ways`: the ways to connect an account, a file for each; begins one
//! - `provider`: the OAuth client of the connector's provider
//! - `tenant_clients`: the OAuth clients of tenants, which the operator sets
//! - `authorization`: an authorization, which waits for the decision of its user
//! - `authorization_result`: its result, as the URL for the user names it
//! - `conclude`: decides if the account is connected, waits for a confirmation, or is refused
//! - `confirm`: keeps a grant until the caller confirms it
//! - `connect`: stores the account
//! - `destination`: the page that the user is sent to at the end
//! - `identifier`: the form of identifiers
//! - `schema`: the JSON Schema of the request, and the description of the auth scheme
//!
//! Secrets:
//! - `account_secret`: the tokens or the API key of an account
//! - `key`: the API key
//! - `key_form`: the form of the keys that a connector takes, and their use in requests
//! - `credentials_form`: the form of credentials, for applications and for people
//!
//! Records:
//! - `lookup`: finds, lists and selects integrations
//! - `record`: the public form of an integration
//! - `import`: imports accounts of other systems
//! - `remove`: revokes the tokens and deletes the integration
//!
//! Calls of operations:
//! - `choose`: the integration of one operation
//! - `live_credential`: its credential, and the refresh after a refusal
//! - `cache`: credentials that are ready for use
//! - `refresh_limit`: bounds how often refused credentials are refreshed
//!
//! Refreshing tokens:
//! - `freshness`: when a credential is refreshed
//! - `refresh`: the refresh, under a lease
//! - `renew`: the refresh that an operator requests
//! - `sweep`: refreshes credentials ahead of time
//! - `revoke`: revokes tokens that are replaced or not kept
//!
//! For all of them:
//! - `reason`: why an integration does not work
//! - `events`: the events that the operator is notified of
//! - `error`: what can fail
//!
//! # Invariants
//! - A token is in the store before it is used.
//! - No token and no key appears in a record, a log line or an error.
//! - One process at a time refreshes an integration.
//! - A holder sees only its own integrations.
//!
//! # The life of a token
//! `rest/integrations` has the handlers, and `api/routes/integrations.rs` has the routes.
//! `pipeline::connect` conducts the steps of a callback: it calls `integrations` for the tokens and
//! the storage, and the connector's own operation for the account's name.
//!
//! 1. **Authorization.** `ways/authorization_code` stores a `state` (hashed, one use, ten minutes)
//!    and a PKCE verifier, and returns the provider's URL. The provider sends the user to
//!    `rest/integrations/callback`, which takes the authorization that belongs to the `state`
//!    (`take_authorization`), once.
//! 2. **Exchange.** `pipeline::connect::complete` runs the rest. `exchange_code` gets the tokens
//!    for the code from `oauth::provider`. Token requests go only to hosts that
//!    `oauth::recipients` includes. An operation of the connector then says which account the
//!    tokens belong to.
//! 3. **Storage.** `conclude` decides what happens with the account: `connect` stores it, or
//!    `confirm` keeps the grant until the caller that began confirms it, or it is refused because
//!    the identifier belongs to another account. `store::vault` encrypts the tokens with a data
//!    key, which the master key encrypts. A token is in the store before it is used.
//! 4. **Use.** `choose` finds the integration of a call, usually in `cache`. `live_credential`
//!    gives the call its `egress::Credential`. `egress::send` adds it to a request at the last
//!    moment, if the manifest declares it for the upstream and the URL belongs to the upstream.
//!    `egress::mask` removes it from responses.
//! 5. **Refresh.** `refresh` runs one refresh of an integration at a time in the process, and a
//!    lease in the store allows one process at a time. `freshness` says when: ahead of expiry
//!    (`sweep`), at expiry, and once after a 401. Until the store has the new tokens, they are in a
//!    file too (`refresh/journal`). Each token request has a new connection (`egress::Request`,
//!    `on_new_connection`), so a provider that closes an idle connection loses no request. An
//!    account that brings its credentials has no refresh token. `ways/credentials` connects it.
//!    Under the same lease, `refresh/account_grant` gets its next token from
//!    `oauth::account_provider`, which signs assertions with the account's private key
//!    (`oauth/assertion`). The credentials are sealed together with the token.
//! 6. **Replacement.** If the user connects the account again, the transaction that stores the new
//!    tokens adds the previous ones to the pending grants. `revoke` revokes them at the provider,
//!    unless this would end the new grant too, and then deletes them from the store. A failed
//!    revocation is tried again for a day, by any gateway.
//! 7. **Device codes.** `ways/device_code` begins an authorization whose user enters a code on
//!    another device. No browser comes back: `gateway::ask_about_devices` looks for authorizations
//!    that are due, and `pipeline::connect::ask_about_device` asks the provider about one. A
//!    gateway claims the request in the store first (`store::authorizations::devices`), so that one
//!    gateway at a time asks. After the consent, the steps are those after an exchange.
//! 8. **End.** `remove` revokes the authorization at the provider and deletes the tokens.

mod account_secret;
mod allowance;
mod authorization;
mod authorization_result;
mod cache;
mod choose;
mod conclude;
mod confirm;
mod connect;
mod credentials_form;
mod destination;
mod error;
mod events;
mod freshness;
mod identifier;
mod import;
mod key;
mod key_form;
mod live_credential;
mod lookup;
mod provider;
mod reason;
mod record;
mod refresh;
mod refresh_limit;
mod remove;
mod renew;
mod revoke;
mod schema;
#[cfg(feature = "simulation")]
pub mod simulated;
mod sweep;
mod tenant_clients;
mod ways;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

pub use self::account_secret::{AccountSecret, auth_type};
pub use self::authorization::random_secret;
pub use self::authorization_result::{AuthorizationResult, Failure};
pub use self::choose::ChosenIntegration;
pub use self::confirm::NotConfirmed;
pub use self::credentials_form::{CredentialField, CredentialsForm, FieldKind};
pub use self::destination::Destination;
pub use self::error::{AccessError, BeginError, ConnectAgain, IntegrationError};
pub use self::identifier::is_identifier;
pub use self::import::{Import, ImportedCredentials};
pub use self::key::Key;
pub use self::key_form::{KeyForm, KeyUse};
pub use self::live_credential::LiveCredential;
pub use self::record::{AuthTypeName, IntegrationRecord};
pub use self::refresh::RefreshWait;
pub use self::renew::{NotRenewed, OVERDUE, error_for_operator, is_overdue, last_error};
pub use self::schema::{AuthSchemaRecord, authorization_origin, init_schema, labels_schema};
pub use self::ways::{
    Begun, ConnectRequest, DEVICE_CODE, DeviceStep, NoAuthorization, Obtained, StartedAuthorization, StartedDevice, Way,
};
pub use oauth::{NotConfigured, TokenError};

use self::cache::Cache;
use self::refresh::{Journal, OngoingRefreshes};
use self::refresh_limit::RefreshLimit;
use config::Config;
use egress::Egress;
use metrics::Metrics;
use registry::Registry;
use store::vault::Vault;
use store::{Store, inherit_acting};
use webhooks::Events;

/// Longest wait for background tasks at shutdown: one call to a provider, and a database that
/// restarts.
const MAX_SHUTDOWN: Duration = Duration::from_secs(60);

/// All integrations of the gateway.
pub struct Integrations {
    store: Store,
    egress: Egress,
    vault: Vault,
    registry: Arc<Registry>,
    config: Arc<Config>,
    metrics: Arc<Metrics>,
    events: Events,
    /// Saves calls a database read and a decryption.
    cache: Cache,
    /// Keeps new tokens until the database has them.
    journal: Journal,
    /// Set once the tokens that an earlier process left in the journal are stored.
    journal_is_stored: OnceCell<()>,
    /// Lets callers that need the same refresh share one.
    refreshes: OngoingRefreshes,
    /// Stops endless refreshes of a credential that a service keeps refusing.
    refresh_limit: RefreshLimit,
    /// Tasks that finish even if their caller disconnects, because they hold tokens that are not
    /// stored yet.
    tasks: TaskTracker,
}

impl Integrations {
    /// Creates the service. The caller runs [`Integrations::sweep`] in a task.
    pub fn new(
        config: Arc<Config>,
        store: Store,
        egress: Egress,
        vault: Vault,
        registry: Arc<Registry>,
        metrics: Arc<Metrics>,
        events: Events,
    ) -> Self {
        Self {
            journal: Journal::new(&config.data_dir),
            journal_is_stored: OnceCell::new(),
            store,
            egress,
            vault,
            registry,
            config,
            metrics,
            events,
            cache: Cache::new(),
            refreshes: OngoingRefreshes::default(),
            refresh_limit: RefreshLimit::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Seals what belongs to accounts.
    pub fn vault(&self) -> &Vault {
        &self.vault
    }

    /// Starts a task in the current span and for the current actor. It runs to its end even if the
    /// caller disconnects, for example after an authorization code was used. Dropping the handle
    /// does not stop it.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.tasks.spawn(inherit_acting(clock::inherit(work)).in_current_span())
    }

    /// Waits for background tasks at shutdown, at most a minute, so that new tokens are stored
    /// before the process ends.
    pub async fn shut_down(&self) {
        self.tasks.close();
        if timeout(MAX_SHUTDOWN, self.tasks.wait()).await.is_err() {
            tracing::warn!("calls to OAuth providers did not end in time and are cut off");
        }
    }
}

#[cfg(test)]
mod tests;
