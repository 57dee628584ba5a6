//! The webhook and the activity of a repository, with prepared responses of GitHub.

use connector_sdk::http::{Body, Method};
use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Fault, Outcome, Request};
use serde_json::{Value, json};

use crate::CONNECTOR;

fn reply(operation: &str, input: &Value) -> Value {
    match invoke(&CONNECTOR, operation, &input.to_string()) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{operation}: {other:?}"),
    }
}

fn status(operation: &str, input: &Value) -> u16 {
    match invoke(&CONNECTOR, operation, &input.to_string()) {
        Err(Fault::Upstream(refusal)) => refusal.status,
        other => panic!("{operation}: {other:?}"),
    }
}

fn parameters() -> Value {
    json!({"owner": "o", "repo": "r"})
}

fn hook(id: &str) -> Value {
    json!({"upstream_id": id, "state": null, "parameters": parameters()})
}

fn sent(gateway: &Gateway) -> Vec<(Method, String)> {
    gateway.requests().iter().map(|request| (request.method, request.path.clone())).collect()
}

fn body(request: &Request) -> Value {
    match &request.body {
        Some(Body::Json(text)) => serde_json::from_str(text).expect("JSON"),
        other => panic!("{other:?}"),
    }
}

const KINDS: [&str; 4] = ["issues", "pull_request_review_comment", "issues/opened", "issue_comment"];

#[test]
fn the_types_of_a_repository_share_a_webhook_with_the_events_of_all() {
    let gateway = Gateway::new().answer(Answer::json(201, r#"{"id":12345678901234567890,"ping_url":"x"}"#));
    let made = reply("create_hook", &json!({"parameters": parameters(), "kinds": KINDS}));
    assert_eq!(made, json!({"upstream_id": "12345678901234567890"}));
    assert_eq!(sent(&gateway), [(Method::Post, "/repos/o/r/hooks".to_owned())]);
    assert_eq!(gateway.requests()[0].headers.len(), 2, "the headers of rows");
    assert_eq!(
        body(&gateway.requests()[0]),
        json!({
            "name": "web", "active": true, "events": ["issue_comment", "issues", "pull_request_review_comment"],
            "config": {"url": "{{hook.url}}", "content_type": "json", "secret": "{{hook.secret}}", "insecure_ssl": "0"}
        })
    );
}

#[test]
fn a_renewal_replaces_the_events_of_the_webhook() {
    let gateway =
        Gateway::new().answer(Answer::json(200, r#"{"id":7}"#)).answer(Answer::json(404, r#"{"message":"Not Found"}"#));
    let mut input = hook("7");
    input["kinds"] = json!(["push"]);
    assert_eq!(reply("update_hook", &input), json!({"upstream_id": "7"}));
    assert_eq!(sent(&gateway), [(Method::Patch, "/repos/o/r/hooks/7".to_owned())]);
    let body = body(&gateway.requests()[0]);
    assert_eq!(
        (&body["events"], &body["name"], &body["config"]["url"]),
        (&json!(["push"]), &Value::Null, &json!("{{hook.url}}"))
    );
    assert_eq!(status("update_hook", &input), 404, "the webhook is made anew");
}

#[test]
fn a_webhook_is_deleted_or_was_deleted_before() {
    let gateway = Gateway::new()
        .answer(Answer::new(204, ""))
        .answer(Answer::json(404, r#"{"message":"Not Found"}"#))
        .answer(Answer::json(403, r#"{"message":"no"}"#));
    assert_eq!(reply("delete_hook", &hook("7")), json!({}));
    assert_eq!(reply("delete_hook", &hook("7")), json!({}));
    assert_eq!(status("delete_hook", &hook("7")), 403);
    assert_eq!(sent(&gateway)[0], (Method::Delete, "/repos/o/r/hooks/7".to_owned()));
}

#[test]
fn a_user_who_may_not_make_webhooks_gets_githubs_refusal() {
    for refused in [403, 404] {
        let _gateway = Gateway::new().answer(Answer::json(refused, r#"{"message":"no"}"#));
        assert_eq!(status("create_hook", &json!({"parameters": parameters(), "kinds": ["push"]})), refused);
    }
}

fn webhooks(urls: [&str; 2]) -> Answer {
    let [first, second] = urls.map(|url| json!({"url": url, "content_type": "json", "secret": "********"}));
    Answer::json(200, &json!([{"id": 5, "config": first}, {"id": 7, "config": second}]).to_string())
}

#[test]
fn a_webhook_about_which_the_answer_was_lost_is_the_one_with_the_masked_address() {
    let masked = "*".repeat(50);
    let gateway = Gateway::new()
        .answer(Answer::json(422, r#"{"message":"Validation Failed"}"#))
        .answer(webhooks(["https://ci.example/hook", &masked]))
        .answer(Answer::json(200, r#"{"id":7}"#));
    let made = reply("create_hook", &json!({"parameters": parameters(), "kinds": ["push"]}));
    assert_eq!(made, json!({"upstream_id": "7"}));
    let path = |path: &str| format!("/repos/o/r/hooks{path}");
    assert_eq!(
        sent(&gateway),
        [(Method::Post, path("")), (Method::Get, path("?per_page=100")), (Method::Patch, path("/7"))]
    );
    assert_eq!(body(&gateway.requests()[2])["events"], json!(["push"]));
}

#[test]
fn a_webhook_of_another_application_is_not_taken_for_the_gateways() {
    let gateway = Gateway::new()
        .answer(Answer::json(422, r#"{"message":"Validation Failed"}"#))
        .answer(webhooks(["https://ci.example/hook?token=********", ""]));
    assert_eq!(status("create_hook", &json!({"parameters": parameters(), "kinds": ["push"]})), 422);
    assert_eq!(gateway.requests().len(), 2);
}

fn delivery(id: u64, guid: &str, status: u16) -> Value {
    json!({"id": id, "guid": guid, "status_code": status, "status": "?", "event": "issues"})
}

#[test]
fn each_failed_delivery_is_sent_again_once() {
    let failed = || {
        Answer::json(
            200,
            &json!([
                delivery(5, "c", 503),
                delivery(4, "b", 500),
                delivery(3, "a", 200),
                delivery(2, "a", 502),
                delivery(1, "b", 502)
            ])
            .to_string(),
        )
    };
    let gateway = Gateway::new()
        .answer(failed())
        .answer(Answer::json(202, "{}"))
        .answer(Answer::json(404, r#"{"message":"Not Found"}"#))
        .answer(failed());
    assert_eq!(reply("redeliver", &hook("7")), json!({}));
    assert_eq!(reply("redeliver", &hook("7")), json!({}));
    let list = || (Method::Get, "/repos/o/r/hooks/7/deliveries?status=failure&per_page=100".to_owned());
    let again = |id: u64| (Method::Post, format!("/repos/o/r/hooks/7/deliveries/{id}/attempts"));
    assert_eq!(sent(&gateway), [list(), again(5), again(4), list()]);
}

#[test]
fn a_repetition_that_failed_is_another_delivery() {
    let gateway = Gateway::new()
        .answer(Answer::json(200, &json!([delivery(1, "a", 502)]).to_string()))
        .answer(Answer::json(202, "{}"))
        .answer(Answer::json(200, &json!([delivery(2, "a", 502), delivery(1, "a", 502)]).to_string()))
        .answer(Answer::json(202, "{}"));
    reply("redeliver", &hook("7"));
    reply("redeliver", &hook("7"));
    assert_eq!(sent(&gateway)[3].1, "/repos/o/r/hooks/7/deliveries/2/attempts");
}

#[test]
fn many_failed_deliveries_are_sent_again_by_several_calls() {
    let next = r#"<https://api.github.test/repositories/2/hooks/7/deliveries?cursor=c>; rel="next""#;
    let mut gateway = Gateway::new();
    for call in 1..=3_u64 {
        // The list still has those that earlier calls have sent again.
        for page in 0..2 * call {
            let ids = page * 100..page * 100 + 100;
            let failed: Vec<Value> = ids.map(|id| delivery(id, &format!("g{id}"), 502)).collect();
            let answer = Answer::json(200, &json!(failed).to_string());
            gateway = gateway.answer(if page < 5 { answer.header("Link", next) } else { answer });
        }
        for _ in 0..200 {
            gateway = gateway.answer(Answer::json(202, "{}"));
        }
        let before = gateway.requests().len();
        reply("redeliver", &hook("7"));
        assert!(gateway.requests().len() - before < 256, "call {call}");
    }
    let again: Vec<String> =
        sent(&gateway).into_iter().filter(|(method, _)| *method == Method::Post).map(|(_, path)| path).collect();
    let expected: Vec<String> = (0..600).map(|id| format!("/repos/o/r/hooks/7/deliveries/{id}/attempts")).collect();
    assert_eq!(again, expected);
}

#[test]
fn a_repetition_that_github_refuses_is_tried_again() {
    let failed = || Answer::json(200, &json!([delivery(1, "a", 502)]).to_string());
    let gateway = Gateway::new()
        .answer(failed())
        .answer(Answer::json(403, r#"{"message":"rate limit"}"#))
        .answer(failed())
        .answer(Answer::json(202, "{}"));
    assert_eq!(status("redeliver", &hook("7")), 403);
    reply("redeliver", &hook("7"));
    assert_eq!(gateway.requests().len(), 4);
}

fn event(id: u64, of_github: &str, payload: Value) -> Value {
    json!({
        "id": id.to_string(), "type": of_github, "payload": payload, "created_at": "2026-01-02T03:04:05Z",
        "actor": {"id": 1, "login": "a"}, "repo": {"id": 2, "name": "o/r", "url": "x"}
    })
}

fn pushes(ids: &[u64]) -> Answer {
    let events: Vec<Value> = ids.iter().map(|id| event(*id, "PushEvent", json!({"ref": "refs/heads/main"}))).collect();
    Answer::json(200, &json!(events).to_string()).header("ETag", "W/\"e\"")
}

fn read(cursor: &Value, limit: usize) -> Value {
    reply("read_activity", &json!({"parameters": parameters(), "cursor": cursor, "hint": null, "limit": limit}))
}

fn ids(reading: &Value) -> Vec<&str> {
    reading["events"].as_array().expect("events").iter().filter_map(|event| event["id"].as_str()).collect()
}

#[test]
fn activity_has_the_form_of_notifications() {
    let comment = event(12, "IssueCommentEvent", json!({"action": "created", "comment": {"id": 7}}));
    let star = event(13, "WatchEvent", json!({"action": "started"}));
    let _gateway = Gateway::new().answer(pushes(&[10])).answer(Answer::json(
        200,
        &json!([star, comment, event(11, "PushEvent", json!({"ref": "x"})), event(10, "PushEvent", json!({}))])
            .to_string(),
    ));
    let first = read(&Value::Null, 10);
    assert_eq!((ids(&first), &first["more"], &first["gap"]), (vec![], &json!(false), &json!(false)));
    let second = read(&first["cursor"], 10);
    assert_eq!(ids(&second), ["11", "12"]);
    assert_eq!(second["events"][0]["kind"], "push");
    assert_eq!(
        second["events"][1],
        json!({
            "id": "12", "kind": "issue_comment/created", "time": "2026-01-02T03:04:05Z",
            "data": {
                "action": "created", "comment": {"id": 7},
                "repository": {"name": "r", "full_name": "o/r", "owner": {"login": "o"}}, "sender": {"id": 1, "login": "a"}
            }
        })
    );
}

#[test]
fn an_unchanged_list_is_not_read_and_github_may_ask_for_a_longer_wait() {
    let gateway = Gateway::new()
        .answer(pushes(&[10]))
        .answer(Answer::new(304, "").header("X-Poll-Interval", "120"))
        .answer(pushes(&[11, 10]));
    let first = read(&Value::Null, 10);
    let second = read(&first["cursor"], 10);
    assert_eq!(ids(&second), Vec::<&str>::new());
    assert_eq!(read(&second["cursor"], 10)["cursor"], second["cursor"], "too early");
    assert_eq!(gateway.requests().len(), 2);
    let gateway = gateway.now(120_000);
    assert_eq!(ids(&read(&second["cursor"], 10)), ["11"]);
    let etags: Vec<_> = gateway.requests().iter().map(|request| request.headers.get(2).cloned()).collect();
    let etag = || Some(("If-None-Match".to_owned(), "W/\"e\"".to_owned()));
    assert_eq!(etags, [None, etag(), etag()]);
    assert_eq!(sent(&gateway)[0].1, "/repos/o/r/events?per_page=100");
}

#[test]
fn events_over_the_limit_follow_in_the_next_read() {
    let _gateway = Gateway::new().answer(pushes(&[1])).answer(pushes(&[4, 3, 2, 1])).answer(pushes(&[4, 3, 2, 1]));
    let first = read(&Value::Null, 2);
    let second = read(&first["cursor"], 2);
    assert_eq!(
        (ids(&second), &second["more"], &second["cursor"]["etag"]),
        (vec!["2", "3"], &json!(true), &Value::Null)
    );
    let third = read(&second["cursor"], 2);
    assert_eq!((ids(&third), &third["more"]), (vec!["4"], &json!(false)));
}

#[test]
fn an_event_that_comes_late_is_new_and_one_that_was_hidden_is_not() {
    let _gateway = Gateway::new().answer(pushes(&[9, 7])).answer(pushes(&[9, 8, 7, 6]));
    let first = read(&Value::Null, 10);
    assert_eq!(ids(&read(&first["cursor"], 10)), ["8"]);
}

#[test]
fn activity_that_github_no_longer_lists_is_a_gap() {
    let next = r#"<https://api.github.test/repositories/2/events?per_page=100&page=2>; rel="next""#;
    let gateway = Gateway::new()
        .answer(pushes(&[1]))
        .answer(pushes(&[9, 8]).header("Link", next))
        .answer(pushes(&[7]).header("Link", next))
        .answer(pushes(&[6]).header("Link", next));
    let first = read(&Value::Null, 10);
    let second = read(&first["cursor"], 10);
    assert_eq!((ids(&second), &second["gap"]), (vec!["6", "7", "8", "9"], &json!(true)));
    assert_eq!(sent(&gateway)[2].1, "/repos/o/r/events?per_page=100&page=2");
}

#[test]
fn a_repository_without_events_for_a_long_time_has_no_gap() {
    const DAY: u64 = 86_400_000;
    let gateway = Gateway::new().answer(pushes(&[1])).answer(Answer::new(304, "")).answer(pushes(&[9]));
    let first = read(&Value::Null, 10);
    let gateway = gateway.now(20 * DAY);
    let second = read(&first["cursor"], 10);
    // GitHub has dropped the first event for its age.
    let gateway = gateway.now(40 * DAY);
    let third = read(&second["cursor"], 10);
    assert_eq!((ids(&third), &third["gap"]), (vec!["9"], &json!(false)));
    let _gateway = gateway.now(80 * DAY).answer(pushes(&[20]));
    let fourth = read(&third["cursor"], 10);
    assert_eq!((ids(&fourth), &fourth["gap"]), (vec!["20"], &json!(true)), "events between the reads may be too old");
}

#[test]
fn activity_that_the_user_may_not_read_is_refused_with_githubs_status() {
    let _gateway = Gateway::new().answer(Answer::json(404, r#"{"message":"Not Found"}"#));
    let input = json!({"parameters": parameters(), "cursor": null, "limit": 1});
    assert_eq!(status("read_activity", &input), 404);
}

fn installations(selection: &str) -> Value {
    json!({"total_count": 3, "installations": [
        {"id": 1, "account": {"login": "other"}, "repository_selection": "all", "suspended_at": null},
        {"id": 2, "account": {"login": "O"}, "repository_selection": "all", "suspended_at": "2026-01-02T03:04:05Z"},
        {"id": 12345678901234567890_u64, "account": {"login": "O"}, "repository_selection": selection, "suspended_at": null},
    ]})
}

fn found() -> Value {
    json!({"installation_id": "12345678901234567890", "repository_id": "7"})
}

fn find_installation() -> Value {
    reply("find_installation", &json!({"parameters": parameters()}))
}

#[test]
fn an_installation_on_all_repositories_covers_one_that_the_user_sees() {
    let repository =
        |owner: &str| Answer::json(200, &json!({"id": 7, "name": "R", "owner": {"login": owner}}).to_string());
    let all = || Answer::json(200, &installations("all").to_string());
    let gateway = Gateway::new()
        .answer(all())
        .answer(repository("O"))
        .answer(all())
        .answer(Answer::json(404, r#"{"message":"Not Found"}"#))
        .answer(all())
        .answer(repository("new owner"));
    assert_eq!(find_installation(), found());
    assert_eq!(find_installation(), json!({}), "the user does not see it");
    assert_eq!(find_installation(), json!({}), "it has moved");
    let paths: Vec<String> = sent(&gateway).into_iter().map(|(_, path)| path).collect();
    assert_eq!(paths[..2], ["/user/installations?per_page=100", "/repos/o/r"]);
}

#[test]
fn an_installation_on_some_repositories_covers_those_that_github_lists() {
    let next = r#"<https://api.github.test/user/installations/1/repositories?page=2>; rel="next""#;
    let page = |id: u64, name: &str| {
        Answer::json(200, &json!({"repositories": [{"id": id, "name": name, "owner": {"login": "O"}}]}).to_string())
    };
    let gateway = Gateway::new()
        .answer(Answer::json(200, &installations("selected").to_string()))
        .answer(page(6, "another").header("Link", next))
        .answer(page(7, "R"))
        .answer(Answer::json(200, &installations("selected").to_string()))
        .answer(page(6, "another"));
    assert_eq!(find_installation(), found(), "GitHub does not distinguish the case of names");
    let of_installation = "/user/installations/12345678901234567890/repositories";
    assert_eq!(sent(&gateway)[1].1, format!("{of_installation}?per_page=100"));
    assert_eq!(sent(&gateway)[2].1, format!("{of_installation}?page=2"));
    assert_eq!(find_installation(), json!({}));
}

#[test]
fn a_token_that_is_not_of_an_app_sees_no_installation_and_a_rate_limit_proves_nothing() {
    let refused =
        || Answer::json(403, r#"{"message":"You must authenticate with an access token authorized to a GitHub App"}"#);
    let _gateway = Gateway::new()
        .answer(refused())
        .answer(refused().header("X-RateLimit-Remaining", "0"))
        .answer(refused().header("Retry-After", "60"))
        .answer(Answer::json(200, &json!({"installations": []}).to_string()));
    assert_eq!(find_installation(), json!({}));
    for _ in 0..2 {
        assert_eq!(status("find_installation", &json!({"parameters": parameters()})), 429);
    }
    assert_eq!(find_installation(), json!({}), "the App is not installed");
}
