//! The file `rows.toml`, with the rows of `rows.json`, becomes a component that describes itself as
//! the tables of the SDKs do. The component runs in wasmtime, which lifts what the component has in
//! its memory.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod section;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use wasmtime::component::{Component, Linker, Val};
use wasmtime::{Engine, Store};

/// Operations of the shared table that have code.
const WITH_CODE: [&str; 9] = [
    "update_label",
    "guarded",
    "typed",
    "change_subscribe",
    "change_renew",
    "change_unsubscribe",
    "change_read",
    "change_recover",
    "change_identify",
];

/// The calls of `describe`: the function, and its arguments.
type Declared = Vec<(String, Vec<Value>)>;

fn shared(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../connectors/sdk/tests/shared").join(name)
}

fn shared_json(name: &str) -> Value {
    let text = fs::read_to_string(shared(name)).expect("the file is there");
    serde_json::from_str(&text).expect("JSON")
}

/// The description that the component of a file gives of itself.
fn described(text: &str, folder: &Path) -> (Value, Declared) {
    let connector = connector_file::read(text, folder).unwrap_or_else(|refused| panic!("{refused}"));
    let component = connector_file::component(&connector.manifest, &connector.additions).expect("a component");
    let engine = Engine::default();
    let component = Component::new(&engine, component).expect("it is valid");
    let mut linker: Linker<Declared> = Linker::new(&engine);
    for (interface, functions) in [
        (
            "auth-additions",
            vec!["client-credentials", "service-account", "app-installation", "device-code", "ended-codes"],
        ),
        ("upstream-additions", vec!["declare-part", "declare-site"]),
        ("row-additions", vec!["declare-row"]),
        ("page-additions", vec!["declare-last-item"]),
        ("trigger-additions", vec!["declare-inbox", "declare-trigger"]),
    ] {
        let mut instance = linker.instance(&format!("gateway:connector/{interface}@1.2.0")).expect("a name");
        for function in functions {
            let note =
                move |mut store: wasmtime::StoreContextMut<'_, Declared>, _, arguments: &[Val], _: &mut [Val]| {
                    store.data_mut().push((function.to_owned(), arguments.iter().map(neutral).collect()));
                    Ok(())
                };
            instance.func_new(function, note).expect("a function");
        }
    }
    linker.define_unknown_imports_as_traps(&component).expect("the rest is types");
    let mut store = Store::new(&engine, Vec::new());
    let instance = linker.instantiate(&mut store, &component).expect("it runs");
    let describe = instance.get_func(&mut store, "describe").expect("the export");
    let mut manifest = [Val::Bool(false)];
    describe.call(&mut store, &[], &mut manifest).expect("it returns");
    let [manifest] = manifest;
    (neutral(&manifest), store.into_data())
}

/// A value in the form of the shared files.
fn neutral(value: &Val) -> Value {
    match value {
        Val::Bool(boolean) => json!(boolean),
        Val::U32(number) => json!(number),
        Val::String(text) => json!(text),
        Val::Enum(name) => json!(name),
        Val::List(items) | Val::Tuple(items) => items.iter().map(neutral).collect(),
        Val::Option(value) => value.as_deref().map_or(Value::Null, neutral),
        Val::Record(members) => {
            let member = |(name, value): &(String, Val)| (name.replace('-', "_"), neutral(value));
            Value::Object(members.iter().map(member).collect())
        }
        Val::Variant(name, None) => json!({"tag": name}),
        Val::Variant(name, Some(value)) => json!({"tag": name, "val": neutral(value)}),
        other => panic!("the manifest has no {other:?}"),
    }
}

#[test]
fn the_file_describes_itself_as_the_same_table_in_rust_does() {
    let mut text = fs::read_to_string(shared("rows.toml")).expect("the file is there");
    for (name, row) in shared_json("rows.json")["requests"].as_object().expect("rows") {
        if !WITH_CODE.contains(&name.as_str()) && !text.contains(&format!("[operations.{name}]")) {
            text.push_str(&section::operation(name, row));
        }
    }
    let (manifest, declared) = described(&text, &shared(""));
    let mut expected = shared_json("manifest.json");
    let operations = expected["operations"].as_array_mut().expect("operations");
    operations.retain(|operation| !WITH_CODE.iter().any(|name| operation["path"] == *name));
    assert_eq!(manifest, expected);
    let of = |name: &str, second: &str| -> Value {
        let declared = declared.iter().filter(|(function, _)| function == name);
        declared.map(|(_, arguments)| json!({"operation": arguments[0], second: arguments[1]})).collect()
    };
    assert_eq!(of("declare-row", "row"), shared_json("declarations.json"));
    assert_eq!(of("declare-last-item", "more"), shared_json("last_items.json"));
    // The others need code.
    let events = shared_json("events.json");
    for (function, list, name) in [("declare-inbox", "inboxes", "app"), ("declare-trigger", "triggers", "message")] {
        let found: Vec<&Value> =
            declared.iter().filter(|(known, _)| known == function).map(|(_, arguments)| &arguments[0]).collect();
        let expected: Vec<&Value> =
            events[list].as_array().expect("a list").iter().filter(|one| one["name"] == name).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn every_form_of_an_inbox_is_declared_as_it_stands_in_the_file() {
    let text = r#"
        identifier = "example"
        version = "1.0.0"
        title = "Example"
        auth.oauth2 = { provider = "acme", token_url = "https://acme.example/token", identity = { operation = "me", id = "/id" } }
        upstreams.api = "https://acme.example"
        settings.audience = { type = "string", doc = "The audience." }

        [inboxes.app]
        checks = [
          { token = { header_field = ["X-Token", "t"] } },
          { jwt = { place = { header = "Authorization" }, issuers = ["https://acme.example"], jwks_url = "https://acme.example/keys", audience = { setting = "audience" }, claims = { verified = "true", of = { setting = "audience" } } } },
          { hmac = { hash = "sha512", secret = "base64", encoding = "base64", signature = { header = "X-Signature" }, list_separator = " " } },
        ]
        handshakes = [{ hmac_query = { parameter = "crc", member = "answer", prefix = "sha256=" } }]
        decode = "/message/data"
        items = "/value"
        id = [{ header = "X-Id" }, "body_hash"]
        kind = [{ query = "kind" }, { header = "X-Kind" }]
        accounts = [{ place = { pointer = "/user" }, account = "/id" }]
        ignored = ["sync"]
        lifecycle = { removed = "gone", missed = "read" }
        max_body = 65536

        [operations.me]
        request = "GET api /me"
        doc = "The user."
    "#;
    let (_, declared) = described(text, Path::new(""));
    let inbox = declared.into_iter().find(|(name, _)| name == "declare-inbox").expect("the inbox").1.remove(0);
    let header = |name: &str| json!({"tag": "header", "val": name});
    let setting = json!({"tag": "setting", "val": "audience"});
    let checks = json!([
        {"tag": "token", "val": {"tag": "header-field", "val": ["X-Token", "t"]}},
        {"tag": "jwt", "val": {
            "place": header("Authorization"), "issuers": ["https://acme.example"], "jwks_url": "https://acme.example/keys",
            "audience": setting, "claims": [["verified", {"tag": "literal", "val": "true"}], ["of", setting]],
        }},
        {"tag": "hmac", "val": {
            "hash": "sha512", "secret": "base64", "encoding": "base64", "text": [{"tag": "body"}], "separator": "",
            "signature": header("X-Signature"), "prefix": "", "list_separator": " ", "timestamp": null,
            "tolerance_seconds": 300,
        }},
    ]);
    let handshake = json!([{"tag": "hmac-query", "val": {
        "parameter": "crc", "hash": "sha256", "secret": "text", "encoding": "base64", "member": "answer", "prefix": "sha256=",
    }}]);
    let expected = json!({
        "name": "app", "scope": "application", "checks": checks, "handshakes": handshake, "decode": "/message/data",
        "items": "/value", "id": [header("X-Id"), {"tag": "body-hash"}],
        "kind": [{"tag": "query", "val": "kind"}, header("X-Kind")], "data": "", "time": null,
        "accounts": [{"place": {"tag": "pointer", "val": "/user"}, "account": "/id"}], "visibility": null, "ignored": ["sync"],
        "lifecycle": [["removed", "gone"], ["missed", "read"]], "max_body": 65536,
    });
    assert_eq!(inbox, expected);
}

#[test]
fn declarations_with_few_arguments_are_those_of_the_file() {
    let text = r#"
        identifier = "example"
        version = "1.0.0"
        title = "Example"
        auth.oauth2 = { provider = "acme", token_url = "https://acme.example/token", revocation = { bearer = "https://acme.example/revoke" }, identity = { operation = "me", id = "/id" } }

        [auth_additions]
        client_credentials = true
        service_account = { subject = "optional" }
        app_installation = { upstream = "own", path = "/app/{installation_id}/token" }
        device_code = { device_authorization_url = "https://acme.example/device" }
        ended_codes = ["consent_gone"]

        [upstreams]
        own = "https://own.acme.example"
        theirs = { url = "https://{subdomain}.acme.example/{id}", site = "acme.example" }

        [address]
        subdomain = { title = "Subdomain", max = 30 }
        id = { title = "Number", form = "segment", from = "/id" }

        [operations.me]
        request = "GET own /me"
        doc = "The user."
    "#;
    let (manifest, mut declared) = described(text, Path::new(""));
    assert_eq!(manifest["auth"]["val"]["revocation"], json!({"tag": "bearer", "val": "https://acme.example/revoke"}));
    let row = declared.pop().expect("the row");
    assert_eq!(row.0, "declare-row");
    let by_name: Map<String, Value> =
        declared.iter().map(|(name, arguments)| (name.clone(), json!(arguments))).collect();
    assert_eq!(declared.len(), 8);
    assert_eq!(by_name["client-credentials"], json!([]));
    assert_eq!(by_name["service-account"], json!([{"audience": null, "subject": "optional"}]));
    assert_eq!(by_name["app-installation"], json!([{"upstream": "own", "path": "/app/{installation_id}/token"}]));
    assert_eq!(by_name["device-code"], json!([{"device_authorization_url": "https://acme.example/device"}]));
    assert_eq!(by_name["ended-codes"], json!([["consent_gone"]]));
    assert_eq!(by_name["declare-site"], json!(["theirs", "acme.example"]));
    let part = |name: &str, title: &str, form: &str, max: u32, source: Value| json!([{"name": name, "title": title, "form": form, "max_length": max, "source": source}]);
    let parts: Vec<Value> =
        declared.iter().filter(|(name, _)| name == "declare-part").map(|(_, arguments)| json!(arguments)).collect();
    assert_eq!(
        parts,
        [
            part("subdomain", "Subdomain", "label", 30, json!({"tag": "user"})),
            part("id", "Number", "segment", 253, json!({"tag": "account", "val": "/id"})),
        ]
    );
}
