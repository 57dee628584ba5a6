//! Messages that are written, with prepared responses of Microsoft. The crate `connector-microsoft`
//! tests subscriptions and delta queries further.

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

fn message(id: &str, written: u32, changed: u32) -> Value {
    let time = |second: u32| format!("2026-03-02T10:00:{second:02}Z");
    json!({"id": id, "messageType": "message", "createdDateTime": time(written), "lastModifiedDateTime": time(changed)})
}

fn channel() -> Value {
    json!({"team_id": "t1", "channel_id": "19:c@thread.tacv2"})
}

fn chat() -> Value {
    json!({"chat_id": "19:a@unq"})
}

fn chat_page(items: &Value, next: Option<&str>) -> Answer {
    Answer::json(200, &json!({"value": items, "@odata.nextLink": next}).to_string())
}

#[test]
fn messages_of_a_channel_are_events_and_their_changes_are_not() {
    let joined = json!({"id": "9", "messageType": "systemEventMessage", "createdDateTime": "2026-03-02T10:00:09Z"});
    let gateway = Gateway::new()
        .answer(page(&json!([message("1", 1, 1)]), "$deltatoken=d1"))
        .answer(page(&json!([message("1", 1, 5), message("2", 2, 2), joined]), "$deltatoken=d2"));
    let first = read("read_channel", &channel(), &Value::Null, 50);
    assert_eq!(ids(&first), Vec::<&str>::new());
    let second = read("read_channel", &channel(), &first["cursor"], 50);
    assert_eq!(ids(&second), ["2"]);
    assert_eq!(second["events"][0]["time"], "2026-03-02T10:00:02Z");
    let path = "/teams/t1/channels/19%3Ac%40thread.tacv2/messages/delta";
    assert_eq!(paths(&gateway), [format!("{path}?$top=50"), format!("{path}?$deltatoken=d1")]);
}

#[test]
fn messages_of_a_chat_are_events_with_the_oldest_first() {
    let gateway = Gateway::new()
        .answer(chat_page(&json!([message("1", 1, 3)]), None))
        .answer(chat_page(&json!([message("1", 1, 7), message("3", 6, 6)]), Some("https://graph.test/next")))
        .answer(chat_page(&json!([message("2", 4, 4)]), None))
        .answer(chat_page(&json!([]), None));
    let first = read("read_chat", &chat(), &Value::Null, 50);
    assert_eq!((ids(&first), &first["more"], &first["gap"]), (vec![], &json!(false), &json!(false)));
    let second = read("read_chat", &chat(), &first["cursor"], 50);
    assert_eq!((ids(&second), &second["gap"]), (vec!["2", "3"], &json!(false)), "and the first one has only changed");
    assert_eq!(ids(&read("read_chat", &chat(), &second["cursor"], 50)), Vec::<&str>::new());
    let list = "/chats/19%3Aa%40unq/messages?";
    let all = format!("{list}$top=50&$orderby=lastModifiedDateTime%20desc");
    // Five minutes before the last change.
    let since = |second: u32| format!("{all}&$filter=lastModifiedDateTime%20gt%202026-03-02T09%3A55%3A{second:02}Z");
    assert_eq!(paths(&gateway), [all.clone(), since(3), String::new(), since(7)]);
}

#[test]
fn messages_of_a_chat_over_the_limit_follow_in_the_next_read() {
    let all = || chat_page(&json!([message("2", 2, 9), message("3", 3, 3), message("1", 1, 1)]), None);
    let _gateway = Gateway::new().answer(chat_page(&json!([]), None)).answer(all()).answer(all()).answer(all());
    let first = read("read_chat", &chat(), &Value::Null, 2);
    let second = read("read_chat", &chat(), &first["cursor"], 2);
    assert_eq!((ids(&second), &second["more"]), (vec!["1", "2"], &json!(true)), "in the order of their writing");
    let third = read("read_chat", &chat(), &second["cursor"], 2);
    assert_eq!((ids(&third), &third["more"]), (vec!["3"], &json!(false)));
    assert_eq!(ids(&read("read_chat", &chat(), &third["cursor"], 2)), Vec::<&str>::new());
}

#[test]
fn messages_of_one_time_on_both_sides_of_the_limit_are_not_lost() {
    let all = || chat_page(&json!([message("3", 2, 2), message("2", 2, 2), message("1", 1, 1)]), None);
    let gateway = Gateway::new().answer(chat_page(&json!([]), None)).answer(all()).answer(all());
    let first = read("read_chat", &chat(), &Value::Null, 2);
    let second = read("read_chat", &chat(), &first["cursor"], 2);
    assert_eq!((ids(&second), &second["more"]), (vec!["1", "2"], &json!(true)));
    assert_eq!(ids(&read("read_chat", &chat(), &second["cursor"], 2)), ["3"]);
    assert!(paths(&gateway)[2].ends_with("gt%202026-03-02T09%3A55%3A02Z"), "{}", paths(&gateway)[2]);
}

#[test]
fn a_message_that_is_listed_after_a_later_one_or_has_its_time_is_an_event_once() {
    let all =
        || chat_page(&json!([message("4", 9, 9), message("3", 9, 9), message("2", 5, 5), message("1", 1, 8)]), None);
    let _gateway = Gateway::new()
        .answer(chat_page(&json!([message("1", 1, 1)]), None))
        .answer(chat_page(&json!([message("3", 9, 9)]), None))
        .answer(all())
        .answer(all());
    let mut cursor = read("read_chat", &chat(), &Value::Null, 50)["cursor"].clone();
    for expected in [vec!["3"], vec!["2", "4"], vec![]] {
        let reading = read("read_chat", &chat(), &cursor, 50);
        assert_eq!(ids(&reading), expected);
        cursor = reading["cursor"].clone();
    }
}

#[test]
fn a_cursor_of_an_earlier_version_goes_on_where_it_was() {
    let page = chat_page(&json!([message("2", 9, 9), message("1", 5, 5), message("0", 1, 7)]), None);
    let gateway = Gateway::new().answer(page);
    let time = "2026-03-02T10:00:05Z";
    assert_eq!(ids(&read("read_chat", &chat(), &json!({"changed": time, "written": time}), 50)), ["2"]);
    assert!(paths(&gateway)[0].ends_with("gt%202026-03-02T10%3A00%3A05Z"), "{}", paths(&gateway)[0]);
}

#[test]
fn the_first_read_of_a_chat_knows_no_message_as_new_that_is_not_on_its_page() {
    let messages: Vec<Value> = (0..50).rev().map(|number| message(&format!("m{number}"), number, number)).collect();
    let mut more = messages.clone();
    more.push(message("old", 0, 0));
    let _gateway = Gateway::new()
        .answer(chat_page(&json!(messages), Some("https://graph.test/next")))
        .answer(chat_page(&json!(more), None));
    let first = read("read_chat", &chat(), &Value::Null, 50);
    assert!(first["cursor"].to_string().len() < 8 << 10);
    assert_eq!(ids(&read("read_chat", &chat(), &first["cursor"], 50)), Vec::<&str>::new());
}

#[test]
fn a_chat_with_too_many_messages_has_a_gap() {
    let mut gateway = Gateway::new().answer(chat_page(&json!([message("1", 1, 1)]), None));
    for _ in 0..40 {
        gateway = gateway.answer(chat_page(&json!([message("2", 2, 2)]), Some("https://graph.test/next")));
    }
    let first = read("read_chat", &chat(), &Value::Null, 50);
    assert_eq!(read("read_chat", &chat(), &first["cursor"], 50)["gap"], true);
    assert_eq!(gateway.requests().len(), 41);
}

#[test]
fn subscriptions_are_for_a_channel_or_a_chat() {
    let gateway = Gateway::new().answer(subscribed()).answer(subscribed());
    reply("subscribe_to_channel", &json!({"parameters": channel(), "kinds": []}));
    reply("subscribe_to_chat", &json!({"parameters": chat(), "kinds": []}));
    let resources: Vec<Value> = gateway.requests().iter().map(|request| body(request)["resource"].clone()).collect();
    assert_eq!(resources, ["teams/t1/channels/19:c@thread.tacv2/messages", "chats/19:a@unq/messages"]);
}
