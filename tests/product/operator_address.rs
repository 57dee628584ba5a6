//! The routes for operators: who may read metrics, and what `admin_listen` changes.

use serde_json::json;
use support::{Setup, module};

#[test]
fn metrics_are_for_operators() {
    let gateway = Setup::new().start();
    gateway.anonymous().get("/metrics").problem(401, "unauthenticated");
    assert_eq!(gateway.client().get("/metrics").status, 200);
}

#[test]
fn with_an_address_of_their_own_the_operators_routes_are_only_there() {
    let gateway =
        Setup::new().module("liar", module::liar("version=1.0.0")).general("admin_listen = \"127.0.0.1:0\"").start();
    let serving = gateway.wait_for_log("the addresses", |line| line["message"] == "serving");
    let operators = gateway.anonymous().at(&format!("http://{}", serving["admin_listen"].as_str().unwrap()));
    assert_eq!(operators.get("/metrics").status, 200, "no key is needed");
    assert_eq!(operators.get("/healthz").status, 200);
    operators.get("/connectors").problem(401, "unauthenticated");
    let known = gateway.client().at(&format!("http://{}", serving["admin_listen"].as_str().unwrap()));
    assert_eq!(known.get("/connectors").ok()["connectors"][0]["connector"], "liar");
    operators.delete("/admin/connectors/liar").problem(401, "unauthenticated");
    operators.call("liar/version", json!({})).problem(404, "not-found");

    gateway.client().get("/metrics").problem(404, "not-found");
    gateway.client().delete("/admin/connectors/liar").problem(404, "not-found");
    gateway.call("liar/version", json!({})).ok();
}
