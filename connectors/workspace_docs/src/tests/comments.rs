//! The list of comments, and their digest.

use connector_sdk::http::Error;
use connector_sdk::testing::{Answer, Gateway, forwarded, invoke, refused};
use connector_sdk::{Fault, Outcome};
use serde_json::{Value, json};

use crate::CONNECTOR;

fn reply(operation: &str, input: &Value, answers: &[Answer]) -> (Value, Vec<String>) {
    let gateway = answers.iter().cloned().fold(Gateway::new(), Gateway::answer);
    let answer = match invoke(&CONNECTOR, operation, &input.to_string()) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{other:?}"),
    };
    (answer, gateway.requests().iter().map(|request| format!("{}{}", request.upstream, request.path)).collect())
}

#[test]
fn comments_that_are_not_earlier_are_left_out() {
    let page = r#"{"kind":"drive#commentList","nextPageToken":"t2","comments":[
        {"id":"1","modifiedTime":"2026-03-01T11:59:59.999Z","n":1.0},
        {"id":"2","modifiedTime":"2026-03-01T12:00:00.000Z"},
        {"id":"3","modifiedTime":"2026-03-01T12:30:00+01:00"},
        {"id":"4"}]}"#;
    let input = json!({
        "document_id": "d", "page_token": "t1", "include_deleted": true, "modified_after": "2026-03-01T00:00:00+01:00",
        "modified_before": "2026-03-01T13:00:00+01:00",
    });
    let (answer, paths) = reply("list_comments", &input, &[Answer::json(200, page)]);
    let ids: Vec<&str> =
        answer["comments"].as_array().expect("a list").iter().filter_map(|comment| comment["id"].as_str()).collect();
    assert_eq!(ids, ["1", "3", "4"]);
    assert_eq!((&answer["kind"], &answer["nextPageToken"]), (&json!("drive#commentList"), &json!("t2")));
    assert_eq!(
        paths,
        [
            "drive/files/d/comments?fields=%2A&pageSize=30&pageToken=t1&includeDeleted=true&startModifiedTime=2026-03-01T00%3A00%3A00%2B01%3A00"
        ]
    );
    let (answer, _) = reply("list_comments", &input, &[Answer::json(200, "{}")]);
    assert_eq!(answer, json!({"comments": []}));
    let plain = forwarded(&CONNECTOR, "list_comments", r#"{"document_id":"d","page_size":50}"#);
    assert_eq!(plain.path, "/files/d/comments?fields=%2A&pageSize=50");
}

#[test]
fn times_are_in_their_order_and_have_a_zone() {
    for (after, before, pointer) in [
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z", "/modified_before"),
        ("2026-03-01T12:00:00Z", "2026-03-01T12:30:00+01:00", "/modified_before"),
        ("2026-03-01T12:00:00", "2026-03-02T12:00:00Z", "/modified_after"),
        ("2026-03-01T12:00:00Z", "2026-02-30T12:00:00Z", "/modified_before"),
    ] {
        let input = json!({"document_id": "d", "modified_after": after, "modified_before": before}).to_string();
        assert_eq!(refused(&CONNECTOR, "list_comments", &input)[0].pointer, pointer);
    }
}

fn comment(number: usize, members: Value) -> Value {
    let mut comment = json!({
        "id": format!("c{number}"),
        "author": {"displayName": "Ada"},
        "content": format!("text {number}"),
        "createdTime": format!("2026-01-01T00:{:02}:{:02}.000Z", number / 60, number % 60),
        "modifiedTime": format!("2026-01-02T00:{:02}:{:02}.000Z", number / 60, number % 60),
        "resolved": false,
        "deleted": false,
        "replies": [],
    });
    comment.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
    comment
}

fn page(comments: &[Value], next: Option<&str>) -> Answer {
    Answer::json(200, &json!({"kind": "drive#commentList", "comments": comments, "nextPageToken": next}).to_string())
}

fn digest(answers: &[Answer]) -> (Value, Vec<String>) {
    reply("summarize_comments", &json!({"document_id": "d"}), answers)
}

#[test]
fn a_document_without_comments_has_an_empty_digest() {
    let (answer, paths) = digest(&[Answer::json(200, r#"{"kind":"drive#commentList"}"#)]);
    assert_eq!(
        answer,
        json!({
            "document_id": "d", "total": 0, "open": 0, "resolved": 0, "replies": 0, "truncated": false, "first_comment_at": null,
            "last_activity_at": null, "authors": [], "latest": [], "open_comments": [], "quoted_texts": [], "mentions": [],
        })
    );
    assert_eq!(paths, ["drive/files/d/comments?fields=%2A&pageSize=100&includeDeleted=false"]);
}

#[test]
fn a_digest_counts_all_pages() {
    let first = [
        comment(
            1,
            json!({
                "resolved": true, "modifiedTime": "2026-01-05T00:00:00Z", "mentionedEmailAddresses": ["b@x.test", "a@x.test"],
                "quotedFileContent": {"mimeType": "text/html", "value": "Tom &amp;  Jerry&#39;s"},
                "replies": [
                    {"author": {"displayName": "Bob"}, "mentionedEmailAddresses": ["c@x.test"]},
                    {"author": {"displayName": "Bob"}, "action": "resolve"},
                    {"author": {"displayName": "Bob"}, "deleted": true},
                ],
            }),
        ),
        comment(2, json!({"author": {}, "content": " a\n\tb ", "quotedFileContent": {"value": "one"}})),
    ];
    let second = [
        comment(
            3,
            json!({"author": {"displayName": "Zoe"}, "quotedFileContent": {"value": "Tom &amp; Jerry's"}, "mentionedEmailAddresses": ["a@x.test"]}),
        ),
        comment(0, json!({"quotedFileContent": {"value": ""}})),
        comment(9, json!({"deleted": true})),
    ];
    let (answer, paths) = digest(&[page(&first, Some("t/2")), page(&second, None)]);
    assert_eq!(paths[1], "drive/files/d/comments?fields=%2A&pageSize=100&includeDeleted=false&pageToken=t%2F2");
    assert_eq!(
        answer,
        json!({
            "document_id": "d", "total": 4, "open": 3, "resolved": 1, "replies": 2, "truncated": false,
            "first_comment_at": "2026-01-01T00:00:00.000Z", "last_activity_at": "2026-01-05T00:00:00Z",
            "authors": [
                {"name": "Ada", "comments": 2, "replies": 0}, {"name": "Bob", "comments": 0, "replies": 2},
                {"name": "Zoe", "comments": 1, "replies": 0}, {"name": "unknown", "comments": 1, "replies": 0},
            ],
            "latest": [
                {"id": "c1", "author": "Ada", "modifiedTime": "2026-01-05T00:00:00Z", "resolved": true, "excerpt": "text 1", "quoted": "Tom & Jerry's"},
                {"id": "c3", "author": "Zoe", "modifiedTime": "2026-01-02T00:00:03.000Z", "resolved": false, "excerpt": "text 3", "quoted": "Tom & Jerry's"},
                {"id": "c2", "author": "unknown", "modifiedTime": "2026-01-02T00:00:02.000Z", "resolved": false, "excerpt": "a b", "quoted": "one"},
                {"id": "c0", "author": "Ada", "modifiedTime": "2026-01-02T00:00:00.000Z", "resolved": false, "excerpt": "text 0", "quoted": null},
            ],
            "open_comments": [
                {"id": "c0", "author": "Ada", "modifiedTime": "2026-01-02T00:00:00.000Z", "resolved": false, "excerpt": "text 0", "quoted": null},
                {"id": "c2", "author": "unknown", "modifiedTime": "2026-01-02T00:00:02.000Z", "resolved": false, "excerpt": "a b", "quoted": "one"},
                {"id": "c3", "author": "Zoe", "modifiedTime": "2026-01-02T00:00:03.000Z", "resolved": false, "excerpt": "text 3", "quoted": "Tom & Jerry's"},
            ],
            "quoted_texts": [{"text": "Tom & Jerry's", "comments": 2}, {"text": "one", "comments": 1}],
            "mentions": [{"email": "a@x.test", "count": 2}, {"email": "b@x.test", "count": 1}],
        })
    );
}

#[test]
fn lists_of_a_digest_have_their_limits() {
    let comments: Vec<Value> =
        (0..30).map(|number| comment(number, json!({"quotedFileContent": {"value": format!("q{number}")}}))).collect();
    let (answer, _) = digest(&[page(&comments, None)]);
    let ids = |list: &str| -> Vec<String> {
        answer[list]
            .as_array()
            .expect("a list")
            .iter()
            .map(|entry| entry["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(ids("latest"), ["c29", "c28", "c27", "c26", "c25"]);
    assert_eq!(ids("open_comments"), (0..20).map(|number| format!("c{number}")).collect::<Vec<_>>());
    let quoted: Vec<&Value> =
        answer["quoted_texts"].as_array().expect("a list").iter().map(|quoted| &quoted["text"]).collect();
    assert_eq!(quoted, ["q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"]);
}

#[test]
fn excerpts_are_cut_between_words() {
    let excerpt = |content: String| {
        let (answer, _) = digest(&[page(&[comment(1, json!({"content": content}))], None)]);
        answer["latest"][0]["excerpt"].as_str().expect("a text").to_owned()
    };
    let fits = "ä".repeat(200);
    assert_eq!(excerpt(fits.clone()), fits);
    assert_eq!(excerpt(format!("{fits} b")), fits);
    assert_eq!(excerpt(format!("{fits}b")), fits);
    assert_eq!(excerpt(format!("{} {}", "a".repeat(150), "b".repeat(50))), "a".repeat(150));
    assert_eq!(
        excerpt(format!("{} {}", "a".repeat(150), "b".repeat(49))),
        format!("{} {}", "a".repeat(150), "b".repeat(49))
    );
}

#[test]
fn a_digest_ends_after_twenty_pages() {
    let answers: Vec<Answer> = (1..=20).map(|number| page(&[comment(number, json!({}))], Some("next"))).collect();
    let (answer, paths) = digest(&answers);
    assert_eq!((&answer["total"], &answer["truncated"], paths.len()), (&json!(20), &json!(true), 20));
    let mut answers = answers;
    answers[19] = page(&[], None);
    let (answer, _) = digest(&answers);
    assert_eq!((&answer["total"], &answer["truncated"]), (&json!(19), &json!(false)));
}

#[test]
fn a_page_that_fails_fails_the_digest() {
    for (last, status) in [(Answer::json(403, r#"{"error":{}}"#), 403), (Answer::json(404, r#"{"error":{}}"#), 404)] {
        let _gateway = Gateway::new().answer(page(&[comment(1, json!({}))], Some("t"))).answer(last);
        let outcome = invoke(&CONNECTOR, "summarize_comments", r#"{"document_id":"d"}"#);
        assert!(matches!(outcome, Err(Fault::Upstream(fault)) if fault.status == status && fault.body.is_some()));
    }
    for page in ["[]", r#"{"comments":{}}"#, "not JSON"] {
        let _gateway = Gateway::new().answer(Answer::new(200, page));
        let outcome = invoke(&CONNECTOR, "summarize_comments", r#"{"document_id":"d"}"#);
        assert!(matches!(outcome, Err(Fault::Http(Error::BadAnswer(_)))), "{page}");
    }
}
