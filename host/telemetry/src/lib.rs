//! Spans and metrics for an OpenTelemetry collector, by OTLP over HTTP. Off unless
//! `telemetry.endpoint` is set.
//!
//! - here: starts and stops the export
//! - [`trace`]: the spans of one call
//! - [`collector`]: sends to the collector
//! - [`measurements`]: the gateway's metrics in the form of the collector
//!
//! Spans go to a bounded queue, and a dedicated thread exports them. If the collector is slow or
//! does not respond, further spans are dropped, and calls are not delayed. An attribute is a name
//! of a route, of a connector, of an operation, of a tenant or of a host, a status or a request id.
//! So no body, no query, no header and no user can be in a span.

mod collector;
pub mod logging;
mod measurements;
mod trace;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hyper::Method;
use hyper::header::HeaderMap;
use opentelemetry::trace::TracerProvider;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, IdGenerator, RandomIdGenerator, Sampler, SdkTracer, SdkTracerProvider,
};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

pub use self::trace::Trace;

use self::collector::{Collector, Spans};
use egress::{Egress, EgressError};
use metrics::Metrics;

/// Maximum number of spans that wait to be sent. A call has about ten.
const QUEUE: usize = 8192;

/// Maximum number of spans in one request to the collector.
const BATCH: usize = 512;

/// Time after which spans are sent that do not fill a batch.
const PAUSE: Duration = Duration::from_secs(1);

/// Shortest and longest time for sending the queued spans when the gateway stops.
const LAST_SENDING: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// The export of spans and metrics. Clones are the same export.
#[derive(Clone, Default)]
pub struct Telemetry(Option<Arc<Export>>);

struct Export {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    collector: Arc<Collector>,
    metrics: Arc<Metrics>,
    began: SystemTime,
    periodic: JoinHandle<()>,
}

impl Telemetry {
    /// Starts the export, if the operator has configured it. Must be called in the runtime that
    /// requests to the collector run on.
    ///
    /// # Errors
    /// If requests cannot be sent to the configured URL.
    pub fn start(settings: &config::Telemetry, egress: &Egress, metrics: &Arc<Metrics>) -> Result<Self, EgressError> {
        let Some(endpoint) = &settings.endpoint else { return Ok(Self::default()) };
        let resource = resource(&settings.service_name);
        let described = ResourceAttributesWithSchema::from(&resource);
        let collector = Arc::new(Collector::new(endpoint, &settings.headers, egress, described)?);
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(QUEUE)
            .with_max_export_batch_size(BATCH)
            .with_scheduled_delay(PAUSE);
        let processor = BatchSpanProcessor::builder(Spans::new(&collector)).with_batch_config(batches.build()).build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(settings.sampling_ratio))))
            .with_span_processor(processor)
            .build();
        let began = clock::now();
        let periodic =
            tokio::spawn(send_metrics(Arc::clone(&collector), Arc::clone(metrics), began, settings.metrics_interval));
        Ok(Self(Some(Arc::new(Export {
            tracer: provider.tracer("connector-gateway"),
            provider,
            collector,
            metrics: Arc::clone(metrics),
            began,
            periodic,
        }))))
    }

    /// The trace of a caller's request. It continues the trace of the header `traceparent`.
    pub fn request(&self, method: &Method, route: &'static str, request_id: &str, headers: &HeaderMap) -> Trace {
        match &self.0 {
            None => Trace::default(),
            Some(export) => Trace::of_request(&export.tracer, method, route, request_id, headers),
        }
    }

    /// Returns `true` if spans are sent to a collector.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The trace of a job. It begins here, because the call that added the job has ended. It has a
    /// link to the span of that call, whose [name](Trace::name) was stored.
    pub fn job(&self, job_id: &str, call: Option<String>) -> Trace {
        match &self.0 {
            None => Trace::default(),
            Some(export) => Trace::of_job(&export.tracer, job_id, call),
        }
    }

    /// Sends the queued spans and the metrics, until the deadline.
    pub async fn stop(&self, deadline: Instant) {
        let Some(export) = &self.0 else { return };
        export.periodic.abort();
        let [least, longest] = LAST_SENDING;
        let wait = deadline.saturating_duration_since(Instant::now()).clamp(least, longest);
        let provider = export.provider.clone();
        let sending = async {
            let spans = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(wait));
            let metrics = export.collector.send_metrics(measurements::read_metrics(&export.metrics, export.began));
            // [`Collector`] has logged the failure.
            let _ = tokio::join!(spans, metrics);
        };
        if timeout_at(Instant::now() + wait, sending).await.is_err() {
            tracing::warn!("the collector of `telemetry.endpoint` did not take the last spans and metrics in time");
        }
    }
}

/// Sends the metrics at each interval.
async fn send_metrics(collector: Arc<Collector>, metrics: Arc<Metrics>, began: SystemTime, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        collector.send_metrics(measurements::read_metrics(&metrics, began)).await;
    }
}

/// The description of this gateway. Its instance id is new at each start, because the counters
/// start at zero too.
fn resource(service_name: &str) -> Resource {
    let instance = RandomIdGenerator::default().new_trace_id().to_string();
    Resource::builder_empty()
        .with_service_name(service_name.to_owned())
        .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(opentelemetry::KeyValue::new("service.instance.id", instance))
        .build()
}
