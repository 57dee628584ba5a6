//! Errors that a model can act on: they say what was wrong, what was meant, and if the call may be
//! sent again.

use serde_json::{Value, json};
use support::{Gateway, Reply, Setup, Upstream, module};

use super::{Agent, result, text_of};

/// A gateway with a connector that needs no account, at a service.
fn world() -> (Gateway, Upstream, Agent) {
    let service = Upstream::start();
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway =
        Setup::new().module("account", module::account(&described)).upstream("account", "api", &service.url()).start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    (gateway, service, agent)
}

#[test]
fn fields_that_lead_nowhere_are_named_with_the_nearest_in_a_second_text() {
    let (_gateway, service, agent) = world();
    service.reply("/a", Reply::json(json!({"items": [{"name": "x"}]})));
    // The second operation runs in the background.
    for operation in ["account__forward", "account__fetch"] {
        let call = |fields: Value| result(&agent.call(operation, json!({"path": "/a", "response_fields": fields})));
        let answered = call(json!(["items.nmae", "zzz"]));
        assert_eq!(answered.get("isError"), None, "{answered}");
        assert!(text_of(&answered).starts_with("{\"items\""), "{answered}");
        let note = answered["content"][1]["text"].as_str().unwrap_or_else(|| panic!("no second text: {answered}"));
        assert!(note.contains("`items.nmae`, did you mean `items.name`?") && note.contains("`zzz`"), "{note}");
        let answered = call(json!(["items.name"]));
        assert_eq!(answered["content"].as_array().unwrap().len(), 1, "{answered}");
    }
}

#[test]
fn a_list_or_an_object_that_is_written_as_a_text_of_json_is_taken() {
    let (_gateway, service, agent) = world();
    service.reply("/a", Reply::json(json!({"f": 1, "g": 2})));
    let fields = json!({"path": "/a", "response_fields": "[\"f\"]"});
    assert_eq!(agent.text("account__forward", fields), r#"{"f":1}"#);

    let client = "[oauth_clients.github]\nclient_id = \"a\"\nclient_secret = \"b\"";
    let gateway = Setup::new().shipped("code_hosting").config(client).start();
    let agent = Agent::new(&gateway.client(), "/mcp/code_hosting");
    // The arguments are valid, so the call fails only because no account is connected.
    for arguments in [
        json!({"owner": "a", "repo": "b", "title": "c", "labels": "[\"bug\"]"}),
        json!({"owner": "a", "repo": "b", "title": "[1]", "labels": ["bug"]}),
    ] {
        let words = agent.refusal("create_issue", arguments);
        assert!(words.starts_with("Connect the account of GitHub."), "{words}");
    }
    let words = agent.refusal("list_repositories", json!({"query": "{\"per_page\": 5}"}));
    assert!(words.starts_with("Connect the account of GitHub."), "{words}");
    let words = agent.refusal("create_issue", json!({"owner": "a", "repo": "b", "title": "c", "labels": "bug"}));
    assert!(words.contains("/labels: Must be null or an array."), "{words}");
}

#[test]
fn arguments_of_an_operation_may_be_a_text_of_json_and_belong_into_arguments() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({"id": 7})));
    let gateway = Setup::new()
        .guest("hostile")
        .upstream("hostile", "api", &service.url())
        .config("[mcp]\ndirect_tools = 0")
        .start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let arguments = json!({"method": "POST", "path": "/x"}).to_string();
    let call = json!({"operation": "hostile__write", "arguments": arguments});
    assert_eq!(agent.text("call_write", call), r#"{"id":7}"#);
    let described = agent.text("describe_operations", json!({"names": "[\"hostile__write\"]"}));
    assert!(described.contains("\"call_with\":\"call_write\""), "{described}");
    let flat = json!({"operation": "hostile__write", "method": "POST", "path": "/x"});
    let words = agent.refusal("call_write", flat);
    assert!(words.contains("/method: `method` is not a field here; arguments of the operation belong into"), "{words}");
}

#[test]
fn a_flat_argument_is_told_where_it_belongs_by_tools_and_over_http() {
    let gateway = Setup::new().shipped("code_hosting").start();
    let told = r#"`per_page` is not a field here; it belongs into `query`: {"query": {"per_page": …}}."#;
    let words = Agent::new(&gateway.client(), "/mcp/code_hosting").refusal("list_repositories", json!({"per_page": 5}));
    assert!(words.contains(told) && words.contains("Change the call before you send it again."), "{words}");
    let problem = gateway.call("code_hosting/list_repositories", json!({"per_page": 5})).problem(422, "validation");
    assert_eq!(problem["errors"][0]["detail"], told, "{problem}");
}

#[test]
fn no_argument_is_advised_that_the_tool_lacks() {
    let (_gateway, service, agent) = world();
    let words = agent.refusal("account__fetch", json!({"nothing_like_it": 1}));
    for hidden in ["waiting", "callback_urls", "response_filters"] {
        assert!(!words.contains(hidden), "{words}");
    }
    assert!(words.contains("response_fields") && words.contains("path"), "{words}");
    // The gateway accepts them.
    service.reply("/a", Reply::json(json!({"list": [{"name": "a"}, {"name": "b"}]})));
    let filter = json!({"field_name": "name", "type": "string_list", "values": ["a"], "root": "list"});
    let arguments = json!({"path": "/a", "waiting": true, "response_filters": [filter]});
    assert_eq!(agent.text("account__fetch", arguments), r#"{"list":[{"name":"a"}]}"#);
}

#[test]
fn a_failure_says_if_the_call_may_be_sent_again() {
    let (_gateway, service, agent) = world();
    service.reply("/busy", Reply::json(json!({})).status(429).header("retry-after", "40"));
    assert!(agent.refusal("account__forward", json!({"path": "/busy"})).contains("Try again after 40 s."));
    service.reply("/no", Reply::json(json!({})).status(409));
    assert!(agent.refusal("account__forward", json!({"path": "/no"})).contains("before you send it again"));
}

#[test]
fn an_unknown_connector_is_told_the_nearest() {
    let gateway = Setup::new().every_shipped().start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let told = |tool: &str, connector: &str| {
        let mut arguments = json!({"connector": connector});
        if tool == "search_operations" {
            arguments["query"] = "list issues".into();
        }
        agent.refusal(tool, arguments)
    };
    for tool in ["search_operations", "list_accounts", "connect_account"] {
        for (name, meant) in [
            ("code_hostin", "code_hosting"),
            ("github", "code_hosting"),
            ("gmail", "workspace_mail"),
            ("slack", "team_chat"),
            ("google_calendar", "workspace_calendar"),
            ("outlook", "office_mail"),
        ] {
            let words = told(tool, name);
            assert!(words.contains(&format!("did you mean `{meant}`?")), "{tool}: {name}: {words}");
        }
    }
    for tool in ["search_operations", "list_accounts"] {
        let words = told(tool, "zzz");
        assert_eq!(words, "There is no connector `zzz` here; leave `connector` out for all connectors.", "{tool}");
    }
}
