//! Changes of items, with prepared responses of Microsoft. The crate `connector-microsoft` tests
//! subscriptions and delta queries further.

use connector_sdk::http::Body;
use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Outcome, Request};
use serde_json::{Value, json};

use crate::CONNECTOR;

fn reply(operation: &str, input: &Value) -> Value {
    match invoke(&CONNECTOR, operation, &input.to_string()) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{operation}: {other:?}"),
    }
}

fn read(operation: &str, parameters: &Value, cursor: &Value, limit: u32) -> Value {
    reply(operation, &json!({"parameters": parameters, "cursor": cursor, "hint": null, "limit": limit}))
}

fn ids(reading: &Value) -> Vec<&str> {
    reading["events"].as_array().expect("events").iter().filter_map(|event| event["id"].as_str()).collect()
}

fn paths(gateway: &Gateway) -> Vec<String> {
    gateway.requests().iter().map(|request| request.path.clone()).collect()
}

fn body(request: &Request) -> Value {
    match &request.body {
        Some(Body::Json(text)) => serde_json::from_str(text).expect("JSON"),
        other => panic!("{other:?}"),
    }
}

fn subscribed() -> Answer {
    Answer::json(201, r#"{"id":"s-1","expirationDateTime":"2026-03-09T10:00:00Z"}"#)
}

fn page(items: &Value, token: &str) -> Answer {
    let link = format!("https://graph.test/v1.0/x?{token}");
    Answer::json(200, &json!({"value": items, "@odata.deltaLink": link}).to_string())
}

#[test]
fn changes_of_a_drive_are_events() {
    let changed = json!({"id": "i1", "eTag": "\"{A},2\"", "lastModifiedDateTime": "2026-03-02T10:00:00Z"});
    let deleted = json!({"id": "i2", "deleted": {"state": "deleted"}});
    for (parameters, path) in
        [(json!({}), "/me/drive/root/delta"), (json!({"drive_id": "b!a"}), "/drives/b%21a/root/delta")]
    {
        let gateway = Gateway::new()
            .answer(page(&json!([]), "token=t1"))
            .answer(page(&json!([{"id": "r", "root": {}}, changed, deleted]), "token=t2"));
        let first = read("read_changes", &parameters, &Value::Null, 50);
        assert_eq!((ids(&first), &first["more"], &first["gap"]), (vec![], &json!(false), &json!(false)));
        let second = read("read_changes", &parameters, &first["cursor"], 50);
        assert_eq!(
            second["events"],
            json!([
                {"id": "i1/{A},2", "kind": "changed", "time": "2026-03-02T10:00:00Z", "data": changed},
                {"id": "i2/deleted/b40d12008a02aa6e", "kind": "deleted", "time": null, "data": deleted},
            ])
        );
        assert_eq!(paths(&gateway), [format!("{path}?token=latest"), format!("{path}?token=t1")]);
    }
}

#[test]
fn a_subscription_is_for_the_root_of_a_drive() {
    let gateway = Gateway::new().answer(subscribed()).answer(subscribed());
    reply("subscribe", &json!({"parameters": {}, "kinds": []}));
    reply("subscribe", &json!({"parameters": {"drive_id": "b!a"}, "kinds": []}));
    let bodies: Vec<Value> = gateway.requests().iter().map(|request| body(request)).collect();
    assert_eq!((&bodies[0]["resource"], &bodies[0]["changeType"]), (&json!("me/drive/root"), &json!("updated")));
    assert_eq!(bodies[1]["resource"], "drives/b!a/root");
    assert_eq!(bodies[0]["expirationDateTime"], "1970-01-30T09:00:00Z");
}
