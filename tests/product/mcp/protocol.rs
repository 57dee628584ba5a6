//! The messages: revisions, authorization, and input that is wrong.

use serde_json::{Value, json};
use support::{Client, Gateway, Setup, module};

use super::{Agent, STATELESS, WITH_INITIALIZE, code, result, with_initialize};
use crate::integrations::{client, on_each_store};

on_each_store!(a_conversation_needs_no_session_at_any_gateway);

/// A gateway with a connector that needs no account.
fn gateway() -> Gateway {
    Setup::new().module("account", module::account(&json!({"identifier": "account", "auth": "none"}))).start()
}

/// Sends a body as it is.
fn raw(client: &Client, body: &str) -> support::Answer {
    client.request("POST", "/mcp").header("content-type", "application/json").body(body.to_owned()).send()
}

#[test]
fn clients_of_each_revision_begin_and_list_the_tools() {
    let gateway = gateway();
    let client = gateway.client();
    for (asked, agreed) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        (WITH_INITIALIZE, WITH_INITIALIZE),
        (STATELESS, WITH_INITIALIZE),
    ] {
        let begun =
            with_initialize(&client, "/mcp", None, "initialize", json!({"protocolVersion": asked, "capabilities": {}}));
        assert_eq!(result(&begun)["protocolVersion"], agreed);
        let session = begun.header("mcp-session-id").to_owned();
        assert!(!session.is_empty());
        let list = client
            .request("POST", "/mcp")
            .header("mcp-protocol-version", agreed)
            .header("mcp-session-id", &session)
            .json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
            .send();
        let list = result(&list);
        assert!(list["tools"].as_array().unwrap().len() > 10 && list.get("resultType").is_none(), "{list}");
    }
    let initialized = client.post("/mcp", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!((initialized.status, initialized.text().as_str()), (202, ""));

    let agent = Agent::new(&client, "/mcp");
    let discovered = result(&agent.send("server/discover", json!({})));
    assert_eq!(discovered["supportedVersions"], json!([STATELESS, WITH_INITIALIZE, "2025-06-18", "2025-03-26"]));
    assert_eq!((&discovered["resultType"], &discovered["cacheScope"]), (&json!("complete"), &json!("private")));
    let list = result(&agent.send("tools/list", json!({})));
    assert!(list["ttlMs"].as_u64().unwrap() > 0 && list["cacheScope"] == "private", "{list}");
    for method in ["GET", "DELETE"] {
        let refused = client.request(method, "/mcp").send();
        refused.problem(405, "method-not-allowed");
        assert_eq!(refused.header("allow"), "POST");
    }
}

#[test]
fn a_token_is_needed_and_the_answer_says_where_clients_get_one() {
    let gateway = Setup::new()
        .module("account", module::account(&json!({"identifier": "account", "auth": "none"})))
        .config(
            "[jwt_issuers.own]\nissuer = \"https://id.example\"\naudience = \"gateway\"\njwks_url = \"http://127.0.0.1:9/keys\"\nallow_private_network = true",
        )
        .start();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for path in ["/mcp", "/mcp/readonly", "/mcp/account", "/mcp/account/readonly"] {
        let refused = gateway.anonymous().post(path, list.clone());
        refused.problem(401, "unauthenticated");
        let url = format!("{}/.well-known/oauth-protected-resource{path}", gateway.address());
        assert_eq!(refused.header("www-authenticate"), format!("Bearer resource_metadata=\"{url}\""));
        let metadata = gateway.anonymous().get(url.strip_prefix(&gateway.address()).unwrap()).ok();
        assert_eq!(metadata["resource"], format!("{}{path}", gateway.address()));
        assert_eq!(metadata["authorization_servers"], json!(["https://id.example"]));
    }
    let refused = gateway.anonymous().with_key("cgw_wrong").post("/mcp", list.clone());
    assert!(refused.header("www-authenticate").contains("error=\"invalid_token\", resource_metadata=\""));
    let refused = client(&gateway, "default", None, "integrate").post("/mcp", list.clone());
    refused.problem(403, "missing-scope");
    assert!(refused.header("www-authenticate").contains("scope=\"operate\", resource_metadata=\""));
    gateway.client().post("/mcp/acount", list).problem(404, "unknown-connector");
}

#[test]
fn pages_of_other_origins_are_refused() {
    let gateway = gateway();
    let from = |origin: &str| {
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        gateway.client().request("POST", "/mcp").header("origin", origin).json(&list).send()
    };
    assert_eq!(code(&from("https://evil.example"), 403), -32600);
    assert_eq!(code(&from("null"), 403), -32600);
    from(&gateway.address()).ok();
    let odd = gateway.client().request("POST", "/mcp").header("accept", "text/html").body("{}").send();
    odd.problem(406, "bad-request");
}

#[test]
fn broken_messages_are_refused_and_the_next_one_is_served() {
    let gateway = gateway();
    let client = gateway.client();
    for (body, expected) in [
        ("{", -32700),
        ("", -32700),
        ("\u{feff}{}", -32700),
        ("7", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32602),
        ("[]", -32600),
    ] {
        assert_eq!(code(&raw(&client, body), 400), expected, "{body}");
    }
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"account__whoami","arguments":{{"path":{}{}}}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(result(&raw(&client, &deep))["isError"], true);
    let huge = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":"{}"}}}}"#, "x".repeat(11 << 20));
    raw(&client, &huge).problem(413, "body-too-large");
    client
        .request("POST", "/mcp")
        .header("content-type", "text/plain")
        .body("{}")
        .send()
        .problem(415, "unsupported-media-type");
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/dance"});
    assert_eq!(code(&client.post("/mcp", unknown), 200), -32601);
    assert_eq!(code(&Agent::new(&client, "/mcp").send("tools/dance", json!({})), 404), -32601);
    assert_eq!(result(&raw(&client, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)), json!({}));
}

#[test]
fn headers_that_contradict_the_body_are_refused() {
    let gateway = gateway();
    let client = gateway.client();
    let send = |version: Option<&str>, method: Option<&str>, name: Option<&str>, meta: Value| {
        let mut call = client.request("POST", "/mcp");
        for (header, value) in [("mcp-protocol-version", version), ("mcp-method", method), ("mcp-name", name)] {
            if let Some(value) = value {
                call = call.header(header, value);
            }
        }
        let params = json!({"name": "get_job", "_meta": meta});
        call.json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).send()
    };
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let (call, tool) = (Some("tools/call"), Some("get_job"));
    send(Some(STATELESS), call, tool, meta.clone()).ok();
    for (version, method, name) in [
        (None, call, tool),
        (Some(WITH_INITIALIZE), call, tool),
        (Some(STATELESS), None, tool),
        (Some(STATELESS), Some("tools/list"), tool),
        (Some(STATELESS), call, None),
        (Some(STATELESS), call, Some("cancel_job")),
    ] {
        assert_eq!(code(&send(version, method, name, meta.clone()), 400), -32020, "{version:?} {method:?} {name:?}");
    }
    for missing in [json!({}), json!({"io.modelcontextprotocol/protocolVersion": STATELESS})] {
        assert_eq!(code(&send(Some(STATELESS), call, tool, missing), 400), -32602);
    }
    let unknown = send(Some("2099-01-01"), call, tool, json!({}));
    assert_eq!(code(&unknown, 400), -32022);
    assert_eq!(unknown.json()["error"]["data"]["supported"][0], STATELESS);
}

#[test]
fn what_the_gateway_keeps_of_a_request_while_it_waits_is_bounded() {
    let gateway = gateway();
    let client = gateway.client();
    let post = |id: &str, params: &Value| {
        raw(&client, &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string())
    };
    let nothing = json!({"name": "nothing"});
    let refused = post(&"i".repeat(2000), &nothing);
    assert_eq!(code(&refused, 400), -32600);
    assert!(refused.body.len() < 1000 && refused.text().contains("1024 bytes"), "{}", refused.text());
    for params in [
        json!({"name": "n".repeat(70_000)}),
        json!({"name": "nothing", "_meta": {"x": "y".repeat(70_000)}}),
        (0..100).map(|number| (format!("p{number}"), json!(1))).collect(),
    ] {
        assert_eq!(code(&post("a", &params), 400), -32602);
    }
    // A hundred thousand members take no longer than a few.
    let many: serde_json::Map<String, Value> = (0..100_000).map(|number| (format!("p{number}"), json!(1))).collect();
    assert_eq!(code(&post("a", &json!(many)), 400), -32602);
}

#[test]
fn batches_are_for_the_revision_that_has_them() {
    let gateway = gateway();
    let client = gateway.client();
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "nothing"}},
        {"jsonrpc": "1.0"},
    ]);
    let answers = client.post("/mcp", batch.clone()).ok();
    let ids: Vec<_> = answers.as_array().unwrap().iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!("b"), Value::Null]);
    assert_eq!((&answers[1]["error"]["code"], &answers[2]["error"]["code"]), (&json!(-32602), &json!(-32600)));
    assert_eq!(client.post("/mcp", json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}])).status, 202);
    let many: Vec<_> = (0..51).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).collect();
    assert_eq!(code(&client.post("/mcp", json!(many)), 400), -32600);
    for revision in ["2025-06-18", WITH_INITIALIZE, STATELESS] {
        let refused = client.request("POST", "/mcp").header("mcp-protocol-version", revision).json(&batch).send();
        assert_eq!(code(&refused, 400), -32600, "{revision}");
    }
}

/// The abilities of a client are in its session id, which every gateway on the database reads.
fn a_conversation_needs_no_session_at_any_gateway(store: &support::Store) {
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new().on(store).module("account", module::account(&described)).start();
    let ann = client(&gateway, "acme", Some("ann"), "operate,integrate");
    let bob = client(&gateway, "acme", Some("bob"), "operate,integrate");
    let begun = json!({"protocolVersion": WITH_INITIALIZE, "capabilities": {"elicitation": {"url": {}}}});
    let session = with_initialize(&ann, "/mcp", None, "initialize", begun).header("mcp-session-id").to_owned();
    let list = |client: &Client, session: &str| with_initialize(client, "/mcp", Some(session), "tools/list", json!({}));
    let gateway = gateway.start_again();
    let ann = ann.at(&gateway.address());
    assert!(result(&list(&ann, &session))["tools"].as_array().is_some());
    let altered = format!("{}{}", &session[..session.len() - 1], if session.ends_with('A') { 'B' } else { 'A' });
    for (client, session) in [(&bob.at(&gateway.address()), &session), (&ann, &altered), (&ann, &"x".to_owned())] {
        assert_eq!(code(&list(client, session), 404), -32600, "{session}");
    }
}
