//! The API's own description: an OpenAPI 3.1 document, made from the manifests of the live connectors.

mod lifecycle;
mod operation;

use serde_json::{Map, Value, json};

use crate::api::problem::KINDS;
use crate::config::Config;
use crate::registry::{Connector, Registry};
use contract::AuthScheme;

/// Describes the API with the connectors that are live now.
pub fn of_registry(config: &Config, registry: &Registry) -> Value {
    let live = registry.live();
    let mut connectors: Vec<&Connector> = live.values().map(|connector| &**connector).collect();
    connectors.sort_by_key(|connector| connector.name());
    document(config.public_url.as_str(), &connectors)
}

/// Describes the API with these connectors. `public_url` is where callers find it.
fn document(public_url: &str, connectors: &[&Connector]) -> Value {
    let mut paths = system_paths();
    paths.append(&mut lifecycle::paths());
    let mut tags = vec![
        json!({"name": "gateway", "description": "The gateway itself."}),
        json!({"name": "integrations", "description": "The accounts that users have connected."}),
    ];
    for connector in connectors {
        let manifest = connector.manifest();
        tags.push(json!({
            "name": manifest.identifier,
            "description": join_lines(&manifest.title, &manifest.description),
        }));
        for operation in connector.operations() {
            let path = format!("/connectors/{}/{}", manifest.identifier, operation.manifest.path);
            let mut item = operation::path_item(&manifest.identifier, operation);
            if !matches!(manifest.auth, AuthScheme::None) {
                item["post"]["parameters"] = json!([{"$ref": "#/components/parameters/UserIdentifier"}]);
                item["post"]["responses"]["424"] = json!({"$ref": "#/components/responses/AccountNeeded"});
            }
            paths.insert(path, item);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Connector Gateway",
            "version": env!("CARGO_PKG_VERSION"),
            "description": format!(
                "Many third-party services through one scheme: each operation is a POST of JSON, and answers are shaped by \
                 `response_filters` and `response_fields`. Errors are problem details (RFC 9457).\n\n{}",
                operation::PAGINATION
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": public_url.trim_end_matches('/')}],
        "security": [{"bearer": []}],
        "tags": tags,
        "paths": paths,
        "components": components(),
    })
}

fn join_lines(one: &str, other: &str) -> String {
    if other.is_empty() { one.to_owned() } else { format!("{one}\n\n{other}") }
}

fn system_paths() -> Map<String, Value> {
    let ok = |description: &str, schema: Value| {
        json!({
            "200": {"description": description, "content": {"application/json": {"schema": schema}}},
            "default": {"$ref": "#/components/responses/Problem"},
        })
    };
    let object = || json!({"type": "object"});
    let connector = json!({"name": "connector", "in": "path", "required": true, "schema": {"type": "string"}});
    let mut paths = Map::new();
    let mut get = |path: &str, id: &str, summary: &str, open: bool, responses: Value| {
        let mut operation = json!({"operationId": id, "tags": ["gateway"], "summary": summary, "responses": responses});
        if open {
            operation["security"] = json!([]);
        }
        paths.insert(path.to_owned(), json!({"get": operation}));
    };
    get(
        "/connectors",
        "gateway.connectors",
        "The live connectors, and modules that were refused, with the reason.",
        false,
        ok("Connectors.", object()),
    );
    get("/healthz", "gateway.healthz", "Whether the process lives.", true, ok("It does.", object()));
    get("/readyz", "gateway.readyz", "Whether it takes requests.", true, ok("It does.", object()));
    get("/openapi.json", "gateway.openapi", "This document.", true, ok("This document.", object()));
    get(
        "/metrics",
        "gateway.metrics",
        "Counters and histograms for Prometheus.",
        true,
        json!({"200": {"description": "OpenMetrics text.", "content": {"application/openmetrics-text": {"schema": {"type": "string"}}}}}),
    );
    paths.insert("/admin/connectors".to_owned(), json!({"post": {
        "operationId": "gateway.connectors.install", "tags": ["gateway"],
        "summary": "Installs a module, or swaps a newer version in.",
        "description": "Needs the scope `admin`. The body is the component; `grant` names hosts that it may reach.",
        "parameters": [{
            "name": "grant", "in": "query", "schema": {"type": "array", "items": {"type": "string"}},
            "style": "form", "explode": true,
        }],
        "requestBody": {"required": true, "content": {"application/wasm": {"schema": {"type": "string", "format": "binary"}}}},
        "responses": ok("The connector as it is now live.", object()),
    }}));
    paths.insert(
        "/admin/connectors/{connector}".to_owned(),
        json!({
            "parameters": [connector],
            "delete": {
                "operationId": "gateway.connectors.remove", "tags": ["gateway"],
                "summary": "Removes a connector; calls under way end on it.",
                "responses": ok("It is removed.", object()),
            },
        }),
    );
    paths.insert(
        "/admin/connectors/{connector}/rollback".to_owned(),
        json!({
            "parameters": [connector],
            "post": {
                "operationId": "gateway.connectors.rollback", "tags": ["gateway"],
                "summary": "Swaps the version before the present one in.",
                "responses": ok("The connector as it is now live.", object()),
            },
        }),
    );
    paths
}

fn components() -> Value {
    let urns: Vec<String> = KINDS.iter().map(|kind| kind.urn()).collect();
    let text = json!({"type": "string"});
    let mut components = json!({
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "description": "An API key, `cgw_…`."}},
        "parameters": {"UserIdentifier": {
            "name": "X-User-Identifier", "in": "header", "required": false, "schema": text,
            "description": "The integration to run on; without it the selected one, else the only one.",
        }},
        "headers": {"RequestId": {"description": "Names the request in the gateway's log.", "schema": text}},
        "responses": {
            "ValidationError": {
                "description": "Validation Error",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ValidationProblem"}}},
            },
            "AccountNeeded": lifecycle::account_needed(),
            "Problem": {
                "description": "A problem (RFC 9457).",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
            },
        },
        "schemas": {
            "File": operation::file(),
            "ResponseFields": operation::response_fields(),
            "ResponseFilters": operation::response_filters(),
            "Problem": {
                "type": "object",
                "required": ["type", "title", "status", "detail", "instance", "owner", "retryable"],
                "properties": {
                    "type": {"type": "string", "format": "uri", "examples": urns},
                    "title": text, "status": {"type": "integer"}, "detail": text,
                    "instance": {"type": "string", "description": "The request's id."},
                    "owner": {"enum": ["caller", "user", "operator", "connector", "provider"], "description": "Who can mend it."},
                    "retryable": {"type": "boolean", "description": "Whether the same request may succeed later."},
                    "upstream": {"type": "object", "properties": {"status": {"type": "integer"}, "body": {}}},
                },
            },
            "ValidationProblem": {
                "allOf": [{"$ref": "#/components/schemas/Problem"}],
                "type": "object",
                "properties": {"errors": {"type": "array", "items": {
                    "type": "object", "required": ["pointer", "detail"],
                    "properties": {"pointer": {"type": "string", "description": "JSON Pointer (RFC 6901) into the body."}, "detail": text},
                }}},
            },
        },
    });
    if let Value::Object(schemas) = &mut components["schemas"] {
        schemas.append(&mut lifecycle::schemas());
    }
    components
}
