//! Changes of events, with prepared responses of Microsoft. The crate `connector-microsoft` tests
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

const DAY: u64 = 86_400_000;

fn refusal(status: u16) -> Answer {
    Answer::json(status, r#"{"error":{"code":"ErrorInvalidRequest"}}"#)
}

#[test]
fn changes_of_all_events_are_events() {
    let changed = json!({"id": "e1", "changeKey": "k2", "lastModifiedDateTime": "2026-03-01T09:30:00Z"});
    let removed = json!({"id": "e2", "@removed": {"reason": "deleted"}});
    let gateway = Gateway::new()
        .answer(page(&json!([{"id": "e1", "changeKey": "k1"}]), "$deltatoken=d1"))
        .answer(page(&json!([changed, removed]), "$deltatoken=d2"));
    let first = read("read_changes", &json!({}), &Value::Null, 50);
    assert_eq!((ids(&first), &first["more"], &first["gap"]), (vec![], &json!(false), &json!(false)));
    let second = read("read_changes", &json!({}), &first["cursor"], 50);
    assert_eq!(
        second["events"],
        json!([
            {"id": "e1/k2", "kind": "changed", "time": "2026-03-01T09:30:00Z", "data": changed},
            {"id": "e2/removed/61bc1458f6bea368", "kind": "removed", "time": null, "data": removed},
        ])
    );
    assert_eq!(paths(&gateway), ["/me/events/delta", "/me/events/delta?$deltatoken=d1"]);
}

#[test]
fn events_between_two_times_are_read_where_microsoft_has_no_list_of_all() {
    let event = |id: &str| json!([{"id": id, "changeKey": "k"}]);
    let gateway = Gateway::new()
        .now(100 * DAY)
        .answer(refusal(400))
        .answer(page(&event("e0"), "$deltatoken=d1"))
        .answer(page(&event("e1"), "$deltatoken=d2"));
    let first = read("read_changes", &json!({}), &Value::Null, 50);
    assert_eq!(ids(&first), Vec::<&str>::new());
    let gateway = gateway.now(130 * DAY);
    let second = read("read_changes", &json!({}), &first["cursor"], 50);
    assert_eq!(ids(&second), ["e1/k"]);
    // The later time is now less than 60 days away.
    let gateway = gateway
        .now(131 * DAY)
        .answer(page(&event("e3"), "$deltatoken=n1"))
        .answer(page(&event("e2"), "$deltatoken=d3"))
        .answer(page(&event("e4"), "$deltatoken=n2"));
    let third = read("read_changes", &json!({}), &second["cursor"], 50);
    assert_eq!((ids(&third), &third["gap"]), (vec!["e2/k"], &json!(false)), "and not the first list of later times");
    assert_eq!(ids(&read("read_changes", &json!({}), &third["cursor"], 50)), ["e4/k"]);
    let view = |query: &str| format!("/me/calendarView/delta?{query}");
    assert_eq!(
        paths(&gateway),
        [
            "/me/events/delta".to_owned(),
            view("startDateTime=1970-01-11T00%3A00%3A00Z&endDateTime=1970-07-10T00%3A00%3A00Z"),
            view("$deltatoken=d1"),
            view("startDateTime=1970-02-11T00%3A00%3A00Z&endDateTime=1970-08-10T00%3A00%3A00Z"),
            view("$deltatoken=d2"),
            view("$deltatoken=n1"),
        ]
    );
}

#[test]
fn a_change_while_the_list_of_later_times_begins_is_not_lost_and_no_removal_is_told_twice() {
    let removed = || json!({"id": "e2", "@removed": {"reason": "deleted"}});
    let changed = |id: &str| json!({"id": id, "changeKey": "k"});
    let gateway =
        Gateway::new().now(100 * DAY).answer(refusal(400)).answer(page(&json!([changed("e0")]), "$deltatoken=d1"));
    let first = read("read_changes", &json!({}), &Value::Null, 50);
    // The first list of later times is too long for one read.
    let mut gateway = gateway.now(131 * DAY);
    for number in 1..=40 {
        let link = format!("https://graph.test/v1.0/x?$skiptoken={number}");
        let page = json!({"value": [changed("e0")], "@odata.nextLink": link});
        gateway = gateway.answer(Answer::json(200, &page.to_string()));
    }
    let gateway = gateway.answer(page(&json!([changed("e1")]), "$deltatoken=d2"));
    let second = read("read_changes", &json!({}), &first["cursor"], 50);
    assert_eq!((ids(&second), &second["more"]), (vec!["e1/k"], &json!(true)));
    let gateway = gateway
        .answer(page(&json!([changed("e3")]), "$deltatoken=n1"))
        .answer(page(&json!([changed("e3"), removed()]), "$deltatoken=d3"));
    let third = read("read_changes", &json!({}), &second["cursor"], 50);
    let told = ids(&third);
    assert!(told[0] == "e3/k" && told[1].starts_with("e2/removed/"), "{told:?}");
    assert_eq!((told.len(), &third["more"]), (2, &json!(false)));
    let gateway = gateway.answer(page(&json!([removed(), changed("e4")]), "$deltatoken=n2"));
    assert_eq!(ids(&read("read_changes", &json!({}), &third["cursor"], 50)), ["e4/k"]);
    let list = "/me/calendarView/delta?";
    let last: Vec<String> = paths(&gateway).into_iter().skip(42).collect();
    assert_eq!(
        last,
        ["$deltatoken=d1", "$skiptoken=40", "$deltatoken=d2", "$deltatoken=n1"].map(|query| format!("{list}{query}"))
    );
}

#[test]
fn a_token_that_is_too_old_is_a_gap_in_both_lists() {
    let _gateway = Gateway::new()
        .answer(page(&json!([]), "$deltatoken=d1"))
        .answer(refusal(410))
        .answer(page(&json!([]), "$deltatoken=d2"));
    let first = read("read_changes", &json!({}), &Value::Null, 50);
    assert_eq!(read("read_changes", &json!({}), &first["cursor"], 50)["gap"], true);
    let _gateway = Gateway::new()
        .answer(refusal(404))
        .answer(page(&json!([]), "$deltatoken=d1"))
        .answer(refusal(410))
        .answer(page(&json!([]), "$deltatoken=d2"));
    let first = read("read_changes", &json!({}), &Value::Null, 50);
    let second = read("read_changes", &json!({}), &first["cursor"], 50);
    assert_eq!((&second["gap"], &second["more"]), (&json!(true), &json!(false)));
}

#[test]
fn a_subscription_is_for_all_events() {
    let gateway = Gateway::new().answer(subscribed());
    reply("subscribe", &json!({"parameters": {}, "kinds": []}));
    let body = body(&gateway.requests()[0]);
    assert_eq!((&body["resource"], &body["changeType"]), (&json!("me/events"), &json!("created,updated,deleted")));
}
