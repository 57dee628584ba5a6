//! Destructive operations ask first, where a tool set or a key says so.

use serde_json::{Value, json};
use support::{Client, Dialect, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, module};

use super::{Agent, WITH_INITIALIZE, result, text_of, with_initialize};
use crate::integrations::{client, connect, email, on_each_store, registered};

on_each_store!(
    a_client_without_forms_confirms_with_the_digest_once_and_for_the_same_arguments,
    a_client_with_forms_asks_the_user_and_an_answer_serves_once,
);

struct World {
    gateway: Gateway,
    service: Upstream,
    client: Client,
}

fn world(store: &Store) -> World {
    let service = Upstream::start();
    service.reply("/a", Reply::json(json!({"erased": true}))).reply("/b", Reply::json(json!({"erased": true})));
    let gateway = Setup::new()
        .on(store)
        .module("account", module::account(&json!({"identifier": "account", "auth": "none"})))
        .upstream("account", "api", &service.url())
        .start();
    let client = gateway.client();
    let set = json!({"name": "careful", "allow": ["account"], "confirm": true});
    assert_eq!(client.post("/mcp-sets", set).status, 201);
    World { gateway, service, client }
}

const TOOL: &str = "account__erase";

/// The digest in a text.
#[track_caller]
fn digest(text: &str) -> String {
    let start = text.find("\"confirm\": \"").unwrap_or_else(|| panic!("no digest in {text}")) + 12;
    text[start..].split('"').next().unwrap().to_owned()
}

fn a_client_without_forms_confirms_with_the_digest_once_and_for_the_same_arguments(store: &Store) {
    let World { gateway, service, client } = world(store);
    let agent = Agent::new(&client, "/mcp/sets/careful");
    let tools = agent.tools();
    let has_confirm = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        tool["inputSchema"]["properties"].get("confirm").is_some()
    };
    assert!(has_confirm(TOOL) && !has_confirm("account__forward"));
    let arguments = json!({"path": "/a", "method": "GET"});
    let asked = agent.refusal(TOOL, arguments.clone());
    assert!(asked.contains("destroys data") && asked.contains(r#""path":"/a""#), "{asked}");
    let confirmed = |path: &str, digest: &str| json!({"path": path, "confirm": digest, "method": "GET"});
    // Another call is not confirmed by it, and the digest is still good afterwards.
    assert!(agent.refusal(TOOL, confirmed("/b", &digest(&asked))).contains("was not made for this call"));
    assert!(service.seen().is_empty());
    // The second call may go to another process on the same database.
    let gateway = gateway.start_again();
    let agent = Agent::new(&client.at(&gateway.address()), "/mcp/sets/careful");
    assert_eq!(agent.text(TOOL, confirmed("/a", &digest(&asked))), r#"{"erased":true}"#);
    assert!(agent.refusal(TOOL, confirmed("/a", &digest(&asked))).contains("was used"));
    assert_eq!(service.seen().len(), 1);
    // A call that cannot run is not asked about.
    let wrong = agent.refusal(TOOL, json!({"pat": "/a"}));
    assert!(wrong.contains("/pat") && !wrong.contains("confirm"), "{wrong}");
    // Other operations and other addresses do not ask.
    agent.text("account__forward", json!({"path": "/a"}));
    Agent::new(&client.at(&gateway.address()), "/mcp").text(TOOL, json!({"path": "/a"}));
    // A client of an earlier revision is asked by text, also if it has forms.
    let client = client.at(&gateway.address());
    let begun = json!({"protocolVersion": WITH_INITIALIZE, "capabilities": {"elicitation": {}}});
    let path = "/mcp/sets/careful";
    let session = with_initialize(&client, path, None, "initialize", begun).header("mcp-session-id").to_owned();
    let call = |arguments: Value| {
        let params = json!({"name": TOOL, "arguments": arguments});
        result(&with_initialize(&client, path, Some(&session), "tools/call", params))
    };
    let digest = digest(&text_of(&call(json!({"path": "/a"}))));
    assert_eq!(text_of(&call(json!({"confirm": digest, "path": "/a"}))), r#"{"erased":true}"#);
}

fn a_client_with_forms_asks_the_user_and_an_answer_serves_once(store: &Store) {
    let World { service, client, gateway: _gateway } = &world(store);
    let agent = Agent::new(client, "/mcp/sets/careful").with(json!({"elicitation": {"form": {}}}));
    let arguments = json!({"path": "/a"});
    let ask = || {
        let asked = result(&agent.call(TOOL, arguments.clone()));
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let question = &asked["inputRequests"]["confirm"];
        assert_eq!((&question["method"], &question["params"]["mode"]), (&json!("elicitation/create"), &json!("form")));
        assert!(question["params"]["message"].as_str().unwrap().contains("account/erase"), "{question}");
        asked["requestState"].clone()
    };
    let answer = |state: &Value, response: Value| {
        let params = json!({
            "name": TOOL, "arguments": arguments, "requestState": state, "inputResponses": {"confirm": response},
        });
        result(&agent.send("tools/call", params))
    };
    let state = ask();
    for no in [json!({"action": "decline"}), json!({"action": "accept", "content": {"confirm": false}})] {
        assert!(text_of(&answer(&state, no)).contains("declined"));
    }
    let yes = || json!({"action": "accept", "content": {"confirm": true}});
    // Without a clear answer, the user is asked again.
    assert_eq!(answer(&state, json!({"action": "accept"}))["resultType"], "input_required");
    assert!(service.seen().is_empty());
    assert_eq!(text_of(&answer(&state, yes())), r#"{"erased":true}"#);
    assert_eq!(answer(&state, yes())["resultType"], "input_required");
    assert_eq!(service.seen().len(), 1);
}

#[test]
fn a_key_may_say_that_destructive_operations_ask() {
    let World { gateway, service, client } = world(&Store::Sqlite);
    let made = client.post("/admin/keys", json!({"name": "careful", "scopes": ["operate"], "confirm": true})).json();
    assert_eq!(made["confirm"], true);
    let by_command = gateway.home().run_ok(&["keys", "create", "--name", "careful", "--confirm"]);
    for key in [made["key"].as_str().unwrap(), by_command.trim_end()] {
        let careful = gateway.anonymous().with_key(key);
        let agent = Agent::new(&careful, "/mcp/account");
        let digest = digest(&agent.refusal("erase", json!({"path": "/a"})));
        assert_eq!(agent.text("erase", json!({"path": "/a", "confirm": digest})), r#"{"erased":true}"#);
        // Over HTTP, the application itself has asked.
        careful.call("account/erase", json!({"path": "/a"})).ok();
    }
    assert_eq!(service.seen().len(), 4);
}

/// The user was asked about the account of the first call.
#[test]
fn a_digest_confirms_a_call_for_its_account_alone() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = registered(Setup::new().account("account", &provider).start(), &provider);
    let acme = client(&gateway, "acme", None, "operate,integrate");
    for person in ["ada", "ben"] {
        connect(&acme, "account", person);
    }
    let set = json!({"name": "careful", "allow": ["account"], "confirm": true});
    assert_eq!(acme.post("/mcp-sets", set).status, 201);
    let agent = Agent::new(&acme, "/mcp/sets/careful");
    // The header names the account, so the arguments are the same.
    let call = |person: &str, arguments: Value| {
        let params = json!({"name": TOOL, "arguments": arguments});
        text_of(&result(&agent.request("tools/call", params).header("x-user-identifier", &email(person)).send()))
    };
    let asked = call("ada", json!({"path": "/me"}));
    assert!(asked.contains(&email("ada")), "{asked}");
    let confirmed = json!({"path": "/me", "confirm": digest(&asked)});
    let refused = call("ben", confirmed.clone());
    assert!(refused.contains("was not made for this call") && refused.contains(&email("ben")), "{refused}");
    let erased = call("ada", confirmed);
    assert!(erased.contains("ada") && !erased.contains("destroys data"), "{erased}");
}

#[test]
fn a_search_confirms_too() {
    let World { service, client, gateway: _gateway } = &world(&Store::Sqlite);
    let set = json!({"name": "found", "allow": ["account"], "mode": "search", "confirm": true});
    assert_eq!(client.post("/mcp-sets", set).status, 201);
    let agent = Agent::new(client, "/mcp/sets/found");
    let arguments = json!({"operation": "account/erase", "arguments": {"path": "/a"}});
    let digest = digest(&agent.refusal("call_destructive", arguments));
    let again = json!({"arguments": {"path": "/a"}, "operation": "account/erase", "confirm": digest});
    assert_eq!(agent.text("call_destructive", again), r#"{"erased":true}"#);
    assert_eq!(service.seen().len(), 1);
}
