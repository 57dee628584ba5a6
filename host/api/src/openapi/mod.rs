//! The API's description: an OpenAPI 3.1 document, made from the table of routes and the manifests
//! of the live connectors.
//!
//! - [`gateway`]: the entries of the gateway's own routes
//! - [`lifecycle`]: the entries of the routes of integrations
//! - [`lists`]: the parameters of lists that have pages
//! - [`webhooks`]: the entries of the routes of webhook secrets, and the webhooks
//! - [`console`]: the entries of the routes of the console's sessions
//! - [`tool_sets`]: the entries of the routes of tool sets
//! - [`agent_sessions`]: the entries of the routes of agent sessions
//! - [`triggers`]: the entries of the routes of triggers, of inboxes and of requests of services
//! - [`proxy`]: the entries of requests around the operations
//! - [`operation`]: the entries of the connectors' operations
//! - [`notes`]: the descriptions of operations that have none
//! - [`explanation`]: the text about all of them
//! - [`schemas`]: the schemas of connectors, each under its own name
//! - [`records`]: the schemas of the gateway's own bodies and answers
//! - [`problems`]: problems and their responses
//! - [`components`]: parameters and headers that entries share

pub(super) mod agent_sessions;
mod components;
pub(super) mod connect;
pub(super) mod console;
mod explanation;
pub(super) mod gateway;
pub(super) mod lifecycle;
mod lists;
mod notes;
mod operation;
pub(super) mod operator;
mod problems;
pub(super) mod proxy;
mod records;
mod schemas;
pub(super) mod tool_sets;
pub(super) mod triggers;
pub(super) mod webhooks;

use serde_json::{Map, Value, json};

use self::schemas::{Schemas, reference};
use auth::Scope;
use config::Config;
use contract::AnswerSchemas;
use endpoint::route::{Description, Endpoint, Family, Handler, Members, Query, Route};
use registry::{Connector, Live, Registry};

/// The answers of operations in a document.
#[derive(Clone, Copy)]
pub(super) enum Answers<'a> {
    /// As the manifests describe them.
    Plain,
    /// With all that is known of them, which the registry reads.
    Typed(&'a Registry),
}

/// Describes the API with these connectors.
pub(super) fn document(config: &Config, live: &Live, routes: &[&[Route]], answers: Answers<'_>) -> Value {
    let mut connectors: Vec<&Connector> = live.values().map(|connector| &**connector).collect();
    connectors.sort_by_key(|connector| connector.name());
    let mut parts = Parts { paths: gateway_paths(routes), ..Parts::new() };
    parts.tags = vec![
        json!({"name": "gateway", "description": "The gateway itself."}),
        json!({"name": "integrations", "description": "Accounts that users have connected."}),
        json!({"name": "proxy", "description": "Requests to the services of connectors, around their operations."}),
        json!({"name": "jobs", "description": "Operations that run in the background."}),
        json!({"name": "webhooks", "description": "The secrets that webhooks are signed with."}),
        json!({"name": "tool-sets", "description": "The operations that agents get at one address."}),
        json!({"name": "agent-sessions", "description": "Tokens for agents, each for one address."}),
        json!({"name": "triggers", "description": "Events of services that reach the caller."}),
        json!({"name": "messages", "description": "Webhooks: requests that the gateway sends."}),
    ];
    for connector in connectors {
        parts.add(connector, config, answers);
    }
    let mut document = parts.into_document(config);
    document["webhooks"] = webhooks::messages();
    document
}

/// Describes the operations of one connector.
pub(super) fn document_of(config: &Config, connector: &Connector, answers: Answers<'_>) -> Value {
    let mut parts = Parts::new();
    parts.add(connector, config, answers);
    parts.into_document(config)
}

/// The parts of a document that connectors add to.
struct Parts {
    tags: Vec<Value>,
    paths: Map<String, Value>,
    schemas: Schemas,
}

impl Parts {
    /// The parts without connectors. The gateway's own schemas come first, so that they keep their
    /// names.
    fn new() -> Self {
        let mut schemas = Schemas::default();
        schemas.extend(gateway_schemas());
        Self { tags: Vec::new(), paths: Map::new(), schemas }
    }

    fn add(&mut self, connector: &Connector, config: &Config, answers: Answers<'_>) {
        let manifest = connector.manifest();
        let about = join_lines(&manifest.title, &manifest.description);
        let seconds = connector.timeout().as_secs();
        let page = format!("{}/docs/{}", root(config), manifest.identifier);
        self.tags.push(json!({
            "name": manifest.identifier,
            "description": format!("{about}\n\nA call ends after {seconds} s."),
            "externalDocs": {"url": page, "description": "A page with these operations only"},
        }));
        let further = match answers {
            Answers::Plain => AnswerSchemas::default(),
            Answers::Typed(registry) => registry.answer_schemas(connector),
        };
        for operation in connector.operations() {
            let path = format!("/connectors/{}/{}", manifest.identifier, operation.manifest.path);
            self.paths.insert(path, operation::path_item(connector, operation, &further, &mut self.schemas));
        }
    }

    fn into_document(self, config: &Config) -> Value {
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Connector Gateway",
                "version": env!("CARGO_PKG_VERSION"),
                "description": explanation::explanation(config),
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": root(config)}],
            "security": [{"bearer": []}],
            "tags": self.tags,
            "paths": self.paths,
            "components": {
                "securitySchemes": {"bearer": {
                    "type": "http", "scheme": "bearer", "description": "An API key, `cgw_…`, or a JWT of an issuer that the operator trusts.",
                }},
                "parameters": components::parameters(),
                "headers": components::headers(),
                "responses": responses(),
                "schemas": self.schemas.into_component(),
            },
        })
    }
}

/// The address of the gateway, without a slash at its end.
fn root(config: &Config) -> &str {
    config.public_url.as_str().trim_end_matches('/')
}

fn join_lines(one: &str, other: &str) -> String {
    if other.is_empty() { one.to_owned() } else { format!("{one}\n\n{other}") }
}

/// The paths of the table, but for the operations' path: each live connector lists its own
/// operations.
fn gateway_paths(routes: &[&[Route]]) -> Map<String, Value> {
    let mut paths = Map::new();
    for route in routes.iter().copied().flatten() {
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
        Family::Proxy => "proxy",
        Family::Webhooks => "webhooks",
        Family::ToolSets => "tool-sets",
        Family::AgentSessions => "agent-sessions",
        Family::Triggers => "triggers",
        _ => "gateway",
    };
    let mut entry = match description.members {
        Members::Record(about, record) => gateway::describe_answer(about, reference(record)),
        Members::By(describe) => describe(),
    };
    if let Query::Page(sizes, filters) = endpoint.query {
        entry["parameters"] = lists::parameters(sizes, &filters());
    }
    if !endpoint.method.is_safe() && !matches!(route.family, Family::Proxy | Family::Mcp) {
        add_reason(&mut entry);
    }
    add_refusals(&mut entry, route, endpoint);
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

/// Adds the parameter with the reason of a change.
fn add_reason(entry: &mut Value) {
    let reason = components::parameter_references(&["Reason"]);
    match (entry.get_mut("parameters").and_then(Value::as_array_mut), reason) {
        (Some(parameters), Value::Array(reason)) => parameters.extend(reason),
        (_, reason) => entry["parameters"] = reason,
    }
}

/// Adds the problems that a route may answer with because of its path, its callers and its body.
fn add_refusals(entry: &mut Value, route: &Route, endpoint: &Endpoint) {
    let mut statuses = vec!["400", "503"];
    if !matches!(endpoint.handler, Handler::Public(_)) {
        statuses.extend(["401", "403", "500"]);
    }
    if route.path.contains('{') {
        statuses.push("404");
    }
    if entry.get("requestBody").is_some() {
        statuses.extend(["413", "415"]);
    }
    if entry.get("requestBody").is_some() || !matches!(endpoint.query, Query::Any) {
        statuses.push("422");
    }
    if let Some(Value::Object(responses)) = entry.get_mut("responses") {
        for (status, response) in problems::refusals(&statuses) {
            responses.entry(status).or_insert(response);
        }
    }
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
        "upstream" => "The name of an upstream of the connector. An unknown name is 404 with the known ones.",
        "path" => "The rest of the path, with any number of segments. It is sent as it is.",
        "tenant" => "The tenant.",
        "oauth_client" => "The connector, or the provider of a connector that came with the gateway.",
        "authorization_id" => "The `authorization_id` of the answer that began the authorization.",
        "webhook_id" => "The webhook's id.",
        "request_id" => "The `X-Request-Id` of the answer, or the id of a job.",
        "job_id" => "The job's id.",
        "key_id" => "The id of an API key; GET /admin/keys lists them.",
        "integration_id" => "The id of an integration; GET /admin/integrations lists them.",
        "trigger_id" => "The id of a trigger.",
        "event_id" => "The id of an event, which is the `webhook-id` of its webhooks.",
        "inbox_id" => "The id of an inbox; GET /admin/inboxes lists them.",
        "inbox_secret_id" => "The id of a secret of the inbox; the inbox lists its secrets.",
        "set" => "The name of a tool set; GET /mcp-sets lists them.",
        "session_id" => "The id of an agent session; the answer that made it has it.",
        "secret_id" => "The id of a webhook secret; GET /webhooks/secrets lists them.",
        _ => "",
    };
    Some(json!({
        "name": name, "in": "path", "required": true, "schema": {"type": "string"}, "description": description,
    }))
}

/// The component `responses`.
fn responses() -> Map<String, Value> {
    let mut responses = problems::responses();
    let named = [
        ("X-Request-Id", "RequestId"),
        ("Content-Range", "ContentRange"),
        ("Content-Disposition", "ContentDisposition"),
    ];
    responses.insert(
        "Part".to_owned(),
        json!({
            "description": "The part of the file that `Range` names, with the media type of the file.",
            "headers": problems::headers(named.into_iter().chain(problems::UPSTREAM)),
            "content": {"application/octet-stream": operation::bytes(), "*/*": operation::bytes()},
        }),
    );
    responses.insert(
        "NotModified".to_owned(),
        json!({
            "description": "The document is the one that `If-None-Match` names.",
            "headers": problems::headers([problems::REQUEST_ID, ("ETag", "ETag"), ("Vary", "Vary")]),
        }),
    );
    responses
}

/// The schemas of everything but the connectors.
fn gateway_schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    for (name, schema) in [
        ("Answer", operation::answer()),
        ("File", operation::file()),
        ("ResponseFields", operation::response_fields()),
        ("ResponseFilters", operation::response_filters()),
        ("ResponseFilter", operation::response_filter()),
    ] {
        schemas.insert(name.to_owned(), schema);
    }
    schemas.extend(problems::schemas());
    schemas.extend(records::schemas());
    schemas
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::ROUTES;

    /// The names that the references in a part of the document have after this prefix.
    fn references<'a>(value: &'a Value, prefix: &str, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(prefix)));
                members.values().for_each(|member| references(member, prefix, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, prefix, found)),
            _ => {}
        }
    }

    #[test]
    fn no_tag_is_both_of_a_route_and_of_a_webhook() {
        let document = document(&Config::default(), &Live::default(), ROUTES, Answers::Plain);
        let tags = |part: &str| -> Vec<&Value> {
            let items = document[part].as_object().unwrap().values().filter_map(Value::as_object);
            items.flat_map(|item| item.values().filter_map(|operation| operation.pointer("/tags/0"))).collect()
        };
        let (routes, webhooks) = (tags("paths"), tags("webhooks"));
        assert!(!webhooks.is_empty() && webhooks.iter().all(|tag| !routes.contains(tag)), "{webhooks:?}");
        let names: Vec<&Value> = document["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
        assert!(routes.iter().chain(&webhooks).all(|tag| names.contains(tag)), "{names:?}");
    }

    #[test]
    fn every_route_says_what_a_caller_must_know() {
        let document = document(&Config::default(), &Live::default(), ROUTES, Answers::Plain);
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters") {
                assert!(operation["description"].as_str().is_some_and(|text| !text.is_empty()), "{method} {path}");
            }
        }
    }

    #[test]
    fn every_schema_is_used_and_every_reference_leads_to_one() {
        let document = document(&Config::default(), &Live::default(), ROUTES, Answers::Plain);
        let mut referenced = Vec::new();
        references(&document, "#/components/schemas/", &mut referenced);
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for name in &referenced {
            assert!(schemas.contains_key(*name), "`{name}` is referenced and not described");
        }
        // Operations of connectors refer to these, and this document has no operations.
        let of_operations = ["Answer", "File", "JobAccepted", "ResponseFields", "ResponseFilters"];
        for name in schemas.keys() {
            assert!(
                referenced.contains(&name.as_str()) || of_operations.contains(&name.as_str()),
                "`{name}` is not used"
            );
        }
    }
}
