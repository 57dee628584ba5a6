//! Small inputs of which a request with many times their bytes could be made, and inputs of which
//! the gateway validates another part than the connector would send.

use std::fs;

use serde_json::{Value, json};
use support::home::path;
use support::{Answer, Dialect, Gate, Gateway, OAuthProvider, Reply, Setup, Upstream, usage, wait_for};

use crate::integrations::{client, connect, started};

/// Operations of a connector without code.
const OPERATIONS: &str = r#"
[operations.send_form]
request = "POST api /forms"
doc = "Send a form."
fields.body = "object"
form = true

[operations.upload]
request = "POST api /photos"
doc = "Upload photos."
fields."tags?" = "[string]"
fields."photos?" = "[file]"
multipart = true

[operations.find]
request = "GET api /things"
doc = "Find things."
fields."tags?" = { type = "[string]", as = "tags_of_the_things_that_are_to_be_found", repeated = true }

[operations.post_card]
request = "POST api /cards"
doc = "Post a card."
fields.body = "object"
"#;

const MEMORY_MB: u64 = 64;

fn gateway(service: &Upstream) -> Gateway {
    let home = Setup::new().prepare();
    let folder = home.config().with_file_name("words");
    home.run_ok(&["connectors", "new", "words", "--lang", "none", "--folder", path(&folder)]);
    let file = folder.join("connector.toml");
    fs::write(&file, fs::read_to_string(&file).unwrap() + OPERATIONS).unwrap();
    home.run_ok(&["connectors", "build", path(&folder)]);
    service.reply("*", Reply::json(json!({})));
    Setup::new()
        .module("words", fs::read(folder.join("words.wasm")).unwrap())
        .upstream("words", "api", &service.url())
        .general(&format!("memory_mb = {MEMORY_MB}"))
        .start()
}

fn send(gateway: &Gateway, operation: &str, body: String) -> Answer {
    let call = gateway.client().request("POST", &format!("/connectors/words/{operation}"));
    call.header("content-type", "application/json").body(body).send()
}

/// The detail of the only violation.
#[track_caller]
fn violation(answer: &Answer, pointer: &str) -> String {
    let mut violations = answer.violations();
    assert_eq!((violations.len(), violations[0].0.as_str()), (1, pointer), "{violations:?}");
    violations.remove(0).1
}

#[test]
fn a_form_with_a_long_name_and_a_long_list_is_refused_before_it_is_made() {
    let service = Upstream::start();
    let gateway = gateway(&service);
    let list = |name: &str, item: &str, count: usize| {
        format!(r#"{{"body":{{"m":{{"{name}":[{}]}}}}}}"#, vec![item; count].join(","))
    };
    send(&gateway, "send_form", list("ids", "0", 3)).ok();
    assert_eq!(service.take_seen()[0].form(), vec![("m[ids][]".to_owned(), "0".to_owned()); 3]);
    let before = usage::peak_mb(gateway.process_id());
    let long = "K".repeat(50_000);
    for item in ["0", r#"{"a":0}"#] {
        let detail = violation(&send(&gateway, "send_form", list(&long, item, 25_000)), "/body");
        assert!(detail.contains("Give fewer items, or shorter names."), "{detail}");
    }
    let tags = |count: usize| json!({"tags": vec!["a"; count]}).to_string();
    assert_eq!(violation(&send(&gateway, "upload", tags(1025)), ""), "Give at most 1024 parts.");
    let numbers = json!({"tags": vec!["0"; 100_000]}).to_string();
    let detail = violation(&send(&gateway, "find", numbers), "");
    assert!(detail.contains("16384 bytes"), "{detail}");
    let grown = usage::peak_mb(gateway.process_id()) - before;
    assert!(grown < MEMORY_MB + 100, "{grown} MB for a budget of {MEMORY_MB} MB");
    assert!(service.seen().is_empty());
    send(&gateway, "upload", tags(1024)).ok();
    assert_eq!(service.take_seen()[0].multipart().len(), 1024);
}

/// Each segment of a path takes about forty times its text, for as long as the call runs.
#[test]
fn the_memory_that_paths_of_fields_take_is_counted_until_the_call_ends() {
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("*", Reply::json(json!({"a": 1})).behind(&gate));
    let setup = Setup::new().guest("hostile").upstream("hostile", "api", &service.url());
    let gateway = setup.general("memory_mb = 32").start();
    let rest = ".a".repeat(254);
    let paths: Vec<String> = (0..1000).map(|number| format!("{number}{rest}")).collect();
    let input = json!({"path": "/slow", "response_fields": paths});
    let client = gateway.client();
    let first = client.begin("/connectors/hostile/forward", input.clone());
    service.wait_for_requests(1);
    // There is room for one of them.
    gateway.call("hostile/forward", input.clone()).problem(503, "busy");
    gate.open();
    assert_eq!(first.wait().status, 200);
    wait_for("the memory to be free", || (gateway.metric("gateway_memory_held_bytes") == 0.0).then_some(()));
    gateway.call("hostile/forward", input).ok();
}

/// The position of an object of eight bytes, which a path leads to, takes seven times as much.
#[test]
fn the_memory_that_shaping_an_answer_takes_is_counted() {
    let service = Upstream::start();
    let setup = Setup::new().guest("hostile").upstream("hostile", "api", &service.url());
    let gateway = setup.general(&format!("memory_mb = {MEMORY_MB}")).start();
    let input = json!({"path": "/", "response_fields": ["a"]});
    let many = format!("[{}{{}}]", r#"{"a":1},"#.repeat(2 << 20));
    service.reply("*", Reply::typed("application/json", many));
    gateway.call("hostile/forward", input.clone()).problem(503, "busy");
    service.reply("*", Reply::json(json!([{"a": 1, "b": 2}])));
    assert_eq!(gateway.call("hostile/forward", input).ok(), json!([{"a": 1}]));
}

#[test]
fn a_name_that_occurs_twice_in_an_inner_object_is_refused_at_every_door() {
    let service = Upstream::start();
    let gateway = gateway(&service);
    let twice = r#"{"body":{"list":[{"mode":"any","mode":"safe"}]}}"#;
    let detail = violation(&send(&gateway, "post_card", twice.to_owned()), "/body/list/0/mode");
    assert_eq!(detail, "The body contains `mode` more than once; send it once.");
    let call = |arguments: &str| {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"words__post_card","arguments":{arguments}}}}}"#
        );
        let call = gateway.client().request("POST", "/mcp").header("content-type", "application/json");
        let answer = call.header("accept", "application/json, text/event-stream").body(format!("[{message}]")).send();
        answer.ok()[0]["result"].clone()
    };
    // A model may write the object as a text of JSON.
    let as_text = json!({"body": r#"{"list":[{"mode":"any","mode":"safe"}]}"#}).to_string();
    for arguments in [twice, &as_text] {
        let result: Value = call(arguments);
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(result["isError"] == true && text.contains("more than once"), "{result}");
    }
    assert!(service.seen().is_empty());
    assert_ne!(call(r#"{"body":{"list":[{"mode":"any"},{"mode":"safe"}]}}"#)["isError"], true);
    assert_eq!(&service.take_seen()[0].body[..], br#"{"list":[{"mode":"any"},{"mode":"safe"}]}"#);
}

#[test]
fn a_form_of_very_many_fields_is_refused_before_its_fields_are_kept() {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().account("account", &provider).config(&format!("upstreams.form = \"{}\"", provider.api()));
    let gateway = started(setup, &provider);
    let caller = client(&gateway, "default", None, "integrate,proxy");
    connect(&caller, "account", "ada");
    let send = |fields: usize| {
        let call = caller.request("POST", "/proxy/account/form/x");
        call.header("content-type", "application/x-www-form-urlencoded").body("a&".repeat(fields)).send()
    };
    send(1024);
    assert_eq!(provider.api_calls().pop().unwrap().form().len(), 1025, "one more has the credential");
    let (sent, before) = (provider.api_calls().len(), usage::peak_mb(gateway.process_id()));
    for fields in [1025, 5_000_000] {
        assert_eq!(violation(&send(fields), ""), "A form for this service must have at most 1024 fields.");
    }
    let grown = usage::peak_mb(gateway.process_id()) - before;
    assert!(grown < 100, "{grown} MB for a body of 10 MB");
    assert_eq!(provider.api_calls().len(), sent);
}
