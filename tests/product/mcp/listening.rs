//! Streams that tell a client when its tools have changed.

use serde_json::{Value, json};
use support::setup::KEY;
use support::{Gate, Reply, Setup, Upstream, module, wait_for};

use super::{Agent, code};

fn liar(version: &str) -> Vec<u8> {
    module::liar(&format!("version={version}"))
}

fn listening(agent: &Agent) -> support::Events {
    agent.request("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).events()
}

#[test]
fn a_client_is_told_of_a_change_of_its_own_tools_alone() {
    let gateway = Setup::new().module("liar", liar("1.0.0")).start();
    let (client, home) = (gateway.client(), gateway.home());
    let all = Agent::new(&client, "/mcp");
    let (mut of_all, mut of_one) = (listening(&all), listening(&Agent::new(&client, "/mcp/liar")));
    let meta = json!({"io.modelcontextprotocol/subscriptionId": 1});
    for events in [&mut of_all, &mut of_one] {
        assert_eq!((events.status(), events.header("content-type")), (200, "text/event-stream"));
        assert_eq!(
            events.next().unwrap(),
            json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": {"_meta": meta, "notifications": {"toolsListChanged": true}}})
        );
    }
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": meta}});
    home.put("account", &module::account(&json!({"identifier": "account", "auth": "none"})));
    assert_eq!(of_all.next().unwrap(), changed);
    assert!(all.names().contains(&"account__forward".to_owned()), "the list is the new one");
    // The other stream has no event for that. Its next one comes after the removal of its connector.
    client.delete("/admin/connectors/liar").ok();
    assert_eq!(of_one.next().unwrap(), changed);
    assert_eq!(of_all.next().unwrap(), changed);
    assert!(!all.names().contains(&"liar__version".to_owned()));
}

#[test]
fn a_stream_ends_with_a_result_when_the_gateway_stops() {
    let mut gateway = Setup::new().module("liar", liar("1.0.0")).start();
    let mut events = listening(&Agent::new(&gateway.client(), "/mcp"));
    events.next().unwrap();
    let stopping = std::thread::spawn(move || gateway.stop());
    let last = events.next().unwrap();
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(1), &json!("complete")), "{last}");
    assert_eq!(events.next(), None);
    stopping.join().unwrap();
}

#[test]
fn the_streams_of_a_gateway_and_of_a_tenant_are_limited() {
    let gateway = Setup::new().module("liar", liar("1.0.0")).config("[mcp]\nmax_streams = 3").start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let (mut first, _second) = (listening(&agent), listening(&agent));
    first.next().unwrap();
    let refused = agent.request("subscriptions/listen", json!({"notifications": {}})).send();
    let problem = refused.problem(503, "busy");
    assert!(problem["detail"].as_str().unwrap().contains("mcp.max_streams"), "{problem}");
    let other = crate::integrations::client(&gateway, "other", None, "operate");
    assert_eq!(listening(&Agent::new(&other, "/mcp")).status(), 200);
    drop(first);
    wait_for("room for a stream", || (listening(&agent).status() == 200).then_some(()));
}

#[test]
fn streams_take_half_of_the_connections_and_make_room_for_calls() {
    let gateway = Setup::new().module("liar", liar("1.0.0")).general("max_connections = 8").start();
    let open = |tenant: &str| {
        let client = crate::integrations::client(&gateway, tenant, None, "operate");
        let agents = (0..4).map(|_| Agent::new(&gateway.anonymous().with_key(client.key()), "/mcp"));
        agents.map(|agent| listening(&agent)).filter(|stream| stream.status() == 200).collect::<Vec<_>>()
    };
    let (one, other) = (open("one"), open("other"));
    assert_eq!((one.len(), other.len()), (2, 2), "each tenant has half of what streams may take");
    // Each has its own connection, which stays open.
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let client = gateway.anonymous().with_key(KEY);
            client.call("liar/version", json!({})).ok();
            client
        })
        .collect();
    assert!(calls.iter().all(|client| client.get("/healthz").status == 200), "no call has taken the place of another");
}

/// Each call is in progress, so no connection is idle that could make room.
#[test]
fn a_call_takes_the_place_of_a_stream_while_no_connection_is_idle() {
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("/forward", Reply::json(json!({})).behind(&gate));
    let setup = Setup::new().module("liar", liar("1.0.0")).upstream("liar", "api", &service.url());
    let gateway = setup.general("max_connections = 8").start();
    let mut streams = Vec::new();
    for tenant in ["one", "other"] {
        let client = crate::integrations::client(&gateway, tenant, None, "operate");
        for _ in 0..2 {
            streams.push(listening(&Agent::new(&gateway.anonymous().with_key(client.key()), "/mcp")));
        }
    }
    assert!(streams.iter().all(|stream| stream.status() == 200));
    let mut calls = Vec::new();
    for count in 1..=6 {
        calls.push(gateway.anonymous().with_key(KEY).begin("/connectors/liar/forward", json!({})));
        service.wait_for_requests(count);
    }
    gate.open();
    calls.into_iter().for_each(|call| drop(call.wait().ok()));
}

#[test]
fn a_stream_that_cannot_be_opened_says_why() {
    let gateway = Setup::new().module("liar", liar("1.0.0")).start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let of_tasks = agent.send("subscriptions/listen", json!({"notifications": {"taskIds": ["job_1"]}}));
    assert_eq!(code(&of_tasks, 400), -32021);
    let call = agent.client.request("POST", "/mcp").header("accept", "application/json");
    let body: Value = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": super::STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let call = call.header("mcp-protocol-version", super::STATELESS).header("mcp-method", "subscriptions/listen");
    assert_eq!(call.json(&body).send().status, 406);
    // Earlier revisions do not have it.
    let old = super::with_initialize(&agent.client, "/mcp", None, "subscriptions/listen", json!({}));
    assert_eq!(old.json()["error"]["code"], -32601);
}
