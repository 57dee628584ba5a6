//! Integrations: the accounts that users have connected, and the credentials that operations run with.
//!
//! # Layout
//! - Connecting: `begin` starts an authorization and checks its `destination`; `callback` exchanges the code and `finish`
//!   says how it ended; `conclude` decides that; `connect` stores the account; `confirm` keeps grants until the caller confirms; `provider` builds the OAuth client; `schema` describes the request body
//! - Secrets: `account_secret` holds the tokens or the API key of an account; `key` is the API key
//! - Records: `lookup` finds, lists and selects integrations; `record` is their public form; `remove` revokes and deletes
//! - Calling: `chosen` is the integration of one operation; `live_credential` is its credential; `cache` holds credentials that
//!   are ready for use; `refresh_limit` bounds how often refused credentials are refreshed
//! - Refreshing: `freshness` decides when; `refresh` does it; `sweep` does it ahead of time; `replaced` revokes tokens that newer
//!   ones have replaced
//! - `reason`: why an integration does not work; `events`: what the operator is told of; `error`: what can fail
//!
//! # Invariants
//! - A token is in the store before it is used.
//! - No token and no key appears in a record, a log line or an error.
//! - One process at a time refreshes an integration.
//! - A holder sees only its own integrations.

mod account_secret;
mod begin;
mod cache;
mod callback;
mod chosen;
mod conclude;
mod confirm;
mod connect;
mod destination;
mod error;
mod events;
mod finish;
mod freshness;
mod key;
mod live_credential;
mod lookup;
mod provider;
mod reason;
mod record;
mod refresh;
mod refresh_limit;
mod remove;
mod replaced;
mod schema;
mod sweep;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

pub use self::account_secret::{AccountSecret, auth_type};
pub use self::begin::{Wanted, redirect_uri};
pub use self::callback::NoAuthorization;
pub use self::chosen::ChosenIntegration;
pub use self::confirm::NotConfirmed;
pub use self::destination::Destination;
pub use self::error::{AccessError, BeginError, IntegrationError};
pub use self::finish::Finish;
pub use self::key::Key;
pub use self::live_credential::LiveCredential;
pub use self::record::{AuthTypeName, IntegrationRecord};
pub use self::schema::{AuthSchemaRecord, init_schema};

use self::cache::Cache;
use self::refresh::{Journal, OngoingRefreshes};
use self::refresh_limit::RefreshLimit;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::registry::Registry;
use crate::webhooks::Events;
use egress::Egress;
use store::Store;
use store::vault::Vault;

/// Longest wait for background tasks at shutdown: one call to a provider, and a database that restarts.
const SETTLE: Duration = Duration::from_secs(60);

/// All integrations of the gateway.
pub struct Integrations {
    store: Store,
    egress: Egress,
    vault: Vault,
    registry: Arc<Registry>,
    config: Arc<Config>,
    metrics: Arc<Metrics>,
    events: Events,
    /// Spares calls a database read and a decryption.
    cache: Cache,
    /// New tokens until the database has them.
    journal: Journal,
    /// Lets callers that need the same refresh share one.
    refreshes: OngoingRefreshes,
    /// Stops endless refreshes of a credential that a service keeps refusing.
    refresh_limit: RefreshLimit,
    /// Tasks that finish even if their caller goes away, because they hold tokens that exist nowhere else yet.
    tasks: TaskTracker,
}

impl Integrations {
    /// Creates the service. The caller runs [`Integrations::sweep`] beside it.
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
            store,
            egress,
            vault,
            registry,
            config,
            metrics,
            events,
            cache: Cache::new(),
            refreshes: OngoingRefreshes::default(),
            refresh_limit: RefreshLimit::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Seals what belongs to accounts.
    pub fn vault(&self) -> &Vault {
        &self.vault
    }

    /// Starts a task in the current span. It runs to its end even if the caller goes away, for example after an authorization
    /// code was used. Dropping the handle does not stop it.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.tasks.spawn(work.in_current_span())
    }

    /// Waits for background tasks at shutdown, at most a minute, so that new tokens are stored before the process ends.
    pub async fn settle(&self) {
        self.tasks.close();
        if timeout(SETTLE, self.tasks.wait()).await.is_err() {
            tracing::warn!("calls to OAuth providers did not end in time and are cut off");
        }
    }
}

#[cfg(test)]
mod tests;
