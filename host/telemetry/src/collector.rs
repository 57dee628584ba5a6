//! Requests to the collector.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{Metric, ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use prost::Message;
use tokio::runtime::Handle;
use tokio::time::Instant;
use url::Url;

use egress::{Body, Egress, EgressError, Headers, Request, Target, Upstream};

/// Longest time for one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A collector answers with a few bytes.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

/// The collector that the operator configured.
pub(super) struct Collector {
    egress: Egress,
    upstream: Upstream,
    headers: Headers,
    resource: ResourceAttributesWithSchema,
    /// `true` after a failed request, so that only the first failure is logged.
    is_failing: AtomicBool,
}

impl Collector {
    /// # Errors
    /// `InvalidRequest` if the URL cannot be called, or for a name that headers cannot have.
    pub(super) fn new(
        endpoint: &Url,
        headers: &BTreeMap<String, HeaderValue>,
        egress: &Egress,
        resource: ResourceAttributesWithSchema,
    ) -> Result<Self, EgressError> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(name).map_err(|_| EgressError::InvalidRequest {
                detail: "`telemetry.headers` has a name that headers cannot have".to_owned(),
            })?;
            map.insert(name, value.clone());
        }
        // The operator chose the URL. A collector is usually in the private network.
        let (upstream, _) = Upstream::of_url("collector", endpoint, true)?;
        Ok(Self {
            egress: egress.clone(),
            upstream: upstream.without_redirects(),
            headers: Headers::trusted(map),
            resource,
            is_failing: AtomicBool::new(false),
        })
    }

    pub(super) async fn send_metrics(&self, metrics: Vec<Metric>) {
        let resource = Resource { attributes: self.resource.attributes.0.clone(), ..Resource::default() };
        let scope_metrics = vec![ScopeMetrics { metrics, ..ScopeMetrics::default() }];
        let message = ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(resource),
                scope_metrics,
                ..ResourceMetrics::default()
            }],
        };
        // `post` has logged the error.
        drop(self.post("/v1/metrics", &message).await);
    }

    async fn send_spans(&self, spans: Vec<SpanData>) -> Result<(), String> {
        let resource_spans = group_spans_by_resource_and_scope(spans, &self.resource);
        self.post("/v1/traces", &ExportTraceServiceRequest { resource_spans }).await
    }

    /// Sends a message. Logs when the collector begins to fail, and when it takes messages again.
    ///
    /// # Errors
    /// The cause, for people.
    async fn post(&self, path: &str, message: &impl Message) -> Result<(), String> {
        let request = Request {
            headers: self.headers.clone(),
            body: Body::Typed {
                content_type: "application/x-protobuf".to_owned(),
                bytes: message.encode_to_vec().into(),
            },
            ..Request::new(Method::POST, Target::Path(path.to_owned()), Instant::now() + TIMEOUT, MAX_ANSWER_BYTES)
        };
        let sent = match self.egress.send(&self.upstream, &request).await {
            Ok(response) if response.status.is_success() => Ok(()),
            Ok(response) => Err(format!("it answered {}", response.status)),
            Err(error) => Err(error.to_string()),
        };
        let was_failing = self.is_failing.swap(sent.is_err(), Ordering::Relaxed);
        match &sent {
            Err(error) if !was_failing => tracing::warn!(
                error,
                "the collector of `telemetry.endpoint` takes no spans and metrics; they are lost until it does"
            ),
            Ok(()) if was_failing => {
                tracing::info!("the collector of `telemetry.endpoint` takes spans and metrics again")
            }
            _ => {}
        }
        sent
    }
}

/// Sends the batches of the span processor, whose thread does not belong to the runtime.
pub(super) struct Spans {
    collector: Arc<Collector>,
    runtime: Handle,
}

impl Spans {
    /// Sends on the current runtime.
    pub(super) fn new(collector: &Arc<Collector>) -> Self {
        Self { collector: Arc::clone(collector), runtime: Handle::current() }
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Spans")
    }
}

impl SpanExporter for Spans {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let collector = Arc::clone(&self.collector);
        let sent = self.runtime.spawn(async move { collector.send_spans(batch).await }).await;
        match sent {
            Ok(sent) => sent.map_err(OTelSdkError::InternalFailure),
            // The gateway stops.
            Err(cancelled) => Err(OTelSdkError::InternalFailure(cancelled.to_string())),
        }
    }
}
