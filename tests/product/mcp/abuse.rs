//! Clients that send too much, too deeply nested, or go away.

use std::collections::HashSet;
use std::io::Read;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};
use support::{Gateway, Reply, Setup, Upstream, module, usage, wait_for};

use super::{Agent, STATELESS, code, result, text_of};

/// Adds a connector that needs no account, at a service.
fn connector(setup: Setup, service: &str) -> Setup {
    let described = json!({"identifier": "free", "auth": "none"});
    setup.module("free", module::account(&described)).upstream("free", "api", service)
}

fn gateway(service: &str) -> Gateway {
    connector(Setup::new(), service).start()
}

#[test]
fn a_thousand_calls_at_once_are_all_answered_in_bounded_memory() {
    const CALLS: usize = 1000;
    const MEMORY_MB: u64 = 64;
    let service = Upstream::start();
    service.on("*", |seen| Reply::json(json!({"path": seen.path, "text": "x".repeat(10_000)})));
    let setup = Setup::new().general(&format!("memory_mb = {MEMORY_MB}"));
    let limits = "limits = { concurrency = 1000, tenant_share = 1.0, timeout_s = 300 }";
    let gateway = connector(setup, &service.url()).config(limits).start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let path = |number: usize| format!("/items/{number}");
    let call = |number: usize| {
        let arguments = json!({"path": path(number), "response_fields": ["path"]});
        agent.request("tools/call", json!({"name": "free__forward", "arguments": arguments}))
    };
    assert_eq!(text_of(&result(&call(0).send())), json!({"path": path(0)}).to_string());
    let before = usage::peak_mb(gateway.process_id());
    let pending: Vec<_> = (1..=CALLS).map(|number| call(number).begin()).collect();
    for (number, pending) in (1..=CALLS).zip(pending) {
        assert_eq!(text_of(&result(&pending.wait())), json!({"path": path(number)}).to_string());
    }
    let paths: HashSet<String> = service.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths.len(), CALLS + 1);
    let grown = usage::peak_mb(gateway.process_id()) - before;
    assert!(grown < MEMORY_MB + 100, "{grown} MB for a budget of {MEMORY_MB} MB");
    wait_for("the memory to be free", || (gateway.metric("gateway_memory_held_bytes") == 0.0).then_some(()));
}

/// The results of a batch are in memory together.
#[test]
fn the_results_of_batches_are_a_part_of_the_memory_for_calls() {
    const MEMORY_MB: u64 = 14;
    let setup = Setup::new().guest("hostile").general(&format!("memory_mb = {MEMORY_MB}"));
    let gateway = setup.config("[mcp]\nmax_result_kb = 400\ndirect_tools = 200").start();
    let call = |id: usize| {
        let params = json!({"name": "hostile__huge_reply", "arguments": {"bytes": 390_000}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let client = gateway.client();
    let few = client.post("/mcp", json!([call(1), call(2)])).ok();
    assert!(few[1]["result"]["content"][0]["text"].as_str().is_some_and(|text| text.len() >= 390_000), "{few}");
    let before = usage::peak_mb(gateway.process_id());
    let batch: Vec<Value> = (0..50).map(call).collect();
    let answer = client.post("/mcp", json!(batch));
    let is_told = answer.status == 503 || answer.text().contains("memory for calls is used up");
    assert!(is_told, "{} {:.200}", answer.status, answer.text());
    let grown = usage::peak_mb(gateway.process_id()) - before;
    assert!(grown < MEMORY_MB + 50, "{grown} MB for a budget of {MEMORY_MB} MB");
    wait_for("the memory to be free", || (gateway.metric("gateway_memory_held_bytes") == 0.0).then_some(()));
    client.post("/mcp", json!([call(1)])).ok();
}

/// The service sees that no one waits for its answer.
#[test]
fn a_client_that_closes_the_connection_ends_the_request_to_the_service() {
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let gateway = gateway(&format!("http://{}", service.local_addr().unwrap()));
    let agent = Agent::new(&gateway.client(), "/mcp");
    let call = json!({"name": "free__forward", "arguments": {"path": "/wait"}});
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}]);
    for request in [agent.request("tools/call", call.clone()), gateway.client().request("POST", "/mcp").json(&batch)] {
        let pending = request.begin();
        let (mut stream, _) = service.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(240))).unwrap();
        let mut head = [0; 4096];
        assert!(stream.read(&mut head).unwrap() > 0 && head.starts_with(b"GET /wait "));
        pending.give_up();
        // The rest of the request, and then its end.
        let mut rest = Vec::new();
        match stream.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
    wait_for("the calls to end", || (gateway.metric("gateway_in_flight") < 0.5).then_some(()));
}

#[test]
fn nesting_of_any_depth_in_any_place_is_answered() {
    let service = Upstream::start();
    let gateway = gateway(&service.url());
    let client = gateway.client();
    let send = |body: String| {
        let call = client.request("POST", "/mcp").header("content-type", "application/json");
        call.body(body).send()
    };
    let arrays = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(200_000), "}".repeat(200_000));
    for deep in [&arrays, &objects] {
        let request = |id: &str, params: String| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
        };
        let call = |member: &str| format!(r#"{{"name":"free__forward","arguments":{{}},"{member}":{deep}}}"#);
        let in_arguments = format!(r#"{{"name":"free__forward","arguments":{{"path":{deep}}}}}"#);
        assert_eq!(result(&send(request("1", in_arguments)))["isError"], true);
        assert_eq!(code(&send(request("1", call("requestState"))), 400), -32602);
        // No other member may be that large.
        for member in ["_meta", "inputResponses", "else"] {
            let answer = send(request("1", call(member)));
            assert_eq!(code(&answer, 400), -32602, "{member}");
        }
        assert_eq!(code(&send(request(deep, "{}".to_owned())), 400), -32600);
        let answers = send(format!("[{deep}]")).json();
        let error = if answers.is_array() { &answers[0]["error"]["code"] } else { &answers["error"]["code"] };
        assert_eq!(*error, -32600, "{answers}");
    }
    // The gateway serves as before.
    service.reply("/a", Reply::json(json!({"n": 1})));
    assert_eq!(Agent::new(&client, "/mcp").text("free__forward", json!({"path": "/a"})), r#"{"n":1}"#);
}

#[test]
fn methods_of_another_revision_are_unknown() {
    let service = Upstream::start();
    let gateway = gateway(&service.url());
    let client = gateway.client();
    let agent = Agent::new(&client, "/mcp");
    for method in
        ["initialize", "ping", "logging/setLevel", "resources/list", "prompts/list", "completion/complete", ""]
    {
        assert_eq!(code(&agent.send(method, json!({})), 404), -32601, "{method}");
    }
    for (revision, method) in [("2025-03-26", "server/discover"), ("2025-11-25", "tools/remove"), ("2025-06-18", "")] {
        let call = client.request("POST", "/mcp").header("mcp-protocol-version", revision);
        let sent = call.json(&json!({"jsonrpc": "2.0", "id": 1, "method": method})).send();
        assert_eq!(code(&sent, 200), -32601, "{revision} {method}");
    }
    for revision in ["", "2024-11-05", "2026-07-29", "latest", &"9".repeat(5000)] {
        let call = client.request("POST", "/mcp").header("mcp-protocol-version", revision);
        let sent = call.json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).send();
        assert_eq!(code(&sent, 400), -32022, "{revision:.20}");
        let error: Value = sent.json()["error"].clone();
        assert_eq!(error["data"]["supported"][0], STATELESS);
        assert!(error.to_string().len() < 1000, "{error}");
    }
}
