//! Counters and histograms, in the OpenMetrics text at `/metrics`.
//!
//! All cores share them. A call changes twelve, which takes it 0.08 µs on one core, and 0.13 µs
//! while a second core changes the same ones. With a copy for each core, it took 0.08 µs in both
//! cases. The whole call takes 30 µs or more, so a copy for each core is not worth its code.
//!
//! - here: the metrics
//! - [`totals`]: some of them over all labels, for samples

pub mod samples;
mod totals;

pub use self::totals::{ADMIN, SYSTEM, Totals};

use std::hash::Hash;
use std::sync::Arc;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use egress::{Attempt, Observer};

/// Upper bounds of the histograms' buckets in seconds: from one invocation in the sandbox to an
/// operation that waits for its upstream.
const BOUNDS: [f64; 16] = [
    0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0,
];

/// Histograms of durations in seconds, one for each set of labels.
type Durations<Labels> = Family<Labels, Histogram, fn() -> Histogram>;

/// Labels of [`Metrics::requests`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct RequestLabels {
    /// The connector's identifier. Empty if the path names no live connector.
    pub connector: String,
    /// The operation's path, or the family of the route.
    pub operation: String,
    /// The HTTP status of the answer.
    pub status: u16,
}

/// Labels of [`Metrics::request_seconds`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct OperationLabels {
    connector: String,
    operation: String,
}

/// Labels of [`Metrics::stages`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct StageLabels {
    connector: String,
    /// The name of a [`StageKind`].
    stage: &'static str,
}

/// Labels of the metrics by connector and outcome.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct OutcomeLabels {
    /// The connector's identifier. For a module that was refused, the name of its file.
    pub connector: String,
    /// `ok`, or the kind of the failure.
    pub outcome: String,
}

/// Labels of [`Metrics::upstream_requests`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct UpstreamLabels {
    connector: String,
    /// Its name in the manifest.
    upstream: String,
    /// The HTTP status, or `error`.
    outcome: String,
}

/// Labels of [`Metrics::module_cache`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct CacheLabels {
    /// `hit` or `miss`.
    pub outcome: &'static str,
}

/// Labels of [`Metrics::webhooks`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct WebhookLabels {
    /// `job` or `event`.
    pub kind: &'static str,
    /// `delivered`, `retried` or `failed`.
    pub outcome: &'static str,
}

/// Labels of [`Metrics::fleet_gateways`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct StateLabels {
    /// `starting`, `ready`, `draining` or `away`.
    pub state: &'static str,
}

/// Labels of [`Metrics::certificate_expiry`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct CertificateLabels {
    /// The section of the configuration that names the certificate: `tls` or `admin_tls`.
    pub section: &'static str,
}

/// Everything that the gateway counts.
pub struct Metrics {
    registry: Registry,
    /// The metrics that [`Metrics::totals`] reads.
    sampled: Registry,
    /// Answers.
    pub requests: Family<RequestLabels, Counter>,
    /// Seconds from the head of a call to the head of its answer, for operations that succeed.
    request_seconds: Durations<OperationLabels>,
    /// Seconds in each stage of an operation.
    stages: Durations<StageLabels>,
    /// Invocations without an outcome or a fault: the limit that was broken, or `trap`, `timeout`,
    /// `busy`.
    pub sandbox_failures: Family<OutcomeLabels, Counter>,
    /// Modules that were swapped in, refused, removed or rolled back.
    pub swaps: Family<OutcomeLabels, Counter>,
    /// Requests to upstreams.
    upstream_requests: Family<UpstreamLabels, Counter>,
    /// Look-ups in the cache of compiled modules.
    pub module_cache: Family<CacheLabels, Counter>,
    /// Refreshes of access tokens.
    pub refreshes: Family<OutcomeLabels, Counter>,
    /// Attempts of webhooks.
    pub webhooks: Family<WebhookLabels, Counter>,
    /// Events of services: `stored`, `duplicate`, `filtered` or `gap`.
    pub trigger_events: Family<OutcomeLabels, Counter>,
    /// Subscriptions at services that were begun or renewed: `succeeded` or `failed`.
    pub subscription_renewals: Family<OutcomeLabels, Counter>,
    /// Subscriptions at services by state, in the whole database.
    pub subscriptions: Family<StateLabels, Gauge>,
    /// Requests of services to the addresses of inboxes.
    pub hook_requests: Family<OutcomeLabels, Counter>,
    /// Seconds for which the subscription that was due first has waited for a gateway.
    pub trigger_lag: Gauge,
    /// Jobs that ended: `succeeded`, `failed` or `cancelled`.
    pub jobs: Family<OutcomeLabels, Counter>,
    /// Jobs that run in this gateway.
    pub jobs_running: Gauge,
    /// Jobs of all tenants that wait for a worker of any gateway.
    pub jobs_pending: Gauge,
    /// Accounts whose refresh was due a minute ago or earlier, in the whole database.
    pub refreshes_overdue: Gauge,
    /// Webhooks that are not delivered yet, in the whole database.
    pub webhooks_pending: Gauge,
    /// API keys that expire soon.
    pub keys_expiring: Gauge,
    /// Bytes that all tenants have stored, in the whole database.
    pub stored_bytes: Gauge,
    /// Bytes that the tenant with most of them has stored.
    pub stored_bytes_largest: Gauge,
    /// When this gateway last read the API keys, or knew that they had not changed, in seconds
    /// since 1970.
    pub keys_read: Gauge,
    /// When the gateway's own certificates expire, in seconds since 1970.
    pub certificate_expiry: Family<CertificateLabels, Gauge>,
    /// Gateways that share the database.
    pub fleet_gateways: Family<StateLabels, Gauge>,
    /// 1 if the database answers this gateway, else 0.
    pub database_answers: Gauge,
    /// Connectors whose newest module this gateway refuses.
    pub modules_refused: Gauge,
    /// Records of calls that were dropped.
    pub dropped_call_records: Counter,
    /// Calls that usage does not have because there was no room in memory.
    pub dropped_usage: Counter,
    /// Live connectors.
    pub connectors: Gauge,
    /// Open connections of callers.
    pub connections: Gauge,
    /// Long computations that run. Set each time the metrics are read.
    computations_running: Gauge,
    /// Long computations that wait for a thread.
    computations_waiting: Gauge,
    /// Bytes of the memory for calls that are held.
    pub memory_held: Gauge,
    /// Size of the memory for calls in bytes.
    pub memory_limit: Gauge,
    /// Calls of operations that are running.
    in_flight: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("gateway");
        let mut add = Registrar(&mut registry);
        let requests = add.metric("requests", "Answers by connector, operation and status");
        let request_seconds = add.durations("request_seconds", "Time of an operation to the head of its answer");
        Self {
            sampled: totals::registry(&requests, &request_seconds),
            requests,
            request_seconds,
            stages: add.durations("stage_seconds", "Time in each stage of an operation"),
            sandbox_failures: add.metric("sandbox_failures", "Invocations that gave no answer"),
            swaps: add.metric("swaps", "Modules swapped in, refused, removed or rolled back"),
            upstream_requests: add.metric("upstream_requests", "Requests to upstreams by status or kind of error"),
            module_cache: add.metric("module_cache", "Compiled modules found in the cache or compiled"),
            refreshes: add.metric("refreshes", "Refreshes of access tokens by outcome"),
            webhooks: add.metric("webhooks", "Attempts of webhooks by outcome"),
            trigger_events: add.metric("trigger_events", "Events of services by outcome"),
            subscription_renewals: add.metric("subscription_renewals", "Subscriptions begun or renewed by outcome"),
            subscriptions: add
                .metric("subscriptions", "Subscriptions at services, in all gateways of the database, by state"),
            hook_requests: add.metric("hook_requests", "Requests of services to inboxes by outcome"),
            trigger_lag: add.metric(
                "trigger_lag_seconds",
                "Time for which a subscription that is to be read or renewed has waited, in all gateways of the database",
            ),
            jobs: add.metric("jobs", "Background jobs that ended, by outcome"),
            jobs_running: add.metric("jobs_running", "Background jobs that run in this gateway"),
            jobs_pending: add.metric("jobs_pending", "Background jobs that wait, in all gateways of the database"),
            refreshes_overdue: add.metric(
                "refreshes_overdue",
                "Accounts whose refresh is overdue or fails, in all gateways of the database",
            ),
            webhooks_pending: add
                .metric("webhooks_pending", "Webhooks that are not delivered yet, in all gateways of the database"),
            keys_expiring: add.metric("keys_expiring", "API keys that expire within 14 days"),
            stored_bytes: add.metric("stored_bytes", "Bytes that all tenants have stored in the database"),
            stored_bytes_largest: add
                .metric("stored_bytes_of_largest_tenant", "Bytes that the tenant with most of them has stored"),
            keys_read: add.metric(
                "keys_read_timestamp_seconds",
                "When this gateway last had all API keys of the database, in seconds since 1970",
            ),
            certificate_expiry: add.metric(
                "certificate_expiry_timestamp_seconds",
                "When the certificates that the gateway presents expire, in seconds since 1970",
            ),
            fleet_gateways: add.metric("fleet_gateways", "Gateways that share the database, by state"),
            database_answers: add.metric("database_answers", "1 if the database answers this gateway, else 0"),
            modules_refused: add.metric("modules_refused", "Connectors whose newest module this gateway refuses"),
            dropped_call_records: add
                .metric("dropped_call_records", "Records of calls that could not be written in time"),
            dropped_usage: add.metric("dropped_usage", "Calls that usage does not have, for lack of memory"),
            connectors: add.metric("connectors", "Connectors that are live"),
            connections: add.metric("connections", "Open connections of callers"),
            computations_running: add
                .metric("computations_running", "Long computations that run, at most one for each core"),
            computations_waiting: add.metric("computations_waiting", "Long computations that wait for a core"),
            memory_held: add.metric("memory_held_bytes", "Memory that bodies, answers and documents of calls hold"),
            memory_limit: add.metric("memory_limit_bytes", "Memory that calls may hold together"),
            in_flight: add.metric("in_flight", "Operations in progress"),
            registry,
        }
    }
}

/// Adds metrics to a registry.
struct Registrar<'a>(&'a mut Registry);

impl Registrar<'_> {
    fn metric<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        let metric = M::default();
        self.0.register(name, help, metric.clone());
        metric
    }

    fn durations<Labels>(&mut self, name: &str, help: &str) -> Durations<Labels>
    where
        Labels: Clone + std::fmt::Debug + EncodeLabelSet + Hash + Eq + Send + Sync + 'static,
    {
        let histograms = Durations::new_with_constructor(|| Histogram::new(BOUNDS));
        self.0.register(name, help, histograms.clone());
        histograms
    }
}

impl Metrics {
    /// Encodes the metrics as text for Prometheus (OpenMetrics 1.0).
    ///
    /// # Errors
    /// If a label cannot be encoded. All label types of this file can.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let gauge = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        self.computations_running.set(gauge(compute::running()));
        self.computations_waiting.set(gauge(compute::waiting()));
        let mut encoded = String::new();
        text::encode(&mut encoded, &self.registry)?;
        Ok(encoded)
    }

    /// The number of calls of operations that are running.
    pub fn calls_in_progress(&self) -> i64 {
        self.in_flight.get()
    }

    /// The metrics of one operation. They are looked up once, when the connector becomes live, and
    /// not for each call.
    pub fn operation(&self, connector: &str, operation: &str) -> OperationMetrics {
        let stage = |kind: StageKind| {
            let labels = StageLabels { connector: connector.to_owned(), stage: kind.name() };
            Stage { kind, seconds: self.stages.get_or_create_owned(&labels) }
        };
        OperationMetrics {
            succeeded: self.requests.get_or_create_owned(&RequestLabels {
                connector: connector.to_owned(),
                operation: operation.to_owned(),
                status: 200,
            }),
            seconds: self.request_seconds.get_or_create_owned(&OperationLabels {
                connector: connector.to_owned(),
                operation: operation.to_owned(),
            }),
            validate: stage(StageKind::Validate),
            account: stage(StageKind::Account),
            admit: stage(StageKind::Admit),
            credential: stage(StageKind::Credential),
            invoke: stage(StageKind::Invoke),
            forward: stage(StageKind::Forward),
            shape: stage(StageKind::Shape),
            in_flight: self.in_flight.clone(),
        }
    }

    /// Counts the requests to one upstream.
    pub fn upstream(&self, connector: &str, upstream: &str) -> Observer {
        let requests = self.upstream_requests.clone();
        let (connector, upstream) = (connector.to_owned(), upstream.to_owned());
        let count = move |outcome: String| {
            let labels = UpstreamLabels { connector: connector.clone(), upstream: upstream.clone(), outcome };
            requests.get_or_create_owned(&labels)
        };
        // The usual status has its counter ready.
        let ok = count("200".to_owned());
        Arc::new(move |attempt: Attempt| {
            match attempt.status {
                Some(200) => ok.inc(),
                Some(status) => count(status.to_string()).inc(),
                None => count("error".to_owned()).inc(),
            };
        })
    }
}

/// The metrics of one operation. The stages are in the order of a call.
pub struct OperationMetrics {
    /// Answers with status 200.
    pub succeeded: Counter,
    /// Seconds from the head of the call to the head of the answer.
    pub seconds: Histogram,
    /// Stage: the body is validated.
    pub validate: Stage,
    /// Stage: the account is chosen.
    pub account: Stage,
    /// Stage: a permit is taken, and the rate limit is counted.
    pub admit: Stage,
    /// Stage: the account's credential is made ready. Includes a refresh, if the access token has
    /// expired. A refresh that the connector's fault causes is a second observation.
    pub credential: Stage,
    /// Stage: one invocation in the sandbox, with the requests that it sends itself.
    pub invoke: Stage,
    /// Stage: the request of a thin operation, to the head of the upstream's response. Includes a
    /// refresh, if the upstream refused the credential.
    pub forward: Stage,
    /// Stage: the answer is filtered and projected.
    pub shape: Stage,
    /// Calls of all operations that are running.
    pub in_flight: Gauge,
}

/// A stage of an operation.
pub struct Stage {
    /// Which of the stages it is.
    pub kind: StageKind,
    /// Seconds in the stage.
    pub seconds: Histogram,
}

/// The stages of a call, in their order. [`OperationMetrics`] says what each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// [`OperationMetrics::validate`]
    Validate,
    /// [`OperationMetrics::account`]
    Account,
    /// [`OperationMetrics::admit`]
    Admit,
    /// [`OperationMetrics::credential`]
    Credential,
    /// [`OperationMetrics::invoke`]
    Invoke,
    /// [`OperationMetrics::forward`]
    Forward,
    /// [`OperationMetrics::shape`]
    Shape,
}

impl StageKind {
    /// All of them, in their order.
    pub const ALL: [Self; 7] =
        [Self::Validate, Self::Account, Self::Admit, Self::Credential, Self::Invoke, Self::Forward, Self::Shape];

    /// The label of the metric, and the name of the span.
    pub fn name(self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::Account => "account",
            Self::Admit => "admit",
            Self::Credential => "credential",
            Self::Invoke => "invoke",
            Self::Forward => "forward",
            Self::Shape => "shape",
        }
    }
}
