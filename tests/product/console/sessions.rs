//! Sessions: who gets one, what its cookie admits, and how it ends.

use serde_json::{Value, json};
use support::{Gateway, Setup, Store, module, wait_for};

use super::{Operator, operator, try_sign_in};
use crate::fleet::{key_of, wait_for_ready};
use crate::integrations::on_each_store;

on_each_store!(
    a_session_stands_for_its_key,
    a_request_of_another_page_is_refused,
    a_session_ends_when_the_operator_signs_out,
    a_session_ends_with_its_key,
);

fn gateway(store: &Store) -> Gateway {
    let free = module::account(&json!({"identifier": "account", "auth": "none"}));
    Setup::new().on(store).module("liar", module::liar("version=1.0.0")).module("account", free).start()
}

/// Makes a key, and returns its id and the key.
#[track_caller]
fn make_key(gateway: &Gateway, body: Value) -> (String, String) {
    let made = gateway.client().post("/admin/keys", body);
    assert_eq!(made.status, 201, "{}", made.text());
    let text = |name: &str| made.json()[name].as_str().unwrap().to_owned();
    (text("id"), text("key"))
}

fn actions(gateway: &Gateway) -> Vec<String> {
    let listed = gateway.client().get("/admin/audit").ok();
    let entries = listed["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["action"].as_str().unwrap().to_owned()).collect()
}

fn a_session_stands_for_its_key(store: &Store) {
    let gateway = gateway(store);
    gateway.anonymous().request("POST", "/console/session").send().problem(401, "unauthenticated");
    gateway.anonymous().get("/console/session").problem(401, "unauthenticated");
    let (_, narrow) = make_key(&gateway, json!({"name": "calls", "scopes": ["operate"]}));
    wait_for("the key to be known", || (try_sign_in(&gateway, &narrow).status == 403).then_some(()));
    try_sign_in(&gateway, &narrow).problem(403, "missing-scope");

    let (id, key) = make_key(&gateway, json!({"name": "console", "scopes": ["admin"], "tenant": "acme"}));
    let made = wait_for("the key to be known", || Some(try_sign_in(&gateway, &key)).filter(|made| made.status == 201));
    let cookie = made.header("set-cookie");
    assert!(cookie.starts_with("__Host-console=") && !cookie.contains("Domain"), "{cookie}");
    for part in ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"] {
        assert!(cookie.split("; ").any(|given| given == part), "{part} in {cookie}");
    }
    let secret = cookie.split(['=', ';']).nth(1).unwrap();
    assert!(!made.text().contains(secret), "the page does not see the cookie");
    assert_eq!((&made.json()["key_id"], &made.json()["scopes"]), (&json!(id), &json!(["admin"])));

    let narrow = Operator::sign_in(&gateway, &key);
    assert_eq!(narrow.get("/console/session").ok()["tenant"], "acme");
    assert_eq!(narrow.get("/admin/keys").status, 200);
    assert_eq!(narrow.get("/metrics").status, 200);
    narrow.change("POST", "/connectors/liar/version").json(&json!({})).send().problem(403, "missing-scope");
    // The limits of the key hold, and so does the effect of an operation.
    let limited = json!({"name": "limited", "scopes": ["admin", "operate"], "allow": ["liar"], "effects": ["read"]});
    let (_, key) = make_key(&gateway, limited);
    wait_for("the key to be known", || (try_sign_in(&gateway, &key).status == 201).then_some(()));
    let limited = Operator::sign_in(&gateway, &key);
    limited.change("POST", "/connectors/liar/version").json(&json!({})).send().ok();
    let other = limited.change("POST", "/connectors/account/forward").json(&json!({"path": "/"})).send();
    other.problem(403, "not-allowed");
    // The session is no key for programs.
    limited.change("POST", "/mcp").json(&json!({})).send().problem(401, "unauthenticated");
    limited.change("GET", "/proxy/account/api/").send().problem(401, "unauthenticated");
    // A session does not prolong itself.
    limited.change("POST", "/console/session").send().problem(401, "unauthenticated");
}

fn a_request_of_another_page_is_refused(store: &Store) {
    let gateway = gateway(store);
    let operator = operator(&gateway);
    let path = "/admin/keys";
    let key = json!({"name": "by another page", "scopes": ["admin"]});
    let own = ("sec-fetch-site", "same-origin");
    let header = ("x-console", "1");
    let address = gateway.address();
    for sent in [
        &[own][..],
        &[header],
        &[header, ("sec-fetch-site", "same-site"), ("origin", &*address)],
        &[header, ("sec-fetch-site", "cross-site")],
        &[header, ("origin", "https://evil.example")],
    ] {
        let call = sent.iter().fold(operator.bare("POST", path), |call, (name, value)| call.header(name, value));
        call.json(&key).send().problem(403, "not-from-console");
    }
    let read = operator.bare("GET", path).header("sec-fetch-site", "cross-site").send();
    read.problem(403, "not-from-console");
    assert!(!gateway.client().get(path).text().contains("by another page"), "nothing has changed");
    // A browser that sends no `Sec-Fetch-Site` sends `Origin` with a change.
    let by_origin = operator.bare("POST", path).header(header.0, header.1).header("origin", &address);
    assert_eq!(by_origin.json(&key).send().status, 201);
    // With a key, the cookie does not count.
    let both = operator.bare("GET", path).header("authorization", "Bearer cgw_wrong").send();
    both.problem(401, "unauthenticated");
}

fn a_session_ends_when_the_operator_signs_out(store: &Store) {
    let gateway = gateway(store);
    let operator = operator(&gateway);
    let other = super::operator(&gateway);
    assert_eq!(operator.get("/admin/calls").status, 200);
    operator.bare("DELETE", "/console/session").send().problem(403, "not-from-console");
    let ended = operator.change("DELETE", "/console/session").send();
    assert_eq!(ended.ok(), json!({"signed_out": true}));
    assert!(ended.header("set-cookie").contains("Max-Age=0"), "{}", ended.header("set-cookie"));
    let problem = operator.get("/admin/calls").problem(401, "unauthenticated");
    assert!(problem["detail"].as_str().unwrap().contains("Sign in again"), "{problem}");
    assert_eq!(other.get("/admin/calls").status, 200, "the other session stays");
    assert_eq!(actions(&gateway)[..3], ["console.signed_out", "console.signed_in", "console.signed_in"]);
    // It is the same after a restart.
    let gateway = gateway.start_again();
    assert_eq!(other.at(&gateway).get("/admin/calls").status, 200);
    operator.at(&gateway).get("/admin/calls").problem(401, "unauthenticated");
}

fn a_session_ends_with_its_key(store: &Store) {
    let gateway = gateway(store);
    let (id, key) = make_key(&gateway, json!({"name": "console", "scopes": ["admin"]}));
    wait_for("the key to be known", || (try_sign_in(&gateway, &key).status == 201).then_some(()));
    let operator = Operator::sign_in(&gateway, &key);
    assert_eq!(operator.get("/admin/calls").status, 200);
    gateway.client().delete(&format!("/admin/keys/{id}")).ok();
    operator.get("/admin/calls").problem(401, "unauthenticated");
}

#[test]
fn a_session_is_known_at_every_gateway_of_the_service() {
    let store = Store::postgres();
    let one = gateway(&store);
    let two = Setup::new().on(&store).general(&key_of(&one)).start();
    wait_for_ready(&one, 2);
    let operator = operator(&one);
    assert_eq!(operator.at(&two).get("/admin/calls").status, 200);
    operator.at(&two).change("DELETE", "/console/session").send().ok();
    operator.get("/admin/calls").problem(401, "unauthenticated");
}

#[test]
fn the_console_is_where_the_operators_routes_are() {
    let gateway = Setup::new().general("admin_listen = \"127.0.0.1:0\"").start();
    let serving = gateway.wait_for_log("the addresses", |line| line["message"] == "serving");
    let operators = gateway.anonymous().at(&format!("http://{}", serving["admin_listen"].as_str().unwrap()));
    for path in ["/console", "/console/first.js", "/console/console.css", "/console/preact.mjs"] {
        assert_eq!(operators.get(path).status, 200, "{path}");
        gateway.anonymous().get(path).problem(404, "not-found");
    }
    operators.get("/console/other.js").problem(404, "not-found");
    let by_another_name = operators.request("GET", "/console").header("host", "rebound.example").send();
    by_another_name.problem(400, "bad-request");
}

#[test]
fn the_page_loads_nothing_from_elsewhere_and_no_page_embeds_it() {
    let gateway = Setup::new().start();
    let page = gateway.anonymous().get("/console");
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self' 'sha256-"), "{policy}");
    for part in
        ["frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'", "base-uri 'none'"]
    {
        assert!(policy.split("; ").any(|given| given == part), "{part} in {policy}");
    }
    assert!(!policy.contains("http") && !policy.contains("unsafe"), "{policy}");
    let script = gateway.anonymous().get("/console/first.js");
    assert_eq!(script.header("content-type"), "text/javascript; charset=utf-8");
    assert_eq!((script.header("x-content-type-options"), script.header("x-frame-options")), ("nosniff", "DENY"));
    let again = gateway.anonymous().request("GET", "/console/first.js").header("if-none-match", script.header("etag"));
    assert_eq!(again.send().status, 304);
}
