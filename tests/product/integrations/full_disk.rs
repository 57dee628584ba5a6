//! The disk is full, so that nothing can be written. Callers and the operator learn it, and nothing
//! is lost.

use std::time::Instant;

use serde_json::{Value, json};
use support::{Dialect, Endpoint, Gate, OAuthProvider, Setup, Store};

use super::{connect, gateway, init, me, started, who, who_as};

#[test]
fn a_provider_is_not_asked_for_tokens_that_the_disk_has_no_room_for() {
    let provider = OAuthProvider::start(Dialect::strict());
    // The database has its own disk.
    let store = Store::postgres();
    let gateway = gateway(&store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    gateway.set_disk_full(true);
    provider.expire();
    for _ in 0..3 {
        let problem = who(&client).problem(503, "store-unavailable");
        assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("operator"), &json!(true)), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("`data_dir`"), "{problem}");
    }
    assert_eq!(provider.count(Endpoint::Refresh), 0);
    gateway.kill();
    let gateway = gateway.start_again();
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
    assert_eq!((provider.count(Endpoint::Refresh), provider.reuses(), provider.live_grants()), (1, 0, 1));
}

fn is_about_database(line: &Value) -> bool {
    line["message"] == "the database failed"
}

#[test]
fn a_gateway_on_a_full_disk_says_so_and_loses_nothing() {
    const CALLS: usize = 200;
    let provider = OAuthProvider::start(Dialect::strict());
    // The call that waits for the disk must not end before it.
    let setup = Setup::new().account("account", &provider).config("limits.timeout_s = 300");
    let gateway = started(setup, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");

    // The disk becomes full during a refresh, so that its tokens cannot be stored. The previous
    // ones are used up.
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    provider.expire();
    let call = client.begin("/connectors/account/forward", json!({"path": "/me"}));
    provider.wait_for(Endpoint::Refresh, 1);
    let began = Instant::now();
    gateway.set_disk_full(true);
    gate.open();
    gateway.wait_for_log("the write to fail", |line| {
        line["message"].as_str().is_some_and(|text| text.starts_with("new tokens are not stored yet"))
    });

    let begin = || client.post("/connectors/account/integrations", init());
    for _ in 0..CALLS {
        let problem = begin().problem(503, "store-unavailable");
        assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("operator"), &json!(true)));
    }
    let readiness = || gateway.anonymous().get("/readyz");
    let is_degraded = || readiness().ok()["degraded"] == json!(["database"]);
    support::wait_for("the gateway to be degraded", || is_degraded().then_some(()));
    assert_eq!(client.get("/healthz").status, 200, "the process runs");
    gateway.wait_for_log("the cause", is_about_database);
    let lines = gateway.log().into_iter().filter(is_about_database).count() as u64;
    assert!(lines <= began.elapsed().as_secs() + 1, "{lines} lines about {CALLS} calls in {:?}", began.elapsed());
    assert!(!call.is_done(), "a token is in the store before it is used");

    gateway.set_disk_full(false);
    assert_eq!(call.wait().ok(), me("ada"));
    support::wait_for("the gateway to be whole again", || (!is_degraded()).then_some(()));
    connect(&client, "account", "bob");
    gateway.kill();
    let gateway = gateway.start_again();
    for name in ["ada", "bob"] {
        assert_eq!(who_as(&gateway.client(), name).ok(), me(name));
    }
    who(&gateway.client()).problem(424, "selection-required");
    assert_eq!((provider.count(Endpoint::Refresh), provider.reuses(), provider.live_grants()), (1, 0, 2));
}
