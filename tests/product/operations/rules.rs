//! The alert rules and the dashboard: what they name exists.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use support::webhooks::make_secret;
use support::{Authority, Client, Dialect, Gateway, OAuthProvider, Reply, Setup, Upstream, wait_for};

use super::{alerts, document, names};
use crate::integrations::{connect, registered};

/// Metrics of the rules that are not the gateway's: Prometheus itself and the blackbox exporter
/// make them.
const OF_OTHERS: [&str; 2] = ["up", "probe_ssl_earliest_cert_expiry"];

/// Labels that Prometheus adds to the metrics of each gateway.
const ADDED_LABELS: [&str; 2] = ["job", "instance"];

#[test]
fn each_alert_has_a_test_in_which_it_fires() {
    let tests = document("gateway.rules.test.yaml");
    let cases = tests["tests"].as_array().unwrap().iter().flat_map(|test| test["alert_rule_test"].as_array().unwrap());
    let firing = cases.filter(|case| case["exp_alerts"].as_array().is_some_and(|alerts| !alerts.is_empty()));
    let tested: BTreeSet<String> = firing.map(|case| case["alertname"].as_str().unwrap().to_owned()).collect();
    assert_eq!(tested, names());
}

/// The names of metrics in an expression of Prometheus, each with the labels in its braces.
fn metrics_in(expression: &str) -> Vec<(String, BTreeSet<String>)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in expression.match_indices("gateway_") {
        if expression[..at].ends_with(is_name) {
            continue;
        }
        let rest = &expression[at..];
        let (name, rest) = rest.split_at(rest.find(|c: char| !is_name(c)).unwrap_or(rest.len()));
        let selectors = rest.strip_prefix('{').and_then(|rest| rest.split('}').next()).unwrap_or_default();
        let labels = selectors.split(',').filter_map(|selector| Some(selector.split_once(['=', '!'])?.0.to_owned()));
        found.push((name.to_owned(), labels.collect()));
    }
    found
}

#[test]
fn the_metrics_of_an_expression_are_found_with_their_labels() {
    let found = metrics_in("sum(rate(gateway_a_total{status!=\"200\",le=~\"1|2\"}[5m])) / gateway_b > my_gateway_c");
    let labels = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(
        found,
        [("gateway_a_total".to_owned(), labels(&["status", "le"])), ("gateway_b".to_owned(), labels(&[]))]
    );
}

/// All expressions of the dashboard: of its panels and of its variables.
fn expressions(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let queries = variables.filter_map(|variable| variable["query"]["query"].as_str());
    targets.map(|target| target["expr"].as_str().unwrap()).chain(queries).map(str::to_owned).collect()
}

/// A gateway that has done each thing that it counts, so that each metric has a line.
fn busy_gateway() -> (Gateway, Upstream, OAuthProvider) {
    let receiver = Upstream::start();
    receiver.reply("*", Reply::empty(204));
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().guest("hostile").guest("notified").account("account", &provider);
    let setup = setup.provider("notified", &provider, &[("accounts", ""), ("api", "")]);
    let setup = setup.config("[callbacks]\nallow_private_network = true");
    let gateway = registered(setup.general("hooks.public_url = \"https://hooks.example\"").start(), &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    let id = client.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    client.request("POST", &format!("/admin/integrations/{id}/renew")).send().ok();
    client.call("account/forward", json!({"path": "/me"})).ok();
    client.call("hostile/grow_memory", json!({}));
    make_secret(&client);
    client.call("account/collect", json!({"path": "/me", "callback_urls": [receiver.url()]})).ok();
    receiver.wait_for_requests(1);
    notify(&gateway, &client);
    (gateway, receiver, provider)
}

/// An event is stored, a service refuses a subscription, and a notification that it did not send is
/// rejected.
fn notify(gateway: &Gateway, client: &Client) {
    let make = |connector: &str, kind: &str| {
        let made = client.post("/triggers", json!({"connector": connector, "type": kind}));
        assert_eq!(made.status, 201, "{}", made.text());
    };
    make("gateway", "integration_connected");
    connect(client, "notified", "ada");
    make("notified", "item");
    let inbox = client.post("/admin/inboxes", json!({"connector": "notified", "inbox": "signed"})).json();
    let path = inbox["url"].as_str().unwrap().strip_prefix("https://hooks.example").unwrap().to_owned();
    assert_eq!(gateway.anonymous().post(&path, json!({})).status, 401);
}

#[test]
fn each_metric_and_label_of_the_rules_and_the_dashboard_exists() {
    let dashboard = document("dashboard.json");
    let expressions: Vec<String> = alerts()
        .iter()
        .map(|alert| alert["expr"].as_str().unwrap().to_owned())
        .chain(expressions(&dashboard))
        .collect();
    let named: BTreeSet<_> = expressions.iter().flat_map(|expression| metrics_in(expression)).collect();
    // Metrics that no call makes: an expression without a metric of the gateway names one of others.
    let others = expressions.iter().filter(|expression| metrics_in(expression).is_empty());
    for expression in others {
        assert!(OF_OTHERS.iter().any(|name| expression.starts_with(name)), "{expression}");
    }
    let (gateway, _receiver, _provider) = busy_gateway();
    let lines = || gateway.client().get("/metrics").text();
    wait_for("the event to be counted", || lines().contains("gateway_trigger_events_total{").then_some(()));
    wait_for("the webhook to be counted", || lines().contains("gateway_webhooks_total{").then_some(()));
    wait_for("the database to be read", || lines().contains("gateway_fleet_gateways{").then_some(()));
    // A gateway without TLS has no certificate.
    let with_tls = Setup::new().tls(&Authority::new()).start();
    let text = lines() + &with_tls.client().get("/metrics").text();
    let mut served: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
        let labels = rest.trim_start_matches('{').split('}').next().unwrap_or_default();
        let labels = labels.split("\",").filter_map(|label| Some(label.split_once("=\"")?.0));
        served.entry(name).or_default().extend(labels);
    }
    for (name, labels) in &named {
        let known = served.get(name.as_str()).unwrap_or_else(|| panic!("the gateway has no metric {name}: {text}"));
        for label in labels.iter().filter(|label| !ADDED_LABELS.contains(&label.as_str())) {
            assert!(known.contains(label.as_str()), "{name} has no label {label}");
        }
    }
}

#[test]
fn each_panel_of_the_dashboard_has_a_place_and_a_title_of_its_own() {
    let dashboard = document("dashboard.json");
    let mut taken = BTreeSet::new();
    let mut titles = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        assert!(!title.is_empty() && titles.insert(title), "{title}");
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + w <= 24, "{title}");
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "{title} lies on another panel");
        }
    }
}
