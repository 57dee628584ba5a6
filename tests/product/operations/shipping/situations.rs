//! The situations of the alerts, made with real gateways. What `/metrics` says is given to
//! Prometheus' evaluation of the rules: the alert of the situation fires, and no other.
//!
//! Other alerts are not made here: `GatewayDown` reads a metric of Prometheus, `CertificateExpires`
//! compares with the time of day, which is 1970 in the evaluation, and `CallsFail`, `RefreshesFail`
//! and `CallRecordsDropped` need failures over minutes.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::TcpStream;

use serde_json::json;
use support::webhooks::make_secret;
use support::wire::{connection, head};
use support::{
    Dialect, Gate, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, module, process, programs, wait_for,
};
use tempfile::TempDir;

use crate::integrations::{connect, registered};
use crate::operations::{alerts, folder, names};

/// Minutes for which a gateway keeps showing the same numbers. Longer than each `for` of the rules.
const MINUTES: usize = 30;

fn metrics(gateway: &Gateway) -> String {
    gateway.client().get("/metrics").text()
}

/// The alerts that fire after a gateway has shown each of these texts for [`MINUTES`], one after
/// the other, as `promtool` evaluates the rules.
fn firing(texts: &[&str]) -> BTreeSet<String> {
    let expressions: String = alerts().iter().map(|alert| alert["expr"].as_str().unwrap().to_owned()).collect();
    let is_read = |series: &&str| expressions.contains(series.split('{').next().unwrap_or_default());
    let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with('#'));
    let series: BTreeSet<&str> = lines.filter_map(|line| Some(line.rsplit_once(' ')?.0)).filter(is_read).collect();
    let mut file = format!(
        "rule_files: [{:?}]\ntests:\n  - interval: 1m\n    input_series:\n",
        folder().join("gateway.rules.yaml")
    );
    for series in series {
        let values = texts.iter().map(|text| {
            let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
            value.map_or(format!("_x{MINUTES}"), |value| format!("{value}x{}", MINUTES - 1))
        });
        let values: Vec<String> = values.collect();
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let comma = if labels == "}" { "" } else { "," };
        let series = format!("{name}{{job=\"connector-gateway\",instance=\"a\"{comma}{labels}");
        writeln!(file, "      - {{series: '{series}', values: '{}'}}", values.join(" ")).unwrap();
    }
    file.push_str("    alert_rule_test:\n");
    for name in names() {
        let at = MINUTES * texts.len() - 1;
        writeln!(file, "      - {{eval_time: {at}m, alertname: {name}, exp_alerts: []}}").unwrap();
    }
    let place = TempDir::new().unwrap();
    let path = place.path().join("situation.yaml");
    std::fs::write(&path, file).unwrap();
    let finished = process::run(programs::debian("shipping", "promtool").args(["test", "rules"]).arg(&path));
    let output = finished.stdout + &finished.stderr;
    // It prints each alert that was not expected.
    let named = output.lines().filter_map(|line| line.trim().strip_prefix("alertname: ")?.split(',').next());
    let found: BTreeSet<String> = named.map(str::to_owned).collect();
    assert!(finished.code == Some(0) || !found.is_empty(), "{output}");
    found
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Waits until a gauge has this value, and returns the metrics.
#[track_caller]
fn wait_for_value(gateway: &Gateway, series: &str, value: f64) -> String {
    wait_for(&format!("{series} to be {value}"), || (gateway.metric(series) == value).then(|| metrics(gateway)))
}

#[test]
#[ignore = "make test-shipping"]
fn a_refused_module_is_reported_until_it_is_replaced() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).start();
    let before = wait_for_value(&gateway, "gateway_fleet_gateways{state=\"ready\"}", 1.0);
    gateway.home().put("liar", b"no module");
    let refused = wait_for_value(&gateway, "gateway_modules_refused", 1.0);
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    let after = wait_for_value(&gateway, "gateway_modules_refused", 0.0);
    assert_eq!(firing(&[&before]), set(&[]));
    assert_eq!(firing(&[&before, &refused]), set(&["ModuleRefused"]));
    assert_eq!(firing(&[&before, &refused, &after]), set(&[]));
}

#[test]
#[ignore = "make test-shipping"]
fn bodies_that_never_end_are_reported_as_memory_near_its_budget() {
    let gateway = Setup::new().guest("hostile").general("memory_mb = 32").start();
    let before = metrics(&gateway);
    let unfinished = head("/connectors/hostile/setting", 1 << 20).into_bytes();
    let unfinished = [unfinished, vec![b' '; (1 << 20) - 1]].concat();
    let _callers: Vec<TcpStream> = (0..32).map(|_| connection(&gateway.address(), &unfinished)).collect();
    let refused = "gateway_requests_total{connector=\"hostile\",operation=\"setting\",status=\"503\"}";
    wait_for("the refusals", || (gateway.metric(refused) >= 8.0).then_some(()));
    let share = || gateway.metric("gateway_memory_held_bytes") / gateway.metric("gateway_memory_limit_bytes");
    wait_for("the memory to be taken", || (share() > 0.7).then_some(()));
    assert_eq!(firing(&[&before]), set(&[]));
    let full = metrics(&gateway);
    assert_eq!(firing(&[&before, &full]), set(&["MemoryNearBudget"]));
}

#[test]
#[ignore = "make test-shipping"]
fn refreshes_that_hang_and_keys_that_expire_are_reported() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = registered(Setup::new().account("account", &provider).start(), &provider);
    connect(&gateway.client(), "account", "ada");
    let before = wait_for_value(&gateway, "gateway_fleet_gateways{state=\"ready\"}", 1.0);
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    let expires_at = "2100-01-31T00:00:00Z";
    gateway.home().run_ok(&["keys", "create", "--name", "reports", "--expires-at", expires_at]);
    // The key has been made a long time ago, and expires tomorrow. The refresh was due an hour ago.
    let now = "CAST(strftime('%s', 'now') AS INTEGER) * 1000";
    let statement = format!(
        "UPDATE api_keys SET created_at = {now} - 90 * 86400000, expires_at = {now} + 86400000 WHERE name = 'reports'"
    );
    assert_eq!(gateway.home().sqlite(&statement), 1);
    assert_eq!(gateway.home().sqlite(&format!("UPDATE integrations SET next_refresh_at = {now} - 3600000")), 1);
    wait_for_value(&gateway, "gateway_keys_expiring", 1.0);
    let overdue = wait_for_value(&gateway, "gateway_refreshes_overdue", 1.0);
    assert_eq!(firing(&[&before]), set(&[]));
    assert_eq!(firing(&[&before, &overdue]), set(&["KeysExpire", "RefreshesOverdue"]));
    gate.open();
    wait_for_value(&gateway, "gateway_refreshes_overdue", 0.0);
}

#[test]
#[ignore = "make test-shipping"]
fn jobs_that_no_gateway_runs_are_reported() {
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new().module("account", module::account(&described)).config("[jobs]\nworkers = 0").start();
    let before = metrics(&gateway);
    let client = gateway.client();
    client.call("account/collect", json!({"path": "/"})).ok();
    let one = wait_for_value(&gateway, "gateway_jobs_pending", 1.0);
    for _ in 1..101 {
        client.call("account/collect", json!({"path": "/"})).ok();
    }
    let many = wait_for_value(&gateway, "gateway_jobs_pending", 101.0);
    assert_eq!(firing(&[&before]), set(&[]));
    assert_eq!(firing(&[&before, &one]), set(&["JobsDoNotRun"]));
    assert_eq!(firing(&[&before, &many]), set(&["JobsDoNotRun", "JobsWait"]));
}

#[test]
#[ignore = "make test-shipping"]
fn a_queue_of_webhooks_that_grows_is_reported() {
    let (service, receiver) = (Upstream::start(), Upstream::start());
    service.reply("*", Reply::json(json!({"a": 1})));
    receiver.reply("*", Reply::empty(500));
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new()
        .module("account", module::account(&described))
        .upstream("account", "api", &service.url())
        .config("[callbacks]\nallow_private_network = true")
        .start();
    let before = metrics(&gateway);
    let client = gateway.client();
    make_secret(&client);
    for number in 0..101 {
        let urls = json!([format!("{}/{number}", receiver.url())]);
        client.call("account/collect", json!({"path": "/", "callback_urls": urls})).ok();
    }
    wait_for_value(&gateway, "gateway_jobs_pending", 0.0);
    let many = wait_for_value(&gateway, "gateway_webhooks_pending", 101.0);
    assert_eq!(firing(&[&before]), set(&[]));
    assert_eq!(firing(&[&before, &many]), set(&["WebhookQueueGrows"]));
    assert_eq!(firing(&[&before, &many, &many]), set(&[]), "the queue does not grow any more");
}

#[test]
#[ignore = "make test-shipping"]
fn a_gateway_that_was_killed_and_a_database_that_does_not_answer_are_reported() {
    let store = Store::postgres();
    let (proxy, behind) = store.database().behind_proxy();
    let gateway = Setup::new().general(&behind).config("[fleet]\nname = \"one\"").start();
    let key = format!("master_key_file = {:?}", gateway.home().data().join("master.key"));
    let other = Setup::new().on(&store).general(&key).config("[fleet]\nname = \"two\"").start();
    let before = wait_for_value(&gateway, "gateway_fleet_gateways{state=\"ready\"}", 2.0);
    other.kill();
    // The time until the gateway counts as away has passed.
    store.database().sql("UPDATE gateways SET seen_at = seen_at - 60000 WHERE name = 'two'");
    let away = wait_for_value(&gateway, "gateway_fleet_gateways{state=\"away\"}", 1.0);
    proxy.cut();
    let cut = wait_for_value(&gateway, "gateway_database_answers", 0.0);
    proxy.restore();
    let back = wait_for_value(&gateway, "gateway_database_answers", 1.0);
    assert_eq!(firing(&[&before]), set(&[]));
    assert_eq!(firing(&[&before, &away]), set(&["GatewayAway"]));
    assert_eq!(firing(&[&before, &cut]), set(&["DatabaseDoesNotAnswer", "GatewayAway"]));
    assert_eq!(firing(&[&before, &back]), set(&["GatewayAway"]));
}
