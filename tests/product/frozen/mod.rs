//! Components that were built for a published version of the contract. Every later gateway must
//! load and run them.
//!
//! `wit/frozen/{version}` has the contract, the sources, and the component in Rust as it was built
//! when the version was published. `make frozen` builds those in JavaScript and Python.

mod languages;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use support::multipart::Part;
use support::{Client, Gateway, Reply, Setup, Upstream, module, wait_at_most};

/// It may take minutes to compile the engine of a language on a busy machine.
const COMPILE_TIME: Duration = Duration::from_secs(1200);

/// A service with two items.
fn service() -> Upstream {
    let upstream = Upstream::start();
    upstream.on("/items", |seen| match seen.query.as_str() {
        "" => Reply::json(json!({"items": [1, "two", null], "next": "/items?page=2"})).header("location", "/items/1"),
        _ => Reply::json(json!({"items": []})).status(206),
    });
    upstream.on("/items/1", |seen| match seen.method.as_str() {
        "POST" => Reply::typed("application/json", seen.body.clone()),
        _ => Reply::json(json!({"id": 1})).status(203),
    });
    upstream.on("/form", |seen| {
        let part = |part: Part| json!([part.name, part.file_name, part.content_type, part.content.to_vec()]);
        Reply::json(seen.multipart().into_iter().map(part).collect())
    });
    upstream.reply("/file", Reply::typed("text/plain", "ü"));
    upstream.reply("/token", Reply::json(json!({"access_token": "a-long-access-token", "token_type": "bearer"})));
    upstream
}

fn gateway(upstream: &Upstream, component: &[u8], version: &str) -> Gateway {
    let mut setup = Setup::new().upstream("frozen", "api", &upstream.url());
    if version == "1.1.0" {
        setup = setup.config(&format!("oauth.token_url = \"{}/token\"", upstream.url()));
    }
    let setup = setup.config("[compile]\ncpu_s = 1200");
    let gateway = setup.start();
    gateway.home().put("frozen", component);
    wait_at_most(COMPILE_TIME, "the component to be compiled", || gateway.connector("frozen"));
    gateway
}

/// Calls every function of a version of the contract, and ends in every way that it has.
#[track_caller]
fn has_everything(component: &[u8], version: &str) {
    let upstream = service();
    let gateway = gateway(&upstream, component, version);
    let client = gateway.client();
    if version == "1.1.0" {
        connects_accounts(&client);
        upstream.take_seen();
    }

    assert_eq!(client.call("frozen/forward", json!({"id": "1"})).ok(), json!({"id": "1"}));
    assert_eq!(upstream.take_seen()[0].header("x-frozen"), version);

    let mut answer = client.call("frozen/everything", json!({})).ok();
    assert_eq!(answer["type"].as_array_mut().unwrap().pop().unwrap(), "application/json");
    let mut expected = json!({
        "stored": "value", "deleted": true, "refused": true, "setting": "hello", "unset": true, "later": true, "status": 200, "type": [],
        "place": 203, "next": 206, "first": [123], "same_size": true, "both": [203, -1], "keys": ["items", "next"],
        "kinds": ["number", "string", "null"], "word": "two", "text": [1, "two", null], "broken": true,
    });
    if version == "1.1.0" {
        for member in ["slept", "random", "too_long"] {
            expected[member] = true.into();
        }
        expected["broken_part"] = true.into();
        expected["parts"] = json!([
            ["text", null, null, [0xc3, 0xbc]],
            ["file", "a.txt", "application/octet-stream", [72, 105]],
            ["bytes", "b.bin", "application/octet-stream", [255]],
        ]);
    }
    assert_eq!(answer, expected);
    gateway.wait_for_log("the connector's line", |line| {
        line["level"] == "WARN" && line["message"] == "a line of the frozen connector"
    });

    assert_eq!(client.call("frozen/document", json!({})).ok(), json!([1, "two", null]));
    let file = client.call("frozen/file", json!({})).ok();
    assert_eq!((&file["content_base64"], &file["kind"]), (&json!("w7w="), &json!("note")));
    assert_eq!(file["sha256"].as_str().map(str::len), Some(64));

    let fault = |kind: &str, status, code| client.call("frozen/fault", json!({"kind": kind})).problem(status, code);
    assert_eq!(client.call("frozen/fault", json!({"kind": "invalid-input"})).violations()[0].0, "/kind");
    assert_eq!(fault("not-found", 404, "resource-not-found")["a"], 1);
    assert_eq!(fault("conflict", 409, "conflict")["a"], 1);
    assert_eq!(fault("upstream", 429, "upstream-rate-limited")["upstream"]["body"]["why"], "busy");
    fault("http", 500, "connector-failed");
    fault("failed", 500, "connector-failed");
}

/// Connects an account in a way that only `auth-additions` declares, with an address that only
/// `upstream-additions` declares.
#[track_caller]
fn connects_accounts(client: &Client) {
    let schema = client.get("/connectors/frozen/auth-schema").ok();
    let ways: Vec<_> = schema["auth_types"].as_array().unwrap().iter().map(|way| way["auth_type"].clone()).collect();
    let declared =
        ["oauth2_client_credentials", "oauth2_service_account", "oauth2_app_installation", "oauth2_device_code"];
    assert_eq!(ways, declared);
    let credentials = json!({"client_id": "frozen", "client_secret": "a-long-secret"});
    let address = json!({"customer": "acme", "cloud": "two"});
    let init = json!({"auth_type": "oauth2_client_credentials", "credentials": credentials, "address": address});
    let record = client.post("/connectors/frozen/integrations", init).ok();
    assert_eq!((&record["status"], &record["address"]), (&json!("active"), &address));
}

fn frozen() -> PathBuf {
    module::root().join("wit/frozen")
}

pub(crate) fn in_rust(version: &str) -> Vec<u8> {
    fs::read(frozen().join(version).join("rust.wasm")).unwrap()
}

/// Replaces each occurrence of a text by one of the same length.
pub(crate) fn replaced(mut component: Vec<u8>, old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    for at in 0..component.len() - old.len() {
        if component[at..].starts_with(old.as_bytes()) {
            component[at..at + old.len()].copy_from_slice(new.as_bytes());
        }
    }
    component
}

/// The component as if it were built for another version of the contract.
pub(crate) fn built_for(version: &str) -> Vec<u8> {
    replaced(in_rust("1.0.0"), "@1.0.0", &format!("@{version}"))
}

/// Puts a component into the modules folder and returns the reason of its refusal.
fn refused(component: &[u8]) -> String {
    let gateway = Setup::new().start();
    gateway.home().put("frozen", component);
    gateway.wait_for_refusal("frozen.wasm")
}

/// The version that a contract names.
fn version(contract: &str) -> &str {
    let line = contract.lines().find_map(|line| line.strip_prefix("package gateway:connector@")).unwrap();
    line.trim_end_matches(';')
}

fn contract(folder: &Path) -> String {
    fs::read_to_string(folder.join("connector.wit")).unwrap()
}

#[test]
fn a_component_in_rust_for_contract_1_0_runs() {
    has_everything(&in_rust("1.0.0"), "1.0.0");
}

#[test]
fn a_component_in_rust_for_contract_1_1_runs() {
    has_everything(&in_rust("1.1.0"), "1.1.0");
}

#[test]
fn a_component_for_a_later_minor_version_runs_if_it_uses_only_what_this_version_has() {
    has_everything(&built_for("1.9.0"), "1.0.0");
}

#[test]
fn a_component_that_uses_what_only_a_later_minor_version_has_is_refused_with_both_versions() {
    let reason = refused(&replaced(built_for("1.9.0"), "response.peek", "response.pick"));
    let present = contract(&module::root().join("wit"));
    assert!(reason.contains("built for gateway:connector@1.9.0"), "{reason}");
    assert!(reason.contains(&format!("this gateway has {}", version(&present))), "{reason}");
    assert!(reason.contains("response.pick"), "{reason}");
}

/// This is the sentence with which a gateway refuses a component that needs a later minor version.
#[test]
fn a_component_that_imports_an_interface_of_a_later_minor_version_is_refused_with_both_versions() {
    let component = replaced(in_rust("1.1.0"), "@1.1.0", "@1.9.0");
    let reason = refused(&replaced(component, "gateway:connector/random@", "gateway:connector/fandom@"));
    let present = contract(&module::root().join("wit"));
    let sentence = format!(
        "it was built for gateway:connector@1.9.0, and this gateway has {}, without something that it uses; update the gateway, or build \
         the connector for the older contract",
        version(&present)
    );
    assert!(reason.contains(&sentence) && reason.contains("fandom"), "{reason}");
}

/// Nothing is wrong with the gateway then.
#[test]
fn a_component_for_an_earlier_version_that_differs_from_it_is_not_said_to_be_newer() {
    let reason = refused(&replaced(in_rust("1.0.0"), "response.peek", "response.pick"));
    assert!(reason.contains("it does not match the contract gateway:connector@1"), "{reason}");
}

#[test]
fn a_component_for_another_major_version_is_refused_with_both_versions() {
    let reason = refused(&built_for("2.0.0"));
    assert!(reason.contains("gateway:connector/") && reason.contains("@2.0.0"), "{reason}");
    assert!(reason.contains("this gateway accepts gateway:connector@1.x"), "{reason}");
}

/// A published version never changes: a change of the contract needs a new version.
#[test]
fn a_published_version_of_the_contract_has_its_text() {
    let present = contract(&module::root().join("wit"));
    let mut versions = Vec::new();
    for entry in fs::read_dir(frozen()).unwrap() {
        let folder = entry.unwrap().path();
        let published = contract(&folder);
        assert_eq!(folder.file_name().unwrap().to_str(), Some(version(&published)));
        if version(&published) == version(&present) {
            assert!(published == present, "wit/connector.wit differs from {}; see wit/README.md", folder.display());
        }
        versions.push(version(&published).to_owned());
    }
    for published in ["1.0.0", "1.1.0"] {
        assert!(versions.iter().any(|version| version == published), "{versions:?}");
    }
}
