//! Changes of files, with prepared responses of Google.

use connector_sdk::http::{Body, Method};
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

fn page(members: Value) -> Answer {
    Answer::json(200, &members.to_string())
}

fn read(cursor: &Value) -> Value {
    reply("read_changes", &json!({"parameters": {}, "cursor": cursor, "hint": null, "limit": 50}))
}

#[test]
fn changes_since_the_token_are_events() {
    let change = json!({"changeType": "file", "time": "2026-03-02T10:00:00.000Z", "removed": false, "fileId": "f1"});
    let drive = json!({"changeType": "drive", "time": "2026-03-02T10:00:00.000Z", "driveId": "d1"});
    let gateway = Gateway::new()
        .answer(page(json!({"startPageToken": "100"})))
        .answer(page(json!({"changes": [change, drive], "nextPageToken": "101"})))
        .answer(page(json!({"changes": [], "newStartPageToken": "102"})));
    let first = read(&Value::Null);
    assert_eq!(first, json!({"events": [], "cursor": "100", "more": false, "gap": false}));
    let second = read(&first["cursor"]);
    assert_eq!(
        second["events"],
        json!([{"id": "f1/2026-03-02T10:00:00.000Z", "kind": "", "time": "2026-03-02T10:00:00.000Z", "data": change}])
    );
    assert_eq!((&second["cursor"], &second["more"]), (&json!("101"), &json!(true)));
    let third = read(&second["cursor"]);
    assert_eq!((&third["cursor"], &third["more"]), (&json!("102"), &json!(false)));
    let requests = gateway.requests();
    assert_eq!(requests[0].path, "/changes/startPageToken?supportsAllDrives=true");
    let path = "/changes?pageToken=100&includeRemoved=true&supportsAllDrives=true&includeItemsFromAllDrives=true&pageSize=50&fields=";
    assert!(requests[1].path.starts_with(path), "{}", requests[1].path);
}

#[test]
fn a_token_that_google_does_not_know_is_a_gap() {
    let _gateway = Gateway::new()
        .answer(Answer::json(404, r#"{"error":{"code":404}}"#))
        .answer(page(json!({"startPageToken": "900"})));
    assert_eq!(read(&json!("1")), json!({"events": [], "cursor": "900", "more": false, "gap": true}));
}

#[test]
fn a_refusal_keeps_its_status() {
    let _gateway = Gateway::new().answer(Answer::json(403, r#"{"error":{"code":403}}"#));
    let fault = invoke(&CONNECTOR, "read_changes", r#"{"parameters":{},"cursor":"1","limit":5}"#);
    assert!(matches!(fault, Err(Fault::Upstream(refusal)) if refusal.status == 403));
}

#[test]
fn a_channel_begins_now() {
    let gateway = Gateway::new()
        .now(1_767_323_045_000)
        .answer(page(json!({"startPageToken": "100"})))
        .answer(page(json!({"resourceId": "r-1", "expiration": "1767927845000"})))
        .answer(Answer::new(204, ""));
    let opened = reply("open_channel", &json!({"parameters": {}, "kinds": []}));
    assert_eq!(opened["expires_at"], "2026-01-09T03:04:05Z");
    let input = json!({"upstream_id": opened["upstream_id"], "state": opened["state"], "parameters": {}});
    assert_eq!(reply("close_channel", &input), json!({}));
    let requests = gateway.requests();
    let sent: Vec<_> = requests.iter().map(|request| (request.method, request.path.as_str())).collect();
    assert_eq!(
        sent[1..],
        [
            (
                Method::Post,
                "/changes/watch?pageToken=100&includeRemoved=true&supportsAllDrives=true&includeItemsFromAllDrives=true"
            ),
            (Method::Post, "/channels/stop")
        ]
    );
    let Some(Body::Json(body)) = &requests[1].body else { panic!("a body") };
    assert!(body.contains(r#""expiration":"1767927845000""#), "{body}");
}
