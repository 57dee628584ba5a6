//! Integrations: the accounts that users have connected, and the credentials that operations run with.
//!
//! # Layout
//! - `begin`: an authorization is started; `callback`: the user comes back; `provider`: the provider of a connector
//! - `grant`: what a user gave; `key`: one that is a key; `schema`: what a caller sends to begin
//! - `lookup`: finding, listing and selecting; `record`: the record as callers see it; `remove`: giving back and deleting
//! - `chosen`: the integration of one operation
//! - `session`: the credential of one operation, and its renewal when the service refuses it; `refresh_limit`: how often;
//!   `cache`: credentials that are ready
//! - `standing`: what can be done with a credential at a moment; `refresh`: getting the next one; `sweep`: ahead of time; `tasks`: work
//!   that is never cut off
//! - `error`: what can go wrong
//!
//! Invariants: a credential is in the store before it is used; it goes into no record, no log and no error; it is
//! renewed by one process at a time; a holder sees its own integrations only.

mod account_secret;
mod begin;
mod cache;
mod callback;
mod chosen;
mod error;
mod freshness;
mod key;
mod live_credential;
mod lookup;
mod provider;
mod record;
mod refresh;
mod refresh_limit;
mod remove;
mod schema;
mod sweep;
mod tasks;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

pub use self::account_secret::{AccountSecret, auth_type};
pub use self::begin::{Destination, redirect_uri};
pub use self::callback::{Finish, NoAuthorization};
pub use self::chosen::ChosenIntegration;
pub use self::error::{AccessError, BeginError, IntegrationError};
pub use self::freshness::Owner;
pub use self::key::Key;
pub use self::live_credential::LiveCredential;
pub use self::record::{record, time};
pub use self::schema::{describe, init_schema};

use self::cache::Cache;
use self::refresh::OngoingRefreshes;
use self::refresh_limit::RefreshLimit;
use self::tasks::Tasks;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::registry::Registry;
use egress::Egress;
use store::Store;
use store::vault::Vault;

/// How long work under way may take when the gateway ends: a call to a provider, and a database that comes back.
const SETTLE: Duration = Duration::from_secs(60);

/// All integrations of the gateway.
pub struct Integrations {
    store: Store,
    egress: Egress,
    vault: Vault,
    registry: Arc<Registry>,
    config: Arc<Config>,
    metrics: Arc<Metrics>,
    cache: Cache,
    refreshes: OngoingRefreshes,
    refresh_limit: RefreshLimit,
    tasks: Tasks,
}

impl Integrations {
    /// Puts the parts together; [`Integrations::sweep`] is to be run beside.
    pub fn new(
        config: Arc<Config>,
        store: Store,
        egress: Egress,
        vault: Vault,
        registry: Arc<Registry>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            store,
            egress,
            vault,
            registry,
            config,
            metrics,
            cache: Cache::new(),
            refreshes: OngoingRefreshes::default(),
            refresh_limit: RefreshLimit::new(),
            tasks: Tasks::default(),
        }
    }

    /// Begins work that must not be cut off by a caller who goes away, such as what follows a code that is used up.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.tasks.spawn(work)
    }

    /// Waits for renewals and other work under way, so that none is cut off between the provider's answer and its being written.
    pub async fn settle(&self) {
        self.tasks.settle(SETTLE).await;
    }
}

#[cfg(test)]
mod tests;
