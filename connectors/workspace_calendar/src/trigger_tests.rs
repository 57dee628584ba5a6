//! Changes of events, with prepared responses of Google.

use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Fault, Outcome};
use serde_json::{Value, json};

use crate::CONNECTOR;

fn reply(operation: &str, input: &Value) -> Value {
    match invoke(&CONNECTOR, operation, &input.to_string()) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{operation}: {other:?}"),
    }
}

fn reading(cursor: &Value, limit: usize) -> Value {
    let input = json!({"parameters": {"calendar_id": "primary"}, "cursor": cursor, "hint": null, "limit": limit});
    reply("read_changes", &input)
}

fn paths(gateway: &Gateway) -> Vec<String> {
    gateway.requests().iter().map(|request| request.path.clone()).collect()
}

fn page(members: Value) -> Answer {
    Answer::json(200, &members.to_string())
}

const EVENTS: &str = "/calendars/primary/events?singleEvents=true&showDeleted=true";

#[test]
fn the_first_read_finds_the_token_on_the_last_page() {
    let gateway =
        Gateway::new().answer(page(json!({"nextPageToken": "p 2"}))).answer(page(json!({"nextSyncToken": "s1="})));
    assert_eq!(
        reading(&Value::Null, 100),
        json!({"events": [], "cursor": {"sync": "s1=", "page": null}, "more": false, "gap": false})
    );
    let first = format!("{EVENTS}&maxResults=2500&fields=nextPageToken%2CnextSyncToken");
    assert_eq!(paths(&gateway), [first.clone(), format!("{first}&pageToken=p%202")]);
}

#[test]
fn a_long_first_list_goes_on_in_the_next_read() {
    let mut gateway = Gateway::new();
    for number in 1..=20 {
        gateway = gateway.answer(page(json!({"nextPageToken": format!("p{number}")})));
    }
    let gateway = gateway.answer(page(json!({"nextSyncToken": "s1"})));
    let first = reading(&Value::Null, 100);
    assert_eq!(first, json!({"events": [], "cursor": {"sync": null, "page": "p20"}, "more": true, "gap": false}));
    assert_eq!(reading(&first["cursor"], 100)["cursor"], json!({"sync": "s1", "page": null}));
    assert!(paths(&gateway)[20].ends_with("&pageToken=p20"));
}

#[test]
fn changes_since_the_cursor_are_events() {
    let moved = json!({"id": "e1", "etag": "\"34\"", "status": "confirmed", "updated": "2026-01-02T03:04:05.000Z"});
    let gateway = Gateway::new()
        .answer(page(json!({"items": [moved], "nextPageToken": "p2"})))
        .answer(page(json!({"items": [{"id": "e2", "etag": "\"35\"", "status": "cancelled"}], "nextSyncToken": "s2"})));
    let first = reading(&json!({"sync": "s1"}), 50);
    assert_eq!(
        first["events"],
        json!([{"id": "e1/34", "kind": "changed", "time": "2026-01-02T03:04:05.000Z", "data": moved}])
    );
    assert_eq!((&first["cursor"], &first["more"]), (&json!({"sync": "s1", "page": "p2"}), &json!(true)));
    let second = reading(&first["cursor"], 50);
    assert_eq!((&second["events"][0]["id"], &second["events"][0]["kind"]), (&json!("e2/35"), &json!("cancelled")));
    assert_eq!((&second["cursor"], &second["more"]), (&json!({"sync": "s2", "page": null}), &json!(false)));
    assert_eq!(
        paths(&gateway),
        [format!("{EVENTS}&maxResults=50&syncToken=s1"), format!("{EVENTS}&maxResults=50&syncToken=s1&pageToken=p2")]
    );
}

#[test]
fn a_token_that_is_too_old_is_a_gap_and_the_next_read_goes_on_from_now() {
    let _gateway = Gateway::new()
        .answer(Answer::json(410, r#"{"error":{"code":410}}"#))
        .answer(page(json!({"nextSyncToken": "s9"})));
    assert_eq!(
        reading(&json!({"sync": "s1"}), 50),
        json!({"events": [], "cursor": {"sync": "s9", "page": null}, "more": false, "gap": true})
    );
}

#[test]
fn a_page_whose_token_has_ended_is_read_from_the_beginning() {
    let _gateway = Gateway::new().answer(Answer::json(400, r#"{"error":{"code":400}}"#));
    let again = reading(&json!({"sync": "s1", "page": "p2"}), 50);
    assert_eq!(again, json!({"events": [], "cursor": {"sync": "s1", "page": null}, "more": true, "gap": false}));
}

#[test]
fn a_refusal_keeps_its_status() {
    let _gateway = Gateway::new().answer(Answer::json(404, r#"{"error":{"code":404}}"#));
    let input = r#"{"parameters":{"calendar_id":"x"},"cursor":{"sync":"s1"},"limit":5}"#;
    assert!(
        matches!(invoke(&CONNECTOR, "read_changes", input), Err(Fault::Upstream(refusal)) if refusal.status == 404)
    );
    let fault = invoke(&CONNECTOR, "read_changes", r#"{"parameters":{"calendar_id":".."},"limit":5}"#);
    assert!(matches!(fault, Err(Fault::InvalidInput(found)) if found[0].pointer == "/parameters/calendar_id"));
}

#[test]
fn a_channel_is_opened_for_the_calendar_and_closed() {
    let gateway = Gateway::new()
        .answer(page(json!({"resourceId": "r-1", "expiration": "1767409445000"})))
        .answer(Answer::new(204, ""));
    let opened = reply("open_channel", &json!({"parameters": {"calendar_id": "ada@acme.test"}, "kinds": []}));
    assert_eq!(opened["state"], json!({"resource": "r-1"}));
    let input = json!({"upstream_id": opened["upstream_id"], "state": opened["state"], "parameters": {}});
    assert_eq!(reply("close_channel", &input), json!({}));
    assert_eq!(paths(&gateway), ["/calendars/ada%40acme.test/events/watch", "/channels/stop"]);
}
