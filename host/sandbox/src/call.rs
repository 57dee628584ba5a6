//! The environment of one invocation, which its caller makes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rows::Row;
use store::Store;
use store::vault::Vault;
use tokio::time::Instant;

use super::http::Outbound;
use super::limits::CpuBudget;
use super::progress::ProgressSender;

/// The environment of an invocation.
pub struct Call {
    /// The instant at which the invocation ends, with an outcome or without. Its requests end at
    /// the deadline of `outbound`.
    pub deadline: Instant,
    /// The values of the connector's settings.
    pub settings: Arc<Settings>,
    /// Sends its requests.
    pub outbound: Outbound,
    /// Its key-value store; `None` if it must not use one.
    pub storage: Option<Scope>,
    /// Takes its reports of progress; `None` if the caller waits.
    pub progress: Option<ProgressSender>,
    /// The CPU time for all invocations of the call.
    pub cpu: CpuBudget,
    /// The request that it may ask for. `None` if it has declared none for the operation.
    pub declared: Option<Declared>,
}

impl Call {
    /// For `describe`, which may not send requests or store values.
    pub fn for_description(deadline: Instant, cpu: Duration) -> Self {
        Self {
            deadline,
            settings: Arc::default(),
            outbound: Outbound::deny_all(),
            storage: None,
            progress: None,
            cpu: CpuBudget::new(cpu),
            declared: None,
        }
    }
}

/// Values of settings as JSON text, by name.
pub type Settings = HashMap<String, String>;

/// The part of the store that one invocation uses.
#[derive(Clone)]
pub struct Scope {
    /// The gateway's store.
    pub store: Store,
    /// Seals the values.
    pub vault: Vault,
    /// The identifier of the connector.
    pub connector: Arc<str>,
    /// The tenant or the integration. Each has its own keys.
    pub partition: Arc<str>,
}

/// The request that a guest may ask for: a row, and the input of the invocation.
#[derive(Clone)]
pub struct Declared {
    /// The row that the connector has declared for the operation.
    pub row: Arc<Row>,
    /// JSON text that the schema has accepted.
    pub input: Arc<str>,
}
