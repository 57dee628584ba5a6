//! The user connects or chooses an account in the middle of a conversation.

use serde_json::{Value, json};
use support::{Client, Dialect, Gateway, OAuthProvider, Setup, Store};

use super::{Agent, WITH_INITIALIZE, code, result, text_of, with_initialize};
use crate::connect_page::Browser;
use crate::integrations::{client, connect, on_each_store, started};

on_each_store!(
    a_client_that_shows_urls_sends_the_user_to_a_page_and_calls_again,
    another_client_gets_the_page_in_words,
    the_state_of_a_call_is_good_for_this_call_alone,
    the_user_chooses_one_of_several_accounts,
);

struct World {
    gateway: Gateway,
    provider: OAuthProvider,
    ann: Client,
}

fn world(store: &Store) -> World {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = started(Setup::new().on(store).account("account", &provider), &provider);
    let ann = client(&gateway, "acme", Some("ann"), "operate,integrate");
    World { gateway, provider, ann }
}

/// The tool that needs an account.
const TOOL: &str = "account__forward";

fn me() -> Value {
    json!({"path": "/me"})
}

/// Opens the page in a text, and connects the account of a person there.
#[track_caller]
fn connects(text: &str, person: &str) {
    let start = text.find("http").unwrap_or_else(|| panic!("no link in {text}"));
    let url = text[start..].split([' ', '"']).next().unwrap();
    Browser::default().connects(url, "account", person);
}

fn urls(client: &Client) -> Agent {
    Agent::new(client, "/mcp").with(json!({"elicitation": {"url": {}, "form": {}}}))
}

#[test]
fn an_agent_is_told_in_words_that_the_operator_must_set_the_connector_up() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = started(Setup::new().account_without_client("account", &provider), &provider);
    let ann = client(&gateway, "acme", Some("ann"), "operate,integrate");
    let agent = urls(&ann);
    let own = json!({"connector": "account"});
    for told in [agent.call(TOOL, me()), agent.call("connect_account", own)] {
        let told = result(&told);
        assert_eq!(told["isError"], true, "{told}");
        let text = text_of(&told);
        assert!(text.contains("The operator must set this integration up"), "{text}");
        assert!(text.contains("oauth_clients.account.client_id") && !text.contains("/connect/"), "{text}");
    }
}

/// Neither a header nor a path could name such an account.
#[test]
fn no_page_is_made_for_an_account_with_a_name_that_none_can_have() {
    let World { ann, gateway, .. } = &world(&Store::Sqlite);
    for agent in [Agent::new(ann, "/mcp"), urls(ann)] {
        for name in ["..", "a\nb", &"x".repeat(257)] {
            let said = agent.refusal(TOOL, json!({"path": "/me", "account": name}));
            assert!(said.contains("No account can have the name"), "{said}");
        }
    }
    assert_eq!(gateway.client().get("/admin/connect-links").ok()["connect_links"], json!([]));
}

fn a_client_that_shows_urls_sends_the_user_to_a_page_and_calls_again(store: &Store) {
    let World { ann, provider, gateway } = &world(store);
    let agent = urls(ann);
    let asked = result(&agent.call(TOOL, me()));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["connect"];
    assert_eq!((&question["method"], &question["params"]["mode"]), (&json!("elicitation/create"), &json!("url")));
    let again = |action: &str| {
        json!({
            "name": TOOL,
            "arguments": me(),
            "requestState": asked["requestState"],
            "inputResponses": {"connect": {"action": action}},
        })
    };
    // The user has not been there yet, so the client is sent to the same page.
    let early = result(&agent.send("tools/call", again("accept")));
    assert_eq!(early["inputRequests"]["connect"]["params"]["url"], question["params"]["url"], "{early}");
    let declined = result(&agent.send("tools/call", again("decline")));
    assert!(text_of(&declined).contains("declined") && declined["isError"] == true, "{declined}");
    connects(question["params"]["url"].as_str().unwrap(), "ann");
    let done = result(&agent.send("tools/call", again("accept")));
    assert!(text_of(&done).contains("ann@example.com") && done.get("isError").is_none(), "{done}");
    provider.withdraw();
    let again = result(&agent.call(TOOL, me()));
    assert!(again["inputRequests"]["connect"]["params"]["message"].as_str().unwrap().contains("again"), "{again}");

    // A client of an earlier revision gets an error with the page.
    let bob = client(gateway, "acme", Some("bob"), "operate,integrate");
    let capabilities = json!({"elicitation": {"url": {}}});
    let begun = json!({"protocolVersion": WITH_INITIALIZE, "capabilities": capabilities});
    let session = with_initialize(&bob, "/mcp", None, "initialize", begun).header("mcp-session-id").to_owned();
    let call = |session| with_initialize(&bob, "/mcp", session, "tools/call", json!({"name": TOOL, "arguments": me()}));
    let refused = call(Some(&session));
    assert_eq!(code(&refused, 200), -32042);
    let elicitation = refused.json()["error"]["data"]["elicitations"][0].clone();
    assert!(elicitation["elicitationId"].as_str().is_some_and(|id| !id.is_empty()), "{elicitation}");
    connects(elicitation["url"].as_str().unwrap(), "bob");
    assert!(text_of(&result(&call(Some(&session)))).contains("bob@example.com"));
    assert!(text_of(&result(&call(None))).contains("bob@example.com"));
}

fn another_client_gets_the_page_in_words(store: &Store) {
    let World { ann, gateway, .. } = &world(store);
    let agent = Agent::new(ann, "/mcp");
    assert!(agent.names().contains(&"connect_account".to_owned()));
    let words = agent.refusal(TOOL, me());
    connects(&words, "ann");
    assert!(agent.text(TOOL, me()).contains("ann@example.com"));
    let accounts: Value = serde_json::from_str(&agent.text("list_accounts", json!({}))).unwrap();
    assert_eq!((&accounts[0]["account"], &accounts[0]["status"]), (&json!("ann@example.com"), &json!("active")));

    let bob = Agent::new(&client(gateway, "acme", Some("bob"), "operate,integrate"), "/mcp/account");
    connects(&bob.text("connect_account", json!({"connector": "account"})), "bob");
    assert!(bob.text("forward", me()).contains("bob@example.com"));
    assert!(bob.refusal("connect_account", json!({"connector": "acount"})).contains("`account`"));

    let eve = Agent::new(&client(gateway, "acme", Some("eve"), "operate"), "/mcp");
    assert!(!eve.names().contains(&"connect_account".to_owned()));
    assert!(eve.refusal(TOOL, me()).contains("`integrate`"));
}

fn the_state_of_a_call_is_good_for_this_call_alone(store: &Store) {
    let World { ann, gateway, .. } = &world(store);
    let state = result(&urls(ann).call(TOOL, me()))["requestState"].as_str().unwrap().to_owned();
    let send = |client: &Client, tool: &str, arguments: Value, state: &str| {
        urls(client).send("tools/call", json!({"name": tool, "arguments": arguments, "requestState": state}))
    };
    assert_eq!(result(&send(ann, TOOL, me(), &state))["resultType"], "input_required");
    let bob = client(gateway, "acme", Some("bob"), "operate,integrate");
    let other_key = client(gateway, "acme", Some("ann"), "operate,integrate");
    let altered = format!("{}{}", &state[..state.len() - 1], if state.ends_with('A') { 'B' } else { 'A' });
    for answer in [
        send(&bob, TOOL, me(), &state),
        send(&other_key, TOOL, me(), &state),
        send(ann, "account__composed", me(), &state),
        send(ann, TOOL, json!({"path": "/other"}), &state),
        send(ann, TOOL, me(), &altered),
        send(ann, TOOL, me(), ""),
        send(ann, TOOL, me(), "a.b"),
    ] {
        assert_eq!(code(&answer, 200), -32602);
    }
}

fn the_user_chooses_one_of_several_accounts(store: &Store) {
    let World { ann, gateway, .. } = &world(store);
    connect(ann, "account", "ada");
    connect(ann, "account", "bob");
    let plain = Agent::new(ann, "/mcp");
    let listed = plain.tools();
    let tool = listed.iter().find(|tool| tool["name"] == TOOL).unwrap();
    assert!(tool["inputSchema"]["properties"].get("account").is_some(), "{tool}");
    let words = plain.refusal(TOOL, me());
    assert!(words.contains("ada@example.com") && words.contains("`account`"), "{words}");
    let named = json!({"path": "/me", "account": "bob@example.com"});
    assert!(plain.text(TOOL, named).contains("bob@example.com"));

    let agent = urls(ann);
    let asked = result(&agent.call(TOOL, json!({"path": "/me", "method": "GET"})));
    let schema = &asked["inputRequests"]["account"]["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["account"]["enum"], json!(["ada@example.com", "bob@example.com"]), "{asked}");
    // The arguments may come in another order.
    let chosen = json!({
        "name": TOOL,
        "arguments": {"method": "GET", "path": "/me"},
        "requestState": asked["requestState"],
        "inputResponses": {"account": {"action": "accept", "content": {"account": "ada@example.com"}}},
    });
    assert!(text_of(&result(&agent.send("tools/call", chosen.clone()))).contains("ada@example.com"));

    // The first one that names an account decides: the tool set, the header, and then the answer.
    let set = json!({"name": "bob", "allow": ["account"], "account": "bob@example.com"});
    let acme = client(gateway, "acme", None, "operate,integrate");
    assert_eq!(acme.post("/mcp-sets", set).status, 201);
    let of_bob = Agent::new(ann, "/mcp/sets/bob").with(json!({"elicitation": {"url": {}, "form": {}}}));
    let refused = result(&of_bob.send("tools/call", chosen.clone()));
    assert!(text_of(&refused).contains("leave the account out"), "{refused}");
    let by_header = agent.request("tools/call", chosen).header("x-user-identifier", "bob@example.com").send();
    assert!(text_of(&result(&by_header)).contains("uses the account `bob@example.com`"), "{}", by_header.text());
}
