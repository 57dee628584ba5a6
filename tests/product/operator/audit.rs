//! The audit: every change by a person, a key or a file.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::oauth::browser::open;
use support::{Dialect, OAuthProvider, Person, Setup, Store, module};

use super::{make_key, operating, pages, printed, run};
use crate::integrations::{connect, ended, gateway, init, on_each_store, path, started};

on_each_store!(
    every_change_has_an_entry_with_its_actor,
    entries_are_filtered_and_paged,
    the_rotation_of_the_master_key_has_entries,
    a_confirmed_account_and_granted_hosts_have_entries,
    the_reason_of_a_change_is_in_its_entries,
);

fn entries(client: &support::Client, query: &str) -> Vec<Value> {
    client.get(&format!("/admin/audit?limit=200{query}")).ok()["entries"].as_array().unwrap().clone()
}

/// The actions of the entries, the oldest first.
fn actions(client: &support::Client, query: &str) -> Vec<String> {
    let text = |entry: &Value| entry["action"].as_str().unwrap().to_owned();
    entries(client, query).iter().rev().map(text).collect()
}

fn every_change_has_an_entry_with_its_actor(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    client.post(&path("account", "ada"), json!({})).ok();
    client.request("PATCH", &path("account", "ada")).json(&json!({"labels": {"team": "blue"}})).send().ok();
    let id = entries(&client, "&action=integration.connected")[0]["target"].as_str().unwrap().to_owned();
    client.request("POST", &format!("/admin/integrations/{id}/renew")).send().ok();
    client.delete(&path("account", "ada")).ok();
    let expected =
        ["connected", "selected", "labelled", "renewed", "deleted"].map(|action| format!("integration.{action}"));
    assert_eq!(actions(&client, &format!("&target={id}")), expected);
    let own_key = entries(&client, "&action=integration.deleted")[0]["actor"].as_str().unwrap().to_owned();
    assert!(own_key.starts_with("key_"), "{own_key}");
    let connected = &entries(&client, "&action=integration.connected")[0];
    assert_eq!((&connected["actor"], &connected["tenant"]), (&json!("user:default/"), &json!("default")));

    let secret = client.post("/webhooks/secrets", json!({})).ok()["id"].as_str().unwrap().to_owned();
    client.delete(&format!("/webhooks/secrets/{secret}")).ok();
    assert_eq!(actions(&client, &format!("&target={secret}")), ["webhook_secret.created", "webhook_secret.deleted"]);

    let (key, _) = make_key(&gateway, operating("one"));
    gateway.home().run_ok(&["keys", "revoke", key["id"].as_str().unwrap()]);
    let of_key = entries(&client, &format!("&target={}", key["id"].as_str().unwrap()));
    assert_eq!((&of_key[1]["action"], &of_key[1]["actor"]), (&json!("key.created"), &json!(own_key)));
    assert!(of_key[1]["request_id"].is_string() && of_key[0]["request_id"].is_null(), "{of_key:?}");
    let person = of_key[0]["actor"].as_str().unwrap();
    assert!(
        of_key[0]["action"] == "key.revoked" && person.starts_with("person:") && person.contains('@'),
        "{of_key:?}"
    );

    gateway.home().put("liar", &module::liar("version=1.0.0"));
    gateway.wait_for_version("liar", "1.0.0");
    client.delete("/admin/connectors/liar").ok();
    let of_liar = entries(&client, "&target=liar");
    let seen: Vec<_> = of_liar.iter().map(|entry| (&entry["action"], &entry["actor"])).collect();
    let (added, removed, by_file) = (json!("connector.added"), json!("connector.removed"), json!("file:modules_dir"));
    assert_eq!(seen, [(&removed, &json!(own_key)), (&added, &by_file)]);

    // A change that failed has no entry.
    let before = entries(&client, "").len();
    client.delete(&path("account", "nobody")).problem(404, "unknown-integration");
    client.delete("/admin/keys/key_none").problem(404, "unknown-key");
    client.post("/admin/keys", json!({"name": ""})).violations();
    assert_eq!(entries(&client, "").len(), before);
    for secret in provider.secrets() {
        assert!(!client.get("/admin/audit?limit=200").text().contains(&secret));
    }
}

fn entries_are_filtered_and_paged(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    for tenant in ["acme", "acme", "other"] {
        make_key(&gateway, json!({"name": tenant, "tenant": tenant, "scopes": ["operate"]}));
    }
    let all = entries(&client, "");
    assert_eq!(pages(&client, "/admin/audit", "entries"), all);
    assert_eq!(entries(&client, "&tenant=acme&action=key.created").len(), 2);
    let at = all[1]["at"].as_str().unwrap();
    assert!(entries(&client, &format!("&since={at}")).len() >= 2);
    assert!(entries(&client, &format!("&until={at}")).iter().all(|entry| entry["at"].as_str().unwrap() < at));
    let wrong = client.request("GET", "/admin/audit?since=x&action=key.made&who=me&limit=201").send().violations();
    assert_eq!(
        wrong.iter().map(|(pointer, _)| &**pointer).collect::<Vec<_>>(),
        ["/since", "/action", "/who", "/limit"]
    );
    assert!(wrong[1].1.contains("key.created") || wrong[1].1.contains("no such action"), "{wrong:?}");
    let (_, operate) = make_key(&gateway, operating("operate"));
    operate.get("/admin/audit").problem(403, "missing-scope");

    let listed = printed(&gateway, &["audit", "--tenant", "acme", "--limit", "1"]);
    let first = client.get("/admin/audit?tenant=acme&limit=1").ok();
    assert_eq!(listed, first);
    let local = |arguments: &[&str]| -> Value {
        let all = [&["audit", "--tenant", "acme", "--json"], arguments].concat();
        serde_json::from_str(&gateway.home().run_ok(&all)).unwrap()
    };
    assert_eq!(local(&[]), json!({"entries": entries(&client, "&tenant=acme"), "next_cursor": null}));
    assert_eq!(local(&["--limit", "1"]), first);
    let next = ["--cursor", first["next_cursor"].as_str().unwrap()];
    let rest = json!({"entries": entries(&client, "&tenant=acme")[1..], "next_cursor": null});
    assert_eq!(local(&next), rest);
    assert_eq!(printed(&gateway, &[&["audit", "--tenant", "acme"], &next[..]].concat()), rest);
    let cut = run(&gateway, &["audit", "--tenant", "acme", "--limit", "1"]);
    assert!(cut.stderr.contains(&next.join(" ")), "{}", cut.stderr);
    let table = run(&gateway, &["audit", "--action", "key.created"]).stdout;
    assert!(table.starts_with("AT ") && table.contains("key.created"), "{table}");
    assert!(table.lines().nth(1).unwrap().starts_with("20"), "the row begins below its heading: {table}");
}

fn the_rotation_of_the_master_key_has_entries(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let details = || -> Vec<String> {
        let found = entries(&client, "&action=master_key.rotated");
        for entry in &found {
            let actor = entry["actor"].as_str().unwrap();
            assert!(actor.starts_with("person:") && actor.contains('@'), "{entry}");
            assert_eq!((&entry["target"], &entry["tenant"]), (&json!("master_key"), &Value::Null));
        }
        found.iter().rev().map(|entry| entry["detail"].as_str().unwrap().to_owned()).collect()
    };
    gateway.home().run_ok(&["keys", "rotate-master"]);
    // On PostgreSQL, other machines may still need the previous key.
    gateway.home().run_ok(&["keys", "rotate-master", "--finish"]);
    let expected = ["new secrets are sealed under a new key", "the previous key unseals nothing any more"];
    assert_eq!(details(), expected);
    // There is nothing to finish any more.
    gateway.home().run_ok(&["keys", "rotate-master", "--finish"]);
    assert_eq!(details(), expected);
}

fn a_confirmed_account_and_granted_hosts_have_entries(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().on(store).account("account", &provider).guest("liar");
    let gateway = started(setup, &provider);
    let client = gateway.client();
    let mut body = init();
    body["confirm"] = json!(true);
    let begun = client.post("/connectors/account/integrations", body).ok();
    let back = Person::named("ada").consents(begun["authorization_url"].as_str().unwrap());
    let pairs = ended(&open(&back));
    let completion = &pairs.iter().find(|(name, _)| name == "completion").unwrap().1;
    client.post(&format!("{}/confirm", path("account", "ada")), json!({"completion": completion})).ok();
    let id = client.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    let confirmed = entries(&client, &format!("&target={id}&action=integration.confirmed"));
    assert_eq!((confirmed.len(), &confirmed[0]["tenant"]), (1, &json!("default")), "{confirmed:?}");
    assert!(confirmed[0]["actor"].as_str().unwrap().starts_with("key_") && confirmed[0]["request_id"].is_string());

    client.request("POST", "/admin/connectors/liar/grants?host=api.example").send().ok();
    gateway.home().run_ok(&["connectors", "revoke", "liar", "api.example"]);
    for (action, actor) in [("connector.granted", "key_"), ("connector.revoked", "person:")] {
        let found = entries(&client, &format!("&target=liar&action={action}"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0]["actor"].as_str().unwrap().starts_with(actor), "{found:?}");
        assert!(found[0]["detail"].as_str().unwrap().contains("api.example"), "{found:?}");
    }
    let ids: BTreeSet<String> =
        entries(&client, "").iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), entries(&client, "").len(), "each entry has its own id");
}

fn the_reason_of_a_change_is_in_its_entries(store: &Store) {
    let gateway = Setup::new().on(store).start();
    let client = gateway.client();
    let body = json!({"name": "a", "scopes": ["operate"]});
    let make = |reason: &str| client.request("POST", "/admin/keys").header("x-reason", reason).json(&body).send();
    let id = make("ticket 7: rotate").json()["id"].as_str().unwrap().to_owned();
    assert_eq!(entries(&client, &format!("&target={id}"))[0]["detail"], "a; reason: ticket 7: rotate");
    // The change is made by another task than the request's.
    let install = client.request("POST", "/admin/connectors").header("content-type", "application/wasm");
    let install = install.header("x-reason", "needed").body(module::liar("version=1.0.0")).send();
    assert_eq!(install.status, 200, "{}", install.text());
    let added = &entries(&client, "&action=connector.added")[0];
    assert!(added["detail"].as_str().unwrap().ends_with("reason: needed"), "{added}");
    // A program sends UTF-8.
    let utf8 = client.request("POST", "/admin/keys").header("x-reason", "Prüfung");
    let id = utf8.json(&body).send().json()["id"].as_str().unwrap().to_owned();
    assert_eq!(entries(&client, &format!("&target={id}"))[0]["detail"], "a; reason: Prüfung");
    for wrong in [" ", &"x".repeat(501), "a\tb"] {
        let problem = make(wrong).problem(422, "validation");
        assert_eq!(problem["errors"][0]["pointer"], "/X-Reason", "{problem}");
    }
    assert_eq!(actions(&client, "&action=key.created").len(), 3, "a refused reason changes nothing");
}
