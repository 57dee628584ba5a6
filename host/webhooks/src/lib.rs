//! Webhooks, after Standard Webhooks: callbacks at the end of jobs, and events for the operator.
//!
//! A webhook is a delivery in the store, which is written in the same transaction as the change
//! that it reports. The sender attempts it until the receiver accepts it, on any gateway that runs.
//!
//! # Layout
//! - `secrets`: the secrets of tenants, two of which may be valid
//! - `signature`: signs a webhook with them
//! - `receiver`: the URLs that webhooks may be sent to
//! - `callbacks`: the webhooks of jobs
//! - `agents`: the receivers of agents, which have separate secrets
//! - `all`: the webhooks of all tenants, for the operator
//! - `events`: the webhooks of the operator
//! - `sender`: takes deliveries that are due
//! - `attempt`: sends one of them once
//! - `error`: what can fail
//!
//! # Invariants
//! - A webhook has one id, on every attempt and after a restart.
//! - One gateway at a time attempts a delivery.
//! - No connection goes to a private address, unless `callbacks.allow_private_network` is set. No
//!   redirect is followed.
//! - No secret appears in a record, a log line or an error.
//!
//! # The life of a webhook
//! 1. **Acceptance.** `callbacks` (`accept_urls`) checks the `callback_urls` of a call before its
//!    job is stored: the URLs, and that the tenant has a secret. Each job and URL have one
//!    `webhook-id`, which is computed from both.
//! 2. **Delivery.** The transaction that ends a job stores a delivery for each URL (`callbacks`,
//!    `deliveries_of_job`). The transaction that changes an integration stores the delivery of its
//!    event (`events`, `prepare`). URL and body are sealed, and deliveries of one job share the
//!    body (`store::webhooks`). So a webhook is not lost, and it reports only what has happened. A
//!    connector becomes live in memory, outside of a transaction, so the event of a swap is made
//!    from the history (`events`, `swapped`). The history has the swap before it happens. Each
//!    gateway that makes a version live stores the event under an id that is computed from the
//!    entry in the history. So a gateway that was killed right after a swap stores the event at its
//!    next start, and several gateways store one event. A module that was refused is refused again
//!    at the next start, with a new event (`notify`).
//! 3. **Claim.** `sender` takes the leases of deliveries that are due. Tenants and receivers take
//!    turns, and each has a limit of concurrent attempts on all gateways together, so that a slow
//!    receiver does not delay the others.
//! 4. **Attempt.** `attempt` signs the body with each valid secret of the tenant (`signature`) and
//!    sends it. `egress` checks the address, and follows no redirect.
//! 5. **End.** A status of 2xx ends the delivery, and so does 410. After another result the
//!    delivery is attempted again with a growing delay, at most seven times in total. A result is
//!    stored only with the fence of the lease. URL and body are deleted at the end.

mod agents;
mod all;
mod attempt;
mod callbacks;
pub mod caller_url;
mod error;
mod events;
mod receiver;
mod secrets;
mod sender;
mod signature;

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

pub use self::agents::{AgentEvent, AgentMessage, AgentSecrets, ReceiverFailed};
pub use self::all::{AnyWebhookRecord, parse_url_filter};
pub use self::callbacks::CallbackRecord;
pub use self::error::{CallbackError, WebhookError};
pub use self::events::{EventKind, EventRecord, Events, TENANT as TENANT_OF_EVENTS};
pub use self::receiver::{MAX_URL_BYTES, url_check};
pub use self::secrets::NewSecret;
pub use self::signature::{SigningSecret, signatures};

use self::agents::Challenges;
use config::Config;
use egress::Egress;
use metrics::Metrics;
use store::Store;
use store::vault::Vault;

/// All webhooks of the gateway. Clones share the state.
#[derive(Clone)]
pub struct Webhooks {
    store: Store,
    vault: Vault,
    egress: Egress,
    config: Arc<Config>,
    metrics: Arc<Metrics>,
    /// Notified when a delivery may be due, so that it does not wait for the sender's next tick.
    due: Arc<Notify>,
    /// Attempts, and events on their way to the store.
    tasks: TaskTracker,
    /// Challenges that were sent lately.
    challenges: Arc<Challenges>,
}

impl Webhooks {
    /// Creates the service. The caller runs [`Webhooks::send`] in a task.
    pub fn new(config: Arc<Config>, store: Store, egress: Egress, vault: Vault, metrics: Arc<Metrics>) -> Self {
        Self {
            store,
            vault,
            egress,
            config,
            metrics,
            due: Arc::default(),
            tasks: TaskTracker::new(),
            challenges: Arc::default(),
        }
    }

    /// Makes the sender look for deliveries immediately. For callers that have stored some in their
    /// own transaction.
    pub fn wake(&self) {
        self.due.notify_one();
    }
}

#[cfg(test)]
mod tests;
