//! Gateways that join and leave the service.

use serde_json::{Value, json};
use support::process::Process;
use support::setup::KEY;
use support::{Client, Gateway, Setup, Store, module, wait_for};

use super::{gateways, key_of};

/// The gateways that one of them lists.
fn listed(gateway: &Gateway) -> Vec<Value> {
    gateway.client().get("/admin/gateways").ok()["gateways"].as_array().unwrap().clone()
}

#[test]
fn a_gateway_with_an_empty_disk_serves_everything_when_it_is_ready() {
    let store = Store::postgres();
    let [one] = gateways(&store);
    let joined = Setup::new().on(&store).general(&key_of(&one)).config("[fleet]\nname = \"second\"").start();
    assert_eq!(joined.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    let ready = || Some(listed(&one)).filter(|all| all.len() == 2 && all.iter().all(|each| each["state"] == "ready"));
    // A gateway tells what it serves a moment after it is ready.
    let second = wait_for("both gateways", || {
        let second = ready()?.into_iter().find(|each| each["name"] == "second")?;
        (second["connectors"] == json!({"live": 1, "compiling": 0, "refused": 0})).then_some(second)
    });
    assert_eq!(second["address"], json!(joined.address()));
    for member in ["id", "version", "started_at", "seen_at", "calls", "jobs", "memory"] {
        assert!(!second[member].is_null(), "{member}");
    }
}

#[test]
fn a_gateway_that_stops_leaves_the_list_and_a_killed_one_is_away() {
    let store = Store::postgres();
    let [one, mut other, killed]: [Gateway; 3] = gateways(&store);
    wait_for("three gateways", || (listed(&one).len() == 3).then_some(()));
    other.stop();
    wait_for("two gateways", || (listed(&one).len() == 2).then_some(()));
    killed.kill();
    store.database().sql("update gateways set seen_at = seen_at - 16000");
    wait_for("the killed one to be away", || {
        let states: Vec<Value> = listed(&one).into_iter().map(|each| each["state"].clone()).collect();
        (states.contains(&json!("away")) && states.contains(&json!("ready"))).then_some(())
    });
}

#[test]
fn a_connector_of_the_service_is_not_unknown_while_a_gateway_starts() {
    let store = Store::postgres();
    let [one] = gateways(&store);
    // The start lasts as long as the compilation, which is longer than the test.
    let bomb = module::compile_bomb("", 8000, 3000);
    let setup = Setup::new().cold().on(&store).general(&key_of(&one)).module("bomb", bomb);
    let home = setup.config("compile.cpu_s = 600").prepare();
    let mut process = Process::start(&mut home.command(&["serve"]));
    let starting = Client::new(&process.logged_address()).with_key(KEY);
    starting.call("liar/version", json!({})).problem(503, "starting");
    process.ask_to_end();
    assert!(process.wait().success());
}
