//! Posts and mentions, with prepared responses of X.

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

fn read(operation: &str, parameters: &Value, cursor: &Value, limit: u32) -> Value {
    reply(operation, &json!({"parameters": parameters, "cursor": cursor, "hint": null, "limit": limit}))
}

fn ids(reading: &Value) -> Vec<&str> {
    reading["events"].as_array().expect("events").iter().filter_map(|event| event["id"].as_str()).collect()
}

fn paths(gateway: &Gateway) -> Vec<String> {
    gateway.requests().iter().map(|request| request.path.clone()).collect()
}

fn posts(posts: &[&str], next: Option<&str>) -> Answer {
    let posts: Vec<Value> = posts
        .iter()
        .map(|id| json!({"id": id, "text": "Hi", "author_id": "7", "created_at": "2026-03-02T10:00:00.000Z"}))
        .collect();
    let users = json!([{"id": "7", "name": "Kim", "username": "kim"}]);
    let list =
        json!({"data": posts, "includes": {"users": users}, "meta": {"result_count": posts.len(), "next_token": next}});
    Answer::json(200, &list.to_string())
}

fn no_posts() -> Answer {
    Answer::json(200, r#"{"meta":{"result_count":0}}"#)
}

fn user() -> Value {
    json!({"id": "42"})
}

const QUERY: &str = "max_results=100&post.fields=conversation_id%2Ccreated_at%2Clang&expansions=author_id";

#[test]
fn posts_since_the_last_one_are_events_with_the_oldest_first() {
    let gateway = Gateway::new()
        .answer(posts(&["100", "99"], Some("x")))
        .answer(posts(&["104", "103"], Some("p2")))
        .answer(posts(&["102"], None))
        .answer(no_posts());
    let first = read("read_posts", &user(), &Value::Null, 50);
    assert_eq!((ids(&first), &first["more"], &first["gap"]), (vec![], &json!(false), &json!(false)));
    let second = read("read_posts", &user(), &first["cursor"], 50);
    assert_eq!(
        (ids(&second), &second["more"], &second["gap"]),
        (vec!["102", "103", "104"], &json!(false), &json!(false))
    );
    assert_eq!(second["events"][0]["data"]["author"], json!({"id": "7", "name": "Kim", "username": "kim"}));
    assert_eq!(second["events"][0]["time"], "2026-03-02T10:00:00.000Z");
    let third = read("read_posts", &user(), &second["cursor"], 50);
    assert_eq!((ids(&third), &third["cursor"]["since_id"]), (vec![], &json!("104")));
    assert_eq!(
        paths(&gateway),
        [
            "/users/42/tweets?max_results=5".to_owned(),
            format!("/users/42/tweets?{QUERY}&since_id=100"),
            format!("/users/42/tweets?{QUERY}&since_id=100&pagination_token=p2"),
            format!("/users/42/tweets?{QUERY}&since_id=104"),
        ]
    );
}

#[test]
fn posts_over_the_limit_follow_in_the_next_read() {
    let _gateway = Gateway::new().answer(no_posts()).answer(posts(&["3", "2", "1"], None)).answer(posts(&["3"], None));
    let first = read("read_posts", &user(), &Value::Null, 2);
    let second = read("read_posts", &user(), &first["cursor"], 2);
    assert_eq!((ids(&second), &second["more"]), (vec!["1", "2"], &json!(true)));
    assert_eq!(ids(&read("read_posts", &user(), &second["cursor"], 2)), ["3"]);
}

#[test]
fn replies_may_be_left_out() {
    let gateway = Gateway::new().answer(posts(&["100"], None)).answer(posts(&["102"], None));
    let without_replies = json!({"id": "42", "exclude": ["replies", "retweets"]});
    let first = read("read_posts", &without_replies, &Value::Null, 2);
    assert_eq!(ids(&read("read_posts", &without_replies, &first["cursor"], 2)), ["102"]);
    assert_eq!(
        paths(&gateway),
        [
            "/users/42/tweets?max_results=5".to_owned(),
            format!("/users/42/tweets?exclude=replies%2Cretweets&{QUERY}&since_id=100")
        ]
    );
}

#[test]
fn a_first_page_without_posts_leads_to_the_newest_post() {
    let gateway = Gateway::new()
        .answer(posts(&[], Some("p2")))
        .answer(posts(&["90", "80"], Some("p3")))
        .answer(posts(&["91"], None));
    let first = read("read_mentions", &user(), &Value::Null, 50);
    assert_eq!((ids(&first), &first["cursor"]["since_id"]), (vec![], &json!("90")));
    assert_eq!(ids(&read("read_mentions", &user(), &first["cursor"], 50)), ["91"], "and no older post");
    let list = "/users/42/mentions?max_results";
    assert_eq!(paths(&gateway)[..2], [format!("{list}=5"), format!("{list}=100&pagination_token=p2")]);
}

#[test]
fn mentions_are_of_the_connected_user_or_of_the_one_that_the_trigger_names() {
    let gateway = Gateway::new()
        .answer(Answer::json(200, r#"{"data":{"id":"42"}}"#))
        .answer(posts(&["100"], None))
        .answer(posts(&["101"], None))
        .answer(no_posts());
    let first = read("read_mentions", &json!({}), &Value::Null, 50);
    assert_eq!(ids(&read("read_mentions", &json!({}), &first["cursor"], 50)), ["101"]);
    read("read_mentions", &json!({"id": "7"}), &Value::Null, 50);
    assert_eq!(
        paths(&gateway),
        [
            String::new(),
            "/users/42/mentions?max_results=5".to_owned(),
            format!("/users/42/mentions?{QUERY}&since_id=100"),
            "/users/7/mentions?max_results=5".to_owned()
        ]
    );
}

#[test]
fn a_list_with_more_pages_than_are_read_has_a_gap() {
    let mut gateway = Gateway::new().answer(posts(&["1"], None));
    for number in (2..=11).rev() {
        gateway = gateway.answer(posts(&[&format!("{number:02}")], Some("next")));
    }
    let first = read("read_posts", &user(), &Value::Null, 50);
    let second = read("read_posts", &user(), &first["cursor"], 50);
    assert_eq!((ids(&second).len(), &second["gap"]), (10, &json!(true)));
}

#[test]
fn the_operators_name_of_the_fields_is_sent() {
    let gateway = Gateway::new().setting("post_fields", "\"tweet.fields\"").answer(no_posts());
    read("read_posts", &user(), &json!({"since_id": "1", "user": null}), 50);
    assert!(paths(&gateway)[0].contains("&tweet.fields=conversation_id"), "{}", paths(&gateway)[0]);
}

#[test]
fn a_user_that_x_does_not_have_is_not_found_and_a_refusal_keeps_its_status() {
    let _gateway = Gateway::new()
        .answer(Answer::json(200, r#"{"errors":[{"detail":"Could not find user with id: [42]."}]}"#))
        .answer(Answer::json(429, "{}").header("retry-after", "7"));
    let input = r#"{"parameters":{"id":"42"},"limit":5}"#;
    let fault = invoke(&CONNECTOR, "read_posts", input);
    assert!(matches!(fault, Err(Fault::NotFound(why)) if why.detail.contains("Could not find user")));
    let fault = invoke(&CONNECTOR, "read_posts", input);
    assert!(
        matches!(fault, Err(Fault::Upstream(refusal)) if (refusal.status, refusal.retry_after_seconds) == (429, Some(7)))
    );
}
