//! The operations that a trigger names: the gateway runs them, and callers cannot.

use std::fs;

use serde_json::json;
use support::{Setup, module};

/// An operation of the guest that only a trigger names.
const INTERNAL: &str = "words_read";

#[test]
fn callers_neither_run_nor_see_an_operation_that_a_trigger_names() {
    let gateway = Setup::new().module("liar", module::liar("trigger")).start();
    let problem = gateway.call(&format!("liar/{INTERNAL}"), json!({})).problem(404, "unknown-operation");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("has no operation") && !detail.contains("did you mean `words"), "{detail}");
    for path in ["/openapi.json", "/openapi.json?connector=liar", "/connectors"] {
        let document = gateway.client().get(path).text();
        assert!(document.contains("version_at_once") && !document.contains(INTERNAL), "{path}: {document}");
    }
    gateway.call("liar/version", json!({})).ok();
}

#[test]
fn the_record_of_a_connector_has_its_inboxes_and_types_of_events() {
    let gateway = Setup::new().module("liar", module::liar("trigger")).start();
    let connector = gateway.connector("liar").unwrap();
    assert_eq!(connector["inboxes"], json!([{"name": "words", "scope": "subscription"}]));
    let trigger = json!({
        "type": "word_added", "title": "Word added", "source": "read", "inboxes": ["words"], "poll_s": 300,
    });
    assert_eq!(connector["triggers"], json!([trigger]));
}

#[test]
fn check_has_a_line_for_each_inbox_and_type_of_events() {
    let home = Setup::new().prepare();
    let file = home.config().with_file_name("candidate");
    fs::write(&file, module::liar("trigger")).unwrap();
    let said = home.run_ok(&["connectors", "check", file.to_str().unwrap()]);
    for line in [
        "  inbox       `words` of each subscription",
        "  trigger     word_added  read, push by inbox words, every 300 s",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
    assert!(said.contains("  operations  4\n") && !said.contains(INTERNAL), "{said}");
}
