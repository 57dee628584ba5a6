//! A stand-in for an OpenTelemetry collector: it takes OTLP over HTTP, and decodes what it was
//! sent.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span as ProtoSpan;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message;

use crate::{Reply, Upstream};

/// A running stand-in.
pub struct Collector {
    service: Upstream,
}

/// A span that was received.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The name.
    pub name: String,
    /// The id of the trace, in hexadecimal digits.
    pub trace_id: String,
    /// The id of the span.
    pub id: String,
    /// The id of the span that this one is in; empty if the trace begins with this one.
    pub parent: String,
    /// The ids of the spans that this one has links to.
    pub links: Vec<String>,
    /// Entries of other systems in the trace.
    pub state: String,
    /// Names and values of the attributes.
    pub attributes: Vec<(String, String)>,
    /// `true` if the span has failed.
    pub has_failed: bool,
    /// Begin and end in nanoseconds since 1970.
    pub times: (u64, u64),
}

impl Span {
    /// The value of an attribute; empty if the span does not have it.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

impl Collector {
    /// Starts a stand-in that takes everything.
    pub fn start() -> Self {
        let service = Upstream::start();
        service.reply("*", Reply::typed("application/x-protobuf", Vec::new()));
        Self { service }
    }

    /// Lines of the configuration that send spans and metrics here.
    pub fn config(&self) -> String {
        format!("[telemetry]\nendpoint = \"{}\"", self.service.url())
    }

    /// The server behind it.
    pub fn service(&self) -> &Upstream {
        &self.service
    }

    /// All spans so far.
    ///
    /// # Panics
    /// When a request is not a message of spans.
    pub fn spans(&self) -> Vec<Span> {
        let requests = self.service.seen().into_iter().filter(|seen| seen.path.ends_with("/v1/traces"));
        requests
            .flat_map(|seen| ExportTraceServiceRequest::decode(seen.body).unwrap().resource_spans)
            .flat_map(|resource| resource.scope_spans)
            .flat_map(|scope| scope.spans)
            .map(span)
            .collect()
    }

    /// The metrics of the last message, by their names. Empty before the first message.
    ///
    /// # Panics
    /// When a request is not a message of metrics.
    pub fn metrics(&self) -> Vec<Metric> {
        let last = self.service.seen().into_iter().rfind(|seen| seen.path.ends_with("/v1/metrics"));
        let Some(last) = last else { return Vec::new() };
        let message = ExportMetricsServiceRequest::decode(last.body).unwrap();
        let scopes = message.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        scopes.flat_map(|scope| scope.metrics).collect()
    }

    /// The attributes of the resource that sent the first spans.
    ///
    /// # Panics
    /// When no spans have come.
    pub fn resource(&self) -> Vec<(String, String)> {
        let first = self.service.seen().into_iter().find(|seen| seen.path.ends_with("/v1/traces")).unwrap();
        let message = ExportTraceServiceRequest::decode(first.body).unwrap();
        attributes(message.resource_spans[0].resource.clone().unwrap().attributes)
    }
}

fn span(span: ProtoSpan) -> Span {
    Span {
        name: span.name,
        trace_id: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        links: span.links.iter().map(|link| hex(&link.span_id)).collect(),
        state: span.trace_state,
        attributes: attributes(span.attributes),
        has_failed: span.status.is_some_and(|status| status.code() == StatusCode::Error),
        times: (span.start_time_unix_nano, span.end_time_unix_nano),
    }
}

/// Attributes as text.
///
/// # Panics
/// When a value is not a text or a number.
pub fn attributes(attributes: Vec<KeyValue>) -> Vec<(String, String)> {
    let text = |value: Option<AnyValue>| match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("an attribute has the value {other:?}"),
    };
    attributes.into_iter().map(|attribute| (attribute.key, text(attribute.value))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
