//! The gateway's own routes.

use serde_json::{Map, Value, json};

use super::components::parameter_references;
use super::problems;
use super::schemas::reference;

/// Members of GET /connectors.
pub(in crate::api) fn connectors() -> Value {
    with_tag(ok("The connectors.", reference("Connectors")))
}

/// Members of GET /healthz.
pub(in crate::api) fn health() -> Value {
    ok("The process runs.", reference("Health"))
}

/// Members of GET /readyz.
pub(in crate::api) fn readiness() -> Value {
    ok("The gateway takes requests.", reference("Readiness"))
}

/// Members of GET /openapi.json.
pub(in crate::api) fn openapi() -> Value {
    let mut members = with_tag(ok("This document.", json!({"type": "object"})));
    if let Some(parameters) = members["parameters"].as_array_mut() {
        parameters.push(json!({
            "name": "connector", "in": "query", "schema": {"type": "string"},
            "description": "Leaves out everything but the operations of this connector.",
        }));
    }
    members
}

/// Members of GET /docs.
pub(in crate::api) fn docs() -> Value {
    json!({"responses": {
        "200": {"description": "The page.", "headers": problems::headers([problems::REQUEST_ID]), "content": {"text/html": {"schema": {"type": "string"}}}},
    }})
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
pub(in crate::api) fn metrics() -> Value {
    let text = json!({"schema": {"type": "string"}});
    json!({"responses": {
        "200": {"description": "OpenMetrics text.", "headers": problems::headers([problems::REQUEST_ID]), "content": {"application/openmetrics-text": text}},
    }})
}

/// Members of POST /admin/connectors.
pub(in crate::api) fn install() -> Value {
    let mut members = changed_connector();
    members["description"] =
        "The body is the component. `grant` names a host that it may reach, besides those that were granted before. With \
                              `accept` it may ask for more than the version before. With `replace_shipped` it may take the place of a connector that came with the gateway."
            .into();
    members["parameters"] = json!([
        {
            "name": "grant", "in": "query", "schema": {"type": "array", "items": {"type": "string"}},
            "style": "form", "explode": true,
        },
        {"name": "accept", "in": "query", "schema": {"type": "boolean", "default": false}},
        {"name": "replace_shipped", "in": "query", "schema": {"type": "boolean", "default": false}},
        {
            "name": "X-Module-Signature", "in": "header", "schema": {"type": "string", "contentEncoding": "base64"},
            "description": "The file MODULE.wasm.minisig, encoded as base64. Needed if the configuration has publishers in `[trust]`.",
        },
    ]);
    members["requestBody"] = json!({
        "required": true,
        "content": {"application/wasm": {"schema": {"type": "string", "format": "binary"}}},
    });
    members
}

/// Members of DELETE /admin/connectors/{connector}.
pub(in crate::api) fn removed() -> Value {
    with_conflict(ok("The connector is removed.", reference("ConnectorRemoved")))
}

/// Members of a route that changes a connector and answers with it.
pub(in crate::api) fn changed_connector() -> Value {
    with_conflict(ok("The connector as it is live now.", reference("InstalledConnector")))
}

/// Members of POST /admin/connectors/{connector}/rollback.
pub(in crate::api) fn rolled_back() -> Value {
    let mut members = changed_connector();
    members["parameters"] = json!([{
        "name": "to", "in": "query", "schema": {"type": "string", "minLength": 1},
        "description": "The version in its manifest, or at least six digits of the digest of its module.",
    }]);
    members
}

/// Members of GET /admin/connectors/{connector}/versions.
pub(in crate::api) fn versions() -> Value {
    ok("The versions that were live, with the present one.", reference("StoredVersions"))
}

/// Members of a route that answers with the history.
pub(in crate::api) fn history() -> Value {
    let mut members = ok("The changes.", reference("ConnectorHistory"));
    members["parameters"] = json!([{
        "name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
    }]);
    members
}

/// Members of a route that answers with grants.
pub(in crate::api) fn grants() -> Value {
    ok("The hosts.", reference("ConnectorGrants"))
}

/// Members of a route that changes grants.
pub(in crate::api) fn changed_grants() -> Value {
    let mut members = with_conflict(ok("The hosts of the connector now.", reference("ConnectorGrants")));
    members["parameters"] = json!([{
        "name": "host", "in": "query", "required": true, "style": "form", "explode": true,
        "schema": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    }]);
    members
}

/// Members with one JSON answer. The problems are added where the route is known.
pub(super) fn ok(description: &str, schema: Value) -> Value {
    json!({"responses": {
        "200": {
            "description": description,
            "headers": problems::headers([("X-Request-Id", "RequestId")]),
            "content": {"application/json": {"schema": schema}},
        },
    }})
}

/// Adds problems that the route may answer with.
pub(super) fn or(mut members: Value, statuses: &[&str]) -> Value {
    if let Some(Value::Object(responses)) = members.get_mut("responses") {
        responses.extend(problems::refusals(statuses));
    }
    members
}

fn with_conflict(members: Value) -> Value {
    or(members, &["409"])
}

/// The schemas that these routes use.
pub(super) fn schemas() -> Map<String, Value> {
    let text = || json!({"type": "string"});
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let maybe = |description: &str| json!({"type": ["string", "null"], "description": description});
    let all_of = |members: Value| {
        let required: Vec<String> = members.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        json!({"type": "object", "required": required, "properties": members})
    };
    let list = |name: &str| json!({"type": "array", "items": reference(name)});
    let mut schemas = Map::new();
    let mut add = |name: &str, schema: Value| schemas.insert(name.to_owned(), schema);
    add("Connectors", all_of(json!({"connectors": list("Connector"), "refused": list("RefusedModule")})));
    let connector = json!({
        "connector": {"type": "string", "description": "Its identifier, which is a part of paths."},
        "title": text(), "version": text(),
        "sha256": {"type": "string", "description": "Digest of the module in hexadecimal digits."},
        "shipped": {"type": "boolean", "description": "`true` if it came with the gateway."},
        "live_since": {"type": "string", "format": "date-time"},
        "auth_type": reference("AuthType"),
        "hosts": reference("ConnectorHosts"),
        "upstreams": list("ConnectorUpstream"),
        "imprint": reference("ConnectorImprint"),
        "operations": list("ConnectorOperation"),
    });
    let mut installed = connector.clone();
    installed["signature"] = json!({"anyOf": [reference("ModuleSignature"), {"type": "null"}]});
    installed["provider"] = maybe("The OAuth provider.");
    installed["scopes"] = texts();
    installed["settings"] = list("ConnectorSetting");
    add("Connector", all_of(connector));
    add("InstalledConnector", all_of(installed));
    add("ConnectorHosts", all_of(json!({"granted": texts(), "missing": texts()})));
    let credential = json!({"anyOf": [reference("CredentialPlace"), {"type": "null"}]});
    add(
        "ConnectorUpstream",
        all_of(
            json!({"name": text(), "host": maybe("Null if the operator has set no URL."), "link_hosts": texts(), "credential": credential}),
        ),
    );
    add(
        "CredentialPlace",
        all_of(json!({"in": {"type": "string", "enum": ["header", "query", "form_field"]}, "name": text()})),
    );
    add(
        "ConnectorImprint",
        all_of(json!({
            "license": text(), "homepage": {"type": ["string", "null"]}, "author": {"type": ["string", "null"]},
        })),
    );
    add(
        "ConnectorOperation",
        json!({
            "type": "object", "required": ["path", "summary", "effect"],
            "properties": {
                "path": text(), "summary": text(),
                "effect": {"type": "string", "enum": ["read", "write", "destructive"]},
                "x-pagination": {"type": "object", "description": "As in GET /openapi.json."},
            },
        }),
    );
    add(
        "RefusedModule",
        all_of(json!({
            "file": text(), "sha256": {"type": "string", "description": "Empty if the file cannot be read."},
            "reason": text(), "refused_at": {"type": "string", "format": "date-time"},
            "serving": maybe("Digest of the version that serves in its place."),
        })),
    );
    add("StoredVersions", all_of(json!({"versions": {"type": "array", "items": reference("StoredVersion")}})));
    add(
        "StoredVersion",
        all_of(json!({
            "version": maybe("The version in its manifest; null if the module is refused now."),
            "sha256": text(),
            "live_at": {"type": "string", "format": "date-time", "description": "The last time it became live."},
            "by": maybe("The actor that made it live; null if the history no longer says so."),
            "shipped": {"type": "boolean", "description": "True if it came with the gateway."},
            "live": {"type": "boolean", "description": "True if it is live now."},
        })),
    );
    add(
        "ModuleSignature",
        all_of(json!({
            "key": {"type": "string", "description": "The id of the key, as minisign writes it."},
            "publisher": maybe("The publisher in `[trust]` whose key it is; null if the configuration has no publishers."),
        })),
    );
    add("ConnectorSetting", all_of(json!({"name": text(), "default": maybe("As JSON."), "documentation": text()})));
    add("ConnectorGrants", all_of(json!({"grants": list("HostGrant")})));
    add(
        "HostGrant",
        all_of(json!({
            "connector": text(), "host": text(),
            "state": {
                "type": "string", "enum": ["granted", "configured", "missing", "unnamed"],
                "description": "`granted` by the operator; `configured`: allowed by the configuration or the manifest; `missing`: \
                                needed and not granted; `unnamed`: granted, and no upstream names it.",
            },
        })),
    );
    add("ConnectorHistory", all_of(json!({"changes": list("ConnectorChange")})));
    add(
        "ConnectorChange",
        all_of(json!({
            "at": {"type": "string", "format": "date-time"},
            "connector": text(),
            "action": {"type": "string", "enum": ["added", "replaced", "removed", "rolled_back", "granted", "revoked"]},
            "by": reference("ConnectorActor"),
            "version": text(), "sha256": text(),
            "detail": {"type": "string", "description": "Hosts that were granted or revoked, and what an update asked for. May be empty."},
        })),
    );
    add(
        "ConnectorActor",
        all_of(json!({
            "kind": {"type": "string", "enum": ["api_key", "token", "command_line", "modules_dir", "shipped_dir"]},
            "name": text(),
        })),
    );
    add("ConnectorRemoved", all_of(json!({"connector": text(), "removed": {"type": "boolean", "const": true}})));
    add("Health", all_of(json!({"status": {"type": "string", "const": "ok"}, "version": text()})));
    add(
        "Readiness",
        all_of(
            json!({"status": {"type": "string", "const": "ready"}, "connectors": {"type": "integer", "minimum": 0}}),
        ),
    );
    schemas
}
