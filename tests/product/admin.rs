//! Connectors are installed, rolled back and removed over HTTP.

use std::fs;

use serde_json::{Value, json};
use support::setup::KEY;
use support::wire::connection;
use support::{Answer, Gateway, Setup, module, usage, wait_for};

fn gateway() -> Gateway {
    Setup::new().start()
}

fn upload(gateway: &Gateway, query: &str, module: &[u8]) -> Answer {
    let call = gateway.client().request("POST", &format!("/admin/connectors{query}"));
    call.header("content-type", "application/wasm").body(module.to_vec()).send()
}

fn version(gateway: &Gateway) -> Value {
    gateway.call("liar/version", json!({})).ok()["version"].clone()
}

#[test]
fn an_uploaded_module_serves_at_once_and_after_a_restart() {
    let gateway = gateway();
    let installed = upload(&gateway, "", &module::liar("version=1.0.0")).ok();
    assert_eq!((&installed["connector"], &installed["version"]), (&json!("liar"), &json!("1.0.0")));
    assert_eq!(version(&gateway), "version=1.0.0");
    assert_eq!(upload(&gateway, "", &module::liar("version=2.0.0")).ok()["version"], "2.0.0");
    assert_eq!(version(&gateway), "version=2.0.0");
    assert_eq!(fs::read(gateway.home().module("liar")).unwrap(), module::liar("version=2.0.0"));
    let gateway = gateway.start_again();
    assert_eq!(version(&gateway), "version=2.0.0");
}

#[test]
fn an_upload_is_installed_although_its_sender_goes_away() {
    // Without compiled modules, so that the installation takes a while.
    let gateway = Setup::new().cold().start();
    let module = module::liar("version=1.0.0");
    let head = format!(
        "POST /admin/connectors HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\nContent-Length: {}\r\n\r\n",
        module.len()
    );
    let sender = connection(&gateway.address(), &[head.as_bytes(), &module].concat());
    wait_for("the compilation", || (usage::children(gateway.process_id()) > 0).then_some(()));
    drop(sender);
    gateway.wait_for_version("liar", "1.0.0");
}

#[test]
fn uploads_one_after_the_other_under_load_fail_no_request() {
    let gateway = gateway();
    upload(&gateway, "", &module::liar("version=0")).ok();
    let client = gateway.client();
    let load = support::Load::start(
        move || client.request("POST", "/connectors/liar/version").json(&json!({})),
        |answer| if answer.status == 200 { Ok(()) } else { Err(answer.text()) },
    );
    for number in 1..=20 {
        upload(&gateway, "", &module::liar(&format!("version={}", number % 2))).ok();
        assert_eq!(version(&gateway), format!("version={}", number % 2));
    }
    assert_eq!(load.stop().failures, Vec::<String>::new());
}

#[test]
fn a_connector_reaches_the_hosts_that_are_granted_with_it() {
    let gateway = gateway();
    let hosts = |answer: Answer| answer.ok()["hosts"].clone();
    let none = json!({"granted": [], "missing": ["api.example"]});
    let granted = json!({"granted": ["api.example"], "missing": []});
    assert_eq!(hosts(upload(&gateway, "", &module::liar("version=1.0.0"))), none);
    let problem = gateway.call("liar/forward", json!({})).problem(403, "egress-denied");
    assert!(problem["detail"].as_str().unwrap().contains("api.example"), "{problem}");
    assert_eq!(hosts(upload(&gateway, "?grant=api.example", &module::liar("version=1.0.0"))), granted);
    assert_eq!(
        hosts(upload(&gateway, "", &module::liar("version=2.0.0"))),
        granted,
        "grants stay when the upload names no hosts"
    );
    let gateway = gateway.start_again();
    assert_eq!(gateway.connector("liar").unwrap()["hosts"], granted);
    let unnamed = upload(&gateway, "?grant=other.example&grant=more.example", &module::liar("version=2.0.0"));
    unnamed.problem(400, "bad-request");
    assert_eq!(gateway.connector("liar").unwrap()["hosts"], granted);
}

#[test]
fn a_grant_that_is_not_a_host_is_refused() {
    let gateway = gateway();
    for query in ["?grant=", "?grant=*.example", "?grant=https://api.example/", "?grant=a%20b"] {
        let refused = upload(&gateway, query, &module::guest("liar")).violations();
        assert!(refused[0].0 == "/grant" && refused[0].1.contains("is not a host name"), "{refused:?}");
    }
    upload(&gateway, "?grants=api.example", &module::guest("liar")).problem(422, "validation");
    assert_eq!(gateway.connector("liar"), None);
}

#[test]
fn a_bad_upload_is_refused_with_the_reason_and_changes_nothing() {
    let gateway = gateway();
    upload(&gateway, "?grant=api.example", &module::liar("version=1.0.0")).ok();
    for (module, words) in [
        (module::liar("reserved path"), "`integrations`"),
        (b"no module".to_vec(), "not a WebAssembly component"),
        (Vec::new(), "not a WebAssembly component"),
        (module::from_text("(module)"), "core module"),
    ] {
        let problem = upload(&gateway, "?grant=thief.example", &module).problem(422, "module-refused");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    }
    assert_eq!(version(&gateway), "version=1.0.0");
    let gateway = gateway.start_again();
    assert_eq!(gateway.connector("liar").unwrap()["hosts"], json!({"granted": ["api.example"], "missing": []}));
}

#[test]
fn an_upload_over_the_limit_is_refused() {
    let gateway = Setup::new().config("compile.max_module_mb = 1").start();
    let large = module::with_note(&module::guest("liar"), &"x".repeat(2 << 20));
    upload(&gateway, "", &large).problem(413, "body-too-large");
}

#[test]
fn a_rollback_brings_back_the_version_before() {
    let gateway = gateway();
    let rollback = || gateway.client().request("POST", "/admin/connectors/liar/rollback").send();
    rollback().problem(404, "unknown-connector");
    upload(&gateway, "", &module::liar("version=1.0.0")).ok();
    rollback().problem(409, "no-earlier-version");
    upload(&gateway, "", &module::liar("version=2.0.0")).ok();
    gateway.home().put("liar", &module::liar("version=3.0.0"));
    gateway.wait_for_version("liar", "3.0.0");
    assert_eq!(rollback().ok()["version"], "2.0.0");
    assert_eq!(version(&gateway), "version=2.0.0");
    let gateway = gateway.start_again();
    assert_eq!(version(&gateway), "version=2.0.0", "the file was rolled back too");
}

#[test]
fn a_rollback_leads_to_the_version_that_the_operator_names() {
    let gateway = Setup::new().start();
    let client = gateway.client();
    let home = gateway.home();
    let modules = ["1.0.0", "2.0.0", "3.0.0"].map(|version| module::liar(&format!("version={version}")));
    for module in &modules {
        let upload = client.request("POST", "/admin/connectors").header("content-type", "application/wasm");
        upload.body(module.clone()).send().ok();
    }
    let versions = || client.get("/admin/connectors/liar/versions").ok()["versions"].clone();
    let names = |versions: &Value| -> Vec<String> {
        versions.as_array().unwrap().iter().map(|version| version["version"].as_str().unwrap().to_owned()).collect()
    };
    let stored = versions();
    assert_eq!(names(&stored), ["3.0.0", "2.0.0", "1.0.0"]);
    assert_eq!(
        (&stored[0]["live"], &stored[1]["live"], &stored[0]["shipped"]),
        (&json!(true), &json!(false), &json!(false))
    );
    assert_eq!(stored[2]["sha256"], module::digest(&modules[0]));

    let rollback = |to: &str| client.request("POST", &format!("/admin/connectors/liar/rollback?to={to}")).send();
    assert_eq!(rollback("1.0.0").ok()["version"], "1.0.0");
    assert_eq!(rollback(&module::digest(&modules[1])[..8]).ok()["version"], "2.0.0");
    for unknown in ["4.0.0", "2.0.0", "zzzzzzzz"] {
        let problem = rollback(unknown).problem(409, "no-earlier-version");
        assert!(problem["detail"].as_str().unwrap().contains("connectors versions liar"), "{problem}");
    }
    client.request("POST", "/admin/connectors/liar/rollback?version=1.0.0").send().problem(422, "validation");
    client.get("/admin/connectors/lier/versions").problem(404, "unknown-connector");
    assert_eq!(names(&versions()), ["2.0.0", "1.0.0", "3.0.0"]);

    let listed = home.run_ok(&["connectors", "versions", "liar"]);
    let first = listed.lines().nth(1).unwrap();
    assert!(first.starts_with("2.0.0 ") && first.ends_with(" live"), "{listed}");
    home.run_ok(&["connectors", "rollback", "liar", "--to", "3.0.0"]);
    gateway.wait_for_version("liar", "3.0.0");
    let refused = home.run(&["connectors", "rollback", "liar", "--to", "4.0.0"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("no other stored version of `liar` is `4.0.0`"), "{}", refused.stderr);
}

#[test]
fn a_rollback_replaces_a_bad_file() {
    let gateway = gateway();
    upload(&gateway, "", &module::liar("version=1.0.0")).ok();
    upload(&gateway, "", &module::liar("version=2.0.0")).ok();
    gateway.home().put("liar", b"no module");
    gateway.wait_for_refusal("liar.wasm");
    gateway.client().request("POST", "/admin/connectors/liar/rollback").send().ok();
    assert_eq!(gateway.refusal("liar.wasm"), None);
    let now = fs::read(gateway.home().module("liar")).unwrap();
    assert!([module::liar("version=1.0.0"), module::liar("version=2.0.0")].contains(&now));
}

#[test]
fn removing_a_connector_removes_its_file() {
    let gateway = gateway();
    upload(&gateway, "", &module::liar("version=1.0.0")).ok();
    let removed = gateway.client().delete("/admin/connectors/liar").ok();
    assert_eq!(removed, json!({"connector": "liar", "removed": true, "generation": 2, "digest": null}));
    gateway.call("liar/version", json!({})).problem(404, "unknown-connector");
    assert!(!gateway.home().module("liar").exists());
    gateway.client().delete("/admin/connectors/liar").problem(404, "unknown-connector");
    let gateway = gateway.start_again();
    assert_eq!(gateway.connector("liar"), None);
}

#[test]
fn a_name_cannot_lead_out_of_the_modules_folder() {
    let gateway = gateway();
    let aside = gateway.home().data().join("aside.wasm");
    fs::write(&aside, "kept").unwrap();
    for name in ["..%2Fdata%2Faside", "%2e%2e", ".", "..", "a%00b"] {
        for (method, path) in
            [("DELETE", format!("/admin/connectors/{name}")), ("POST", format!("/admin/connectors/{name}/rollback"))]
        {
            let answer = gateway.client().request(method, &path).send();
            assert!(matches!(answer.status, 400 | 404 | 405), "{method} {path}: {}", answer.text());
        }
    }
    assert!(aside.exists());
}
