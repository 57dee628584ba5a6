//! The gateway's own state: for load balancers, for Prometheus, and for readers of the API.

use bytes::Bytes;
use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

use super::problem::{self, Problem};
use crate::api::openapi;
use crate::gateway::Gateway;
use crate::pipeline::body::{Body, full};

/// An answer of JSON with status 200.
pub(super) fn json_answer(document: &Value) -> Response<Body> {
    typed(document.to_string(), "application/json")
}

fn typed(bytes: impl Into<Bytes>, content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(full(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// GET /healthz: the process lives.
pub(super) fn health() -> Response<Body> {
    json_answer(&json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}))
}

/// GET /readyz: the gateway takes requests.
pub(super) fn ready(gateway: &Gateway) -> Result<Response<Body>, Problem> {
    if gateway.is_draining() {
        return Err(problem::DRAINING.because("Send this request to another gateway.").retry_after(1));
    }
    let connectors = gateway.registry.live().len();
    Ok(json_answer(&json!({"status": "ready", "connectors": connectors})))
}

/// GET /metrics.
pub(super) fn metrics(gateway: &Gateway) -> Result<Response<Body>, Problem> {
    let text = gateway
        .metrics
        .encode()
        .map_err(|error| problem::INTERNAL.because(format!("The metrics cannot be written: {error}.")))?;
    Ok(typed(text, "application/openmetrics-text; version=1.0.0; charset=utf-8"))
}

/// GET /openapi.json.
pub(super) fn openapi(gateway: &Gateway) -> Response<Body> {
    json_answer(&openapi::of_registry(&gateway.config, &gateway.registry))
}
