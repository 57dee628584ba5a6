//! The parts of a running gateway that handlers share.

pub mod backlog;
pub mod heartbeat;
mod hooks;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::HeaderValue;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use auth::{Authenticator, Oidc};
use calls::idempotency::Idempotency;
use calls::{CallLog, Connection, EndedProblem};
use config::Config;
use egress::Egress;
use integrations::{AuthorizationResult, Failure, Integrations};
use jobs::Jobs;
use mcp::Catalogues;
use mcp::streams::Streams;
use metrics::Metrics;
use metrics::samples::Samples;
use pipeline::Services;
use pipeline::budgets::Budgets;
use pipeline::connect::ask_about_device;
use registry::{Connector, Derived, Registry};
use store::{Authorization, Store};
use telemetry::Telemetry;
use triggers::Triggers;
use webhooks::Webhooks;

pub use self::hooks::Hooks;

/// The longest request id that is accepted from a caller.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// Time between two searches for device codes that a provider must be asked about.
const DEVICE_TICK: Duration = Duration::from_secs(1);

/// Concurrent requests about device codes. A provider that does not answer delays only its own.
const CONCURRENT_DEVICES: usize = 64;

/// Documents by the digest of the module that they are about.
type TextsByDigest = HashMap<String, Arc<TaggedText>>;

/// A running gateway.
#[derive(Clone)]
#[expect(missing_docs, reason = "the types of the other fields say what they are")]
pub struct Gateway {
    /// The name of the gateway for people.
    pub name: Arc<str>,
    pub config: Arc<Config>,
    pub authenticator: Arc<Authenticator>,
    /// The OpenID provider of the console, if the operator has set one.
    pub oidc: Option<Arc<Oidc>>,
    pub registry: Arc<Registry>,
    pub budgets: Budgets,
    pub integrations: Arc<Integrations>,
    pub jobs: Arc<Jobs>,
    pub triggers: Arc<Triggers>,
    pub idempotency: Arc<Idempotency>,
    pub webhooks: Webhooks,
    pub hooks: Arc<Hooks>,
    pub metrics: Arc<Metrics>,
    pub samples: Arc<Samples>,
    pub telemetry: Telemetry,
    pub calls: CallLog,
    pub description: Arc<Derived<TaggedText>>,
    /// The description with all that is known of answers.
    pub typed_description: Arc<Derived<TaggedText>>,
    /// The tools of agents, by their callers' views.
    pub catalogues: Arc<Derived<Catalogues>>,
    /// The streams of agents that wait for changes of their tools.
    pub streams: Arc<Streams>,
    /// Descriptions of single connectors by the digests of their modules. They are kept, because
    /// anyone may request them.
    pub descriptions: Arc<Derived<Mutex<TextsByDigest>>>,
    /// The same with all that is known of answers.
    pub typed_descriptions: Arc<Derived<Mutex<TextsByDigest>>>,
    pub egress: Egress,
    pub store: Store,
    pub requests: Arc<RequestIds>,
    pub draining: Arc<Draining>,
    /// The runtime for work that no caller waits for, and for work that would delay the calls of a
    /// core.
    pub background: Handle,
}

impl Gateway {
    /// The same gateway for the calls of one core. It has separate connections to upstreams and
    /// separate counts, so that cores do not share memory that each call changes.
    pub fn for_core(&self, core: usize) -> Self {
        Self {
            egress: self.egress.with_own_connections(),
            calls: self.calls.for_core(),
            requests: Arc::new(self.requests.for_core(core)),
            ..self.clone()
        }
    }

    /// The services that calls of operations use.
    pub fn services(&self) -> Services<'_> {
        Services {
            registry: &self.registry,
            budgets: &self.budgets,
            integrations: &self.integrations,
            egress: &self.egress,
            store: &self.store,
            metrics: &self.metrics,
        }
    }

    /// Writes the record of a connection that has failed.
    pub fn record_connection(&self, connection: &Connection<'_>, result: &AuthorizationResult) {
        if let Some(Failure { code, owner, detail }) = result.failure() {
            let problem = EndedProblem { name: code, owner, detail, pointers: Vec::new() };
            self.calls.connection_failed(connection, problem);
        }
    }
}

/// Asks the providers about device codes, each in its interval. Runs until it is dropped.
pub async fn ask_about_devices(gateway: Gateway) {
    let permits = Arc::new(Semaphore::new(CONCURRENT_DEVICES));
    let mut ticks = interval(DEVICE_TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // Most gateways have no such connector, and save a search of the database in each second.
        let has_codes = |connector: &Arc<Connector>| connector.auth_additions().device_code.is_some();
        if !gateway.registry.live().values().any(has_codes) {
            continue;
        }
        let due = match gateway.integrations.due_devices().await {
            Ok(due) => due,
            Err(error) => {
                error.log("providers are not asked about device codes");
                continue;
            }
        };
        for hash in due {
            // Nobody closes it.
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            let running = gateway.clone();
            // The task ends even if the gateway is about to stop, because the provider gives tokens once.
            gateway.integrations.spawn(async move {
                let began = Instant::now();
                if let Some((authorization, result)) = ask_about_device(running.services(), &hash).await {
                    let Authorization { holder, key_id, .. } = &authorization;
                    let request_id = running.requests.id(None);
                    let connection =
                        Connection { request_id: &request_id, holder, key_id: key_id.as_ref(), began, status: None };
                    running.record_connection(&connection, &result);
                }
                drop(permit);
            });
        }
    }
}

/// A document that callers may cache and validate with its `ETag`.
pub struct TaggedText {
    /// The document.
    pub text: Bytes,
    /// The value of `ETag`.
    pub tag: HeaderValue,
}

/// Set when the gateway accepts no more connections.
#[derive(Default)]
pub struct Draining {
    has_started: AtomicBool,
    started: CancellationToken,
}

impl Draining {
    /// Marks the gateway as stopping: it accepts no more connections.
    pub fn start(&self) {
        self.has_started.store(true, Ordering::Relaxed);
        self.started.cancel();
    }

    /// Returns `true` if the gateway is about to stop.
    pub fn has_started(&self) -> bool {
        self.has_started.load(Ordering::Relaxed)
    }

    /// Waits until the gateway is about to stop.
    pub async fn started(&self) {
        self.started.cancelled().await;
    }
}

/// Makes the ids of requests.
pub struct RequestIds {
    /// Different in each process and on each core, so that ids of two gateways or two cores differ.
    series: u64,
    made: AtomicU64,
}

impl RequestIds {
    /// Ids of this process.
    pub fn of_process() -> Self {
        let started = clock::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let series = started.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(40);
        Self { series, made: AtomicU64::new(0) }
    }

    /// Ids of one core.
    fn for_core(&self, core: usize) -> Self {
        Self { series: self.series.wrapping_add(1 + core as u64), made: AtomicU64::new(0) }
    }

    /// The id of a request: the caller's id if it is short and printable, else a new one.
    pub fn id(&self, given: Option<&HeaderValue>) -> Arc<str> {
        let given = given
            .and_then(|value| value.to_str().ok())
            .filter(|id| (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && !id.contains(' '));
        match given {
            Some(id) => id.into(),
            None => {
                let number = self.made.fetch_add(1, Ordering::Relaxed);
                format!("{:016x}-{number:x}", self.series).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_cores_give_a_request_the_same_id() {
        let ids = RequestIds::of_process();
        let of_cores = [ids.for_core(0), ids.for_core(1)];
        let made: Vec<Arc<str>> =
            (0..100).flat_map(|_| of_cores.iter().chain([&ids]).map(|ids| ids.id(None))).collect();
        let distinct: std::collections::HashSet<&Arc<str>> = made.iter().collect();
        assert_eq!(distinct.len(), 300);
    }
}
