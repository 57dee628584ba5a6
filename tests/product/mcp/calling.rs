//! Calls of tools: each is a call of the pipeline.

use serde_json::{Value, json};
use support::{Client, Gate, Gateway, Reply, Setup, Upstream, module, wait_for};

use super::{Agent, code, result, text_of};

/// A gateway with a connector that needs no account, at a service.
fn world() -> (Gateway, Upstream, Agent) {
    let service = Upstream::start();
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new()
        .module("account", module::account(&described))
        .upstream("account", "api", &service.url())
        .config("[mcp]\nmax_result_kb = 2")
        .start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    (gateway, service, agent)
}

#[test]
fn a_tool_answers_the_text_of_the_service_without_white_space() {
    let (_gateway, service, agent) = world();
    let text = "{ \"n\": 123456789012345678901234567890,\n \"f\" : 1.0, \"t\": \"a b\" }";
    service.reply("/a", Reply::typed("application/json", text));
    assert_eq!(
        agent.text("account__forward", json!({"path": "/a"})),
        r#"{"n":123456789012345678901234567890,"f":1.0,"t":"a b"}"#
    );
    let fields = json!({"path": "/a", "response_fields": ["f"]});
    assert_eq!(agent.text("account__forward", fields), r#"{"f":1.0}"#);
    let result = result(&agent.call("account__forward", json!({"path": "/a"})));
    assert_eq!((&result["resultType"], result.get("structuredContent")), (&json!("complete"), None));
}

#[test]
fn a_failure_is_a_result_that_says_what_to_change() {
    let (gateway, service, agent) = world();
    let words = agent.refusal("account__forward", json!({"pat": "/a", "response_fields": 7}));
    assert!(words.contains("/pat:") && words.contains("`path`") && words.contains("/response_fields:"), "{words}");
    service.reply("/no", Reply::json(json!({"reason": "the door is shut"})).status(409));
    let words = agent.refusal("account__forward", json!({"path": "/no"}));
    assert!(words.contains("the door is shut") && words.contains("Request id: "), "{words}");
    let id = words.split("Request id: ").nth(1).unwrap().trim_end_matches('.').to_owned();
    let record = wait_for("the record of the call", || {
        Some(gateway.client().get(&format!("/admin/calls/{id}"))).filter(|answer| answer.status == 200)
    });
    let record = record.json();
    assert_eq!((&record["operation"], &record["status"]), (&json!("forward"), &json!(409)));
    let series = r#"gateway_requests_total{connector="account",operation="forward",status="409"}"#;
    assert!(gateway.metric(series) >= 1.0, "{}", gateway.client().get("/metrics").text());
    for (name, arguments) in [("account__forwrd", json!({})), ("forward", json!({})), ("get_jobs", json!({}))] {
        assert_eq!(code(&agent.call(name, arguments), 200), -32602, "{name}");
    }
    assert_eq!(code(&agent.send("tools/call", json!({"name": "account__forward", "arguments": [1]})), 200), -32602);
}

#[test]
fn a_long_result_is_cut_and_says_how_to_get_less() {
    let (_gateway, service, agent) = world();
    service.reply("/long", Reply::json(json!({"text": "é".repeat(5000)})));
    let text = agent.text("account__forward", json!({"path": "/long"}));
    assert!(text.starts_with("{\"text\":\"é") && text.len() < 2500, "{}", text.len());
    assert!(text.contains("of 10011 bytes") && text.contains("response_fields"), "{}", &text[text.len() - 200..]);
}

#[test]
fn without_a_setting_a_result_is_cut_at_60_kib_and_is_no_longer_than_its_tool_says() {
    let service = Upstream::start();
    service.reply("/long", Reply::json(json!({"text": "x".repeat(70_000)})));
    let described = json!({"identifier": "account", "auth": "none"});
    let setup = Setup::new().module("account", module::account(&described));
    let gateway = setup.upstream("account", "api", &service.url()).start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let text = agent.text("account__forward", json!({"path": "/long"}));
    assert!(text.contains("61440 of 70011 bytes"), "{}", &text[text.len() - 200..]);
    let tools = agent.tools();
    let tool = tools.iter().find(|tool| tool["name"] == "account__forward").unwrap();
    let said = tool["_meta"]["anthropic/maxResultSizeChars"].as_u64().unwrap();
    assert!(text.len() as u64 <= said, "{} of {said}", text.len());
}

#[test]
fn a_model_gets_images_as_images_and_texts_as_texts() {
    let (_gateway, service, agent) = world();
    service.reply("/image", Reply::typed("image/png", "PNG")).reply("/text", Reply::typed("text/csv", "a, b\n"));
    let image = result(&agent.call("account__forward", json!({"path": "/image"})));
    assert_eq!(image["content"][0], json!({"type": "image", "data": "UE5H", "mimeType": "image/png"}));
    assert_eq!(agent.text("account__forward", json!({"path": "/text"})), "a, b\n");
}

#[test]
fn a_repeated_key_runs_a_call_once() {
    let service = Upstream::start();
    let setup = Setup::new().config("[mcp]\ndirect_tools = 200").guest("hostile");
    let gateway = setup.upstream("hostile", "api", &service.url()).start();
    service.reply("/count", Reply::json(json!({"done": true})));
    let arguments = json!({"method": "POST", "path": "/count"});
    let agent = Agent::new(&gateway.client(), "/mcp/hostile");
    let send = || {
        let params = json!({"name": "write", "arguments": arguments});
        result(&agent.request("tools/call", params).header("idempotency-key", "one").send())
    };
    assert_eq!(text_of(&send()), r#"{"done":true}"#);
    assert_eq!(text_of(&send()), r#"{"done":true}"#);
    let rest = gateway.client().request("POST", "/connectors/hostile/write").header("idempotency-key", "one");
    assert_eq!(rest.json(&arguments).send().header("idempotent-replayed"), "true");
    assert_eq!(service.seen().len(), 1);
}

#[test]
fn the_limits_of_an_address_and_of_a_key_hold_for_calls_too() {
    let (gateway, _service, all) = world();
    assert!(all.names().contains(&"account__change".to_owned()));
    let readonly = Agent::new(&gateway.client(), "/mcp/account/readonly");
    assert!(readonly.names().contains(&"forward".to_owned()) && !readonly.names().contains(&"change".to_owned()));
    assert_eq!(code(&readonly.call("change", json!({})), 200), -32602);
    let key = |limits: Value| {
        let mut body = json!({"name": "test", "scopes": ["operate"]});
        body.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
        let made = gateway.client().post("/admin/keys", body).json();
        let client: Client = gateway.anonymous().with_key(made["key"].as_str().unwrap());
        Agent::new(&client, "/mcp")
    };
    let narrow = key(json!({"allow": ["account/whoami"]}));
    assert_eq!(narrow.names(), ["account__whoami"]);
    assert_eq!(code(&narrow.call("account__forward", json!({})), 200), -32602);
    let reader = key(json!({"effects": ["read"]}));
    assert!(!reader.names().contains(&"account__change".to_owned()));
    assert_eq!(code(&reader.call("account__change", json!({})), 200), -32602);
}

#[test]
fn a_call_in_the_background_is_waited_for_and_jobs_can_be_looked_at() {
    let (_gateway, service, agent) = world();
    service.reply("/slow", Reply::json(json!({"ready": true})));
    assert!(agent.names().contains(&"get_job".to_owned()));
    assert_eq!(agent.text("account__fetch", json!({"path": "/slow"})), r#"{"ready":true}"#);
    service.reply("/bad", Reply::json(json!({})).status(404));
    assert!(agent.refusal("account__fetch", json!({"path": "/bad"})).contains("refused"));
    let jobs = agent.client.get("/jobs").ok();
    let id = jobs["jobs"][0]["job_id"].as_str().unwrap().to_owned();
    assert!(agent.text("get_job", json!({"job_id": id})).contains("\"status\":\"failed\""));
    assert_eq!(agent.text("cancel_job", json!({"job_id": id})), r#"{"cancelled":false}"#);
    assert!(agent.refusal("get_job", json!({"job_id": "job_0"})).contains("no job"));
    assert!(agent.refusal("get_job", json!({"id": "job_0"})).contains("/job_id"));
}

#[test]
fn a_repeated_key_waits_for_the_job_of_the_first_call() {
    let (_gateway, service, agent) = world();
    service.reply("/slow", Reply::json(json!({"ready": true})));
    let send = || {
        let params = json!({"name": "account__change", "arguments": {"path": "/slow", "count": 1}});
        text_of(&result(&agent.request("tools/call", params).header("idempotency-key", "one").send()))
    };
    let first = send();
    assert!(!first.contains("job_id"), "{first}");
    assert_eq!(send(), first);
    let jobs = agent.client.get("/jobs").ok();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "{jobs}");
}

#[test]
fn a_call_ends_when_its_client_closes_the_connection() {
    let (gateway, service, agent) = world();
    let gate = Gate::default();
    service.reply("/wait", Reply::json(json!({})).behind(&gate));
    let params = json!({"name": "account__fetch", "arguments": {"path": "/wait"}});
    let pending = agent.request("tools/call", params).begin();
    service.wait_for_requests(1);
    pending.give_up();
    let job = wait_for("the job to be cancelled", || {
        let jobs = gateway.client().get("/jobs?status=failed").ok();
        jobs["jobs"].get(0).cloned()
    });
    let job = gateway.client().get(&format!("/jobs/{}", job["job_id"].as_str().unwrap())).ok();
    assert_eq!(job["error"]["type"], "urn:connector-gateway:problem:cancelled", "{job}");
    let params = json!({"name": "account__forward", "arguments": {"path": "/wait"}});
    let pending = agent.request("tools/call", params).begin();
    service.wait_for_requests(2);
    pending.give_up();
    wait_for("the call to end", || (gateway.metric("gateway_in_flight") < 0.5).then_some(()));
    gate.open();
}
