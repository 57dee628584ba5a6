//! The API's description: an OpenAPI 3.1 document, made from the table of routes and the manifests of the live connectors.
//!
//! - [`gateway`], [`lifecycle`], [`webhooks`], [`jobs`]: the entries of the table's routes
//! - [`operation`]: the entries of the connectors' operations

pub(super) mod gateway;
pub(super) mod jobs;
pub(super) mod lifecycle;
mod operation;
pub(super) mod webhooks;

use serde_json::{Map, Value, json};

pub(super) use self::operation::{effect, pagination};

use super::once;
use super::problem::KINDS;
use super::route::{Description, Endpoint, Family, Handler, Route};
use crate::auth::Scope;
use crate::config::Config;
use crate::registry::{Connector, Registry};
use contract::{Answer, AuthScheme, Effect};

/// Describes the API with the connectors that are live now.
pub(super) fn document(config: &Config, registry: &Registry, routes: &[Route]) -> Value {
    let live = registry.live();
    let mut connectors: Vec<&Connector> = live.values().map(|connector| &**connector).collect();
    connectors.sort_by_key(|connector| connector.name());
    let mut paths = gateway_paths(routes);
    let mut tags = vec![
        json!({"name": "gateway", "description": "The gateway itself."}),
        json!({"name": "integrations", "description": "Accounts that users have connected."}),
        json!({"name": "jobs", "description": "Operations that run in the background."}),
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
            let mut parameters = vec![json!({"$ref": "#/components/parameters/Prefer"})];
            parameters.push(json!({"$ref": "#/components/parameters/RequestTimeout"}));
            if operation.manifest.answer != Answer::Json {
                parameters.push(json!({"$ref": "#/components/parameters/Range"}));
                item["post"]["responses"]["206"] = json!({"$ref": "#/components/responses/Part"});
            }
            if operation.manifest.effect != Effect::Read {
                parameters.push(json!({"$ref": "#/components/parameters/IdempotencyKey"}));
                item["post"]["responses"]["409"] = json!({"$ref": "#/components/responses/Conflict"});
            }
            if !matches!(manifest.auth, AuthScheme::None) {
                parameters.push(json!({"$ref": "#/components/parameters/UserIdentifier"}));
                item["post"]["responses"]["424"] = json!({"$ref": "#/components/responses/AccountNeeded"});
            }
            item["post"]["parameters"] = parameters.into();
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
        "servers": [{"url": config.public_url.as_str().trim_end_matches('/')}],
        "security": [{"bearer": []}],
        "tags": tags,
        "paths": paths,
        "webhooks": webhooks::messages(),
        "components": components(),
    })
}

fn join_lines(one: &str, other: &str) -> String {
    if other.is_empty() { one.to_owned() } else { format!("{one}\n\n{other}") }
}

/// The paths of the table, but for the operations' path: each live connector lists its own operations.
fn gateway_paths(routes: &[Route]) -> Map<String, Value> {
    let mut paths = Map::new();
    for route in routes {
        let mut item = Map::new();
        for endpoint in route.methods {
            if let Some(description) = &endpoint.description {
                let entry = gateway_operation(route, endpoint, description);
                item.insert(endpoint.method.as_str().to_ascii_lowercase(), entry);
            }
        }
        if item.is_empty() {
            continue;
        }
        let parameters: Vec<Value> = route.path.split('/').filter_map(path_parameter).collect();
        if !parameters.is_empty() {
            item.insert("parameters".to_owned(), parameters.into());
        }
        paths.insert(route.path.to_owned(), item.into());
    }
    paths
}

/// The Operation Object of one endpoint.
fn gateway_operation(route: &Route, endpoint: &Endpoint, description: &Description) -> Value {
    let tag = match route.family {
        Family::Integrations => "integrations",
        Family::Jobs => "jobs",
        _ => "gateway",
    };
    let mut entry = (description.members)();
    entry["operationId"] = format!("{tag}.{}", description.id).into();
    entry["tags"] = json!([tag]);
    entry["summary"] = description.summary.into();
    match endpoint.handler {
        Handler::Public(_) => entry["security"] = json!([]),
        Handler::Known(_) => {}
        Handler::Operator(_) => needs(&mut entry, Scope::Admin),
        Handler::Scoped(scope, _) => needs(&mut entry, scope),
    }
    entry
}

/// Says which scope an operation needs.
fn needs(entry: &mut Value, scope: Scope) {
    let needs = format!("Needs the scope `{}`.", scope.name());
    let more = entry["description"].as_str().map(|more| format!(" {more}"));
    entry["description"] = (needs + &more.unwrap_or_default()).into();
}

/// The Parameter Object of a segment in braces.
fn path_parameter(segment: &str) -> Option<Value> {
    let name = segment.strip_prefix('{')?.strip_suffix('}')?;
    let description = match name {
        "connector" => "Identifier of a connector; GET /connectors lists the live ones.",
        "user_identifier" => "The integration's identifier, percent-encoded.",
        "job_id" => "The job's id.",
        "secret_id" => "The id of a webhook secret; GET /webhooks/secrets lists them.",
        _ => "",
    };
    Some(json!({
        "name": name, "in": "path", "required": true, "schema": {"type": "string"}, "description": description,
    }))
}

fn components() -> Value {
    let urns: Vec<String> = KINDS.iter().map(|kind| kind.urn()).collect();
    let text = json!({"type": "string"});
    let mut components = json!({
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "description": "An API key, `cgw_…`."}},
        "parameters": {"UserIdentifier": {
            "name": "X-User-Identifier", "in": "header", "required": false, "schema": text,
            "description": "The integration to run on; without it the selected one, else the only one. An empty or repeated header is \
                            refused.",
        }, "Prefer": {
            "name": "Prefer", "in": "header", "required": false, "schema": text, "example": "wait=10",
            "description": "`wait=N` ends the call after N seconds at most (RFC 7240).",
        }, "RequestTimeout": {
            "name": "Request-Timeout", "in": "header", "required": false, "schema": {"type": "integer", "minimum": 1},
            "description": "Ends the call after so many seconds at most.",
        }, "Range": {
            "name": "Range", "in": "header", "required": false, "schema": text, "example": "bytes=0-1023",
            "description": "The part of a file that is wanted as bytes, where the service has parts (RFC 9110, section 14.2).",
        }, "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header", "required": false,
            "schema": {"type": "string", "minLength": 1, "maxLength": once::MAX_KEY_CHARACTERS},
            "description": format!(
                "Makes the call run once, also if it is sent again: a repeat gets the first answer, with `Idempotent-Replayed: true`. \
                 Answers of at most {} bytes are kept for 24 hours. A call that surely did nothing gives its key back.",
                once::MAX_KEPT_BYTES
            ),
        }},
        "headers": {
            "RequestId": {"description": "Names the request in the gateway's log.", "schema": text},
            "IdempotentReplayed": {
                "description": "`true` if this is the first answer to a call with the same Idempotency-Key.",
                "schema": {"enum": ["true"]},
            },
            "RateLimit": {
                "description": "The gateway's own rate limit: calls that are left (`r`), and seconds until there are more (`t`).",
                "schema": text,
            },
            "RateLimitPolicy": {
                "description": "The gateway's own rate limit: calls (`q`) in a window of seconds (`w`).", "schema": text,
            },
            "UpstreamRateLimit": {"description": "The rate limit of the service, as the service says it.", "schema": text},
            "UpstreamRequestId": {"description": "The service's id of the request.", "schema": text},
            "UpstreamLink": {
                "description": "The header `Link` of the service (RFC 8288), where it tells of further pages.", "schema": text,
            },
        },
        "responses": {
            "ValidationError": {
                "description": "Validation Error",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ValidationProblem"}}},
            },
            "Part": {
                "description": "The part of the file that `Range` names.",
                "headers": {"Content-Range": {"schema": text}},
                "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
            },
            "Conflict": {
                "description": "A conflict that the service reports; or the first call with this Idempotency-Key still runs, or nobody \
                                knows what it did (`outcome`).",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
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
                    "owner": {"enum": ["caller", "user", "operator", "connector", "provider"], "description": "Who can fix it."},
                    "retryable": {
                        "type": "boolean",
                        "description": "`true` if the same call may succeed later, and if repeating it is safe: it reads, or it surely \
                                        changed nothing.",
                    },
                    "outcome": {
                        "enum": ["unknown", "succeeded"],
                        "description": "`unknown`: the call may have changed data, so look before you repeat it. `succeeded`: it has \
                                        succeeded, and its answer was not kept.",
                    },
                    "upstream": {
                        "type": "object",
                        "description": "The service's own answer, unchanged.",
                        "properties": {
                            "status": {"type": "integer"}, "body": {},
                            "truncated": {"const": true, "description": "The body is longer than it is shown."},
                        },
                    },
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
        schemas.append(&mut jobs::schemas());
    }
    components
}
