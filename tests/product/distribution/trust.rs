//! With publishers in `[trust]`, a foreign module needs a signature of one of them, whichever way
//! it arrives.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use support::setup::KEY;
use support::signer::signature_file;
use support::{Answer, Gateway, Registry, Setup, Signer, module, wait_for};

use support::home::{file, path};

/// A gateway that trusts one publisher with these identifiers.
fn trusting(signer: &Signer, connectors: &str) -> Setup {
    let key = signer.public_key();
    Setup::new().config(&format!("[trust.publishers.acme]\nkey = \"{key}\"\nconnectors = [{connectors}]"))
}

fn liar(version: &str) -> Vec<u8> {
    module::liar(&format!("version={version}"))
}

fn upload(gateway: &Gateway, module: &[u8], signature: Option<&str>) -> Answer {
    let call = gateway.client().request("POST", "/admin/connectors").header("content-type", "application/wasm");
    let call = match signature {
        Some(text) => call.header("x-module-signature", &STANDARD.encode(text)),
        None => call,
    };
    call.body(module.to_vec()).send()
}

fn put(gateway: &Gateway, module: &[u8], signature: &str) {
    let home = gateway.home();
    fs::write(signature_file(&home.module("liar")), signature).unwrap();
    home.put("liar", module);
}

#[test]
fn a_signed_module_is_added_by_command_over_http_in_the_folder_and_from_a_registry() {
    let (signer, registry) = (Signer::new(), Registry::start());
    let gateway = trusting(&signer, "\"liar\"").start();
    let home = gateway.home();
    let first = file(home, "first.wasm", &liar("1.0.0"));
    signer.sign_file(&first);
    let said = home.run_ok(&["connectors", "add", path(&first), "--grant", "api.example"]);
    assert!(said.contains(&format!("by publisher `acme`, with the key {}", signer.key_id())), "{said}");
    gateway.wait_for_version("liar", "1.0.0");
    assert_eq!(fs::read(signature_file(&home.module("liar"))).unwrap(), fs::read(signature_file(&first)).unwrap());

    upload(&gateway, &liar("2.0.0"), Some(&signer.sign(&liar("2.0.0")))).ok();
    gateway.wait_for_version("liar", "2.0.0");

    put(&gateway, &liar("3.0.0"), &signer.sign(&liar("3.0.0")));
    gateway.wait_for_version("liar", "3.0.0");

    let fourth = file(home, "fourth.wasm", &liar("4.0.0"));
    signer.sign_file(&fourth);
    let name = registry.name("acme/liar:4.0.0");
    home.run_ok(&["connectors", "push", path(&fourth), &name]);
    home.run_ok(&["connectors", "add", &name]);
    gateway.wait_for_version("liar", "4.0.0");

    let fifth = file(home, "fifth.wasm", &liar("5.0.0"));
    signer.sign_file(&fifth);
    let name = registry.name("acme/liar:5.0.0");
    home.run_ok(&["connectors", "push", path(&fifth), &name]);
    let far_away = Setup::new().variable("GATEWAY_KEY", KEY).prepare();
    let refused = far_away.run(&["connectors", "add", &registry.name("acme/liar:6.0.0"), "--url", &gateway.address()]);
    assert!(refused.stderr.contains("the registry has no such module"), "{}", refused.stderr);
    far_away.run_ok(&["connectors", "add", &name, "--url", &gateway.address()]);
    gateway.wait_for_version("liar", "5.0.0");

    home.run_ok(&["connectors", "revoke", "liar", "api.example"]);
    home.run_ok(&["connectors", "grant", "liar", "api.example"]);
    let gateway = gateway.start_again();
    assert_eq!(gateway.connector("liar").unwrap()["version"], "5.0.0");
    assert_eq!(gateway.connector("liar").unwrap()["hosts"]["granted"], json!(["api.example"]));
}

/// Modules that no one may add, each with its signature and words of the refusal.
fn untrusted(signer: &Signer, unknown: &Signer) -> Vec<(Vec<u8>, Option<String>, String)> {
    vec![
        (liar("6.6.6"), None, "is not signed, and".to_owned()),
        (liar("6.6.6"), Some("garbage".to_owned()), "not a minisign signature".to_owned()),
        (liar("6.6.6"), Some(signer.sign(&liar("1.0.0"))), "is not a signature of this module".to_owned()),
        (liar("6.6.6"), Some(unknown.sign(&liar("6.6.6"))), format!("{}, which no publisher", unknown.key_id())),
    ]
}

#[test]
fn a_module_of_a_stranger_is_refused_whichever_way_it_arrives() {
    let (signer, registry) = (Signer::new(), Registry::start());
    let gateway = trusting(&signer, "").start();
    let home = gateway.home();
    upload(&gateway, &liar("1.0.0"), Some(&signer.sign(&liar("1.0.0")))).ok();
    let untrusting = Setup::new().prepare();
    let unknown = Signer::new();
    for (index, (module, signature, words)) in untrusted(&signer, &unknown).into_iter().enumerate() {
        let bad = file(home, &format!("{index}.wasm"), &module);
        if let Some(text) = &signature {
            fs::write(signature_file(&bad), text).unwrap();
        }
        for command in ["add", "check"] {
            let refused = home.run(&["connectors", command, path(&bad)]);
            assert!(refused.code == Some(1) && refused.stderr.contains(&words), "{words}: {}", refused.stderr);
        }
        let name = registry.name(&format!("acme/liar:{index}"));
        let unknown_key = bad.with_file_name("unknown.pub");
        fs::copy(unknown.public_key_file(), &unknown_key).unwrap();
        let pushed = untrusting.run(&["connectors", "push", path(&bad), &name]);
        if (1..3).contains(&index) {
            let words = if index == 1 { &*words } else { "cannot be verified" };
            assert!(pushed.code == Some(1) && pushed.stderr.contains(words), "{words}: {}", pushed.stderr);
        } else {
            assert_eq!(pushed.code, Some(0), "{}", pushed.stderr);
            let refused = home.run(&["connectors", "add", &name]);
            assert!(refused.code == Some(1) && refused.stderr.contains(&words), "{words}: {}", refused.stderr);
        }

        let problem = upload(&gateway, &module, signature.as_deref()).problem(422, "module-refused");
        assert!(problem["detail"].as_str().unwrap().contains(&words), "{words}: {problem}");
        assert_eq!(gateway.connector("liar").unwrap()["version"], "1.0.0");
    }
    let call = gateway.client().request("POST", "/admin/connectors").header("x-module-signature", "no base64!");
    call.body(liar("6.6.6")).send().problem(400, "bad-request");
}

#[test]
fn a_file_of_a_stranger_in_the_folder_is_refused_while_the_gateway_runs_and_at_its_start() {
    let signer = Signer::new();
    for (module, signature, words) in untrusted(&signer, &Signer::new()) {
        let home = trusting(&signer, "").module("liar", module).prepare();
        if let Some(text) = &signature {
            fs::write(signature_file(&home.module("liar")), text).unwrap();
        }
        let gateway = home.start();
        let reason = gateway.wait_for_refusal("liar.wasm");
        assert!(reason.contains(&words), "{words}: {reason}");
        assert_eq!(gateway.connector("liar"), None);
    }
    let gateway = trusting(&signer, "").start();
    gateway.home().put("liar", &liar("1.0.0"));
    assert!(gateway.wait_for_refusal("liar.wasm").contains("is not signed, and"));
    fs::write(signature_file(&gateway.home().module("liar")), signer.sign(&liar("1.0.0"))).unwrap();
    gateway.wait_for_version("liar", "1.0.0");
    // The signature may come after the module.
    wait_for("the end of the refusal", || gateway.refusal("liar.wasm").is_none().then_some(()));
}

#[test]
fn a_publisher_publishes_only_under_its_own_identifiers() {
    let signer = Signer::new();
    let gateway = trusting(&signer, "\"words\", \"acme_*\"").start();
    let module = file(gateway.home(), "liar.wasm", &liar("1.0.0"));
    signer.sign_file(&module);
    let refused = gateway.home().run(&["connectors", "add", path(&module)]);
    for words in ["may not publish `liar`", "`[trust.publishers.acme]`", &signer.key_id()] {
        assert!(refused.stderr.contains(words), "{words} in {}", refused.stderr);
    }
    put(&gateway, &liar("1.0.0"), &signer.sign(&liar("1.0.0")));
    assert!(gateway.wait_for_refusal("liar.wasm").contains("may not publish `liar`"));
}

#[test]
fn a_rollback_brings_back_a_version_with_its_signature_and_no_unsigned_one() {
    let signer = Signer::new();
    let gateway = Setup::new().start();
    upload(&gateway, &liar("1.0.0"), None).ok();
    let trusted =
        |gateway: Gateway| gateway.start_again_with("GATEWAY__TRUST__PUBLISHERS__ACME__KEY", &signer.public_key());
    upload(&gateway, &liar("2.0.0"), Some(&signer.sign(&liar("2.0.0")))).ok();
    let gateway = trusted(gateway);
    assert_eq!(
        gateway.connector("liar").unwrap()["version"],
        "2.0.0",
        "its signature was kept before it was asked for"
    );
    upload(&gateway, &liar("3.0.0"), Some(&signer.sign(&liar("3.0.0")))).ok();
    let rollback =
        |to: &str| gateway.client().request("POST", &format!("/admin/connectors/liar/rollback?to={to}")).send();
    assert_eq!(rollback("2.0.0").ok()["version"], "2.0.0");
    let first = &module::digest(&liar("1.0.0"))[..12];
    let problem = rollback(first).problem(422, "module-refused");
    assert!(problem["detail"].as_str().unwrap().contains("not signed"), "{problem}");
    assert_eq!(gateway.connector("liar").unwrap()["version"], "2.0.0");
    let gateway = gateway.start_again();
    assert_eq!(gateway.connector("liar").unwrap()["version"], "2.0.0");
    gateway.client().delete("/admin/connectors/liar").ok();
    assert!(!signature_file(&gateway.home().module("liar")).exists());
}

#[test]
fn modules_that_came_with_the_gateway_need_no_signature() {
    let signer = Signer::new();
    let gateway = trusting(&signer, "").shipped_module("liar", liar("1.0.0")).start();
    assert_eq!(gateway.connector("liar").unwrap()["version"], "1.0.0");
    let shipped = gateway.home().shipped_module("liar");
    let report = gateway.home().run_ok(&["connectors", "check", path(&shipped)]);
    assert!(report.contains("came with the gateway"), "{report}");
}

#[test]
fn a_report_says_who_signed_a_module() {
    let signer = Signer::new();
    let home = Setup::new().prepare();
    let module = file(&home, "liar.wasm", &liar("1.0.0"));
    let report =
        || -> Value { serde_json::from_str(&home.run_ok(&["connectors", "check", path(&module), "--json"])).unwrap() };
    assert_eq!(report()["signature"], Value::Null);
    assert!(home.run_ok(&["connectors", "check", path(&module)]).contains("signature   not signed"));
    fs::write(signature_file(&module), "garbage").unwrap();
    assert_eq!((&report()["signature"], &report()["signature_unreadable"]), (&Value::Null, &json!(true)));
    assert!(home.run_ok(&["connectors", "check", path(&module)]).contains("signature   cannot be read"));
    signer.sign_file(&module);
    assert_eq!(report()["signature"], json!({"key": signer.key_id(), "publisher": null}));
    assert!(home.run_ok(&["connectors", "check", path(&module)]).contains("not checked"));
    let home = trusting(&signer, "").prepare();
    let trusted: Value = serde_json::from_str(&home.run_ok(&["connectors", "check", path(&module), "--json"])).unwrap();
    assert_eq!(trusted["signature"], json!({"key": signer.key_id(), "publisher": "acme"}));
}
