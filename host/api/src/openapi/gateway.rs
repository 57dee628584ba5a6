//! The gateway's own routes.

use serde_json::{Value, json};

use super::components::parameter_references;
use super::problems;
use super::schemas::reference;

/// Members of GET /connectors.
pub(crate) fn describe_connectors() -> Value {
    let described = with_tag(describe_answer("The connectors.", reference("Connectors")));
    saying(described, "The answer changes only when a connector changes, so send `If-None-Match`.")
}

/// Members of GET /healthz.
pub(crate) fn describe_health() -> Value {
    let described = describe_answer("The process runs.", reference("Health"));
    saying(described, "Needs no key. It does not say whether the gateway can answer calls: that is GET /readyz.")
}

/// Members of GET /readyz.
pub(crate) fn describe_readiness() -> Value {
    let described = describe_answer("The gateway takes requests.", reference("Readiness"));
    saying(described, "Needs no key. For load balancers: send calls to this gateway only while it answers 200.")
}

/// Members of GET /openapi.json.
pub(crate) fn describe_openapi() -> Value {
    let mut members =
        with_tag(describe_answer("This document.", json!({"type": "object", "additionalProperties": true})));
    if let Some(parameters) = members["parameters"].as_array_mut() {
        parameters.push(json!({
            "name": "connector", "in": "query", "schema": {"type": "string"},
            "description": "Leaves out everything but the operations of this connector.",
        }));
        parameters.push(json!({
            "name": "answers", "in": "query", "schema": {"type": "string", "enum": ["typed"]},
            "description": "With `typed`, the answers of operations have all members that are known of them, and generators make types of them.",
        }));
    }
    saying(members, "Needs no key. It changes only when a connector changes, so send `If-None-Match`.")
}

/// Members of GET /docs.
pub(crate) fn describe_docs() -> Value {
    let described = json!({"responses": {
        "200": {"description": "The page.", "headers": problems::headers([problems::REQUEST_ID]), "content": {"text/html": {"schema": {"type": "string"}}}},
    }});
    saying(described, "Needs no key. The page can send calls with a key, and forgets the key when it is closed.")
}

/// The members with a description.
fn saying(mut members: Value, description: &str) -> Value {
    members["description"] = description.into();
    members
}

/// Members of a document that the caller may keep and ask about again.
fn with_tag(mut members: Value) -> Value {
    members["parameters"] = parameter_references(&["IfNoneMatch"]);
    let named = [problems::REQUEST_ID, ("ETag", "ETag"), ("Content-Encoding", "ContentEncoding"), ("Vary", "Vary")];
    members["responses"]["200"]["headers"] = problems::headers(named);
    members["responses"]["304"] = json!({"$ref": "#/components/responses/NotModified"});
    members
}

/// Members of GET /metrics.
pub(crate) fn describe_metrics() -> Value {
    let text = json!({"schema": {"type": "string"}});
    json!({"responses": {
        "200": {"description": "OpenMetrics text.", "headers": problems::headers([problems::REQUEST_ID]), "content": {"application/openmetrics-text": text}},
    }})
}

/// Members of POST /admin/connectors.
pub(crate) fn describe_install() -> Value {
    let mut members = describe_changed_connector();
    members["description"] =
        "The body is the component. `grant` names a host that it may reach, in addition to the hosts that are granted already. With \
                              `accept` it may request more than the previous version. With `accept` and `grant_asked`, the hosts that it asks for are granted too. With `replace_shipped` it may replace a connector that came with the gateway."
            .into();
    members["responses"]["200"]["headers"] =
        problems::headers([problems::REQUEST_ID, ("Idempotent-Replayed", "IdempotentReplayed")]);
    members["parameters"] = json!([
        {"$ref": "#/components/parameters/IdempotencyKey"},
        {
            "name": "grant", "in": "query", "schema": {"type": "array", "items": {"type": "string"}},
            "style": "form", "explode": true,
        },
        {"name": "accept", "in": "query", "schema": {"type": "boolean", "default": false}},
        {"name": "grant_asked", "in": "query", "schema": {"type": "boolean", "default": false}},
        {"name": "replace_shipped", "in": "query", "schema": {"type": "boolean", "default": false}},
        {
            "name": "X-Module-Signature", "in": "header", "schema": {"type": "string", "contentEncoding": "base64"},
            "description": "The file MODULE.wasm.minisig, encoded as base64. Needed if the configuration has publishers in `[trust]`.",
        },
    ]);
    add_change_parameters(&mut members);
    members["requestBody"] = json!({
        "required": true,
        "content": {"application/wasm": {"schema": {"type": "string", "format": "binary"}}},
    });
    with_problems(members, &["507"])
}

/// Members of DELETE /admin/connectors/{connector}.
pub(crate) fn describe_removed() -> Value {
    let mut members = with_change_problems(describe_answer("The connector is removed.", reference("ConnectorRemoved")));
    add_change_parameters(&mut members);
    members
}

/// Members of a route that changes a connector and answers with it.
pub(crate) fn describe_changed_connector() -> Value {
    with_change_problems(describe_answer("The connector as it is live now.", reference("InstalledConnector")))
}

/// Members of POST /admin/connectors/{connector}/rollback.
pub(crate) fn describe_rolled_back() -> Value {
    let mut members = describe_changed_connector();
    members["parameters"] = json!([{
        "name": "to", "in": "query", "schema": {"type": "string", "minLength": 1},
        "description": "The version in its manifest, or at least six digits of the digest of its module.",
    }]);
    add_change_parameters(&mut members);
    members
}

/// Adds the parameters of a route that changes the module of a connector.
fn add_change_parameters(members: &mut Value) {
    let parameters = [
        json!({
            "name": "If-Match", "in": "header", "schema": {"type": "string"},
            "description": "The generation that the change replaces, in quotes. If it is no longer the present one, nothing changes.",
        }),
        json!({
            "name": "wait", "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": 60},
            "description": "Seconds to wait until each ready gateway serves or refuses the change. The answer then has `gateways`.",
        }),
    ];
    match members["parameters"].as_array_mut() {
        Some(known) => known.extend(parameters),
        None => members["parameters"] = json!(parameters),
    }
}

fn with_change_problems(members: Value) -> Value {
    with_problems(members, &["409", "412"])
}

/// Members of a route that answers with the history.
pub(crate) fn describe_history() -> Value {
    let mut members = describe_answer("The changes.", reference("ConnectorHistory"));
    members["parameters"] = json!([{
        "name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
    }]);
    members
}

/// Members of a route that answers with grants.
pub(crate) fn describe_grants() -> Value {
    describe_answer("The hosts.", reference("ConnectorGrants"))
}

/// Members of a route that changes grants.
pub(crate) fn describe_changed_grants() -> Value {
    let mut members = with_conflict(describe_answer("The hosts of the connector now.", reference("ConnectorGrants")));
    members["parameters"] = json!([{
        "name": "host", "in": "query", "required": true, "style": "form", "explode": true,
        "schema": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    }]);
    members
}

/// Members with one JSON answer. The problems are added where the route is known.
pub(super) fn describe_answer(description: &str, schema: Value) -> Value {
    json!({"responses": {
        "200": {
            "description": description,
            "headers": problems::headers([("X-Request-Id", "RequestId")]),
            "content": {"application/json": {"schema": schema}},
        },
    }})
}

/// A parameter of a query.
pub(super) fn filter(name: &str, schema: Value, description: &str) -> Value {
    json!({"name": name, "in": "query", "schema": schema, "description": description})
}

/// The members of an endpoint that answers 201, and that takes an idempotency key.
pub(super) fn describe_created(description: &str, schema: Value) -> Value {
    let mut members = describe_answer(description, schema);
    let created = members["responses"]["200"].take();
    members["responses"] = json!({"201": created});
    members["responses"]["201"]["headers"] =
        problems::headers([("X-Request-Id", "RequestId"), ("Idempotent-Replayed", "IdempotentReplayed")]);
    members["parameters"] = parameter_references(&["IdempotencyKey"]);
    members
}

/// Adds problems that the route may answer with.
pub(super) fn with_problems(mut members: Value, statuses: &[&str]) -> Value {
    if let Some(Value::Object(responses)) = members.get_mut("responses") {
        responses.extend(problems::refusals(statuses));
    }
    members
}

fn with_conflict(members: Value) -> Value {
    with_problems(members, &["409"])
}
