//! Connectors that came with the gateway: only the operator can replace one by another module.

use std::fs;

use serde_json::{Value, json};
use support::{Answer, Gateway, Setup, module, wait_for};

use super::load;
use support::home::{file, path};

/// A gateway that came with version 1.0.0 of `liar`.
fn gateway() -> Gateway {
    Setup::new().shipped_module("liar", module::liar("version=1.0.0")).start()
}

fn upload(gateway: &Gateway, query: &str, version: &str) -> Answer {
    let call = gateway.client().request("POST", &format!("/admin/connectors{query}"));
    call.header("content-type", "application/wasm").body(module::liar(&format!("version={version}"))).send()
}

/// The live version, and `true` if it came with the gateway.
fn live(gateway: &Gateway) -> Option<(String, bool)> {
    gateway.connector("liar").map(|live| version_of(&live))
}

fn version_of(live: &Value) -> (String, bool) {
    (live["version"].as_str().unwrap().to_owned(), live["shipped"] == true)
}

/// Checks that this version answers calls.
#[track_caller]
fn assert_serves(gateway: &Gateway, version: &str, shipped: bool) {
    assert_eq!(live(gateway), Some((version.to_owned(), shipped)));
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], format!("version={version}"));
}

#[track_caller]
fn wait_until_serving(gateway: &Gateway, version: &str, shipped: bool) {
    wait_for("the version", || (live(gateway)? == (version.to_owned(), shipped)).then_some(()));
    assert_serves(gateway, version, shipped);
}

#[track_caller]
fn assert_names_the_command(reason: &str) {
    assert!(reason.contains("came with the gateway"), "{reason}");
    assert!(reason.contains("connector-gateway connectors add --replace-shipped FILE"), "{reason}");
}

#[test]
fn a_module_of_somebody_else_does_not_take_the_place_of_a_shipped_one() {
    let gateway = gateway();
    let load = load(&gateway.client(), "version");
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    assert_names_the_command(&gateway.wait_for_refusal("liar.wasm"));
    let problem = upload(&gateway, "", "2.0.0").problem(422, "module-refused");
    assert_names_the_command(problem["detail"].as_str().unwrap());
    let module = file(gateway.home(), "second", &module::liar("version=2.0.0"));
    let added = gateway.home().run(&["connectors", "add", path(&module)]);
    assert_eq!(added.code, Some(1));
    assert_names_the_command(&added.stderr);
    let checked = gateway.home().run_ok(&["connectors", "check", path(&module)]);
    assert!(checked.contains("--replace-shipped"), "{checked}");
    assert_serves(&gateway, "1.0.0", true);
    assert_eq!(load.stop().failures, Vec::<String>::new());
    let gateway = gateway.start_again();
    assert_serves(&gateway, "1.0.0", true);
    assert_names_the_command(&gateway.wait_for_refusal("liar.wasm"));
    // The file goes, and nothing else does.
    fs::remove_file(gateway.home().module("liar")).unwrap();
    wait_for("the refusal to be forgotten", || gateway.refusal("liar.wasm").is_none().then_some(()));
    assert_serves(&gateway, "1.0.0", true);
}

#[test]
fn the_operators_word_holds_for_one_module_and_survives_a_restart() {
    let gateway = gateway();
    let second = file(gateway.home(), "second", &module::liar("version=2.0.0"));
    gateway.home().run_ok(&["connectors", "add", path(&second), "--replace-shipped"]);
    wait_until_serving(&gateway, "2.0.0", false);
    let gateway = gateway.start_again();
    assert_serves(&gateway, "2.0.0", false);
    assert_eq!(gateway.connector("liar").unwrap()["hosts"], json!({"granted": [], "missing": ["api.example"]}));

    // Another file in its place is refused, now and after a restart.
    gateway.home().put("liar", &module::liar("version=3.0.0"));
    assert_names_the_command(&gateway.wait_for_refusal("liar.wasm"));
    assert_serves(&gateway, "2.0.0", false);
    let gateway = gateway.start_again();
    assert_serves(&gateway, "2.0.0", false);
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    wait_for("the file to be accepted", || gateway.refusal("liar.wasm").is_none().then_some(()));

    // An upgrade of the gateway does not bring its own back.
    gateway.home().ship("liar", &module::liar("version=1.1.0"));
    gateway.home().put("other", b"the last to come");
    gateway.wait_for_refusal("other.wasm");
    assert_serves(&gateway, "2.0.0", false);
}

#[test]
fn the_shipped_connector_is_back_when_the_module_in_its_place_is_removed() {
    let gateway = gateway();
    let load = load(&gateway.client(), "version");
    let second = file(gateway.home(), "second", &module::liar("version=2.0.0"));
    for round in ["command", "route", "file"] {
        gateway.home().run_ok(&["connectors", "add", path(&second), "--replace-shipped"]);
        wait_until_serving(&gateway, "2.0.0", false);
        match round {
            "command" => drop(gateway.home().run_ok(&["connectors", "remove", "liar"])),
            "route" => {
                gateway.client().delete("/admin/connectors/liar").ok();
                assert_serves(&gateway, "1.0.0", true);
            }
            _ => fs::remove_file(gateway.home().module("liar")).unwrap(),
        }
        wait_until_serving(&gateway, "1.0.0", true);
        assert!(!gateway.home().module("liar").exists());
    }
    load.wait_for_more(10);
    assert_eq!(load.stop().failures, Vec::<String>::new());
    let gateway = gateway.start_again();
    assert_serves(&gateway, "1.0.0", true);
}

#[test]
fn removing_takes_the_operators_word_back() {
    let gateway = gateway();
    upload(&gateway, "?replace_shipped=true", "2.0.0").ok();
    gateway.client().delete("/admin/connectors/liar").ok();
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    assert_names_the_command(&gateway.wait_for_refusal("liar.wasm"));
    assert_serves(&gateway, "1.0.0", true);
}

#[test]
fn a_rollback_leads_back_to_the_shipped_connector() {
    let gateway = gateway();
    let rollback = || gateway.client().request("POST", "/admin/connectors/liar/rollback").send();
    upload(&gateway, "?replace_shipped=true", "2.0.0").ok();
    assert_eq!(version_of(&rollback().ok()), ("1.0.0".to_owned(), true));
    assert!(!gateway.home().module("liar").exists());
    assert_serves(&gateway, "1.0.0", true);

    // Of two modules that replaced it one after the other, the first one is the previous version.
    upload(&gateway, "?replace_shipped=true", "2.0.0").ok();
    upload(&gateway, "?replace_shipped=true", "3.0.0").ok();
    assert_eq!(version_of(&rollback().ok()), ("2.0.0".to_owned(), false));
    let gateway = gateway.start_again();
    assert_serves(&gateway, "2.0.0", false);
    let removed = gateway.home().run_ok(&["connectors", "remove", "liar"]);
    assert_eq!(removed, "");
    wait_until_serving(&gateway, "1.0.0", true);
}

#[test]
fn a_shipped_connector_is_neither_removed_nor_rolled_back() {
    let gateway = gateway();
    gateway.home().ship("liar", &module::liar("version=1.1.0"));
    wait_until_serving(&gateway, "1.1.0", true);
    let removed = gateway.client().delete("/admin/connectors/liar");
    let rolled_back = gateway.client().request("POST", "/admin/connectors/liar/rollback").send();
    for answer in [removed, rolled_back] {
        let problem = answer.problem(409, "shipped");
        assert_names_the_command(problem["detail"].as_str().unwrap());
    }
    assert_eq!(gateway.home().run(&["connectors", "remove", "liar"]).code, Some(1));
    assert_eq!(fs::read(gateway.home().shipped_module("liar")).unwrap(), module::liar("version=1.1.0"));
    assert_serves(&gateway, "1.1.0", true);
}

#[test]
fn an_upgrade_of_the_gateways_connectors_is_swapped_in() {
    let gateway = gateway();
    let load = load(&gateway.client(), "version");
    gateway.home().ship("liar", &module::liar("version=2.0.0"));
    wait_until_serving(&gateway, "2.0.0", true);
    assert_eq!(gateway.connector("liar").unwrap()["hosts"]["granted"], json!(["api.example"]));
    gateway.home().ship("liar", &module::liar("reserved path"));
    assert!(gateway.wait_for_refusal("liar.wasm").contains("`integrations`"));
    assert_serves(&gateway, "2.0.0", true);
    load.wait_for_more(10);
    assert_eq!(load.stop().failures, Vec::<String>::new());
    let gateway = gateway.start_again();
    assert_serves(&gateway, "2.0.0", true);
    gateway.home().ship("liar", &module::liar("version=1.0.0"));
    wait_until_serving(&gateway, "1.0.0", true);
    assert_eq!(gateway.refusal("liar.wasm"), None);
}

#[test]
fn a_name_is_free_when_the_shipped_connector_is_gone() {
    let gateway = gateway();
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_refusal("liar.wasm");
    fs::remove_file(gateway.home().shipped_module("liar")).unwrap();
    wait_until_serving(&gateway, "2.0.0", false);
    assert_eq!(gateway.refusal("liar.wasm"), None);
    // An upgrade that brings a connector of this name takes the name back.
    gateway.home().ship("liar", &module::liar("version=1.0.0"));
    wait_until_serving(&gateway, "1.0.0", true);
    assert_names_the_command(&gateway.wait_for_refusal("liar.wasm"));
}

#[test]
fn a_connector_whose_both_files_are_bad_or_gone_does_not_serve() {
    let gateway = gateway();
    upload(&gateway, "?replace_shipped=true", "2.0.0").ok();
    gateway.home().ship("liar", b"no module");
    gateway.client().delete("/admin/connectors/liar").ok();
    // The version that came with the gateway before serves in place of the bad one.
    wait_until_serving(&gateway, "1.0.0", true);
    fs::remove_file(gateway.home().shipped_module("liar")).unwrap();
    wait_for("the removal", || gateway.connector("liar").is_none().then_some(()));
    let gateway = gateway.start_again();
    assert_eq!(gateway.connector("liar"), None);
}
