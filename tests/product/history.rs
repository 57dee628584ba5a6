//! The history of connectors: who changed which one.

use std::fs;

use serde_json::{Value, json};
use support::{Gateway, Setup, Store, module, wait_for};

use support::home::{file, path};

/// The changes of the connector `liar`, the newest first: action, kind of actor, version.
fn changes(gateway: &Gateway) -> Vec<[String; 3]> {
    let answer = gateway.client().get("/admin/connectors/liar/history").ok();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let change = |change: &Value| [text(&change["action"]), text(&change["by"]["kind"]), text(&change["version"])];
    answer["changes"].as_array().unwrap().iter().map(change).collect()
}

fn change(action: &str, kind: &str, version: &str) -> [String; 3] {
    [action.to_owned(), kind.to_owned(), version.to_owned()]
}

#[test]
fn every_change_is_kept_with_its_actor_on_both_databases() {
    for store in [Store::Sqlite, Store::postgres()] {
        let gateway = Setup::new().on(&store).start();
        let home = gateway.home();
        let [one, two] =
            ["1.0.0", "2.0.0"].map(|version| file(home, version, &module::liar(&format!("version={version}"))));
        home.run_ok(&["connectors", "add", path(&one), "--grant", "api.example"]);
        gateway.wait_for_version("liar", "1.0.0");
        let upload = gateway.client().request("POST", "/admin/connectors").header("content-type", "application/wasm");
        upload.body(fs::read(&two).unwrap()).send().ok();
        home.run_ok(&["connectors", "revoke", "liar", "api.example"]);
        home.put("liar", &module::liar("version=3.0.0"));
        gateway.wait_for_version("liar", "3.0.0");
        home.run_ok(&["connectors", "rollback", "liar"]);
        gateway.wait_for_version("liar", "2.0.0");
        gateway.client().delete("/admin/connectors/liar").ok();
        let expected = [
            change("removed", "api_key", "2.0.0"),
            change("rolled_back", "command_line", "2.0.0"),
            change("replaced", "modules_dir", "3.0.0"),
            change("revoked", "command_line", "2.0.0"),
            change("replaced", "api_key", "2.0.0"),
            change("added", "command_line", "1.0.0"),
        ];
        assert_eq!(changes(&gateway), expected);

        // A removed connector keeps its history, and a start adds nothing to it.
        let gateway = gateway.start_again();
        assert_eq!(changes(&gateway), expected);
        gateway.home().put("liar", &module::liar("version=4.0.0"));
        gateway.wait_for_version("liar", "4.0.0");
        let gateway = gateway.start_again();
        assert_eq!(changes(&gateway)[0], change("added", "modules_dir", "4.0.0"));
        fs::remove_file(gateway.home().module("liar")).unwrap();
        // On PostgreSQL, the connector belongs to all gateways, and the file decides nothing.
        let remover = match &store {
            Store::Sqlite => "modules_dir",
            Store::Postgres(_) => {
                gateway.home().run_ok(&["connectors", "remove", "liar"]);
                "command_line"
            }
        };
        wait_for("the removal", || gateway.connector("liar").is_none().then_some(()));
        let last = changes(&gateway).swap_remove(0);
        let version = if remover == "modules_dir" { "4.0.0" } else { "" };
        assert_eq!(last, change("removed", remover, version));
        assert_eq!(changes(&gateway).len(), expected.len() + 2);
    }
}

#[test]
fn the_history_says_what_was_granted_and_accepted() {
    let asking =
        |scopes: &[&str]| module::account(&json!({"identifier": "account", "auth": "oauth2", "scopes": scopes}));
    let home = Setup::new().prepare();
    let [one, two] = [("one", asking(&["read"])), ("two", asking(&["read", "write"]))]
        .map(|(name, module)| file(&home, name, &module));
    home.run_ok(&["connectors", "add", path(&one)]);
    home.run_ok(&["connectors", "add", path(&two), "--accept", "--grant", "api.example"]);
    let history: Value = serde_json::from_str(&home.run_ok(&["connectors", "history", "account", "--json"])).unwrap();
    assert_eq!(history[0]["detail"], "granted api.example; accepted scope write");
    let actor = history[0]["by"]["name"].as_str().unwrap();
    assert!(actor.starts_with("command line, ") && actor.contains(" on "), "{actor}");
    let table = home.run_ok(&["connectors", "history"]);
    let first = table.lines().nth(1).unwrap();
    assert!(first.contains("replaced") && first.contains(actor) && first.ends_with("accepted scope write"), "{table}");
    assert_eq!(home.run_ok(&["connectors", "history", "--limit", "1"]).lines().count(), 2);
    let unknown = home.run(&["connectors", "history", "unheard_of"]);
    assert!(unknown.code == Some(1) && unknown.stderr.contains("unheard_of"), "{}", unknown.stderr);
}

#[test]
fn shipped_connectors_have_a_history_too() {
    let gateway = Setup::new().shipped("dex_market_data").start();
    let answer = gateway.client().get("/admin/history").ok();
    let changes = answer["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (&changes[0]["connector"], &changes[0]["by"]["kind"]),
        (&json!("dex_market_data"), &json!("shipped_dir"))
    );
    for query in ["?limit=0", "?limit=1001", "?limit=many", "?connector=liar"] {
        gateway.client().request("GET", &format!("/admin/history{query}")).send().violations();
    }
    gateway.client().request("GET", "/admin/connectors/unheard_of/history").send().problem(404, "unknown-connector");
}

#[test]
fn grants_are_changed_by_routes_and_hold_at_once() {
    let gateway = Setup::new().guest("liar").start();
    let client = gateway.client();
    let grants =
        |method: &str, query: &str| client.request(method, &format!("/admin/connectors/liar/grants{query}")).send();
    let expected = |state: &str| json!({"grants": [{"connector": "liar", "host": "api.example", "state": state}], "next_cursor": null});
    assert_eq!(grants("GET", "").ok(), expected("missing"));
    assert_eq!(grants("POST", "?host=api.example").ok(), expected("granted"));
    assert_eq!(gateway.connector("liar").unwrap()["hosts"]["granted"], json!(["api.example"]));
    assert_eq!(client.get("/admin/grants").ok(), expected("granted"));
    assert_eq!(grants("DELETE", "?host=api.example").ok(), expected("missing"));
    assert_eq!(gateway.connector("liar").unwrap()["hosts"]["granted"], json!([]));
    for (method, query) in [("POST", "?host=other.example"), ("DELETE", "?host=api.example")] {
        grants(method, query).problem(400, "bad-request");
    }
    for (query, pointer) in [("", "/host"), ("?hosts=api.example", "/hosts")] {
        assert_eq!(grants("POST", query).violations()[0].0, pointer);
    }
}
