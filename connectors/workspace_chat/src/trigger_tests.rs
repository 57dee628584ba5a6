//! Messages that are written, with prepared responses of Google.

use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Fault, Outcome};
use serde_json::{Value, json};

use crate::CONNECTOR;

fn read(cursor: &Value) -> Value {
    let input = json!({"parameters": {"space_id": "S1"}, "cursor": cursor, "hint": null, "limit": 50});
    match invoke(&CONNECTOR, "read_messages", &input.to_string()) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{other:?}"),
    }
}

fn ids(reading: &Value) -> Vec<&str> {
    reading["events"].as_array().expect("events").iter().filter_map(|event| event["id"].as_str()).collect()
}

fn event(second: u32, name: &str) -> Value {
    json!({"eventTime": format!("2026-01-02T03:04:{second:02}.5Z"), "messageCreatedEventData": {"message": {"name": name}}})
}

fn page(events: Value, next: Option<&str>) -> Answer {
    Answer::json(200, &json!({"spaceEvents": events, "nextPageToken": next}).to_string())
}

fn refusal() -> Answer {
    Answer::json(400, r#"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#)
}

fn paths(gateway: &Gateway) -> Vec<String> {
    gateway.requests().iter().map(|request| request.path.clone()).collect()
}

const DAY: u64 = 86_400_000;

const LIST: &str = "/spaces/S1/spaceEvents?filter=";
const CREATED: &str = "event_types%3A%22google.workspace.chat.message.v1.created%22";

#[test]
fn the_first_read_passes_over_the_events_before_it() {
    let gateway = Gateway::new()
        .answer(page(json!([event(1, "m1")]), Some("p2")))
        .answer(page(json!([event(2, "m2")]), None))
        .answer(page(json!([event(3, "m3")]), None));
    let first = read(&Value::Null);
    assert_eq!((ids(&first), &first["more"], &first["gap"]), (vec![], &json!(false), &json!(false)));
    let second = read(&first["cursor"]);
    assert_eq!(
        second["events"],
        json!([{"id": "m3", "kind": "", "time": "2026-01-02T03:04:03.5Z", "data": {"name": "m3"}}])
    );
    let fields = "&fields=nextPageToken%2CspaceEvents%28eventTime%2CmessageCreatedEventData%2Fmessage%2Fname%2C\
                  messageBatchCreatedEventData%2Fmessages%2Fmessage%2Fname%29";
    assert_eq!(
        paths(&gateway),
        [
            format!("{LIST}{CREATED}&pageSize=1000{fields}"),
            format!("{LIST}{CREATED}&pageSize=1000&pageToken=p2{fields}"),
            format!("{LIST}start_time%3D%222026-01-02T02%3A59%3A02Z%22%20AND%20{CREATED}&pageSize=50"),
        ]
    );
}

#[test]
fn a_space_without_events_is_read_from_its_first_message() {
    let gateway = Gateway::new().answer(page(json!([]), None)).answer(page(json!([event(1, "m1")]), None));
    let first = read(&Value::Null);
    assert_eq!(ids(&read(&first["cursor"])), ["m1"]);
    assert_eq!(paths(&gateway)[1], format!("{LIST}{CREATED}&pageSize=50"));
}

#[test]
fn a_batch_has_several_messages() {
    let batch = json!([
        {"eventTime": "2026-01-02T03:04:05Z", "messageBatchCreatedEventData": {"messages": [{"message": {"name": "m1"}}, {"message": {"name": "m2"}}]}},
        event(6, "m3"),
    ]);
    let _gateway = Gateway::new().answer(page(json!([]), None)).answer(page(batch, Some("p2")));
    let first = read(&Value::Null);
    let second = read(&first["cursor"]);
    assert_eq!((ids(&second), &second["more"]), (vec!["m1", "m2", "m3"], &json!(true)));
    assert_eq!((&second["cursor"]["page"], &second["cursor"]["since"]), (&json!("p2"), &Value::Null));
}

#[test]
fn pages_whose_token_has_ended_are_read_from_the_first_again() {
    let gateway = Gateway::new()
        .answer(page(json!([event(1, "m1")]), None))
        .answer(page(json!([event(2, "m2")]), Some("p2")))
        .answer(refusal())
        .answer(page(json!([event(2, "m2"), event(3, "m3")]), None));
    let first = read(&Value::Null);
    let second = read(&first["cursor"]);
    let third = read(&second["cursor"]);
    assert_eq!((ids(&third), &third["gap"]), (vec!["m3"], &json!(false)), "the second one was answered");
    assert!(paths(&gateway)[3].contains("02%3A59%3A01Z"), "{}", paths(&gateway)[3]);
}

#[test]
fn a_message_that_is_listed_after_a_later_one_is_an_event_once() {
    let minute = |minute: u32, name: &str| {
        let time = format!("2026-01-02T03:{minute:02}:00.5Z");
        json!({"eventTime": time, "messageCreatedEventData": {"message": {"name": format!("spaces/S1/messages/{name}")}}})
    };
    let first_three = [minute(21, "late"), minute(23, "m2"), minute(23, "same")];
    let gateway = Gateway::new()
        .answer(page(json!([minute(1, "m1")]), None))
        .answer(page(json!([minute(23, "m2")]), None))
        .answer(page(json!(first_three), None))
        .answer(page(json!(first_three), None));
    let mut cursor = read(&Value::Null)["cursor"].clone();
    for expected in [vec!["m2"], vec!["late", "same"], vec![]] {
        let reading = read(&cursor);
        let names: Vec<&str> = ids(&reading).iter().filter_map(|id| id.strip_prefix("spaces/S1/messages/")).collect();
        assert_eq!(names, expected);
        cursor = reading["cursor"].clone();
    }
    for path in &paths(&gateway)[2..] {
        assert!(path.contains("start_time%3D%222026-01-02T03%3A18%3A00Z%22"), "five minutes: {path}");
    }
}

#[test]
fn a_cursor_of_an_earlier_version_goes_on_where_it_was() {
    let page_of = |second: u32, name: &str| page(json!([event(1, "m1"), event(second, name)]), None);
    let gateway = Gateway::new().answer(page_of(2, "m2")).answer(page_of(3, "m3"));
    let time = "2026-01-02T03:04:01.5Z";
    let whole = json!({"since": time, "page": null, "newest": null, "is_first": false, "read_at": 7});
    assert_eq!(ids(&read(&whole)), ["m2"]);
    let of_page =
        json!({"since": time, "page": "p2", "newest": "2026-01-02T03:04:02.5Z", "is_first": false, "read_at": null});
    assert_eq!(ids(&read(&of_page)), ["m3"]);
    assert!(paths(&gateway).iter().all(|path| path.contains("04%3A01.5Z")), "{:?}", paths(&gateway));
}

#[test]
fn a_cursor_has_room_for_the_messages_of_a_busy_space() {
    let number = |number: u32| {
        let time = format!("2026-01-02T03:04:{:02}.{:06}Z", number / 10, number % 10);
        let name = format!("spaces/S1/messages/{number:030}");
        json!({"eventTime": time, "messageCreatedEventData": {"message": {"name": name}}})
    };
    let busy = || page(json!((0..500).map(number).collect::<Vec<_>>()), None);
    let _gateway = Gateway::new().answer(page(json!([]), None)).answer(busy()).answer(busy());
    let first = read(&Value::Null);
    let second = read(&first["cursor"]);
    assert_eq!(ids(&second).len(), 500);
    assert!(second["cursor"].to_string().len() < 8 << 10);
    assert_eq!(ids(&read(&second["cursor"])), Vec::<&str>::new(), "no message comes twice");
}

#[test]
fn a_time_that_is_too_long_ago_is_a_gap_once() {
    let gateway = Gateway::new()
        .answer(page(json!([event(1, "m1")]), None))
        .answer(refusal())
        .answer(page(json!([]), None))
        .answer(page(json!([event(9, "m9")]), None));
    let first = read(&Value::Null);
    let gateway = gateway.now(29 * DAY);
    let second = read(&first["cursor"]);
    assert_eq!((ids(&second), &second["gap"]), (vec![], &json!(true)));
    let third = read(&second["cursor"]);
    assert_eq!((ids(&third), &third["gap"]), (vec!["m9"], &json!(false)));
    assert_eq!(paths(&gateway)[2..], [(); 2].map(|()| format!("{LIST}{CREATED}&pageSize=50")));
}

#[test]
fn a_space_that_was_quiet_for_a_long_time_has_no_gap() {
    let gateway = Gateway::new()
        .answer(page(json!([event(1, "m1")]), None))
        .answer(page(json!([]), None))
        .answer(refusal())
        .answer(page(json!([event(9, "m9")]), None));
    let first = read(&Value::Null);
    let gateway = gateway.now(20 * DAY);
    let second = read(&first["cursor"]);
    let _gateway = gateway.now(29 * DAY);
    let third = read(&second["cursor"]);
    assert_eq!((ids(&third), &third["gap"]), (vec!["m9"], &json!(false)));
}

#[test]
fn a_refusal_keeps_its_status() {
    let _gateway = Gateway::new().answer(Answer::json(403, r#"{"error":{"code":403}}"#));
    let fault = invoke(&CONNECTOR, "read_messages", r#"{"parameters":{"space_id":"S1"},"limit":5}"#);
    assert!(matches!(fault, Err(Fault::Upstream(refusal)) if refusal.status == 403));
}
