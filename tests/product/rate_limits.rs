//! The rate limits that connectors declare. Those of `dex_market_data` are the catalogue's.

use serde_json::{Value, json};
use support::{Answer, Gateway, Setup, Upstream, catalogue, dexscreener, module};

fn market() -> (Gateway, Upstream) {
    let service = dexscreener::start();
    let gateway = Setup::new().shipped("dex_market_data").upstream("dex_market_data", "api", &service.url()).start();
    (gateway, service)
}

/// The operations of `dex_market_data` that the catalogue gives this rate limit, with their
/// examples.
fn group(calls_per_minute: u64) -> Vec<(String, Value)> {
    let connectors = catalogue::connectors();
    let market = connectors.iter().find(|connector| connector["id"] == "dex_market_data").unwrap();
    let operations = catalogue::operations(market).into_iter();
    let limited = operations.filter(|operation| operation["rate_limit_per_minute"] == calls_per_minute);
    limited.map(|operation| (operation["path"].as_str().unwrap().to_owned(), catalogue::example(operation))).collect()
}

/// Checks that the call is refused, and that the answer tells the time after which it is accepted
/// again.
#[track_caller]
fn assert_used_up(answer: &Answer, period: u64) {
    let problem = answer.problem(429, "rate-limited");
    let seconds: u64 = answer.header("retry-after").parse().expect("whole seconds");
    assert!((1..=period).contains(&seconds), "Retry-After: {seconds}");
    assert_eq!(answer.header("x-error-source"), "gateway");
    assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("caller"), &json!(true)));
}

fn call(gateway: &Gateway, operation: &str, body: &Value) -> Answer {
    gateway.call(&format!("dex_market_data/{operation}"), body.clone())
}

#[test]
fn sixty_calls_a_minute_are_shared_by_the_operations_of_the_group() {
    let (gateway, service) = market();
    let group = group(60);
    assert_eq!(group.len(), 4);
    for number in 0..60 {
        let (operation, body) = &group[number % group.len()];
        call(&gateway, operation, body).ok();
    }
    for (operation, body) in &group {
        assert_used_up(&call(&gateway, operation, body), 60);
    }
    assert_eq!(service.seen().len(), 60, "a refused call is not sent");
    call(&gateway, "search_pairs", &json!({"q": "x"})).ok();
}

#[test]
fn three_hundred_calls_a_minute_are_shared_by_the_other_group_even_over_a_swap() {
    let (gateway, service) = market();
    let group = group(300);
    assert_eq!(group.len(), 4);
    for number in 0..300 {
        if number == 150 {
            swap(&gateway);
        }
        let (operation, body) = &group[number % group.len()];
        call(&gateway, operation, body).ok();
    }
    for (operation, body) in &group {
        assert_used_up(&call(&gateway, operation, body), 60);
    }
    assert_eq!(service.seen().len(), 300);
    call(&gateway, "get_token_boosts", &json!({})).ok();
}

/// Replaces the connector by another version.
fn swap(gateway: &Gateway) {
    let before = gateway.connector("dex_market_data").unwrap()["sha256"].clone();
    gateway.home().ship("dex_market_data", &module::with_note(&module::shipped("dex_market_data"), "another version"));
    support::wait_for("the swap", || (gateway.connector("dex_market_data").unwrap()["sha256"] != before).then_some(()));
}

#[test]
fn answers_tell_what_is_left_of_the_rate_limit() {
    let (gateway, _service) = market();
    let first = call(&gateway, "get_token_boosts", &json!({}));
    first.ok();
    let policy = first.header("ratelimit-policy").to_owned();
    assert!(policy.ends_with(";q=60;w=60"), "{policy}");
    let name = policy.split(';').next().unwrap();
    assert_eq!(first.header("ratelimit"), format!("{name};r=59;t=60"));
    for _ in 1..60 {
        call(&gateway, "get_token_boosts", &json!({})).ok();
    }
    let refused = call(&gateway, "get_token_boosts", &json!({}));
    assert_used_up(&refused, 60);
    assert_eq!(refused.header("ratelimit-policy"), policy);
    assert_eq!(refused.header("ratelimit"), format!("{name};r=0;t={}", refused.header("retry-after")));
    assert_eq!(call(&gateway, "no_such_operation", &json!({})).header("ratelimit"), "");
}

#[test]
fn a_call_that_is_not_valid_does_not_count_against_the_rate_limit() {
    let (gateway, _service) = market();
    for _ in 0..70 {
        call(&gateway, "get_token_boosts", &json!({"no_such_field": 1})).violations();
    }
    call(&gateway, "get_token_boosts", &json!({})).ok();
}

#[test]
fn a_rate_limit_belongs_to_one_connector_and_survives_its_swap() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).start();
    gateway.call("liar/version_at_once", json!({})).ok();
    gateway.call("liar/version_at_once", json!({})).ok();
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
    assert_eq!(gateway.call("liar/version_at_once", json!({})).ok()["version"], "version=2.0.0");
    assert_used_up(&gateway.call("liar/version_at_once", json!({})), 3600);
}
