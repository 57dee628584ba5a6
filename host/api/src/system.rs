//! The state of the gateway, its metrics, and the API's description.

use std::sync::Arc;

use hyper::Response;
use parking_lot::Mutex;
use serde_json::json;

use super::openapi::{self, Answers};
use body::Body;
use endpoint::answer::{answer_of_type, json_answer, tagged_answer, tagged_text};
use endpoint::records::{HealthRecord, ReadinessRecord};
use endpoint::route::HttpCall;
use problem::{self, Problem};
use registry::Live;
use rest::connectors;

/// Maximum number of modules that `/readyz` names.
const MAX_NAMED: usize = 20;

/// The value of the parameter `answers`.
const TYPED: &str = "typed";

/// GET /healthz: the process runs.
pub(super) async fn get_health(_: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    Ok(json_answer(&json!(HealthRecord { status: "ok", version: env!("CARGO_PKG_VERSION") })))
}

/// GET /readyz: the gateway accepts requests.
pub(super) async fn get_readiness(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    if call.gateway.draining.has_started() {
        return Err(problem::DRAINING.with_detail("Send this request to another gateway.").retry_after(1));
    }
    if let Some(missing) = call.gateway.registry.missing() {
        let named = missing.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let detail = match missing.len() {
            0 => "The folders of modules are about to be read.".to_owned(),
            1 => format!("The module {named} is not loaded yet."),
            count if count <= MAX_NAMED => format!("{count} modules are not loaded yet: {named}."),
            count => format!("{count} modules are not loaded yet, among them {named}."),
        };
        return Err(problem::STARTING.with_detail(detail).retry_after(1));
    }
    // A balancer that took all gateways out because their database is away would make an outage of
    // it.
    let degraded = if call.gateway.store.is_answering().await { Vec::new() } else { vec!["database"] };
    let connectors = call.gateway.registry.live().len();
    Ok(json_answer(&json!(ReadinessRecord { status: "ready", connectors, degraded })))
}

/// GET /metrics.
pub(super) async fn get_metrics(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let memory = call.gateway.egress.memory();
    let metrics = &call.gateway.metrics;
    metrics.memory_held.set(memory.held().try_into().unwrap_or(i64::MAX));
    metrics.memory_limit.set(memory.limit().try_into().unwrap_or(i64::MAX));
    let text = metrics
        .encode()
        .map_err(|error| problem::INTERNAL.with_detail(format!("The metrics cannot be written: {error}.")))?;
    Ok(answer_of_type(text, "application/openmetrics-text; version=1.0.0; charset=utf-8"))
}

/// GET /openapi.json. With `?connector=…` it has the operations of this connector only. With
/// `?answers=typed` it has all that is known of the answers of operations.
pub(super) async fn get_description(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, routes, .. } = call;
    let query = head.uri.query().unwrap_or_default();
    let (mut one, mut answers) = (None, Answers::Plain);
    problem::read_query(query, &["connector", "answers"], |name, value| {
        if name == "connector" {
            one.get_or_insert_with(|| value.to_owned());
        } else if value == TYPED {
            answers = Answers::Typed(&gateway.registry);
        } else {
            return Err(format!("It must be `{TYPED}`, or left out."));
        }
        Ok(())
    })?;
    let (descriptions, description) = match answers {
        Answers::Plain => (&gateway.descriptions, &gateway.description),
        Answers::Typed(_) => (&gateway.typed_descriptions, &gateway.typed_description),
    };
    if let Some(one) = one {
        let connector = connectors::live_connector(gateway, &one)?;
        let describe = || {
            let described = descriptions.get(&gateway.registry, |_| Mutex::default());
            let make = || tagged_text(openapi::document_of(&gateway.config, &connector, answers).to_string());
            Arc::clone(described.lock().entry(connector.digest().to_owned()).or_insert_with(|| Arc::new(make())))
        };
        let description = compute::run(compute::LARGE_BYTES, describe).await;
        return Ok(tagged_answer(&head.headers, &description));
    }
    // It has every schema of every live connector.
    let make = |live: &Live| tagged_text(openapi::document(&gateway.config, live, routes, answers).to_string());
    let describe = || description.get(&gateway.registry, make);
    let description = compute::run(compute::LARGE_BYTES, describe).await;
    Ok(tagged_answer(&head.headers, &description))
}
