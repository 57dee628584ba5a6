//! Tenants and their OAuth clients.

use std::fs;

use serde_json::{Value, json};
use support::{Client, Dialect, Endpoint, OAuthProvider, Setup, Store};
use url::Url;

use super::{pages, printed, run};
use crate::integrations::{begin, client, connect, init, on_each_store, started, who};

on_each_store!(
    a_tenant_connects_accounts_with_its_own_client,
    an_account_keeps_the_client_that_it_was_connected_with_until_that_is_deleted,
    tenants_are_listed_with_what_they_have,
);

const CLIENT: &str = "/admin/tenants/acme/oauth_clients/account";

/// A gateway without a client for the guest `account`.
fn gateway(store: &Store, provider: &OAuthProvider) -> support::Gateway {
    started(Setup::new().on(store).account_without_client("account", provider), provider)
}

fn put(operator: &Client, path: &str, body: Value) -> support::Answer {
    operator.request("PUT", path).json(&body).send()
}

/// The body that sets the client that the provider knows.
fn own(provider: &OAuthProvider) -> Value {
    let Dialect { client_id, client_secret, .. } = provider.dialect();
    json!({"client_id": client_id, "client_secret": client_secret})
}

fn a_tenant_connects_accounts_with_its_own_client(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let operator = gateway.client();
    let (acme, other) =
        ["acme", "other"].map(|tenant| client(&gateway, tenant, Some("ann"), "operate,integrate")).into();
    operator.get(CLIENT).problem(404, "unknown-oauth-client");
    let set = put(&operator, CLIENT, own(&provider));
    assert!(!set.text().contains(&provider.dialect().client_secret));
    let set = set.ok();
    assert_eq!((&set["client_id"], &set["has_secret"]), (&json!(provider.dialect().client_id), &json!(true)));
    assert_eq!((&set["scopes"], &set["redirect_url"], &set["integrations"]), (&json!(null), &json!(null), &json!(0)));
    assert_eq!(operator.get(CLIENT).ok(), set);
    other.post("/connectors/account/integrations", init()).problem(503, "integration-not-configured");

    connect(&acme, "account", "ada");
    who(&acme).ok();
    let id = operator.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    operator.request("POST", &format!("/admin/integrations/{id}/renew")).send().ok();
    assert_eq!(provider.count(Endpoint::Refresh), 1);
    assert_eq!(operator.get(CLIENT).ok()["integrations"], 1);
    let removed = operator.delete(&format!("/admin/integrations/{id}")).ok();
    assert_eq!(removed, json!({"deleted": true, "revoked": true}));

    let scopes = json!({"client_id": "another", "scopes": ["only"], "redirect_url": "https://acme.example/back"});
    let set = put(&operator, CLIENT, scopes).ok();
    assert_eq!((&set["has_secret"], &set["scopes"]), (&json!(false), &json!(["only"])));
    let url = Url::parse(&begin(&acme, "account")).unwrap();
    let sent: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let has = |name: &str, value: &str| sent.iter().any(|pair| pair == &(name.to_owned(), value.to_owned()));
    assert!(has("client_id", "another") && has("redirect_uri", "https://acme.example/back"), "{url}");
    assert!(sent.iter().any(|(_, value)| value == "only"), "{url}");
}

fn an_account_keeps_the_client_that_it_was_connected_with_until_that_is_deleted(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let operator = gateway.client();
    let acme = client(&gateway, "acme", Some("ann"), "operate,integrate");
    put(&operator, CLIENT, own(&provider)).ok();
    connect(&acme, "account", "ada");
    let id = operator.get("/admin/integrations").ok()["integrations"][0]["id"].as_str().unwrap().to_owned();
    let renew = || operator.request("POST", &format!("/admin/integrations/{id}/renew")).send();
    put(&operator, CLIENT, json!({"client_id": "another"})).ok();
    renew().ok();
    assert_eq!(operator.delete(CLIENT).ok(), json!({"deleted": true, "integrations": 1}));
    who(&acme).ok();
    let problem = renew().problem(424, "reauthorization-required");
    assert_eq!(problem["owner"], "user");
    assert!(problem["detail"].as_str().unwrap().contains("OAuth client"), "{problem}");
    who(&acme).problem(424, "reauthorization-required");
    operator.delete(CLIENT).problem(404, "unknown-oauth-client");
    let audit = operator.get("/admin/audit?tenant=acme").ok();
    let actions: Vec<_> = audit["entries"].as_array().unwrap().iter().map(|entry| entry["action"].clone()).collect();
    let of_clients: Vec<_> = actions.iter().filter(|action| action.as_str().unwrap().starts_with("oauth")).collect();
    assert_eq!(of_clients, ["oauth_client.deleted", "oauth_client.set", "oauth_client.set"]);
}

fn tenants_are_listed_with_what_they_have(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let operator = gateway.client();
    let acme = client(&gateway, "acme", None, "operate,integrate");
    client(&gateway, "zoo", None, "operate");
    put(&operator, CLIENT, own(&provider)).ok();
    connect(&acme, "account", "ada");
    let listed = pages(&operator, "/admin/tenants", "tenants");
    let names: Vec<_> = listed.iter().map(|tenant| tenant["tenant"].as_str().unwrap()).collect();
    assert_eq!(names, ["acme", "default", "zoo"]);
    let expected = json!({"tenant": "acme", "keys": 1, "integrations": 1, "jobs_pending": 0, "oauth_clients": 1});
    assert_eq!(listed[0], expected);
    assert_eq!(printed(&gateway, &["tenants", "list"])["tenants"].as_array().unwrap(), &listed);
    operator.request("GET", "/admin/tenants?name=a&limit=0").send().violations();
    acme.get("/admin/tenants").problem(403, "missing-scope");
}

#[test]
fn the_commands_set_list_and_remove_a_client_and_show_no_secret() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let file = gateway.home().data().join("secret");
    fs::write(&file, format!("{}\n", provider.dialect().client_secret)).unwrap();
    let id = &provider.dialect().client_id;
    let set = ["tenants", "clients", "set", "acme", "account", "--client-id", id, "--client-secret-file"];
    let finished = run(&gateway, &[&set[..], &[file.to_str().unwrap()]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(!finished.stdout.contains(&provider.dialect().client_secret), "{}", finished.stdout);
    connect(&client(&gateway, "acme", None, "integrate"), "account", "ada");
    let listed = printed(&gateway, &["tenants", "clients", "list", "acme"]);
    let listed = &listed["oauth_clients"];
    assert_eq!((&listed[0]["client_id"], &listed[0]["integrations"]), (&json!(id), &json!(1)));
    let removed = run(&gateway, &["tenants", "clients", "remove", "acme", "account"]);
    assert!(removed.code == Some(0) && removed.stderr.contains("1 accounts"), "{}", removed.stderr);
    assert_eq!(printed(&gateway, &["tenants", "clients", "list", "acme"])["oauth_clients"], json!([]));
}

#[test]
fn a_client_that_nothing_would_use_or_with_mistakes_is_refused() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let operator = gateway.client();
    let problem =
        put(&operator, "/admin/tenants/acme/oauth_clients/acount", own(&provider)).problem(404, "unknown-oauth-client");
    assert!(problem["detail"].as_str().unwrap().contains("`account`"), "{problem}");
    let wrong = json!({"client_id": "", "client_secret": 1, "scopes": ["a b"], "secret": "x"});
    assert_eq!(put(&operator, CLIENT, wrong).violations().len(), 4);
    put(&operator, CLIENT, json!({"client_id": "a", "redirect_url": "ftp://a"})).violations();
    let both = put(&operator, CLIENT, json!({"client_id": "a\0", "redirect_url": "ftp://a"})).violations();
    let pointers: Vec<&str> = both.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(pointers, ["/client_id", "/redirect_url"]);
    operator.get(CLIENT).problem(404, "unknown-oauth-client");
}

#[test]
fn a_tenant_with_a_long_name_has_clients_too() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let operator = gateway.client();
    let tenant = "é".repeat(256);
    assert_eq!(operator.post("/admin/keys", json!({"name": "x", "tenant": tenant, "scopes": ["operate"]})).status, 201);
    let path = |characters| format!("/admin/tenants/{}/oauth_clients/account", "%C3%A9".repeat(characters));
    assert_eq!(put(&operator, &path(256), own(&provider)).ok()["tenant"], tenant);
    let listed = operator.get("/admin/tenants").ok();
    let listed = listed["tenants"].as_array().unwrap().iter().find(|listed| listed["tenant"] == tenant);
    assert_eq!(listed.unwrap()["oauth_clients"], 1);
    operator.get(&path(257)).problem(400, "bad-request");
}
