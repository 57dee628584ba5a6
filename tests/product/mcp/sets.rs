//! Tool sets: their routes and commands, and the tools at their addresses.

use serde_json::{Value, json};
use support::process::{self, Finished};
use support::{Client, Gateway, Setup, Store, dexscreener, module};

use super::{Agent, code, result, text_of};
use crate::integrations::{client, connect, email, on_each_store, registered};

on_each_store!(
    a_tool_set_is_made_shown_listed_and_deleted,
    a_tool_set_belongs_to_its_tenant,
    a_set_that_fixes_an_account_uses_no_other,
    accounts_of_connectors_outside_of_the_view_are_not_listed,
);

fn gateway(store: &Store) -> Gateway {
    let described = json!({"identifier": "account", "auth": "none"});
    Setup::new().on(store).module("account", module::account(&described)).start()
}

/// Makes a tool set of the tenant of a client.
#[track_caller]
fn make(client: &Client, set: Value) -> Value {
    let made = client.post("/mcp-sets", set);
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()
}

fn a_tool_set_is_made_shown_listed_and_deleted(store: &Store) {
    let gateway = gateway(store);
    let client = gateway.client();
    let set = json!({"name": "reports", "allow": ["account/forward", "account/erase"], "effects": ["read"]});
    let post = || client.request("POST", "/mcp-sets").header("idempotency-key", "k-1").json(&set).send();
    let (made, again) = (post(), post());
    assert_eq!((made.status, again.status, again.header("idempotent-replayed")), (201, 201, "true"));
    let made = made.json();
    let url = format!("{}/mcp/sets/reports", gateway.address());
    assert_eq!((&made["url"], &made["mode"], &made["effects"]), (&json!(url), &json!("auto"), &json!(["read"])));
    assert_eq!((&made["pinned"], &made["account"], &made["confirm"]), (&json!([]), &json!(null), &json!(false)));
    assert_eq!(client.get("/mcp-sets/reports").ok(), made);
    client.post("/mcp-sets", json!({"name": "reports", "allow": ["account/whoami"]})).problem(409, "tool-set-exists");
    for name in ["a", "b"] {
        make(&client, json!({"name": name, "allow": ["account"]}));
    }
    let page = client.get("/mcp-sets?limit=2").ok();
    let names = |page: &Value| -> Vec<String> {
        page["sets"].as_array().unwrap().iter().map(|set| set["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&page), ["a", "b"]);
    let next = client.get(&format!("/mcp-sets?limit=2&cursor={}", page["next_cursor"].as_str().unwrap())).ok();
    assert_eq!((names(&next), &next["next_cursor"]), (vec!["reports".to_owned()], &json!(null)));
    let agent = Agent::new(&client, "/mcp/sets/reports");
    assert_eq!(agent.names(), ["account__forward"]);
    assert_eq!(code(&agent.call("account__erase", json!({})), 200), -32602);
    assert_eq!(client.delete("/mcp-sets/reports").ok(), json!({"name": "reports", "deleted": true}));
    client.delete("/mcp-sets/reports").problem(404, "unknown-tool-set");
    let gone = agent.send("tools/list", json!({})).problem(404, "unknown-tool-set");
    assert!(gone["detail"].as_str().unwrap().contains("GET /mcp-sets"), "{gone}");
    let audit = client.get("/admin/audit?target=reports").ok();
    let actions: Vec<_> = audit["entries"].as_array().unwrap().iter().map(|entry| entry["action"].clone()).collect();
    assert_eq!(actions, ["tool_set.deleted", "tool_set.created"]);
}

fn a_tool_set_belongs_to_its_tenant(store: &Store) {
    let gateway = gateway(store);
    let acme = client(&gateway, "acme", None, "operate,integrate");
    let other = client(&gateway, "other", None, "operate,integrate");
    let ann = client(&gateway, "acme", Some("ann"), "operate,integrate");
    make(&acme, json!({"name": "reports", "allow": ["account/forward"]}));
    other.get("/mcp-sets/reports").problem(404, "unknown-tool-set");
    other.delete("/mcp-sets/reports").problem(404, "unknown-tool-set");
    assert_eq!(other.get("/mcp-sets").ok()["sets"], json!([]));
    Agent::new(&other, "/mcp/sets/reports").send("tools/list", json!({})).problem(404, "unknown-tool-set");
    // A user of the tenant uses the set, and does not change it.
    assert_eq!(Agent::new(&ann, "/mcp/sets/reports").names(), ["account__forward"]);
    ann.get("/mcp-sets/reports").ok();
    ann.delete("/mcp-sets/reports").problem(403, "tenant-token-required");
    ann.post("/mcp-sets", json!({"name": "own", "allow": ["account"]})).problem(403, "tenant-token-required");
    let operate = client(&gateway, "acme", None, "operate");
    operate.get("/mcp-sets").problem(403, "missing-scope");
    // The limits of a key hold in addition.
    let key = json!({"name": "narrow", "tenant": "acme", "scopes": ["operate"], "allow": ["account/whoami"]});
    let narrow = gateway.client().post("/admin/keys", key).json();
    let narrow = gateway.anonymous().with_key(narrow["key"].as_str().unwrap());
    assert_eq!(Agent::new(&narrow, "/mcp/sets/reports").names(), Vec::<String>::new());
}

fn a_set_that_fixes_an_account_uses_no_other(store: &Store) {
    let provider = support::OAuthProvider::start(support::Dialect::strict());
    let gateway = registered(Setup::new().on(store).account("account", &provider).start(), &provider);
    let acme = client(&gateway, "acme", None, "operate,integrate");
    for person in ["ada", "ben"] {
        connect(&acme, "account", person);
    }
    make(&acme, json!({"name": "ben", "allow": ["account"], "account": email("ben")}));
    let agent = Agent::new(&acme, "/mcp/sets/ben");
    let tools = agent.tools();
    let forward = tools.iter().find(|tool| tool["name"] == "account__forward").unwrap();
    assert!(forward["inputSchema"]["properties"].get("account").is_none(), "{forward}");
    assert!(agent.text("account__forward", json!({"path": "/me"})).contains("ben"));
    let refused = agent.refusal("account__forward", json!({"path": "/me", "account": email("ada")}));
    assert!(refused.contains(&email("ben")) && refused.contains("leave the account out"), "{refused}");
    let params = json!({"name": "account__forward", "arguments": {"path": "/me"}});
    let by_header = result(&agent.request("tools/call", params).header("x-user-identifier", &email("ada")).send());
    assert!(text_of(&by_header).contains("leave the account out"), "{by_header}");
    let listed = agent.text("list_accounts", json!({}));
    assert!(listed.contains("ben") && !listed.contains("ada"), "{listed}");
}

#[test]
fn the_account_that_a_set_fixes_is_listed_among_many() {
    let provider = support::OAuthProvider::start(support::Dialect::strict());
    let gateway = registered(Setup::new().account("account", &provider).start(), &provider);
    let acme = client(&gateway, "acme", None, "operate,integrate");
    connect(&acme, "account", "ben");
    // More accounts than a list has, and their names come first.
    let inserted = gateway.home().sqlite(
        "INSERT INTO integrations (id, tenant, subject, connector, user_identifier, auth_type, created_at, updated_at, status,
             scopes)
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 200)
         SELECT 'int_' || n, tenant, subject, connector, 'a' || n, auth_type, 1, 1, status, scopes FROM integrations, numbers",
    );
    assert_eq!(inserted, 200);
    make(&acme, json!({"name": "ben", "allow": ["account"], "account": email("ben")}));
    let listed = Agent::new(&acme, "/mcp/sets/ben").text("list_accounts", json!({}));
    let accounts: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((accounts.as_array().unwrap().len(), &accounts[0]["account"]), (1, &json!(email("ben"))));
}

fn accounts_of_connectors_outside_of_the_view_are_not_listed(store: &Store) {
    let provider = support::OAuthProvider::start(support::Dialect::strict());
    let setup = Setup::new().on(store).account("mail", &provider).account("files", &provider);
    let gateway = registered(setup.start(), &provider);
    let acme = client(&gateway, "acme", None, "operate,integrate");
    connect(&acme, "mail", "ada");
    connect(&acme, "files", "ben");
    let listed = |client: &Client, path: &str| -> Vec<Value> {
        let accounts: Value = serde_json::from_str(&Agent::new(client, path).text("list_accounts", json!({}))).unwrap();
        accounts.as_array().unwrap().iter().map(|account| account["account"].clone()).collect()
    };
    make(&acme, json!({"name": "desk", "allow": ["files"]}));
    for path in ["/mcp/sets/desk", "/mcp/sets/desk/readonly", "/mcp/files"] {
        assert_eq!(listed(&acme, path), [email("ben")], "{path}");
    }
    assert_eq!(listed(&acme, "/mcp"), [email("ben"), email("ada")]);
    // The limits of a key hold too, and so do the limits of an agent session.
    let key = json!({"name": "narrow", "tenant": "acme", "scopes": ["operate"], "allow": ["mail/forward"]});
    let narrow = gateway.client().post("/admin/keys", key).json();
    let narrow = gateway.anonymous().with_key(narrow["key"].as_str().unwrap());
    assert_eq!(listed(&narrow, "/mcp"), [email("ada")]);
    let session = acme.post("/agent-sessions", json!({"allow": ["files"]})).json();
    let session = gateway.anonymous().with_key(session["token"].as_str().unwrap());
    assert_eq!(listed(&session, "/mcp"), [email("ben")]);
}

#[test]
fn every_mistake_in_a_tool_set_is_named() {
    let gateway = gateway(&Store::Sqlite);
    let set =
        json!({"name": "Bad Name", "allow": [], "effects": ["reed"], "mode": "fast", "pinned": ["account"], "more": 1});
    let violations = gateway.client().post("/mcp-sets", set).violations();
    let pointers: Vec<&str> = violations.iter().map(|(pointer, _)| pointer.as_str()).collect();
    for pointer in ["/name", "/allow", "/effects/0", "/mode", "/pinned/0", "/more"] {
        assert!(pointers.contains(&pointer), "{pointer}: {violations:?}");
    }
    for name in ["sets", "readonly"] {
        let violations = gateway.client().post("/mcp-sets", json!({"name": name, "allow": ["account"]})).violations();
        assert_eq!(violations[0].0, "/name");
    }
    let outside = json!({"name": "a", "allow": ["account/forward"], "pinned": ["account/forward", "account/erase"]});
    let violations = gateway.client().post("/mcp-sets", outside).violations();
    assert_eq!(violations.iter().map(|(pointer, _)| pointer.as_str()).collect::<Vec<_>>(), ["/pinned/1"]);
    let unknown = json!({"name": "a", "allow": ["account", "acount"], "pinned": ["account/forwad"]});
    let violations = gateway.client().post("/mcp-sets", unknown).violations();
    let told: Vec<_> = violations.iter().map(|(pointer, detail)| (pointer.as_str(), detail.as_str())).collect();
    let said = |kind: &str, name: &str| format!("There is no such {kind}. Did you mean `{name}`?");
    assert_eq!(
        told,
        [("/allow/1", &*said("connector", "account")), ("/pinned/0", &*said("operation", "account/forward"))]
    );
}

#[test]
fn a_set_says_how_operations_become_tools() {
    let gateway = Setup::new().every_shipped().start();
    let client = gateway.client();
    let pinned = Agent::new(&client, "/mcp/preprint_archive").names().remove(0);
    let names = json!([format!("preprint_archive/{pinned}")]);
    make(&client, json!({"name": "search", "allow": ["preprint_archive"], "mode": "search", "pinned": names}));
    let mut names = Agent::new(&client, "/mcp/sets/search").names();
    names.sort_unstable();
    assert_eq!(
        names,
        ["call_read", "describe_operations", &format!("preprint_archive__{pinned}"), "search_operations"]
    );
    make(
        &client,
        json!({"name": "direct", "allow": ["workspace_mail", "workspace_calendar", "office_mail"], "mode": "direct"}),
    );
    let direct = Agent::new(&client, "/mcp/sets/direct").names();
    assert!(direct.len() > 40 && !direct.contains(&"search_operations".to_owned()), "{}", direct.len());
    let readonly = Agent::new(&client, "/mcp/sets/direct/readonly");
    assert!(readonly.names().len() < direct.len());
    for tool in readonly.tools() {
        let is_own = ["connect_account", "cancel_job"].iter().any(|own| tool["name"] == *own);
        assert!(is_own || tool["annotations"]["readOnlyHint"] == true, "{tool}");
    }
}

#[test]
fn a_structured_set_answers_documents_that_fit_their_schemas() {
    let service = dexscreener::start();
    let gateway = Setup::new().shipped("dex_market_data").upstream("dex_market_data", "api", &service.url()).start();
    let client = gateway.client();
    make(&client, json!({"name": "markets", "allow": ["dex_market_data"], "structured": true}));
    let agent = Agent::new(&client, "/mcp/sets/markets");
    let tools = agent.tools();
    for tool in &tools {
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
    }
    // At other addresses, texts are enough.
    assert!(Agent::new(&client, "/mcp").tools().iter().all(|tool| tool.get("outputSchema").is_none()));
    let call = |name: &str, arguments: Value| {
        let answered = result(&agent.call(name, arguments));
        (serde_json::from_str::<Value>(&text_of(&answered)).unwrap(), answered["structuredContent"].clone())
    };
    let (text, structured) = call("dex_market_data__search_pairs", json!({"q": "EXM/SOL"}));
    assert!(text["pairs"].is_array() && structured == text, "{structured}");
    let (text, structured) = call("dex_market_data__get_top_token_boosts", json!({}));
    assert!(text.is_array(), "{text}");
    assert_eq!(structured, json!({"result": text}));
}

/// Runs a command with the key of a client.
fn run(gateway: &Gateway, client: &Client, arguments: &[&str]) -> Finished {
    process::run(gateway.home().command(arguments).args(["--key", client.key(), "--url", &gateway.address()]))
}

#[test]
fn commands_make_list_show_and_remove_tool_sets() {
    let gateway = gateway(&Store::Sqlite);
    let acme = client(&gateway, "acme", None, "operate,integrate");
    let create = [
        "tool-sets",
        "create",
        "reports",
        "--allow",
        "account/forward",
        "--allow",
        "account/erase",
        "--effect",
        "read",
        "--mode",
        "direct",
        "--confirm",
        "--json",
    ];
    let made = run(&gateway, &acme, &create);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!(made, acme.get("/mcp-sets/reports").ok());
    let shown = run(&gateway, &acme, &["tool-sets", "show", "reports", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&shown.stdout).unwrap(), made);
    let listed = run(&gateway, &acme, &["tool-sets", "list"]);
    assert!(listed.stdout.contains("NAME") && listed.stdout.contains("reports"), "{}", listed.stdout);
    let refused = run(&gateway, &acme, &["tool-sets", "show", "report"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("did you mean `reports`?"), "{}", refused.stderr);
    let removed = run(&gateway, &acme, &["tool-sets", "remove", "reports"]);
    assert!(removed.code == Some(0) && removed.stderr.contains("Removed"), "{}", removed.stderr);
    acme.get("/mcp-sets/reports").problem(404, "unknown-tool-set");
}
