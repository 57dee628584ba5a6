//! The spans of one call.

use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry::trace::{Link, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracer;

use egress::{Beginning, TracedAttempt, Tracing};

/// The header of the W3C recommendation Trace Context.
const TRACEPARENT: &str = "traceparent";

/// The header with what other systems add to a trace.
const TRACESTATE: &str = "tracestate";

/// A longer `tracestate` is not passed on. The recommendation requires this length at least.
const MAX_STATE_BYTES: usize = 512;

/// A span of a call, to which further spans are added. Without telemetry there is none, and nothing
/// is allocated.
#[derive(Clone, Debug, Default)]
pub struct Trace(Option<Arc<Node>>);

#[derive(Debug)]
struct Node {
    tracer: SdkTracer,
    /// Its context has the span.
    context: Context,
}

impl Trace {
    pub(super) fn of_request(
        tracer: &SdkTracer,
        method: &Method,
        route: &'static str,
        request_id: &str,
        headers: &HeaderMap,
    ) -> Self {
        let parent =
            TraceContextPropagator::new().extract_with_context(&Context::new(), &CallerHeaders::from_headers(headers));
        let method = known(method);
        let span = SpanBuilder::from_name(format!("{method} {route}")).with_kind(SpanKind::Server).with_attributes([
            KeyValue::new("http.request.method", method),
            KeyValue::new("http.route", route),
            KeyValue::new("gateway.request_id", request_id.to_owned()),
        ]);
        Self::new(tracer, span, &parent)
    }

    pub(super) fn of_job(tracer: &SdkTracer, job_id: &str, call: Option<String>) -> Self {
        let call = CallerHeaders { traceparent: call, tracestate: None };
        let call = TraceContextPropagator::new().extract_with_context(&Context::new(), &call);
        let call = call.span().span_context().clone();
        let span = SpanBuilder::from_name("job")
            .with_kind(SpanKind::Consumer)
            .with_links(if call.is_valid() { vec![Link::with_context(call)] } else { Vec::new() })
            .with_attributes([KeyValue::new("gateway.request_id", job_id.to_owned())]);
        Self::new(tracer, span, &Context::new())
    }

    /// The name of this span, as a header `traceparent` has it. `None` without telemetry.
    pub fn name(&self) -> Option<String> {
        let headers = injected(&self.0.as_ref()?.context);
        let (_, name) = headers.into_iter().find(|(name, _)| name == TRACEPARENT)?;
        name.to_str().ok().map(str::to_owned)
    }

    fn new(tracer: &SdkTracer, span: SpanBuilder, parent: &Context) -> Self {
        let span = tracer.build_with_context(span, parent);
        Self(Some(Arc::new(Node { tracer: tracer.clone(), context: parent.with_span(span) })))
    }

    /// Begins a span inside this one.
    pub fn child(&self, name: &'static str) -> Self {
        match &self.0 {
            Some(node) if node.context.span().is_recording() => {
                Self::new(&node.tracer, SpanBuilder::from_name(name), &node.context)
            }
            // Without sampling, upstreams still get the trace in `traceparent`.
            _ => self.clone(),
        }
    }

    /// Runs work in a separate span.
    ///
    /// # Errors
    /// The error of the work.
    pub async fn around<T, E>(&self, name: &'static str, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let span = self.child(name);
        let result = work.await;
        span.end(result.is_ok());
        result
    }

    /// The operation that is called.
    pub fn calls(&self, connector: &str, operation: &str) {
        self.set("gateway.connector", || connector.to_owned());
        self.set("gateway.operation", || operation.to_owned());
    }

    /// The tenant of the caller.
    pub fn is_of(&self, tenant: &str) {
        self.set("gateway.tenant", || tenant.to_owned());
    }

    fn set(&self, key: &'static str, value: impl FnOnce() -> String) {
        if let Some(node) = &self.0 {
            node.context.span().set_attribute(KeyValue::new(key, value()));
        }
    }

    /// Ends the span of a request with its answer. `problem` is the name of the problem, if the
    /// answer is one.
    pub fn answered(&self, status: StatusCode, problem: Option<&'static str>) {
        let Some(node) = &self.0 else { return };
        let span = node.context.span();
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
        if let Some(problem) = problem {
            span.set_attribute(KeyValue::new("error.type", problem));
        }
        self.end(!status.is_server_error());
    }

    /// Ends the span.
    pub fn end(&self, is_success: bool) {
        let Some(node) = &self.0 else { return };
        let span = node.context.span();
        if !is_success {
            span.set_status(Status::error(""));
        }
        span.end();
    }

    /// Makes requests to upstreams a part of this span. `None` without telemetry.
    pub fn tracing(&self) -> Option<Arc<dyn Tracing>> {
        let node = self.0.as_ref()?;
        Some(Arc::<Node>::clone(node))
    }
}

impl Tracing for Node {
    fn begin(&self, attempt: Beginning<'_>) -> TracedAttempt {
        let Beginning { upstream, host, method, retry } = attempt;
        let mut attributes = vec![
            KeyValue::new("http.request.method", known(method)),
            KeyValue::new("server.address", host.to_owned()),
            KeyValue::new("gateway.upstream", upstream.to_owned()),
        ];
        if retry > 0 {
            attributes.push(KeyValue::new("http.request.resend_count", i64::from(retry)));
        }
        let span = SpanBuilder::from_name(known(method)).with_kind(SpanKind::Client).with_attributes(attributes);
        let context = self.context.with_span(self.tracer.build_with_context(span, &self.context));
        TracedAttempt {
            headers: injected(&context),
            end: Box::new(move |status| {
                let span = context.span();
                if let Some(status) = status {
                    span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
                }
                if status.is_none_or(|status| status >= 400) {
                    span.set_status(Status::error(""));
                }
                span.end();
            }),
        }
    }
}

/// The name of a method. A caller may send any word as a method.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "_OTHER",
    }
}

/// The headers of a caller that name its trace.
struct CallerHeaders {
    traceparent: Option<String>,
    tracestate: Option<String>,
}

impl CallerHeaders {
    fn from_headers(headers: &HeaderMap) -> Self {
        let mut parents = headers.get_all(TRACEPARENT).iter();
        let traceparent = match (parents.next(), parents.next()) {
            (Some(only), None) => only.to_str().ok().map(str::to_owned),
            _ => None,
        };
        let states: Vec<&str> = headers.get_all(TRACESTATE).iter().filter_map(|state| state.to_str().ok()).collect();
        let tracestate = Some(states.join(",")).filter(|state| !state.is_empty() && state.len() <= MAX_STATE_BYTES);
        Self { traceparent, tracestate }
    }
}

impl Extractor for CallerHeaders {
    fn get(&self, name: &str) -> Option<&str> {
        match name {
            TRACEPARENT => self.traceparent.as_deref(),
            TRACESTATE => self.tracestate.as_deref(),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT, TRACESTATE]
    }
}

/// The headers that name a span.
fn injected(context: &Context) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Injected(Vec::new());
    TraceContextPropagator::new().inject_context(context, &mut headers);
    headers.0
}

struct Injected(Vec<(HeaderName, HeaderValue)>);

impl Injector for Injected {
    fn set(&mut self, name: &str, value: String) {
        let name = match name {
            TRACEPARENT => TRACEPARENT,
            TRACESTATE if !value.is_empty() => TRACESTATE,
            _ => return,
        };
        self.0.extend(HeaderValue::try_from(value).ok().map(|value| (HeaderName::from_static(name), value)));
    }
}
