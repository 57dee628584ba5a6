//! The product's connectors in a running gateway, compared with the catalogue.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use memchr::memmem;
use serde_json::{Map, Value, json};
use support::catalogue::{CONFIGURED, example, fields, operations, text};
use support::description::inlined;
use support::{Gateway, Setup, module};
use url::Url;

use super::schema;
use crate::lanes::init;

/// Hosts that a connector is granted in addition to the hosts of its upstreams, because the
/// upstream redirects to them.
const REDIRECT_HOSTS: [(&str, &[&str]); 4] = [
    ("preprint_archive", &["arxiv.org", "www.arxiv.org"]),
    ("office_drive", MICROSOFT_FILES),
    ("office_sites", MICROSOFT_FILES),
    ("kb_office_sites", MICROSOFT_FILES),
];

/// The hosts that the catalogue lists at each `download_item`.
const MICROSOFT_FILES: &[&str] = &[
    "1drv.com",
    "*.1drv.com",
    "microsoftpersonalcontent.com",
    "*.microsoftpersonalcontent.com",
    "onedrive.com",
    "*.onedrive.com",
    "onedrive.live.com",
    "*.onedrive.live.com",
    "sharepoint.com",
    "*.sharepoint.com",
    "storage.live.com",
    "*.storage.live.com",
    "svc.ms",
    "*.svc.ms",
];

/// Operations that only read, although their request is a POST.
const READS_BY_POST: [(&str, &str); 4] = [
    ("workspace_identity", "token_info"),
    ("workspace_calendar", "freebusy_query"),
    ("team_chat", "userinfo"),
    ("office_calendar", "get_schedule"),
];

/// Operations that destroy, although their request is a POST.
const DESTROYS_BY_POST: [(&str, &str); 1] = [("office_calendar", "permanently_delete_event")];

/// Members of every request's envelope.
const ENVELOPE: [&str; 2] = ["response_fields", "response_filters"];

/// Collects differences between connectors and catalogue.
pub(super) struct Comparison<'a> {
    connectors: &'a [Value],
    gateway: Gateway,
    /// The description of the API.
    description: Value,
    differences: Vec<String>,
}

impl<'a> Comparison<'a> {
    /// Starts a gateway with all connectors of the product. Each provider has a client whose id is
    /// the provider's name.
    pub(super) fn start(connectors: &'a [Value]) -> Self {
        let providers: BTreeSet<&str> = connectors
            .iter()
            .filter(|connector| connector["auth"] == "oauth2")
            .map(|connector| text(connector, "provider"))
            .collect();
        let clients = providers.into_iter().map(|provider| {
            format!("[oauth_clients.{provider}]\nclient_id = \"{provider}\"\nclient_secret = \"secret\"\n")
        });
        let setup = Setup::new().every_shipped().config(&clients.collect::<String>()).config(CONFIGURED);
        let gateway = setup.start();
        let description = inlined(gateway.anonymous().get("/openapi.json").ok());
        Self { connectors, gateway, description, differences: Vec::new() }
    }

    /// Number of a connector's operations in the description of the API.
    pub(super) fn described(&self, id: &str) -> usize {
        let paths = self.description["paths"].as_object().unwrap().keys();
        let own = paths.filter_map(|path| path.strip_prefix("/connectors/")?.split_once('/'));
        own.filter(|(connector, path)| *connector == id && self.is_operation(connector, path)).count()
    }

    /// Returns `true` for an operation, and `false` for another route of a connector.
    fn is_operation(&self, connector: &str, path: &str) -> bool {
        self.description["paths"][format!("/connectors/{connector}/{path}")]["post"]["x-effect"].is_string()
    }

    /// All differences, each as a sentence.
    pub(super) fn differences(mut self) -> Vec<String> {
        for connector in self.connectors {
            self.connector(connector);
        }
        self.differences
    }

    /// Notes a difference between a found and an expected value.
    fn same(&mut self, subject: impl Display, what: &str, found: &Value, expected: &Value) {
        if found != expected {
            let shown = |value: &Value| if value.is_null() { "absent".to_owned() } else { value.to_string() };
            let (found, expected) = (shown(found), shown(expected));
            self.differences.push(format!("{subject}: {what} {found}, in the catalogue {expected}"));
        }
    }

    fn connector(&mut self, connector: &Value) {
        let id = text(connector, "id");
        let Some(live) = self.gateway.connector(id) else {
            self.differences.push(format!("{id}: it is not live"));
            return;
        };
        self.same(id, "title is", &live["title"], &connector["title"]);
        self.same(id, "auth kind is", &live["auth_type"], &connector["auth"]);
        if connector["auth"] == "oauth2" {
            self.account(id, connector);
        }
        self.upstreams(id, connector, &live);

        let expected: BTreeMap<&str, &Value> =
            operations(connector).into_iter().map(|operation| (text(operation, "path"), operation)).collect();
        // The request of each live operation.
        let live: BTreeMap<&str, &Value> = live["operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|operation| (text(operation, "path"), &operation["sends"]))
            .collect();
        for path in live.keys().filter(|path| !expected.contains_key(*path)) {
            self.differences.push(format!("{id}/{path}: the catalogue has no such operation"));
        }
        for (path, operation) in expected {
            let Some(sends) = live.get(path) else {
                self.differences.push(format!("{id}/{path}: the connector has no such operation"));
                continue;
            };
            self.operation(id, connector, operation);
            // Conformance has the requests of functions.
            if operation["kind"] == "thin" && *sends != "code" {
                self.same(format!("{id}/{path}"), "request is", sends, &json!(request(operation)));
            }
        }
    }

    /// The authorization URL contains the id of the client that is configured for the connector's
    /// provider. It is absent if the connector names another provider.
    fn account(&mut self, id: &str, connector: &Value) {
        let begun = self.gateway.client().post(&format!("/connectors/{id}/integrations"), init()).json();
        let url = begun["authorization_url"].as_str().and_then(|url| Url::parse(url).ok());
        let client =
            url.map(|url| url.query_pairs().find(|(name, _)| name == "client_id").map(|(_, id)| id.into_owned()));
        self.same(id, "provider is", &json!(client), &connector["provider"]);
        let schema = self.gateway.client().get(&format!("/connectors/{id}/auth-schema")).ok();
        self.same(id, "scopes are", &schema["auth_types"][0]["scopes"], &connector["scopes"]);
    }

    /// No route shows the URLs of upstreams. GET /connectors shows their hosts, and the module must
    /// contain each URL.
    fn upstreams(&mut self, id: &str, connector: &Value, live: &Value) {
        let module = module::shipped(id);
        let redirects = REDIRECT_HOSTS.iter().find(|(name, _)| *name == id).map_or(&[][..], |(_, hosts)| hosts);
        let mut hosts: BTreeSet<String> = redirects.iter().map(|&host| host.to_owned()).collect();
        for (name, url) in connector["upstreams"].as_object().unwrap() {
            let url = url.as_str().unwrap();
            // The operator sets this URL.
            if url.starts_with("${") {
                continue;
            }
            hosts.insert(Url::parse(url).unwrap().host_str().unwrap().to_owned());
            if memmem::find(&module, url.as_bytes()).is_none() {
                self.differences.push(format!("{id}: upstream `{name}` is not at {url}"));
            }
        }
        if !hosts.is_empty() {
            self.same(id, "hosts are", &live["hosts"], &json!({"granted": hosts, "missing": []}));
        }
    }

    fn operation(&mut self, id: &str, connector: &Value, operation: &Value) {
        let subject = format!("{id}/{}", text(operation, "path"));
        let described = self.description["paths"][format!("/connectors/{subject}")]["post"].clone();
        self.same(&subject, "summary is", &described["summary"], &operation["summary"]);
        self.same(&subject, "effect is", &described["x-effect"], &json!(effect(id, operation)));
        let body = &described["requestBody"]["content"]["application/json"];
        self.same(&subject, "example is", &body["example"], &example(operation));

        let mut found = body["schema"]["properties"].as_object().cloned().unwrap_or_default();
        let envelope = ENVELOPE.map(|name| found.shift_remove(name).is_some());
        self.same(
            &subject,
            "envelope members are",
            &json!(envelope),
            &json!([&operation["envelope"], &operation["envelope"]]),
        );
        self.same(&subject, "refusal of other members is", &body["schema"]["additionalProperties"], &json!(false));
        self.same(
            &subject,
            "background is",
            &json!(found.contains_key("waiting")),
            &json!(operation["background"] == true),
        );
        let expected = fields(operation);
        let names = |fields: &Map<String, Value>| json!(fields.keys().collect::<Vec<_>>());
        self.same(&subject, "fields are", &names(&found), &names(&expected));
        let required: Vec<&String> =
            expected.iter().filter(|(_, field)| field["required"] == true).map(|(name, _)| name).collect();
        let found_required = body["schema"].get("required").cloned().unwrap_or_else(|| json!([]));
        self.same(&subject, "required fields are", &found_required, &json!(required));
        for (name, field) in &expected {
            let found = found.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
            if field["in"] == "path" && schema::accepts_empty(&found) {
                self.differences.push(format!("{subject}: field `{name}` may be empty, but it is a part of a path"));
            }
            let found = schema::without_descriptions_of_entries(schema::without_path_rules(field, found));
            let expected = schema::without_path_rules(field, schema::expected(connector, field));
            let keywords: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
            for keyword in keywords {
                // A field without a description in the catalogue may have one for agents.
                if keyword == "description" && !expected.contains_key(keyword) {
                    continue;
                }
                let value = |schema: &Map<String, Value>| schema.get(keyword).cloned().unwrap_or_default();
                let what = format!("field `{name}` has {keyword}");
                self.same(&subject, &what, &value(&found), &value(&expected));
            }
        }
    }
}

/// The effect that the HTTP methods of an operation's requests tell.
fn effect(id: &str, operation: &Value) -> &'static str {
    let calls = operation["calls"].as_array().into_iter().flatten().chain([&operation["request"]]);
    let methods: BTreeSet<&str> = calls.filter_map(|call| call["method"].as_str()).collect();
    let has = |method: &str| methods.contains(method);
    let listed = |list: &[(&str, &str)]| list.contains(&(id, text(operation, "path")));
    if has("DELETE") || has("PUT") || listed(&DESTROYS_BY_POST) {
        "destructive"
    } else if (has("POST") || has("PATCH")) && !listed(&READS_BY_POST) {
        "write"
    } else {
        "read"
    }
}

/// The request of a thin operation, as the gateway shows a row: `GET api /items/{id}?all=1&limit`.
fn request(operation: &Value) -> String {
    let request = &operation["request"];
    let fixed = request["fixed_query"].as_object().into_iter().flatten();
    let mut query: Vec<String> = fixed.map(|(name, value)| format!("{name}={}", value.as_str().unwrap())).collect();
    for (name, field) in fields(operation).iter().filter(|(_, field)| field["in"] == "query") {
        query.push(match field["names"].is_array() {
            true => format!("{{{name}}}"),
            false => field["upstream_name"].as_str().unwrap_or(name).to_owned(),
        });
    }
    let defaults = request["default_query"].as_object().into_iter().flatten();
    query.extend(defaults.map(|(name, value)| format!("[{name}={}]", value.as_str().unwrap())));
    let separator = if query.is_empty() { "" } else { "?" };
    let path = text(request, "path").replace("${", "{");
    let body = request["fixed_body"].as_object().map(|_| format!(" {}", request["fixed_body"])).unwrap_or_default();
    format!("{} {} {path}{separator}{}{body}", text(request, "method"), text(request, "upstream"), query.join("&"))
}
