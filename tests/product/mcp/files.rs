//! Files that a model cannot read: a result links to them.

use serde_json::{Value, json};
use support::{Client, Gateway, Reply, Setup, Store, Upstream, module, wait_for};

use super::{Agent, result};
use crate::integrations::on_each_store;

on_each_store!(a_file_is_a_link_that_every_gateway_serves_without_a_key);

fn world(store: &Store) -> (Gateway, Upstream) {
    let service = Upstream::start();
    let named = |name: &str| {
        Reply::typed("application/pdf", "PDF").header("content-disposition", &format!("attachment; {name}"))
    };
    service.reply("/file", named("filename=\"a.pdf\"")).reply("/named", named("filename*=UTF-8''na%C3%AFve%20%2B.pdf"));
    let gateway = Setup::new()
        .on(store)
        .module("account", module::account(&json!({"identifier": "account", "auth": "none"})))
        .upstream("account", "api", &service.url())
        .start();
    (gateway, service)
}

/// The path of the link in a result.
#[track_caller]
fn path(gateway: &Gateway, client: &Client) -> (String, Value) {
    let agent = Agent::new(client, "/mcp/account");
    let link = result(&agent.call("forward", json!({"path": "/file"})))["content"][0].clone();
    assert_eq!(link["type"], "resource_link", "{link}");
    let path = link["uri"].as_str().unwrap().strip_prefix(&gateway.address()).unwrap().to_owned();
    (path, link)
}

fn a_file_is_a_link_that_every_gateway_serves_without_a_key(store: &Store) {
    let (gateway, service) = world(store);
    let (path, link) = path(&gateway, &gateway.client());
    let shown = (&link["name"], &link["mimeType"], &link["size"]);
    assert_eq!(shown, (&json!("a.pdf"), &json!("application/pdf"), &json!(3)));
    let gateway = gateway.start_again();
    let file = gateway.anonymous().get(&path);
    assert_eq!((file.status, &file.body[..], file.header("content-type")), (200, &b"PDF"[..], "application/pdf"));
    assert!(file.header("content-disposition").starts_with("attachment"), "{:?}", file.headers);
    assert!(file.header("content-security-policy").starts_with("sandbox"), "{:?}", file.headers);
    assert_eq!((file.header("cache-control"), file.header("x-content-type-options")), ("no-store", "nosniff"));
    assert_eq!(service.seen().len(), 2, "the call runs again");
    let end = if path.ends_with('A') { 'B' } else { 'A' };
    let altered = format!("{}{end}", &path[..path.len() - 1]);
    for unknown in [altered.as_str(), "/mcp-files/x", "/mcp-files/x.y"] {
        gateway.anonymous().get(unknown).problem(404, "unknown-file");
    }
    assert_eq!(gateway.anonymous().request("HEAD", &path).send().status, 405);
}

#[test]
fn a_link_has_the_name_of_the_file_with_all_its_characters() {
    let (gateway, _service) = world(&Store::Sqlite);
    let agent = Agent::new(&gateway.client(), "/mcp/account");
    let link = result(&agent.call("forward", json!({"path": "/named"})))["content"][0].clone();
    assert_eq!(link["name"], "naïve +.pdf", "{link}");
}

#[test]
fn a_link_ends_with_the_key_that_it_was_made_for() {
    let (gateway, _service) = world(&Store::Sqlite);
    let made = gateway.client().post("/admin/keys", json!({"name": "short", "scopes": ["operate"]})).json();
    let (path, _) = path(&gateway, &gateway.anonymous().with_key(made["key"].as_str().unwrap()));
    assert_eq!(gateway.anonymous().get(&path).status, 200);
    gateway.client().delete(&format!("/admin/keys/{}", made["id"].as_str().unwrap())).ok();
    wait_for("the link to be refused", || (gateway.anonymous().get(&path).status == 403).then_some(()));
    let problem = gateway.anonymous().get(&path).problem(403, "not-allowed");
    assert!(problem["detail"].as_str().unwrap().contains("revoked"), "{problem}");
}

#[test]
fn a_call_that_is_not_run_again_answers_a_file_in_its_json_form() {
    let (gateway, service) = world(&Store::Sqlite);
    let agent = Agent::new(&gateway.client(), "/mcp/account");
    let erased: Value = serde_json::from_str(&agent.text("erase", json!({"path": "/file"}))).unwrap();
    assert_eq!((&erased["file_name"], &erased["content_base64"]), (&json!("a.pdf"), &json!("UERG")));
    // Its arguments do not fit in an address.
    let long: Value = json!({"path": "/file", "value": "x".repeat(5000)});
    let answered: Value = serde_json::from_str(&agent.text("forward", long)).unwrap();
    assert_eq!(answered["content_base64"], "UERG");
    assert_eq!(service.seen().len(), 2);
}
