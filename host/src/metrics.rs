//! What the gateway counts, in the Prometheus text format at `/metrics`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use egress::{Attempt, Observer};

/// Upper bounds in seconds: from a sandbox invocation to an operation that waits for its upstream.
const BUCKETS: [f64; 16] = [
    0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0,
];

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

/// Labels of [`Metrics::requests`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct RequestLabels {
    /// Identifier, or empty where none was reached.
    pub connector: String,
    /// Path of the operation, or the family of the route.
    pub operation: String,
    /// HTTP status of the answer.
    pub status: u16,
}

/// Labels of [`Metrics::stages`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct StageLabels {
    /// Identifier.
    pub connector: String,
    /// `validate`, `sandbox`, `upstream` or `shape`.
    pub stage: &'static str,
}

/// Labels of what is counted by connector and outcome.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct OutcomeLabels {
    /// Identifier; for a module that never said one, the file's name.
    pub connector: String,
    /// What happened.
    pub outcome: String,
}

/// Labels of [`Metrics::upstream_requests`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct UpstreamLabels {
    /// Identifier.
    pub connector: String,
    /// Name of the upstream in the manifest.
    pub upstream: String,
    /// HTTP status, or the kind of error.
    pub outcome: String,
}

/// Labels of [`Metrics::module_cache`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct CacheLabels {
    /// `hit` or `miss`.
    pub outcome: &'static str,
}

/// Everything that is counted.
pub struct Metrics {
    registry: Registry,
    /// Answers.
    pub requests: Family<RequestLabels, Counter>,
    /// Time of operations from the first byte of the request to the head of the answer, in seconds.
    pub request_seconds: Family<OperationLabels, Histogram, fn() -> Histogram>,
    /// Time spent in each stage of an operation, in seconds.
    pub stages: Family<StageLabels, Histogram, fn() -> Histogram>,
    /// Invocations that gave no answer, by the limit broken or `trap`, `timeout`, `busy`.
    pub sandbox_failures: Family<OutcomeLabels, Counter>,
    /// Modules swapped in, refused, removed, rolled back.
    pub swaps: Family<OutcomeLabels, Counter>,
    /// Requests to upstreams.
    pub upstream_requests: Family<UpstreamLabels, Counter>,
    /// Compiled modules found in the cache or compiled.
    pub module_cache: Family<CacheLabels, Counter>,
    /// Renewals of users' credentials, by how they ended.
    pub refreshes: Family<OutcomeLabels, Counter>,
    /// Connectors that are live.
    pub connectors: Gauge,
    /// Operations under way.
    pub in_flight: Gauge,
}

/// Labels of [`Metrics::request_seconds`].
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct OperationLabels {
    /// Identifier.
    pub connector: String,
    /// Path of the operation.
    pub operation: String,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("gateway");
        let requests = Family::default();
        registry.register("requests", "Answers by connector, operation and status", requests.clone());
        let request_seconds = Family::new_with_constructor(histogram as fn() -> Histogram);
        registry.register("request_seconds", "Time of an operation to the head of its answer", request_seconds.clone());
        let stages = Family::new_with_constructor(histogram as fn() -> Histogram);
        registry.register("stage_seconds", "Time in each stage of an operation", stages.clone());
        let sandbox_failures = Family::default();
        registry.register("sandbox_failures", "Invocations that gave no answer", sandbox_failures.clone());
        let swaps = Family::default();
        registry.register("swaps", "Modules swapped in, refused, removed or rolled back", swaps.clone());
        let upstream_requests = Family::default();
        registry.register(
            "upstream_requests",
            "Requests to upstreams by status or kind of error",
            upstream_requests.clone(),
        );
        let module_cache = Family::default();
        registry.register("module_cache", "Compiled modules found in the cache or compiled", module_cache.clone());
        let refreshes = Family::default();
        registry.register("refreshes", "Renewals of users' credentials by how they ended", refreshes.clone());
        let connectors = Gauge::default();
        registry.register("connectors", "Connectors that are live", connectors.clone());
        let in_flight = Gauge::default();
        registry.register("in_flight", "Operations under way", in_flight.clone());
        Self {
            registry,
            requests,
            request_seconds,
            stages,
            sandbox_failures,
            swaps,
            upstream_requests,
            module_cache,
            refreshes,
            connectors,
            in_flight,
        }
    }
}

impl Metrics {
    /// The text that Prometheus reads (OpenMetrics 1.0).
    ///
    /// # Errors
    /// Only when a label cannot be written, which none of ours does.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut encoded = String::new();
        text::encode(&mut encoded, &self.registry)?;
        Ok(encoded)
    }

    /// The instruments of one operation, looked up once so that a request costs no look-up.
    pub fn operation(&self, connector: &str, operation: &str) -> OperationMetrics {
        let stage = |stage| self.stages.get_or_create_owned(&StageLabels { connector: connector.to_owned(), stage });
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
            validate: stage("validate"),
            sandbox: stage("sandbox"),
            upstream: stage("upstream"),
            shape: stage("shape"),
            in_flight: self.in_flight.clone(),
        }
    }
}

impl Metrics {
    /// Counts the attempts to call one upstream.
    pub fn upstream(&self, connector: &str, upstream: &str) -> Observer {
        let requests = self.upstream_requests.clone();
        let (connector, upstream) = (connector.to_owned(), upstream.to_owned());
        let count = move |outcome: String| {
            let labels = UpstreamLabels { connector: connector.clone(), upstream: upstream.clone(), outcome };
            requests.get_or_create_owned(&labels)
        };
        // As a rule it answers 200, and that is not looked up again.
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

/// Instruments of one operation.
pub struct OperationMetrics {
    /// Answers of status 200.
    pub succeeded: Counter,
    /// Time to the head of the answer.
    pub seconds: Histogram,
    /// Time to check the body.
    pub validate: Histogram,
    /// Time in the sandbox, a composed operation's own requests included.
    pub sandbox: Histogram,
    /// Time to the head of the upstream's answer, of a request that was forwarded.
    pub upstream: Histogram,
    /// Time to shape the answer.
    pub shape: Histogram,
    /// Operations under way.
    pub in_flight: Gauge,
}

/// Records the time since a moment, in seconds, and makes it the moment that is now: the stage that follows begins.
pub fn lap(histogram: &Histogram, since: &mut Instant) {
    let now = Instant::now();
    record(histogram, now - *since);
    *since = now;
}

/// Records a time, in seconds.
pub fn record(histogram: &Histogram, time: Duration) {
    histogram.observe(time.as_secs_f64());
}
