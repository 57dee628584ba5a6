//! Callers and connectors share places, slots and connections: no caller and no connector takes all
//! of them.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};
use support::{Client, Gate, Gateway, Reply, Setup, Upstream, module, wait_for};

/// A service that answers `/slow` when the gate is open, and everything else immediately.
fn service() -> (Upstream, Gate) {
    let (service, gate) = (Upstream::start(), Gate::default());
    service
        .reply("/slow", Reply::json(json!({})).behind(&gate))
        .reply("/wait", Reply::json(json!({})))
        .reply("/forward", Reply::json(json!({"from": "the service"})));
    (service, gate)
}

/// The hostile guest and an honest one, which call the service. `config` belongs to the hostile
/// one.
fn setup(service: &Upstream, config: &str) -> Setup {
    Setup::new()
        .module("liar", module::liar("version=1.0.0"))
        .upstream("liar", "api", &service.url())
        .config("limits.timeout_s = 900")
        .guest("hostile")
        .upstream("hostile", "api", &service.url())
        .config("limits.timeout_s = 900")
        .config(config)
}

/// Checks that each kind of operation of the honest connector is served: one that calls nothing,
/// one that waits for the service in the sandbox, and one whose answer is the service's.
#[track_caller]
fn assert_serves(client: &Client) {
    assert_eq!(client.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    assert_eq!(client.call("liar/wait", json!({})).ok()["version"], "version=1.0.0");
    assert_eq!(client.call("liar/forward", json!({})).ok()["from"], "the service");
}

/// The client of another tenant.
fn tenant(gateway: &Gateway, name: &str) -> Client {
    let key = gateway.home().run_ok(&["keys", "create", "--name", name, "--tenant", name, "--scope", "operate"]);
    let client = gateway.client().with_key(key.trim());
    wait_for("the key to be known", || (client.get("/connectors").status == 200).then_some(()));
    client
}

#[test]
fn a_tenant_with_many_calls_leaves_places_to_the_others() {
    let (service, gate) = service();
    service.reply("/wait", Reply::json(json!({})).behind(&gate));
    let gateway = setup(&service, "").start();
    let (greedy, modest) = (tenant(&gateway, "greedy"), tenant(&gateway, "modest"));
    let calls: Vec<_> = (0..500).map(|_| greedy.begin("/connectors/liar/wait", json!({}))).collect();
    // 256 places, of which an eighth is kept for tenants that come later.
    service.wait_for_requests(224);
    wait_for("the others to be refused", || {
        (calls.iter().filter(|call| call.is_done()).count() == 500 - 224).then_some(())
    });
    assert_eq!(modest.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    assert_eq!(modest.call("liar/forward", json!({})).ok()["from"], "the service");
    let refused = greedy.call("liar/version", json!({})).problem(503, "busy");
    assert!(refused["detail"].as_str().unwrap().contains("`limits.tenant_share`"), "{refused}");
    let modest: Vec<_> = (0..32).map(|_| modest.begin("/connectors/liar/wait", json!({}))).collect();
    service.wait_for_requests(224 + 32);
    gate.open();
    for call in modest {
        call.wait().ok();
    }
    let mut statuses: Vec<u16> = calls.into_iter().map(|call| call.wait().status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![200; 224], vec![503; 500 - 224]].concat());
}

#[test]
fn a_connector_with_many_core_instances_does_not_use_up_the_pool() {
    let (service, gate) = service();
    let mut empty = "(component (core module $empty)".to_owned();
    for _ in 0..28 {
        write!(empty, "(core instance (instantiate $empty))").unwrap();
    }
    empty.push(')');
    let hostile = module::with_component(&module::guest("hostile"), &module::from_text(&empty));
    let gateway = setup(&service, "").module("hostile", hostile).start();
    let client = gateway.client();
    let call = || client.begin("/connectors/hostile/call", json!({"path": "/slow"}));
    let calls: Vec<_> = (0..100).map(|_| call()).collect();
    service.wait_for_requests(100);
    assert_serves(&client);
    gate.open();
    for call in calls {
        assert_eq!(call.wait().ok()["status"], 200);
    }
}

#[test]
fn a_connector_leaves_slots_of_the_pool_to_the_others() {
    let (service, gate) = service();
    let setup = setup(&service, "[sandbox]\ninstances = 16");
    let gateway = setup.start();
    let client = gateway.client();
    let calls: Vec<_> = (0..30).map(|_| client.begin("/connectors/hostile/call", json!({"path": "/slow"}))).collect();
    // Half of the slots are kept: four for each of the two connectors.
    service.wait_for_requests(12);
    wait_for("the others to be refused", || (calls.iter().filter(|call| call.is_done()).count() == 18).then_some(()));
    assert_serves(&client);
    gate.open();
    let mut statuses: Vec<u16> = calls.into_iter().map(|call| call.wait().status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![200; 12], vec![503; 18]].concat());
    assert_eq!(gateway.call("hostile/call", json!({"path": "/slow"})).ok()["status"], 200, "the slots are free again");
}

#[test]
fn a_tenant_leaves_slots_of_the_pool_to_the_others() {
    let (service, gate) = service();
    service.reply("/wait", Reply::json(json!({})).behind(&gate));
    let gateway = setup(&service, "[sandbox]\ninstances = 16").start();
    let (greedy, modest) = (tenant(&gateway, "greedy"), tenant(&gateway, "modest"));
    let begin = |number: usize| match number % 2 {
        0 => greedy.begin("/connectors/hostile/call", json!({"path": "/slow"})),
        _ => greedy.begin("/connectors/liar/wait", json!({})),
    };
    let calls: Vec<_> = (0..60).map(begin).collect();
    // With both connectors it could take all of them. An eighth is kept for other tenants.
    service.wait_for_requests(14);
    wait_for("the others to be refused", || (calls.iter().filter(|call| call.is_done()).count() == 46).then_some(()));
    assert_eq!(modest.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    assert_eq!(modest.call("liar/forward", json!({})).ok()["from"], "the service");
    gate.open();
    let mut statuses: Vec<u16> = calls.into_iter().map(|call| call.wait().status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![200; 14], vec![503; 46]].concat());
}

#[test]
fn an_invocation_has_at_most_32_open_responses() {
    let (service, _gate) = service();
    let gateway = setup(&service, "").start();
    let answer = gateway.call("hostile/hoard_responses", json!({"path": "/wait", "count": 40})).ok();
    assert_eq!(answer["results"], json!({"200": 32, "invalid-request": 8}));
    let detail = answer["detail"].as_str().unwrap();
    assert!(detail.contains("read the body of one, or drop it"), "{detail}");
    assert_eq!(service.seen().len(), 32);
    // A response that was read or dropped is not open.
    let read = json!({"path": "/wait", "count": 40, "form": "bytes", "keep": true});
    assert_eq!(gateway.call("hostile/hoard_bodies", read).ok()["kept"], 40);
    let dropped = gateway.call("hostile/many_requests", json!({"path": "/wait", "count": 40})).ok();
    assert_eq!(dropped, json!({"200": 40}));
    assert_serves(&gateway.client());
}

#[test]
fn open_responses_count_as_memory() {
    let (service, gate) = service();
    let gateway = setup(&service, "").general("memory_mb = 4").start();
    let held = || gateway.metric("gateway_memory_held_bytes");
    let hoard = json!({"path": "/wait", "count": 31, "text": "/slow"});
    let call = gateway.client().begin("/connectors/hostile/hoard_responses", hoard.clone());
    // 31 responses, and the request in progress.
    wait_for("the responses", || (held() == f64::from(32 << 16)).then_some(()));
    let second = gateway.client().begin("/connectors/hostile/hoard_responses", hoard);
    wait_for("more responses", || (held() == f64::from(64 << 16)).then_some(()));
    // The memory for calls is used up.
    let refused = gateway.call("hostile/hoard_responses", json!({"path": "/wait", "count": 1})).ok();
    assert_eq!(refused["results"], json!({"busy": 1}));
    let problem = gateway.call("liar/wait", json!({})).problem(503, "busy");
    assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("operator"), &json!(true)), "{problem}");
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    gate.open();
    for call in [call, second] {
        assert_eq!(call.wait().ok()["results"], json!({"200": 31}));
    }
    wait_for("the memory to be free", || (held() == 0.0).then_some(()));
    assert_serves(&gateway.client());
}

#[test]
fn connections_of_guests_leave_descriptors_to_the_gateway() {
    const DESCRIPTORS: u32 = 400;
    let (service, gate) = service();
    let gateway = setup(&service, "").descriptors(DESCRIPTORS).start();
    let client = gateway.client();
    let limits = fs::read_to_string(format!("/proc/{}/limits", gateway.process_id())).unwrap();
    let limit = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(limit.matches("400").count(), 2, "the gateway raises the limit to the highest value: {limit}");
    let parallel = json!({"path": "/slow", "count": 32});
    let calls: Vec<_> =
        (0..15).map(|_| client.begin("/connectors/hostile/many_in_parallel", parallel.clone())).collect();
    // Guests may have three sixteenths of the descriptors. A quarter of that is kept for the other
    // connector.
    service.wait_for_requests(57);
    // A call that gets no connection ends immediately.
    wait_for("every call", || {
        let ended = calls.iter().filter(|call| call.is_done()).count();
        (gateway.metric("gateway_in_flight") + ended as f64 >= 15.0).then_some(())
    });
    let open = fs::read_dir(format!("/proc/{}/fd", gateway.process_id())).unwrap().count();
    assert!(open < 200, "{open} descriptors");
    assert_eq!(service.seen().len(), 57);
    assert_serves(&client);
    gate.open();
    let mut sum = [0, 0];
    for call in calls {
        let results: Value = call.wait().ok();
        for (name, count) in [("200", 0), ("busy", 1)] {
            sum[count] += results[name].as_u64().unwrap_or_default();
        }
    }
    assert!(sum[0] >= 57 && sum[0] + sum[1] == 480, "{sum:?}");
    assert_serves(&client);
}
