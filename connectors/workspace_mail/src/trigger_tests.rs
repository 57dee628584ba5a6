//! Events of a mailbox, with prepared responses of Gmail.

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

fn profile(history: &str) -> Answer {
    page(json!({"emailAddress": "ada@example.com", "historyId": history}))
}

fn paths(gateway: &Gateway) -> Vec<String> {
    gateway.requests().iter().map(|request| request.path.clone()).collect()
}

fn read(operation: &str, parameters: Value, cursor: &Value, limit: u32) -> Value {
    reply(operation, &json!({"parameters": parameters, "cursor": cursor, "hint": null, "limit": limit}))
}

fn ids(reading: &Value) -> Vec<&str> {
    reading["events"].as_array().expect("events").iter().filter_map(|event| event["id"].as_str()).collect()
}

/// A record in which messages were added.
fn added(id: &str, messages: &[(&str, &[&str])]) -> Value {
    let messages: Vec<Value> = messages
        .iter()
        .map(|(id, labels)| json!({"message": {"id": id, "threadId": "t", "labelIds": labels}}))
        .collect();
    json!({"id": id, "messagesAdded": messages})
}

fn message(id: &str) -> Answer {
    page(json!({"id": id, "threadId": "t", "snippet": "Hi", "internalDate": "1767323045000"}))
}

#[test]
fn the_first_read_goes_on_from_the_newest_record() {
    let gateway = Gateway::new().answer(profile("100")).answer(profile("100"));
    for operation in ["read_messages", "read_labels"] {
        let first = read(operation, json!({}), &Value::Null, 10);
        assert_eq!(first, json!({"events": [], "cursor": "100", "more": false, "gap": false}));
    }
    assert_eq!(paths(&gateway)[0], "/users/me/profile");
}

#[test]
fn messages_that_were_received_are_events() {
    let records = json!([
        added("101", &[("m1", &["UNREAD", "INBOX"]), ("d1", &["DRAFT"])]),
        added("102", &[("s1", &["SENT"]), ("m2", &["INBOX"])]),
        added("103", &[("m3", &["INBOX"])]),
    ]);
    let gateway = Gateway::new()
        .answer(page(json!({"history": records, "historyId": "110"})))
        .answer(message("m1"))
        .answer(Answer::json(404, r#"{"error":{"code":404}}"#))
        .answer(message("m3"));
    let reading = read("read_messages", json!({}), &json!("100"), 10);
    assert_eq!(ids(&reading), ["m1", "m3"], "and one was deleted meanwhile");
    assert_eq!((&reading["cursor"], &reading["more"]), (&json!("110"), &json!(false)));
    assert_eq!(reading["events"][0]["time"], "2026-01-02T03:04:05Z");
    assert_eq!(reading["events"][0]["data"]["snippet"], "Hi");
    let paths = paths(&gateway);
    assert_eq!(paths[0], "/users/me/history?startHistoryId=100&historyTypes=messageAdded&maxResults=10");
    assert!(paths[1].starts_with("/users/me/messages/m1?format=metadata&metadataHeaders=From&"), "{}", paths[1]);
}

#[test]
fn a_label_that_the_trigger_names_decides_alone() {
    let records = json!([added("101", &[("m1", &["INBOX"]), ("d1", &["DRAFT", "L1"])])]);
    let gateway = Gateway::new().answer(page(json!({"history": records, "historyId": "110"}))).answer(message("d1"));
    assert_eq!(ids(&read("read_messages", json!({"label_id": "L1"}), &json!("100"), 10)), ["d1"]);
    assert!(paths(&gateway)[0].contains("&labelId=L1&"), "{}", paths(&gateway)[0]);
}

#[test]
fn messages_over_the_limit_follow_in_the_next_read() {
    let records = |ids: &[&str]| {
        let records: Vec<Value> = ids.iter().map(|id| added(id, &[(&format!("m{id}"), &["INBOX"])])).collect();
        page(json!({"history": records, "historyId": "110"}))
    };
    let gateway = Gateway::new()
        .answer(records(&["101", "102", "103"]))
        .answer(message("m101"))
        .answer(message("m102"))
        .answer(records(&["103"]))
        .answer(message("m103"));
    let first = read("read_messages", json!({}), &json!("100"), 2);
    assert_eq!((ids(&first), &first["cursor"], &first["more"]), (vec!["m101", "m102"], &json!("102"), &json!(true)));
    let second = read("read_messages", json!({}), &first["cursor"], 2);
    assert_eq!((ids(&second), &second["cursor"], &second["more"]), (vec!["m103"], &json!("110"), &json!(false)));
    assert!(paths(&gateway)[3].contains("startHistoryId=102"));
}

#[test]
fn pages_without_messages_are_passed_over() {
    let other = json!({"id": "101", "messagesDeleted": []});
    let gateway = Gateway::new()
        .answer(page(json!({"nextPageToken": "p2", "historyId": "110"})))
        .answer(page(json!({"history": [other], "nextPageToken": "p3", "historyId": "110"})))
        .answer(page(
            json!({"history": [added("102", &[("m2", &["INBOX"])])], "nextPageToken": "p4", "historyId": "110"}),
        ))
        .answer(message("m2"));
    let reading = read("read_messages", json!({}), &json!("100"), 10);
    assert_eq!((ids(&reading), &reading["cursor"], &reading["more"]), (vec!["m2"], &json!("102"), &json!(true)));
    let list = |rest: &str| format!("/users/me/history?startHistoryId={rest}");
    let query = "&historyTypes=messageAdded&maxResults=10";
    assert_eq!(
        paths(&gateway)[..3],
        [list(&format!("100{query}")), list(&format!("100{query}&pageToken=p2")), list(&format!("101{query}"))]
    );
}

#[test]
fn changes_of_labels_are_events() {
    let change = |labels: &[&str]| json!([{"message": {"id": "m1", "threadId": "t", "labelIds": ["INBOX"]}, "labelIds": labels}]);
    let records = || {
        json!([
            {"id": "101", "labelsAdded": change(&["STARRED"])},
            {"id": "102", "labelsRemoved": change(&["UNREAD", "STARRED"])},
            {"id": "103", "labelsRemoved": change(&["L1"])},
        ])
    };
    let gateway = Gateway::new()
        .answer(page(json!({"history": records(), "historyId": "110"})))
        .answer(page(json!({"history": records(), "historyId": "110"})));
    let all = read("read_labels", json!({}), &json!("100"), 10);
    assert_eq!(ids(&all), ["101/m1/added", "102/m1/removed", "103/m1/removed"]);
    assert_eq!(
        all["events"][1]["data"],
        json!({"change": "removed", "labelIds": ["UNREAD", "STARRED"], "message": {"id": "m1", "threadId": "t", "labelIds": ["INBOX"]}})
    );
    let starred = read("read_labels", json!({"label_id": "STARRED"}), &json!("100"), 10);
    assert_eq!(ids(&starred), ["101/m1/added", "102/m1/removed"]);
    assert_eq!(
        paths(&gateway)[1],
        "/users/me/history?startHistoryId=100&historyTypes=labelAdded&historyTypes=labelRemoved&maxResults=10"
    );
}

#[test]
fn a_history_that_gmail_no_longer_has_is_a_gap() {
    let _gateway = Gateway::new().answer(Answer::json(404, r#"{"error":{"code":404}}"#)).answer(profile("900"));
    assert_eq!(
        read("read_messages", json!({}), &json!("100"), 10),
        json!({"events": [], "cursor": "900", "more": false, "gap": true})
    );
}

#[test]
fn a_history_that_gmail_no_longer_has_is_no_gap_if_its_last_record_was_read() {
    let gone = || Answer::json(404, r#"{"error":{"code":404}}"#);
    let _gateway = Gateway::new().answer(gone()).answer(profile("100")).answer(gone()).answer(profile("100"));
    for operation in ["read_messages", "read_labels"] {
        assert_eq!(
            read(operation, json!({}), &json!("100"), 10),
            json!({"events": [], "cursor": "100", "more": false, "gap": false})
        );
    }
}

#[test]
fn a_refused_token_keeps_its_status() {
    let _gateway = Gateway::new().answer(Answer::json(401, r#"{"error":{"code":401}}"#));
    let input = r#"{"parameters":{},"cursor":"100","limit":5}"#;
    let fault = invoke(&CONNECTOR, "read_messages", input);
    assert!(matches!(fault, Err(Fault::Upstream(refusal)) if refusal.status == 401));
}

const TOPIC: &str = "\"projects/p/topics/gmail\"";

#[test]
fn all_subscriptions_of_a_mailbox_have_the_id_of_its_watch() {
    let watched = || page(json!({"historyId": "100", "expiration": "1767927845000"}));
    let gateway = Gateway::new()
        .setting("pubsub_topic", TOPIC)
        .answer(watched())
        .answer(watched())
        .answer(watched())
        .answer(Answer::new(204, ""));
    let begin = || reply("begin_watch", &json!({"parameters": {}, "kinds": []}));
    let (one, other) = (begin(), begin());
    assert_eq!(one, other, "the gateway ends the watch with the last one");
    let input = json!({"upstream_id": one["upstream_id"], "state": null, "parameters": {}, "kinds": []});
    assert_eq!(reply("renew_watch", &input), one, "Google asks for a daily renewal, so no end is told");
    let ended = reply("end_watch", &json!({"upstream_id": one["upstream_id"], "state": null, "parameters": {}}));
    assert_eq!(ended, json!({}));
    let sent: Vec<_> = gateway.requests().iter().map(|request| (request.method, request.path.clone())).collect();
    let watch = || (Method::Post, "/users/me/watch".to_owned());
    assert_eq!(sent, [watch(), watch(), watch(), (Method::Post, "/users/me/stop".to_owned())]);
    let Some(Body::Json(body)) = &gateway.requests()[0].body else { panic!("a body") };
    assert_eq!(body, r#"{"topicName":"projects/p/topics/gmail"}"#);
}

#[test]
fn without_a_topic_there_is_no_watch() {
    let _gateway = Gateway::new();
    let fault = invoke(&CONNECTOR, "begin_watch", r#"{"parameters":{},"kinds":[]}"#);
    assert!(matches!(fault, Err(Fault::Failed(why)) if why.contains("`pubsub_topic`")));
}
