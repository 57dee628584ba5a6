//! Threads, with prepared responses of X.

use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Fault, Outcome};
use serde_json::{Value, json};

use crate::CONNECTOR;

const INPUT: &str = r#"{"id":"12"}"#;

/// The parameters that select members of posts.
const SELECTED: &str = "post.fields=conversation_id%2Ccreated_at%2Ctext%2Cpublic_metrics%2Centities%2Clang\
    &expansions=author_id%2Cin_reply_to_user_id%2Creferenced_posts%2Cattachments.media_keys\
    &media.fields=type%2Curl%2Cpreview_image_url%2Calt_text";

fn answered(gateway: &Gateway, input: &str) -> Value {
    match invoke(&CONNECTOR, "get_thread", input) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{other:?} after {:?}", gateway.requests()),
    }
}

fn post(id: &str, conversation: &str) -> Value {
    json!({"id": id, "conversation_id": conversation, "text": format!("post {id}")})
}

fn reply(id: &str, to: &str) -> Value {
    let mut post = post(id, "5");
    post["referenced_posts"] = json!([{"type": "replied_to", "id": to}]);
    post
}

fn ok(body: &Value) -> Answer {
    Answer::json(200, &body.to_string())
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["data"].as_array().expect("a list").iter().filter_map(|post| post["id"].as_str()).collect()
}

#[test]
fn a_thread_is_the_first_post_and_the_others_by_rising_id() {
    let gateway = Gateway::new()
        .answer(ok(&json!({
            "data": reply("12", "9"),
            "includes": {"users": [{"id": "1", "name": "Ada"}], "posts": [post("9", "5")]},
        })))
        .answer(ok(&json!({"data": post("5", "5"), "includes": {"users": [{"id": "1", "name": "Ada"}]}})))
        .answer(ok(&json!({
            "data": [reply("112", "12"), reply("12", "9"), reply("9", "5")],
            "includes": {
                "users": [{"id": "2"}, {"id": "1", "name": "Ada"}],
                "media": [{"media_key": "3_1"}, {"media_key": "3_1"}, {"media_key": "3_2"}],
                "polls": [{"id": "1"}],
            },
            "errors": [{"detail": "first", "value": "8"}],
            "meta": {"result_count": 3, "next_token": "n="},
        })))
        .answer(ok(&json!({
            "data": [reply("100", "8")],
            "includes": {"posts": [post("9", "5")]},
            "errors": [{"detail": "second"}],
            "meta": {"result_count": 1},
        })));
    assert_eq!(
        answered(&gateway, INPUT),
        json!({
            "data": [post("5", "5"), reply("9", "5"), reply("12", "9"), reply("100", "8"), reply("112", "12")],
            "includes": {
                "users": [{"id": "1", "name": "Ada"}, {"id": "2"}],
                "posts": [post("9", "5")],
                "media": [{"media_key": "3_1"}, {"media_key": "3_2"}],
                "polls": [{"id": "1"}],
            },
            "meta": {
                "conversation_id": "5", "result_count": 5, "pages": 2, "truncated": false, "searched_days": 7,
                "missing": ["8"],
            },
            "errors": [{"detail": "first", "value": "8"}, {"detail": "second"}],
        })
    );
    let search = format!("/tweets/search/recent?query=conversation_id%3A5&max_results=100&{SELECTED}");
    let paths: Vec<String> = gateway.requests().iter().map(|request| request.path.clone()).collect();
    assert_eq!(
        paths,
        [
            format!("/tweets/12?{SELECTED}"),
            format!("/tweets/5?{SELECTED}"),
            search.clone(),
            format!("{search}&next_token=n%3D")
        ]
    );
}

#[test]
fn the_first_post_is_not_looked_up_twice() {
    let gateway =
        Gateway::new().answer(ok(&json!({"data": post("12", "12")}))).answer(ok(&json!({"meta": {"result_count": 0}})));
    let answer = answered(&gateway, INPUT);
    assert_eq!(
        answer,
        json!({
            "data": [post("12", "12")],
            "includes": {"users": [], "posts": [], "media": []},
            "meta": {
                "conversation_id": "12", "result_count": 1, "pages": 1, "truncated": false, "searched_days": 7,
                "missing": [],
            },
            "errors": [],
        })
    );
    assert_eq!(gateway.requests().len(), 2);
}

#[test]
fn a_first_post_that_x_does_not_have_is_missing() {
    let gone = json!({"errors": [{"detail": "Could not find post with id: [5].", "value": "5"}]});
    for (root, errors) in [(ok(&gone), 1), (Answer::json(404, r#"{"title":"Not Found","status":404}"#), 0)] {
        let gateway = Gateway::new()
            .answer(ok(&json!({"data": reply("12", "5")})))
            .answer(root)
            .answer(ok(&json!({"data": [reply("10", "5")]})));
        let answer = answered(&gateway, INPUT);
        assert_eq!(ids(&answer), ["10", "12"]);
        assert_eq!(answer["meta"]["missing"], json!(["5"]));
        assert_eq!(answer["errors"].as_array().map(Vec::len), Some(errors));
    }
}

#[test]
fn missing_posts_are_listed_once_by_rising_id() {
    let gateway = Gateway::new()
        .answer(ok(&json!({"data": post("12", "12")})))
        .answer(ok(&json!({"data": [reply("100", "99"), reply("101", "11"), reply("102", "99"), reply("103", "12")]})));
    assert_eq!(answered(&gateway, INPUT)["meta"]["missing"], json!(["11", "99"]));
}

/// A gateway whose search has this many pages of one post each.
fn paged(pages: usize) -> Gateway {
    let first = Gateway::new().answer(ok(&json!({"data": post("12", "12")})));
    (0..pages).fold(first, |gateway, page| {
        let mut answer = json!({"data": [post(&(100 + page).to_string(), "12")], "meta": {}});
        if page + 1 < pages {
            answer["meta"]["next_token"] = json!(format!("t{page}"));
        }
        gateway.answer(ok(&answer))
    })
}

#[test]
fn at_most_ten_pages_are_read() {
    for (pages, read, truncated) in [(9, 9, false), (10, 10, false), (11, 10, true)] {
        let gateway = paged(pages);
        let answer = answered(&gateway, INPUT);
        assert_eq!(
            (answer["meta"]["pages"].as_u64(), answer["meta"]["truncated"].as_bool()),
            (Some(read), Some(truncated))
        );
        assert_eq!(ids(&answer).len(), gateway.requests().len());
        assert!(answer["meta"].get("retry_at").is_none());
    }
}

/// X's refusal for its rate limit, which ends at 2026-01-01T00:15:00Z.
fn limited() -> Answer {
    Answer::json(429, r#"{"title":"Too Many Requests","status":429}"#).header("x-rate-limit-reset", "1767226500")
}

#[test]
fn a_rate_limit_of_the_search_answers_what_was_read() {
    let gateway = Gateway::new()
        .answer(ok(&json!({"data": post("12", "12")})))
        .answer(ok(&json!({"data": [post("13", "12")], "meta": {"next_token": "t"}})))
        .answer(limited());
    let answer = answered(&gateway, INPUT);
    assert_eq!(ids(&answer), ["12", "13"]);
    assert_eq!(
        answer["meta"],
        json!({
            "conversation_id": "12", "result_count": 2, "pages": 1, "truncated": true, "searched_days": 7,
            "missing": [], "retry_at": "2026-01-01T00:15:00Z",
        })
    );
}

#[test]
fn a_rate_limit_of_the_first_post_answers_the_given_post() {
    let gateway = Gateway::new().answer(ok(&json!({"data": reply("12", "9")}))).answer(limited());
    let answer = answered(&gateway, INPUT);
    assert_eq!((ids(&answer), gateway.requests().len()), (vec!["12"], 2));
    let meta = &answer["meta"];
    assert_eq!((&meta["pages"], &meta["truncated"], &meta["missing"]), (&json!(0), &json!(true), &json!(["5", "9"])));
    assert_eq!(meta["retry_at"], "2026-01-01T00:15:00Z");
}

#[test]
fn a_rate_limit_without_a_time_has_a_retry_at_of_null() {
    let gateway = Gateway::new().answer(ok(&json!({"data": post("12", "12")}))).answer(Answer::new(429, ""));
    assert_eq!(answered(&gateway, INPUT)["meta"]["retry_at"], Value::Null);
    assert!(gateway.requests().len() == 2);
}

#[test]
fn a_failure_of_any_request_fails_the_call() {
    let given = || ok(&json!({"data": reply("12", "5")}));
    for (answers, status) in [
        (vec![limited()], 429),
        (vec![Answer::new(503, "")], 503),
        (vec![given(), Answer::new(500, "")], 500),
        (vec![given(), given(), Answer::json(400, "{}")], 400),
        (vec![given(), given(), Answer::new(404, "")], 404),
    ] {
        let _gateway = answers.into_iter().fold(Gateway::new(), Gateway::answer);
        let Err(Fault::Upstream(fault)) = invoke(&CONNECTOR, "get_thread", INPUT) else { panic!("{status}") };
        assert_eq!(fault.status, status);
    }
    let _gateway = Gateway::new().answer(given()).answer(given()).answer(Answer::new(200, "<html>"));
    assert!(matches!(invoke(&CONNECTOR, "get_thread", INPUT), Err(Fault::Http(_))));
}

#[test]
fn a_post_that_x_does_not_give_is_not_found() {
    let gateway = Gateway::new().answer(ok(&json!({"errors": [{"detail": "Could not find post with id: [12]."}]})));
    let Err(Fault::NotFound(fault)) = invoke(&CONNECTOR, "get_thread", INPUT) else { panic!("not found") };
    assert!(fault.detail.contains("post `12`") && fault.detail.contains("[12]"), "{}", fault.detail);
    assert_eq!(gateway.requests().len(), 1);
}

#[test]
fn with_the_older_spelling_the_requests_and_the_answer_have_the_older_names() {
    let mut last = post("12", "5");
    last["referenced_tweets"] = json!([{"type": "replied_to", "id": "9"}, {"type": "quoted", "id": "7"}]);
    let gateway = Gateway::new()
        .setting("post_fields", r#""tweet.fields""#)
        .answer(ok(&json!({"data": last, "includes": {"tweets": [post("9", "5")]}})))
        .answer(ok(&json!({"data": post("5", "5")})))
        .answer(ok(&json!({"includes": {"tweets": [post("9", "5")]}})));
    let answer = answered(&gateway, INPUT);
    assert_eq!(answer["includes"], json!({"users": [], "tweets": [post("9", "5")], "media": []}));
    assert_eq!(answer["meta"]["missing"], json!(["7"]));
    let requests = gateway.requests();
    for request in &requests {
        assert!(request.path.contains("tweet.fields=") && !request.path.contains("post.fields"), "{}", request.path);
        assert!(request.path.contains("referenced_tweets.id"), "{}", request.path);
    }
    assert_eq!(requests.len(), 3);
}

#[test]
fn malformed_parts_of_a_response_are_left_out() {
    let gateway = Gateway::new()
        .answer(ok(&json!({"data": {"id": "12", "referenced_posts": "x"}, "includes": [], "errors": {}})))
        .answer(ok(&json!({
            "data": ["x", {"text": "no id"}, {"id": 7}, null],
            "includes": {"users": {"id": "1"}, "media": ["x", {"media_key": "3_1"}], "a\"b": [1]},
            "meta": {"next_token": ""},
        })));
    let answer = answered(&gateway, INPUT);
    assert_eq!((ids(&answer), &answer["errors"]), (vec!["12"], &json!([])));
    assert_eq!(
        answer["includes"],
        json!({"users": [], "posts": [], "media": ["x", {"media_key": "3_1"}], "a\"b": [1]})
    );
    assert_eq!(answer["meta"]["truncated"], json!(false));
}

#[test]
fn numbers_and_texts_stay_as_x_wrote_them() {
    let text = r#"{"id":"12","text":"caf\u00e9","public_metrics":{"like_count":1.0}}"#;
    let gateway = Gateway::new()
        .answer(Answer::json(200, &format!(r#"{{"data":{text}}}"#)))
        .answer(Answer::json(200, r#"{"meta":{"result_count":0}}"#));
    let Ok(Outcome::Reply(answer)) = invoke(&CONNECTOR, "get_thread", INPUT) else { panic!("a reply") };
    assert!(answer.starts_with(&format!(r#"{{"data":[{text}],"includes":{{"users":[]"#)), "{answer}");
    assert_eq!(gateway.requests().len(), 2);
}
