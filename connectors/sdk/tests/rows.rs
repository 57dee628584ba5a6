//! Rows of the shared table with settings, and with functions. `languages.rs` has the requests that
//! rows make from inputs, and their manifest.

#![expect(clippy::panic, reason = "a test fails by panicking")]

#[path = "shared/rows.rs"]
mod rows;

use connector_sdk::testing::{Answer, Gateway, forwarded, invoke};
use connector_sdk::{Fault, Outcome};
use rows::CONNECTOR;

fn refused(operation: &str, input: &str) -> String {
    let _gateway = Gateway::new();
    match invoke(&CONNECTOR, operation, input) {
        Err(Fault::InvalidInput(violations)) => violations[0].pointer.clone(),
        other => panic!("{operation} {input}: {other:?}"),
    }
}

#[test]
fn settings_stand_in_paths_and_headers() {
    let gateway = Gateway::new();
    let request = forwarded(&CONNECTOR, "get_employee", r#"{"employee_id":42.0}"#);
    assert_eq!((request.path.as_str(), request.headers[0].1.as_str()), ("/employees/42", "2022-11-28"));
    let _gateway = gateway.setting("employees_path", "\"/v2/people\"");
    assert_eq!(forwarded(&CONNECTOR, "get_employee", r#"{"employee_id":42}"#).path, "/v2/people/42");
}

#[test]
fn a_setting_of_another_type_is_a_fault_that_names_it() {
    let _gateway = Gateway::new().setting("employees_path", "[1]");
    let answer = invoke(&CONNECTOR, "get_employee", r#"{"employee_id":42}"#);
    assert!(
        matches!(&answer, Err(Fault::Failed(why)) if why.contains("`employees_path` of this connector is [1]")),
        "{answer:?}"
    );
}

#[test]
fn a_request_can_go_through_a_function() {
    let gateway = Gateway::new()
        .answer(Answer::json(200, r#"{"error":"not_in_channel"}"#))
        .answer(Answer::json(200, r#"{"ok":1}"#));
    let Err(Fault::Upstream(failure)) = invoke(&CONNECTOR, "guarded", r#"{"limit":3}"#) else { panic!("a fault") };
    assert_eq!(failure.detail, "not_in_channel");
    assert!(matches!(invoke(&CONNECTOR, "guarded", "{}"), Ok(Outcome::ReplyDocument(_))));
    assert_eq!(gateway.requests()[0].path, "/guarded?limit=3");
}

#[test]
fn functions_get_typed_input() {
    let Ok(Outcome::Reply(text)) = invoke(&CONNECTOR, "typed", r#"{"type":"t","many":"a","filters":{"labels":["x"]}}"#)
    else {
        panic!("a reply")
    };
    assert_eq!(
        text,
        r#"Typed { type: "t", many: Some(OneOrMany(["a"])), count: 5, flag: true, filters: Some(Entries([("labels", ["x"])])), thing: None, parts: None, share: None }"#
    );
    assert_eq!(refused("typed", r#"{"type":1}"#), "/type");
    assert_eq!(refused("typed", "{}"), "/type");
}
