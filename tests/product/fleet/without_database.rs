//! A gateway that starts while its database is away.

use std::fs;

use serde_json::{Value, json};
use support::home::{file, path};
use support::{Gateway, Setup, Store, module, wait_for};

use super::{gateways, key_of, liar, upload};

/// Waits until the gateway has noted on its disk that it serves a generation of `liar`.
fn wait_until_noted(gateway: &Gateway, generation: i64) {
    let path = gateway.home().data().join("last_served.json");
    wait_for("the list of modules on the disk", || {
        let noted: Value = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        (noted["modules"]["liar"]["generation"] == generation).then_some(())
    });
}

fn degraded(gateway: &Gateway) -> Value {
    gateway.anonymous().get("/readyz").ok()["degraded"].clone()
}

#[test]
fn a_gateway_that_starts_without_its_database_serves_its_disk_and_then_follows() {
    let store = Store::postgres();
    let [other] = gateways(&store);
    let (proxy, behind) = store.database().behind_proxy();
    let one = Setup::new().general(&behind).general(&key_of(&other)).start();
    assert_eq!(upload(&one, "?wait=60", None, module::liar("version=2.0.0")).ok()["generation"], 2);
    wait_until_noted(&one, 2);

    proxy.cut();
    let one = one.start_again();
    assert_eq!(degraded(&one), json!(["database"]));
    assert_eq!(one.call("liar/version", json!({})).ok()["version"], "version=2.0.0");
    one.client().get("/admin/gateways").problem(503, "store-unavailable");
    one.client().get("/integrations").problem(503, "store-unavailable");
    one.client().request("POST", "/console/session").send().problem(503, "store-unavailable");
    upload(&one, "", None, module::liar("version=9.0.0")).problem(503, "store-unavailable");
    assert_eq!(one.client().with_key("a-key-that-nobody-has").get("/connectors").status, 401);

    assert_eq!(upload(&other, "", Some(2), module::liar("version=3.0.0")).ok()["generation"], 3);
    proxy.restore();
    one.wait_for_version("liar", "3.0.0");
    wait_for("the database", || degraded(&one).is_null().then_some(()));
    assert_eq!(liar(&one).unwrap()["generation"], 3);
    wait_until_noted(&one, 3);
}

#[test]
fn a_start_without_the_database_keeps_grants_and_leaves_other_files_alone() {
    let store = Store::postgres();
    let (proxy, behind) = store.database().behind_proxy();
    let one = Setup::new().general(&behind).start();
    let account = module::account(&json!({"identifier": "account", "auth": "none"}));
    let account = file(one.home(), "module", &account);
    one.home().run_ok(&["connectors", "add", path(&account), "--grant", "api.example"]);
    let granted = |gateway: &Gateway| gateway.connector("account").map(|account| account["hosts"]["granted"].clone());
    wait_for("the connector", || (granted(&one) == Some(json!(["api.example"]))).then_some(()));
    let noted = one.home().data().join("last_served.json");
    wait_for("the list on the disk", || fs::read_to_string(&noted).ok().filter(|text| text.contains("api.example")));

    proxy.cut();
    one.home().put("liar", &module::liar("version=1.0.0"));
    let one = one.start_again();
    assert_eq!(granted(&one), Some(json!(["api.example"])));
    assert_eq!(one.connector("liar"), None, "the service may have had and removed it");
    let reason = one.wait_for_refusal("liar.wasm");
    assert!(reason.contains("PostgreSQL"), "{reason}");
    proxy.restore();
    one.wait_for_version("liar", "1.0.0");
    assert_eq!(granted(&one), Some(json!(["api.example"])));
    one.home().run_ok(&["connectors", "revoke", "account", "api.example"]);
    wait_for("the end of the grant", || (granted(&one) == Some(json!([]))).then_some(()));
}
