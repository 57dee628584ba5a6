//! Operations in the background: tasks, progress and waiting.

use serde_json::{Value, json};
use support::{Gate, Gateway, Reply, Setup, Store, Upstream, module, wait_for};

use super::{Agent, WITH_INITIALIZE, code, result, text_of, with_initialize};

fn world() -> (Gateway, Upstream, Agent) {
    let service = Upstream::start();
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway =
        Setup::new().module("account", module::account(&described)).upstream("account", "api", &service.url()).start();
    let agent = Agent::new(&gateway.client(), "/mcp/account");
    (gateway, service, agent)
}

fn with_tasks(agent: Agent) -> Agent {
    agent.with(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}))
}

/// A request about a task.
fn about(agent: &Agent, method: &str, id: &str) -> support::Answer {
    agent.request(method, json!({"taskId": id})).header("mcp-name", id).send()
}

#[test]
fn a_client_that_knows_tasks_gets_one_and_polls_it() {
    let (gateway, service, agent) = world();
    let agent = with_tasks(agent);
    let discovered = result(&agent.send("server/discover", json!({})));
    assert!(discovered["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object(), "{discovered}");
    let gate = Gate::default();
    service.reply("/slow", Reply::json(json!({"ready": true})).behind(&gate));
    let task = result(&agent.call("fetch", json!({"path": "/slow"})));
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    assert!(task["ttlMs"].is_null() && task["pollIntervalMs"].is_u64() && task["createdAt"].is_string(), "{task}");
    let id = task["taskId"].as_str().unwrap();
    // It is the job of the same id.
    assert_eq!(gateway.client().get(&format!("/jobs/{id}")).ok()["operation"], "fetch");
    let working = result(&about(&agent, "tasks/get", id));
    assert_eq!((&working["resultType"], &working["status"]), (&json!("complete"), &json!("working")), "{working}");
    assert_eq!(result(&about(&agent, "tasks/update", id)), json!({"resultType": "complete"}));
    gate.open();
    let ended = wait_for("the end of the task", || {
        let task = result(&about(&agent, "tasks/get", id));
        (task["status"] != "working").then_some(task)
    });
    assert_eq!((&ended["status"], text_of(&ended["result"])), (&json!("completed"), r#"{"ready":true}"#.to_owned()));
    assert!(ended["ttlMs"].as_u64().unwrap() > 0, "{ended}");
    // A call that fails is a result that says so.
    service.reply("/no", Reply::json(json!({})).status(404));
    let failing = result(&agent.call("fetch", json!({"path": "/no"})));
    let failed = wait_for("the end of the task", || {
        let task = result(&about(&agent, "tasks/get", failing["taskId"].as_str().unwrap()));
        (task["status"] != "working").then_some(task)
    });
    assert_eq!((&failed["status"], &failed["result"]["isError"]), (&json!("completed"), &json!(true)), "{failed}");
}

#[test]
fn a_task_is_cancelled_and_belongs_to_its_user() {
    let (gateway, service, agent) = world();
    let agent = with_tasks(agent);
    let gate = Gate::default();
    service.reply("/slow", Reply::json(json!({})).behind(&gate));
    let task = result(&agent.call("fetch", json!({"path": "/slow"})));
    let id = task["taskId"].as_str().unwrap();
    let other = crate::integrations::client(&gateway, "other", None, "operate");
    let other = with_tasks(Agent::new(&other, "/mcp"));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(code(&about(&other, method, id), 200), -32602, "{method}");
        assert_eq!(code(&about(&agent, method, "job_none"), 200), -32602, "{method}");
    }
    assert_eq!(result(&about(&agent, "tasks/cancel", id)), json!({"resultType": "complete"}));
    assert_eq!(result(&about(&agent, "tasks/get", id))["status"], "cancelled");
    gate.open();
}

#[test]
fn a_limited_key_has_no_task_of_an_operation_that_it_may_not_call() {
    let (gateway, service, agent) = world();
    let gate = Gate::default();
    service.reply("/slow", Reply::json(json!({})).behind(&gate));
    let task = result(&with_tasks(agent).call("collect", json!({"path": "/slow"})));
    let id = task["taskId"].as_str().unwrap();
    let limits = json!({"name": "limited", "scopes": ["operate"], "allow": ["account/fetch"]});
    let made = gateway.client().post("/admin/keys", limits).json();
    let limited = Agent::new(&gateway.anonymous().with_key(made["key"].as_str().unwrap()), "/mcp");
    for name in ["get_job", "cancel_job"] {
        let answer = limited.call(name, json!({"job_id": id}));
        assert!(text_of(&result(&answer)).contains("There is no job"), "{}", answer.text());
    }
    let limited = with_tasks(limited);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(code(&about(&limited, method, id), 200), -32602, "{method}");
    }
    service.wait_for_requests(1);
    assert_eq!(gateway.client().get(&format!("/jobs/{id}")).ok()["status"], "running");
    gate.open();
}

#[test]
fn tasks_are_for_clients_that_declare_them() {
    let (gateway, _service, agent) = world();
    for method in ["tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result"] {
        let refused = about(&agent, method, "job_1");
        assert_eq!(code(&refused, 400), -32021, "{method}");
        let needed = &refused.json()["error"]["data"]["requiredCapabilities"]["extensions"];
        assert!(needed["io.modelcontextprotocol/tasks"].is_object(), "{needed}");
    }
    let agent = with_tasks(agent);
    // The extension has neither.
    for method in ["tasks/list", "tasks/result"] {
        assert_eq!(code(&about(&agent, method, "job_1"), 404), -32601, "{method}");
    }
    assert_eq!(code(&agent.send("tasks/get", json!({"taskId": "job_1"})), 400), -32020, "without Mcp-Name");
    // Earlier revisions do not have it.
    let answer = with_initialize(&gateway.client(), "/mcp", None, "tasks/get", json!({"taskId": "job_1"}));
    assert_eq!(answer.json()["error"]["code"], -32601);
}

#[test]
fn a_client_that_asks_for_progress_is_told_it_while_the_call_waits() {
    let (gateway, service, agent) = world();
    let gate = Gate::default();
    let passes = std::sync::atomic::AtomicUsize::new(0);
    let held = gate.clone();
    service.on("/part", move |_| {
        let first = passes.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        if first { Reply::json(json!({})) } else { Reply::json(json!({})).behind(&held) }
    });
    let mut params = json!({"name": "collect", "arguments": {"path": "/part", "count": 2}});
    params["_meta"] = json!({"progressToken": "p-1"});
    let mut events = agent.request_with_meta("tools/call", params.clone()).events();
    assert_eq!((events.status(), events.header("content-type")), (200, "text/event-stream"));
    assert_eq!((events.header("cache-control"), events.header("x-accel-buffering")), ("no-store", "no"));
    let progress = events.next().unwrap();
    assert_eq!(
        (&progress["method"], &progress["params"]),
        (
            &json!("notifications/progress"),
            &json!({"progressToken": "p-1", "progress": 0.5, "total": 1, "message": "1 of 2"})
        )
    );
    gate.open();
    let last = events.next().unwrap();
    assert_eq!((&last["id"], &last["result"]["content"][0]["type"]), (&json!(1), &json!("text")), "{last}");
    assert!(text_of(&last["result"]).contains(r#""count":2"#), "{last}");
    assert_eq!(events.next(), None);
    // Without a token, or for a client that takes no events, the answer is one document.
    let one = agent.text("collect", json!({"path": "/part", "count": 1}));
    assert!(one.contains(r#""count":1"#), "{one}");
    // An earlier revision has the same.
    let client = gateway.client();
    let call = client
        .request("POST", "/mcp/account")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", WITH_INITIALIZE);
    let mut events =
        call.json(&json!({"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": params})).events();
    let all: Vec<Value> = std::iter::from_fn(|| events.next()).collect();
    assert_eq!((&all.last().unwrap()["id"], all.iter().all(|event| event["jsonrpc"] == "2.0")), (&json!("b"), true));
}

/// The call repeats the token in each event, so it keeps the token while it waits.
#[test]
fn a_token_for_progress_is_bounded_because_the_call_keeps_it() {
    let (_gateway, service, agent) = world();
    service.reply("/", Reply::json(json!({})));
    let call = |characters: usize| {
        let mut params = json!({"name": "fetch", "arguments": {"path": "/"}});
        params["_meta"] = json!({"progressToken": "t".repeat(characters)});
        agent.request_with_meta("tools/call", params).send()
    };
    let refused = call(2000);
    assert_eq!(code(&refused, 200), -32602);
    assert!(refused.text().contains("1024 bytes") && refused.body.len() < 1000, "{}", refused.text());
    assert!(service.seen().is_empty());
    assert_eq!(call(1000).header("content-type"), "text/event-stream");
}

#[test]
fn a_job_ends_when_its_client_closes_the_stream() {
    let (gateway, service, agent) = world();
    let gate = Gate::default();
    service.reply("/wait", Reply::json(json!({})).behind(&gate));
    let mut params = json!({"name": "fetch", "arguments": {"path": "/wait"}});
    params["_meta"] = json!({"progressToken": 7});
    let events = agent.request_with_meta("tools/call", params).events();
    service.wait_for_requests(1);
    drop(events);
    let job = wait_for("the job to be cancelled", || {
        gateway.client().get("/jobs?status=failed").ok()["jobs"].get(0).cloned()
    });
    let job = gateway.client().get(&format!("/jobs/{}", job["job_id"].as_str().unwrap())).ok();
    assert_eq!(job["error"]["type"], "urn:connector-gateway:problem:cancelled", "{job}");
    gate.open();
}

/// If the call ended, its job would be cancelled, and its client would not know the job.
#[test]
fn a_call_waits_for_its_job_while_the_database_is_away() {
    let (store, service, gate) = (Store::postgres(), Upstream::start(), Gate::default());
    service.reply("/slow", Reply::json(json!({"ready": true})).behind(&gate));
    let (proxy, config) = store.database().behind_proxy();
    let gateway = Setup::new()
        .general(&config)
        .module("account", module::account(&json!({"identifier": "account", "auth": "none"})))
        .upstream("account", "api", &service.url())
        .start();
    let agent = Agent::new(&gateway.client(), "/mcp/account");
    let call = agent.request("tools/call", json!({"name": "fetch", "arguments": {"path": "/slow"}})).begin();
    service.wait_for_requests(1);
    proxy.cut();
    gateway.wait_for_log("a look at the job to fail", |line| {
        line["message"].as_str().is_some_and(|text| text.starts_with("a job cannot be looked at now"))
    });
    proxy.restore();
    gate.open();
    // On a slow machine the wait may be over, so that the text names the job.
    let answered = result(&call.wait());
    assert_eq!(answered.get("isError"), None, "{answered}");
    wait_for("the job to succeed", || {
        let listed = gateway.client().get("/jobs?status=succeeded");
        (listed.status == 200 && listed.json()["jobs"].get(0).is_some()).then_some(())
    });
}
