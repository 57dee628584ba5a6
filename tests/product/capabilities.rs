//! The functions that the gateway offers to connectors: storage, settings, JSON documents, parallel
//! requests.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use memchr::memmem;
use serde_json::{Value, json};
use support::{Gateway, Setup, Upstream};

use support::hostile::gateway;

fn storage(gateway: &Gateway, steps: &Value) -> Value {
    gateway.call("hostile/storage", json!({"steps": steps})).ok()["results"].clone()
}

#[test]
fn stored_values_are_there_in_later_invocations_and_after_a_restart() {
    let gateway = gateway(&Upstream::start(), "");
    let steps = json!([
        ["get", "a"],
        ["set", "a", "one"],
        ["set", "b", "two"],
        ["get", "a"],
        ["delete", "b"],
        ["delete", "c"],
        ["get", "b"]
    ]);
    assert_eq!(storage(&gateway, &steps), json!([null, true, true, "one", true, true, null]));
    assert_eq!(storage(&gateway, &json!([["get", "a"]])), json!(["one"]));
    let gateway = gateway.start_again();
    assert_eq!(
        storage(&gateway, &json!([["get", "a"], ["set", "a", "three"], ["get", "a"]])),
        json!(["one", true, "three"])
    );
}

/// Returns `true` if a file below a folder contains these bytes.
fn is_written(folder: &Path, bytes: &[u8]) -> bool {
    fs::read_dir(folder).unwrap().map(Result::unwrap).any(|entry| match entry.file_type().unwrap() {
        kind if kind.is_dir() => is_written(&entry.path(), bytes),
        // The gateway may have removed the file in the meantime.
        kind if kind.is_file() => fs::read(entry.path()).is_ok_and(|content| memmem::find(&content, bytes).is_some()),
        _ => false,
    })
}

#[test]
fn a_stored_value_is_not_in_plain_text_in_the_database() {
    let gateway = gateway(&Upstream::start(), "");
    let (key, value) = ("the-key-of-a-value", "a-value-of-a-user");
    assert_eq!(storage(&gateway, &json!([["set", key, value], ["get", key]])), json!([true, value]));
    assert!(is_written(&gateway.home().data(), key.as_bytes()), "the database has the row");
    assert!(!is_written(&gateway.home().data(), value.as_bytes()));
}

#[test]
fn a_stored_value_expires() {
    let gateway = gateway(&Upstream::start(), "");
    let steps = json!([["set", "short", "x", 1], ["set", "long", "x", 3600], ["get", "short"]]);
    // On a busy machine, the second may be over before the value is read.
    support::wait_for("the value", || (storage(&gateway, &steps) == json!([true, true, "x"])).then_some(()));
    support::wait_for("the value to be gone", || {
        let found = storage(&gateway, &json!([["get", "short"], ["get", "long"]]));
        (found == json!([null, "x"])).then_some(())
    });
}

#[test]
fn the_store_of_a_connector_is_bounded() {
    let gateway = gateway(&Upstream::start(), "");
    let long = "k".repeat(257);
    let steps = json!([
        ["set", "", "x"],
        ["set", long, "x"],
        ["get", long],
        ["set_large", "fits", 65536],
        ["set_large", "too_large", 65537],
        ["get", "too_large"],
    ]);
    let invalid = json!({"error": "invalid"});
    let results = storage(&gateway, &steps);
    assert_eq!(results, json!([invalid, invalid, invalid, true, invalid, null]));
    let results = storage(
        &gateway,
        &json!([
            ["set_many", "n", 2000],
            ["set", "new", "x"],
            ["set", "n1", "y"],
            ["delete", "n2"],
            ["set", "new", "x"]
        ]),
    );
    assert_eq!(results, json!([1023, {"error": "full"}, true, true, true]));
}

#[test]
fn a_connector_reads_the_operators_settings() {
    let settings =
        r#"settings = { organization = "acme", limit = 3, on = true, list = [1, "two"], table = { a = 1.5 } }"#;
    let gateway = gateway(&Upstream::start(), settings);
    let cases = [
        ("organization", json!("acme")),
        ("limit", json!(3)),
        ("on", json!(true)),
        ("list", json!([1, "two"])),
        ("table", json!({"a": 1.5})),
        ("absent", Value::Null),
    ];
    for (key, expected) in cases {
        assert_eq!(gateway.call("hostile/setting", json!({"key": key})).ok()["setting"], expected, "{key}");
    }
}

#[test]
fn a_connector_does_not_see_another_connectors_settings() {
    let gateway =
        Setup::new().guest("hostile").config("[connectors.liar]\nsettings = { organization = \"acme\" }").start();
    assert_eq!(gateway.call("hostile/setting", json!({"key": "organization"})).ok()["setting"], Value::Null);
}

#[test]
fn a_document_is_read_on_the_gateways_side() {
    let gateway = gateway(&Upstream::start(), "");
    let json = r#"{"b": [1.0, {"~/": "x"}], "a": 123456789012345678901234567890, "": null}"#;
    let look = |pointer: &str| gateway.call("hostile/document", json!({"json": json, "pointer": pointer})).ok();
    assert_eq!(
        look(""),
        json!({"kind": "object", "length": 3, "keys": ["b", "a", ""], "first": look("/b")["text"], "text": look("")["text"], "string": null})
    );
    assert_eq!(look("/a")["text"], "123456789012345678901234567890");
    assert_eq!((&look("/b")["length"], &look("/b")["first"]), (&json!(2), &json!("1.0")));
    assert_eq!(look("/b/1/~0~1")["string"], "x");
    assert_eq!(look("/")["kind"], "null");
    for nowhere in ["/c", "/b/2", "/b/-1", "/b/01", "/b/-", "b"] {
        assert_eq!(look(nowhere)["part"], Value::Null, "{nowhere}");
    }
}

#[test]
fn a_part_of_a_document_is_answered_byte_for_byte() {
    let gateway = gateway(&Upstream::start(), "");
    let json = r#"{"a": {"price": 1.0, "big": 123456789012345678901234567890, "tiny": 1e-7, "text": "\u00fc"}}"#;
    let answer = gateway.call("hostile/document", json!({"json": json, "pointer": "/a", "reply": true}));
    assert_eq!(
        answer.text(),
        r#"{"price": 1.0, "big": 123456789012345678901234567890, "tiny": 1e-7, "text": "\u00fc"}"#
    );
}

#[test]
fn the_connector_gets_an_error_for_text_that_is_not_json() {
    let gateway = gateway(&Upstream::start(), "");
    for wrong in ["", "{", "[1,]", "nul", "{'a': 1}"] {
        let answer = gateway.call("hostile/document", json!({"json": wrong})).ok();
        assert!(answer["error"].as_str().is_some_and(|error| !error.is_empty()), "{wrong:?}: {answer}");
    }
}

#[test]
fn nesting_without_end_does_no_harm() {
    let gateway = gateway(&Upstream::start(), "");
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let result = gateway.call("hostile/document", json!({"json": deep, "pointer": "/0/0"}));
    assert!(matches!(result.status, 200 | 500), "{}", result.text());
    support::hostile::assert_serves(&gateway);
}

#[test]
fn a_connector_knows_the_time() {
    let gateway = gateway(&Upstream::start(), "");
    let milliseconds = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let before = milliseconds();
    let now = gateway.call("hostile/storage", json!({"steps": []})).ok()["now"].as_u64().unwrap();
    assert!((before..=milliseconds()).contains(&u128::from(now)));
}
