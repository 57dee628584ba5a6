//! Additions of contract 1.1: random values of the gateway, and a connector that sleeps.

use std::collections::HashSet;

use serde_json::{Value, json};
use support::hostile::{assert_serves, gateway};
use support::{Answer, Upstream, wait_for};

/// The two ways in which the gateway runs an operation.
const SLEEPS: [&str; 2] = ["hostile/sleep", "hostile/sleep_at_once"];

fn random_bytes(answer: &Answer) -> Vec<Value> {
    answer.ok()["bytes"].as_array().unwrap().clone()
}

#[test]
fn no_two_invocations_get_the_same_random_values() {
    let gateway = gateway(&Upstream::start(), "");
    let calls = (0..50).map(|_| gateway.call("hostile/random", json!({"count": 16})));
    let values: HashSet<_> = calls.map(|answer| random_bytes(&answer)).collect();
    assert_eq!(values.len(), 50);
    assert!(values.iter().all(|bytes| bytes.len() == 16));
}

#[test]
fn more_random_values_than_the_contract_allows_are_an_error_of_the_function() {
    let gateway = gateway(&Upstream::start(), "");
    assert_eq!(random_bytes(&gateway.call("hostile/random", json!({"count": 0}))).len(), 0);
    assert_eq!(random_bytes(&gateway.call("hostile/random", json!({"count": 65_536}))).len(), 65_536);
    for count in [65_537, u32::MAX] {
        let error = gateway.call("hostile/random", json!({"count": count})).ok();
        let expected = format!("at most 65536 random bytes in one call, and this call asks for {count}");
        assert_eq!(error["error"], expected);
    }
}

#[test]
fn the_time_of_a_sleep_is_no_cpu_time() {
    let gateway = gateway(&Upstream::start(), "limits.cpu_ms = 100");
    for operation in SLEEPS {
        let answer = gateway.call(operation, json!({"milliseconds": 400, "count": 2})).ok();
        // The clock that the guest reads may differ by a millisecond from the one that it sleeps by.
        assert!(answer["passed"].as_u64().unwrap() >= 798, "{answer}");
    }
}

#[test]
fn a_guest_that_sleeps_ends_at_the_deadline_of_its_call() {
    let gateway = gateway(&Upstream::start(), "limits.timeout_s = 3");
    for operation in SLEEPS {
        let problem = gateway.call(operation, json!({"milliseconds": u64::MAX})).problem(500, "connector-failed");
        assert_eq!((&problem["limit"], &problem["owner"]), (&json!("time"), &json!("operator")), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("`limits.timeout_s`"), "{problem}");
        assert_serves(&gateway);
    }
}

#[test]
fn a_guest_that_sleeps_ends_when_its_caller_leaves() {
    // Only one call of the connector may be in progress, so that the sleeping one blocks the next.
    let gateway = gateway(&Upstream::start(), "limits.timeout_s = 600\nlimits.concurrency = 1");
    let client = gateway.client();
    let call = client.begin("/connectors/hostile/sleep", json!({"milliseconds": u64::MAX}));
    let admitted = "gateway_stage_seconds_count{connector=\"hostile\",stage=\"admit\"}";
    wait_for("the call to have its place", || (gateway.metric(admitted) >= 1.0).then_some(()));
    let other = || client.call("hostile/random", json!({"count": 1})).status;
    assert_eq!(other(), 503);
    call.give_up();
    wait_for("the guest to end", || (other() == 200).then_some(()));
}
