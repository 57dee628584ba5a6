//! The queries of all routes, and the pages of lists.

use serde_json::{Value, json};
use support::{Client, Dialect, OAuthProvider, Setup, Store, module, wait_for};

use super::{pages, printed};
use crate::integrations::{on_each_store, started};

on_each_store!(every_list_of_the_operator_has_pages);

/// The routes whose query belongs to browsers, providers and services, and the operations, whose
/// query does not matter.
fn takes_any_query(path: &str) -> bool {
    path.starts_with("/connectors/account/")
        || path.starts_with("/docs")
        || path.starts_with("/proxy/")
        || path.ends_with("/success-authorize-callback")
}

/// A path of the description with a name in place of each parameter.
fn filled(path: &str) -> String {
    path.split('/')
        .map(|segment| if segment.starts_with('{') { "account" } else { segment })
        .collect::<Vec<_>>()
        .join("/")
}

/// The names of the parameters in the query of an operation.
fn parameters(operation: &Value) -> Vec<String> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    let named = all.filter(|parameter| parameter["in"] == "query");
    named.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_route_refuses_a_parameter_that_it_does_not_have_and_names_the_nearest_one() {
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new()
        .module("account", module::account(&described))
        .upstream("account", "api", "http://127.0.0.1:9")
        .start();
    let client = gateway.client();
    let document = client.get("/openapi.json").ok();
    let mut routes = 0;
    for (path, item) in document["paths"].as_object().unwrap().iter().filter(|(path, _)| !takes_any_query(path)) {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters") {
            routes += 1;
            let known = parameters(operation);
            let misspelled: Vec<_> = known.iter().map(|name| format!("{name}z")).collect();
            let names: Vec<_> = misspelled.iter().map(String::as_str).chain(["qqqqqqqqqqqq"]).collect();
            let method = method.to_uppercase();
            let query: Vec<_> = names.iter().map(|name| format!("{name}=1")).collect();
            let url = format!("{}?{}", filled(path), query.join("&"));
            let violations = client.request(&method, &url).send().violations();
            let pointers: Vec<_> = violations.iter().map(|(pointer, _)| pointer.trim_start_matches('/')).collect();
            assert_eq!(pointers, names, "{method} {url}");
            for (name, (_, detail)) in known.iter().zip(&violations) {
                assert!(detail.starts_with(&format!("Did you mean `{name}")), "{method} {url}: {detail}");
            }
            let (_, last) = violations.last().unwrap();
            assert!(!last.contains("Did you mean"), "{method} {url}: {last}");
        }
    }
    assert!(routes > 50, "{routes}");
    // A value that does not count would look like one that does.
    let twice = client.get("/jobs?status=failed&status=succeeded").violations();
    assert_eq!(twice.iter().map(|(pointer, _)| &**pointer).collect::<Vec<_>>(), ["/status"]);
    // The callers are checked first.
    gateway.anonymous().get("/connectors?x=1").problem(401, "unauthenticated");
    for page in ["/docs?theme=dark", "/docs/account?x=1"] {
        assert_eq!(client.get(page).status, 200, "{page}");
    }
    assert_ne!(client.get("/connectors/account/success-authorize-callback?iss=x&session_state=y").status, 422);
    assert_eq!(client.get("/connect/none?utm_source=mail").status, 404);
}

/// The pages of a list, which are the same as the whole list.
#[track_caller]
fn same_in_pages(client: &Client, path: &str, member: &str) -> Vec<Value> {
    let whole = client.get(&format!("{path}?limit=200")).ok();
    assert_eq!(whole["next_cursor"], Value::Null, "{path}");
    let found = pages(client, path, member);
    assert_eq!(Value::from(found.clone()), whole[member], "{path}");
    let wrong = client.get(&format!("{path}?limit=201&cursor=nonsense")).violations();
    assert_eq!(wrong.iter().map(|(pointer, _)| &**pointer).collect::<Vec<_>>(), ["/limit", "/cursor"], "{path}");
    found
}

fn every_list_of_the_operator_has_pages(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup =
        ["one", "three", "two"].iter().fold(Setup::new().on(store), |setup, name| setup.account(name, &provider));
    let gateway = started(setup.config("[fleet]\nname = \"first\""), &provider);
    let client = gateway.client();
    for connector in ["two", "one", "three"] {
        let path = format!("/admin/tenants/acme/oauth_clients/{connector}");
        client.request("PUT", &path).json(&json!({"client_id": connector})).send().ok();
    }
    let clients = same_in_pages(&client, "/admin/tenants/acme/oauth_clients", "oauth_clients");
    let names: Vec<_> = clients.iter().map(|found| found["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["one", "three", "two"]);
    assert_eq!(printed(&gateway, &["tenants", "clients", "list", "acme"])["oauth_clients"], Value::from(clients));

    assert!(same_in_pages(&client, "/admin/grants", "grants").len() >= 3);
    same_in_pages(&client, "/admin/connectors/one/grants", "grants");
    // Each gateway writes what it serves every few seconds.
    wait_for("the connectors to be listed", || {
        let listed = client.get("/admin/connectors").ok();
        let listed = listed["connectors"].as_array()?;
        let is_live = |connector: &Value| connector["gateways"][0]["state"] == "live";
        (listed.len() == 3 && listed.iter().all(is_live)).then_some(())
    });
    assert_eq!(same_in_pages(&client, "/admin/connectors", "connectors").len(), 3);
    let one = client.get("/admin/connectors?connector=one").ok();
    assert_eq!(one["connectors"].as_array().unwrap().len(), 1, "{one}");
    assert_eq!(one["connectors"][0]["connector"], "one");
    assert_eq!(client.get("/admin/connectors?connector=none").ok()["connectors"], json!([]));
    assert_eq!(same_in_pages(&client, "/admin/gateways", "gateways").len(), 1);

    for version in ["1.0.0", "2.0.0", "3.0.0"] {
        let upload = client.request("POST", "/admin/connectors").header("content-type", "application/wasm");
        upload.body(module::liar(&format!("version={version}"))).send().ok();
    }
    let versions = same_in_pages(&client, "/admin/connectors/liar/versions", "versions");
    let names: Vec<_> = versions.iter().map(|version| version["version"].as_str().unwrap()).collect();
    assert_eq!(names, ["3.0.0", "2.0.0", "1.0.0"]);
}
