//! The gateway's own routes.

use serde_json::{Value, json};

/// Members of GET /connectors.
pub(in crate::api) fn connectors() -> Value {
    with_tag(ok("The connectors.", object()))
}

/// Members of GET /healthz and /readyz.
pub(in crate::api) fn state() -> Value {
    ok("The gateway's state.", object())
}

/// Members of GET /openapi.json.
pub(in crate::api) fn openapi() -> Value {
    with_tag(ok("This document.", object()))
}

/// Members of a document that the caller may keep and ask about again.
fn with_tag(mut members: Value) -> Value {
    members["parameters"] = json!([{
        "name": "If-None-Match", "in": "header", "required": false, "schema": {"type": "string"},
        "description": "The `ETag` of an earlier answer.",
    }]);
    members["responses"]["200"]["headers"] = json!({"ETag": {"schema": {"type": "string"}}});
    members["responses"]["304"] = json!({"description": "The document is the one that `If-None-Match` names."});
    members
}

/// Members of GET /metrics.
pub(in crate::api) fn metrics() -> Value {
    let text = json!({"schema": {"type": "string"}});
    json!({"responses": {
        "200": {"description": "OpenMetrics text.", "content": {"application/openmetrics-text": text}},
    }})
}

/// Members of POST /admin/connectors.
pub(in crate::api) fn install() -> Value {
    let mut members = live_connector();
    members["description"] =
        "The body is the component. `grant` names a host that it may reach. With `replace_shipped` it may take \
                              the place of a connector that came with the gateway."
            .into();
    members["parameters"] = json!([
        {
            "name": "grant", "in": "query", "schema": {"type": "array", "items": {"type": "string"}},
            "style": "form", "explode": true,
        },
        {"name": "replace_shipped", "in": "query", "schema": {"type": "boolean", "default": false}},
    ]);
    members["requestBody"] = json!({
        "required": true,
        "content": {"application/wasm": {"schema": {"type": "string", "format": "binary"}}},
    });
    members
}

/// Members of DELETE /admin/connectors/{connector}.
pub(in crate::api) fn removed() -> Value {
    ok("The connector is removed.", object())
}

/// Members of a route that answers with a connector.
pub(in crate::api) fn live_connector() -> Value {
    ok("The connector as it is live now.", object())
}

fn object() -> Value {
    json!({"type": "object"})
}

/// Members with one JSON answer, and problems.
pub(super) fn ok(description: &str, schema: Value) -> Value {
    json!({"responses": {
        "200": {"description": description, "content": {"application/json": {"schema": schema}}},
        "default": {"$ref": "#/components/responses/Problem"},
    }})
}
