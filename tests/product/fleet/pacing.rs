//! The pacing of an upstream holds over all gateways together.

use serde_json::json;
use support::{Client, Gate, Gateway, Pending, Reply, Setup, Store, Upstream, module, wait_for};

use super::{key_of, wait_for_ready};

/// A gateway with a connector whose upstream is paced.
fn setup(service: &Upstream, pacing: &str) -> Setup {
    let described = json!({"identifier": "free", "auth": "none"});
    Setup::new().module("free", module::account(&described)).upstream("free", "api", &service.url()).config(pacing)
}

/// Gateways on one database, with a connector whose upstream is paced.
fn fleet<const N: usize>(store: &Store, service: &Upstream, pacing: &str) -> [Gateway; N] {
    let setup = || setup(service, pacing).on(store);
    let first = setup().config("[fleet]\nname = \"first\"").start();
    let key = key_of(&first);
    let mut first = Some(first);
    let all = std::array::from_fn(|_| first.take().unwrap_or_else(|| setup().general(&key).start()));
    wait_for_ready(&all[0], N);
    all
}

fn begin(client: &Client, path: &str) -> Pending {
    client.begin("/connectors/free/composed", json!({"path": path}))
}

#[test]
fn calls_of_all_gateways_wait_for_the_same_connection_in_the_order_of_arrival() {
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("*", Reply::json(json!({})).behind(&gate));
    let store = Store::postgres();
    let database = store.database();
    let gateways: [Gateway; 3] = fleet(
        &store,
        &service,
        "pacing = { interval_ms = 1, concurrency = 1, max_wait_ms = 900000 }\nlimits.timeout_s = 900",
    );
    let mut calls = vec![begin(&gateways[0].client(), "/0")];
    service.wait_for_requests(1);
    for (number, gateway) in [(1, 1), (2, 2), (3, 0)] {
        calls.push(begin(&gateways[gateway].client(), &format!("/{number}")));
        // A call is in the queue when its gateway has told the database, and not when it has arrived.
        wait_for("the call to be in the queue", || {
            let waiting = database.query("select count(waiting_since_ms) from budget_shares");
            (waiting == number.to_string()).then_some(())
        });
    }
    calls.push(begin(&gateways[1].client(), "/4"));
    assert_eq!(service.seen().len(), 1, "one connection at a time");
    let exchanges = || -> i64 {
        let turn = "select turn from budget_holders where gateway = (select id from gateways where name = 'first')";
        database.query(turn).parse().unwrap()
    };
    let known = exchanges() + 2;
    wait_for("its next exchanges", || (exchanges() >= known).then_some(()));
    gate.open();
    for call in calls {
        call.wait().ok();
    }
    let seen: Vec<String> = service.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(seen, ["/0", "/1", "/2", "/3", "/4"]);
}

#[test]
fn no_call_of_another_gateway_starts_within_the_interval() {
    let (store, service) = (Store::postgres(), Upstream::start());
    service.reply("*", Reply::json(json!({})));
    let gateways: [Gateway; 2] = fleet(&store, &service, "pacing = { interval_ms = 3600000, max_wait_ms = 2000 }");
    // On a busy machine, two seconds may be over before the gateway has the queue.
    let first = || begin(&gateways[0].client(), "/").wait();
    wait_for("the first call", || Some(first()).filter(|answer| answer.status != 429)).ok();
    for gateway in &gateways {
        let answer = begin(&gateway.client(), "/").wait();
        answer.problem(429, "rate-limited");
    }
    assert_eq!(service.seen().len(), 1);
}

#[test]
fn a_gateway_that_stops_leaves_the_queue_to_the_others() {
    let (store, service) = (Store::postgres(), Upstream::start());
    service.reply("*", Reply::json(json!({})));
    let mut gateways: [Gateway; 2] = fleet(
        &store,
        &service,
        "pacing = { interval_ms = 1, concurrency = 1, max_wait_ms = 240000 }\nlimits.timeout_s = 300",
    );
    begin(&gateways[0].client(), "/").wait().ok();
    gateways[0].stop();
    begin(&gateways[1].client(), "/").wait().ok();
    assert_eq!(service.seen().len(), 2);
}

#[test]
fn a_gateway_that_hangs_with_the_queue_loses_it_and_its_call_ends() {
    let (store, service, gate) = (Store::postgres(), Upstream::start(), Gate::default());
    service.reply("/slow", Reply::json(json!({})).behind(&gate));
    service.reply("/", Reply::json(json!({})));
    // The call of the gateway that hangs may take an hour, and the others do not wait for that.
    let pacing = |max_wait_ms| {
        format!(
            "pacing = {{ interval_ms = 5000, concurrency = 1, max_wait_ms = {max_wait_ms} }}\n\
             limits = {{ timeout_s = 3600 }}"
        )
    };
    let [hanging, patient]: [Gateway; 2] = fleet(&store, &service, &pacing(400_000));
    let impatient = setup(&service, &pacing(1_000)).on(&store).general(&key_of(&hanging)).start();
    let slow = begin(&hanging.client(), "/slow");
    service.wait_for_requests(1);
    hanging.stand_still();
    let waiting = begin(&patient.client(), "/");
    let problem = wait_for("the gateway to be missed", || {
        let problem = begin(&impatient.client(), "/").wait().problem(429, "rate-limited");
        (problem["owner"] == "operator").then_some(problem)
    });
    assert!(problem["detail"].as_str().unwrap().contains("gateways list"), "{problem}");
    waiting.wait().ok();
    hanging.go_on();
    let problem = slow.wait().problem(503, "store-unavailable");
    assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("operator"), &json!(true)));
    gate.open();
    assert_eq!(service.seen().len(), 2);
}
