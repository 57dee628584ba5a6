//! The standing of each gateway with the modules of the service, as every gateway tells it.

use serde_json::{Value, json};
use support::home::{file, path};
use support::{Gate, Gateway, Reply, Setup, Signer, Store, Upstream, module, wait_for};

use super::{gateways, key_of, liar, upload, wait_for_ready};

/// The names and states of the gateways that one of them lists.
fn states(gateway: &Gateway) -> Vec<(Value, Value)> {
    let listed = gateway.client().get("/admin/gateways").ok();
    let gateways = listed["gateways"].as_array().unwrap();
    gateways.iter().map(|each| (each["name"].clone(), each["state"].clone())).collect()
}

/// The state, version and generation of `liar` at the gateway with this name.
fn at(entry: &Value, gateway: &str) -> (Value, Value, Value) {
    let all = entry["gateways"].as_array().unwrap();
    let at = all.iter().find(|at| at["gateway"] == gateway).unwrap();
    (at["state"].clone(), at["version"].clone(), at["generation"].clone())
}

/// The id of the gateway with this name.
fn id(gateway: &Gateway, name: &str) -> String {
    let listed = gateway.client().get("/admin/gateways").ok();
    let gateways = listed["gateways"].as_array().unwrap();
    gateways.iter().find(|each| each["name"] == name).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_change_that_waits_in_vain_names_the_gateway_that_still_serves_the_previous_version() {
    let store = Store::postgres();
    let [one] = gateways(&store);
    let (proxy, behind) = store.database().behind_proxy();
    let slow = Setup::new().general(&behind).general(&key_of(&one)).config("[fleet]\nname = \"slow\"").start();
    wait_for_ready(&one, 2);
    let slow_id = id(&one, "slow");
    proxy.hold();
    let answer = upload(&one, "?wait=1", None, module::liar("version=2.0.0")).ok();
    assert_eq!(at(&answer, &slow_id), (json!("compiling"), json!("1.0.0"), json!(1)), "{answer}");
    assert_eq!(slow.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    proxy.restore();
    slow.wait_for_version("liar", "2.0.0");
    let is_live = || Some(at(&liar(&one)?, &slow_id)).filter(|at| at.0 == "live");
    let at = wait_for("the gateway to tell that it serves the new version", is_live);
    assert_eq!(at, (json!("live"), json!("2.0.0"), json!(2)));
}

#[test]
fn each_gateway_checks_signatures_with_its_own_publishers() {
    let (store, signer) = (Store::postgres(), Signer::new());
    let [one] = gateways(&store);
    let trust = format!("[trust.publishers.acme]\nkey = \"{}\"\nconnectors = [\"liar\"]", signer.public_key());
    let strict = Setup::new().on(&store).general(&key_of(&one)).config(&trust).start();
    let reason = strict.wait_for_refusal("liar.wasm");
    assert!(reason.contains("signature"), "{reason}");
    assert_eq!(strict.connector("liar"), None);
    let signed = file(one.home(), "signed.wasm", &module::liar("version=2.0.0"));
    signer.sign_file(&signed);
    one.home().run_ok(&["connectors", "add", path(&signed)]);
    strict.wait_for_version("liar", "2.0.0");
    upload(&one, "", None, module::liar("version=3.0.0")).ok();
    one.wait_for_version("liar", "3.0.0");
    strict.wait_for_refusal("liar.wasm");
    assert_eq!(strict.call("liar/version", json!({})).ok()["version"], "version=2.0.0");
}

#[test]
fn a_grant_and_its_revocation_at_one_gateway_hold_at_all() {
    let store = Store::postgres();
    let all: [Gateway; 2] = gateways(&store);
    let account = file(all[0].home(), "module", &module::account(&json!({"identifier": "account", "auth": "none"})));
    all[0].home().run_ok(&["connectors", "add", path(&account)]);
    let wait_until = |hosts: Value| {
        for gateway in &all {
            wait_for(&format!("the grants {hosts}"), || {
                let granted = gateway.connector("account")?["hosts"]["granted"].clone();
                (granted == hosts).then_some(())
            });
        }
    };
    wait_until(json!([]));
    all[1].home().run_ok(&["connectors", "grant", "account", "api.example"]);
    wait_until(json!(["api.example"]));
    all[0].home().run_ok(&["connectors", "revoke", "account", "api.example"]);
    wait_until(json!([]));
}

#[test]
fn two_versions_of_a_shipped_connector_are_listed_during_a_roll_out() {
    let store = Store::postgres();
    let before = Setup::new().on(&store).shipped_module("liar", module::liar("version=1.0.0")).start();
    let after = Setup::new()
        .on(&store)
        .general(&key_of(&before))
        .shipped_module("liar", module::liar("version=2.0.0"))
        .config("[fleet]\nname = \"after\"")
        .start();
    wait_for_ready(&before, 2);
    let versions = || {
        let entry = liar(&before)?;
        let mut versions: Vec<Value> =
            entry["gateways"].as_array().unwrap().iter().map(|at| at["version"].clone()).collect();
        versions.sort_by_key(Value::to_string);
        (entry["shipped"] == true && versions == [json!("1.0.0"), json!("2.0.0")]).then_some(())
    };
    wait_for("both versions", versions);
    assert_eq!(before.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    assert_eq!(after.call("liar/version", json!({})).ok()["version"], "version=2.0.0");
}

#[test]
fn a_gateway_is_listed_as_starting_until_its_modules_are_loaded_and_as_draining_while_calls_end() {
    let store = Store::postgres();
    let [one] = gateways(&store);
    let is_listed = |state: &str| {
        wait_for(state, || states(&one).contains(&(json!("other"), json!(state))).then_some(()));
    };
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("/wait", Reply::json(json!({})).behind(&gate));
    let setup = Setup::new().on(&store).general(&key_of(&one)).config("[fleet]\nname = \"other\"");
    let setup = setup.general("drain_s = 600").cold().shipped("code_hosting");
    let home = setup.upstream("liar", "api", &service.url()).config("limits.timeout_s = 600").prepare();
    let starting = std::thread::spawn(move || home.start());
    is_listed("starting");
    let mut other = starting.join().unwrap();
    is_listed("ready");
    let call = other.client().begin("/connectors/liar/wait", json!({}));
    service.wait_for_requests(1);
    other.ask_to_end();
    is_listed("draining");
    gate.open();
    call.wait().ok();
    assert_eq!(other.wait().code(), Some(0));
    let is_gone = || states(&one).iter().all(|(name, _)| name != "other").then_some(());
    wait_for("the end of the gateway", is_gone);
}
