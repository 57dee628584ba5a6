//! The operations, with prepared responses of GitHub.

use connector_sdk::auth::{Auth, Revocation};
use connector_sdk::http::{Body, Error, Method};
use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Fault, Outcome, Request};
use serde_json::{Value, json};

use crate::CONNECTOR;
use crate::copy::{self, Copy};

/// 2026-01-02T03:04:05Z
const NOW: u64 = 1_767_323_045_000;

fn headers(version: &str) -> Vec<(String, String)> {
    [("Accept", "application/vnd.github+json"), ("X-GitHub-Api-Version", version)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
}

fn body(request: &Request) -> Option<&str> {
    match &request.body {
        None => None,
        Some(Body::Json(text)) => Some(text),
        other => panic!("{other:?}"),
    }
}

fn reply(operation: &str, input: &str) -> Value {
    match invoke(&CONNECTOR, operation, input) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{operation}: {other:?}"),
    }
}

fn pointer(operation: &str, input: &str) -> String {
    match invoke(&CONNECTOR, operation, input) {
        Err(Fault::InvalidInput(violations)) => violations[0].pointer.clone(),
        other => panic!("{operation} {input}: {other:?}"),
    }
}

fn paths(gateway: &Gateway) -> Vec<String> {
    gateway.requests().iter().map(|request| request.path.clone()).collect()
}

#[test]
fn functions_send_the_headers_that_rows_send() {
    let gateway = Gateway::new().answer(Answer::json(200, "[]"));
    reply("list_issues", r#"{"owner":"o","repo":"r"}"#);
    assert_eq!(gateway.requests()[0].headers, headers("2022-11-28"));
    let gateway = Gateway::new().setting("api_version", "\"2030-01-01\"").answer(Answer::json(200, "[]"));
    reply("list_issues", r#"{"owner":"o","repo":"r"}"#);
    assert_eq!(gateway.requests()[0].headers, headers("2030-01-01"));
}

#[test]
fn issues_of_a_repository_come_without_pull_requests() {
    let gateway = Gateway::new()
        .answer(Answer::json(200, r#"[{"number":3,"n":1.0},{"number":2,"pull_request":{}},{"number":1}]"#));
    let input = r#"{"owner":"o","repo":"r","sort":"updated","direction":"asc","per_page":50,
        "filters":{"state":"all","labels":["bug","ui"],"creator":"a"}}"#;
    let page = reply("list_issues", input);
    assert_eq!(page["items"], json!([{"number": 3, "n": 1.0}, {"number": 1}]));
    assert_eq!(
        page["page_info"],
        json!({"next_cursor": null, "has_next_page": false, "reverse": false, "per_page": 50})
    );
    assert_eq!(
        paths(&gateway),
        ["/repos/o/r/issues?state=all&labels=bug%2Cui&creator=a&sort=updated&direction=asc&per_page=50"]
    );
}

#[test]
fn fields_that_the_caller_leaves_out_are_not_sent() {
    let gateway = Gateway::new().answer(Answer::json(200, "[]"));
    let page = reply("list_issues", r#"{"owner":"o","repo":"r","filters":{"labels":[]}}"#);
    assert_eq!(page["page_info"]["per_page"], 30);
    assert_eq!(paths(&gateway), ["/repos/o/r/issues"]);
}

/// GitHub leads past the first 10,000 issues with `after`.
const NEXT: &str = r#"<https://api.test/repositories/1/issues?state=all&creator=a&per_page=2&after=Y3Vyc29y%3D&page=2>; rel="next", <https://api.test/x>; rel="last""#;

/// The cursor to the second page of a list.
fn cursor(input: &str) -> String {
    let _gateway = Gateway::new().answer(Answer::json(200, "[]").header("Link", NEXT));
    let page = reply("list_issues", input);
    assert_eq!(page["page_info"]["has_next_page"], true);
    page["page_info"]["next_cursor"].as_str().expect("a cursor").to_owned()
}

#[test]
fn a_cursor_leads_to_the_next_page_of_its_list() {
    let cursor = cursor(r#"{"owner":"o","repo":"r","per_page":2,"filters":{"state":"all","creator":"a"}}"#);
    let gateway = Gateway::new().answer(Answer::json(200, "[]")).answer(Answer::json(200, "[]"));
    // These requests describe the same list in other ways.
    for rest in
        [r#""owner":"O","sort":"created","per_page":2"#, r#""owner":"o","order_by":"created","direction":"desc""#]
    {
        let input =
            format!(r#"{{{rest},"repo":"r","page_cursor":"{cursor}","filters":{{"creator":"a","state":"all"}}}}"#);
        assert_eq!(reply("list_issues", &input)["page_info"]["per_page"], 2);
    }
    let query = "state=all&creator=a&per_page=2&after=Y3Vyc29y%3D&page=2";
    assert_eq!(paths(&gateway), [format!("/repos/O/r/issues?{query}"), format!("/repos/o/r/issues?{query}")]);
}

#[test]
fn a_cursor_of_another_list_is_refused() {
    let cursor = cursor(r#"{"owner":"o","repo":"r","per_page":2}"#);
    let gateway = Gateway::new();
    for (rest, expected) in [
        (r#""repo":"other""#, "/page_cursor"),
        (r#""repo":"r","reverse":true"#, "/page_cursor"),
        (r#""repo":"r","sort":"updated""#, "/page_cursor"),
        (r#""repo":"r","filters":{"state":"all"}"#, "/page_cursor"),
        (r#""repo":"r","per_page":30"#, "/per_page"),
    ] {
        let input = format!(r#"{{"owner":"o",{rest},"page_cursor":"{cursor}"}}"#);
        assert_eq!(pointer("list_issues", &input), expected, "{rest}");
    }
    assert_eq!(pointer("list_issues", r#"{"owner":"o","repo":"r","page_cursor":"2"}"#), "/page_cursor");
    assert!(gateway.requests().is_empty());
}

#[test]
fn a_reversed_list_begins_at_its_end() {
    let gateway =
        Gateway::new().answer(Answer::json(200, r#"[{"number":1},{"number":2}]"#)).answer(Answer::json(200, "[]"));
    let page = reply("list_issues", r#"{"owner":"o","repo":"r","reverse":true}"#);
    assert_eq!(page["items"], json!([{"number": 2}, {"number": 1}]));
    reply("list_issues", r#"{"owner":"o","repo":"r","reverse":true,"direction":"asc"}"#);
    assert_eq!(paths(&gateway), ["/repos/o/r/issues?direction=asc", "/repos/o/r/issues?direction=desc"]);
}

#[test]
fn sort_and_order_by_have_one_meaning() {
    let gateway = Gateway::new().answer(Answer::json(200, "[]")).answer(Answer::json(200, "[]"));
    for order in [r#""order_by":"comments""#, r#""order_by":"comments","sort":"comments""#] {
        reply("list_issues", &format!(r#"{{"owner":"o","repo":"r",{order}}}"#));
    }
    assert_eq!(paths(&gateway), ["/repos/o/r/issues?sort=comments", "/repos/o/r/issues?sort=comments"]);
    let input = r#"{"owner":"o","repo":"r","order_by":"comments","sort":"created"}"#;
    assert_eq!(pointer("list_issues", input), "/order_by");
}

#[test]
fn a_refusal_of_github_is_passed_on() {
    let _gateway = Gateway::new()
        .answer(Answer::json(404, r#"{"message":"Not Found"}"#))
        .answer(Answer::json(200, r#"{"message":"odd"}"#));
    let input = r#"{"owner":"o","repo":"r"}"#;
    let Err(Fault::Upstream(fault)) = invoke(&CONNECTOR, "list_issues", input) else { panic!("upstream") };
    assert_eq!((fault.status, fault.body.as_deref()), (404, Some(r#"{"message":"Not Found"}"#)));
    assert!(matches!(invoke(&CONNECTOR, "list_issues", input), Err(Fault::Http(Error::BadAnswer(_)))));
}

/// Comments with ids 1 to `count`, created an hour apart and updated in the opposite order.
fn comments(ids: std::ops::RangeInclusive<u64>) -> String {
    let comment = |id: u64| {
        let updated = 28 - id;
        format!(
            r#"{{"id":{id},"created_at":"2026-01-01T{id:02}:00:00Z","updated_at":"2026-02-{updated:02}T00:00:00Z"}}"#
        )
    };
    format!("[{}]", ids.map(comment).collect::<Vec<_>>().join(","))
}

fn ids(answer: &Value) -> Vec<u64> {
    answer["items"].as_array().expect("a list").iter().filter_map(|item| item["id"].as_u64()).collect()
}

const ISSUE: &str = r#""owner":"O","repo":"R","issue_number":7"#;

fn list(rest: &str) -> Value {
    reply("list_issue_comments", &format!("{{{ISSUE}{rest}}}"))
}

const NEXT_COMMENTS: &str = r#"<https://api.test/repositories/1/issues/7/comments?per_page=100&page=2>; rel="next""#;

#[test]
fn all_comments_are_read_then_filtered_sorted_and_divided_into_pages() {
    let gateway = Gateway::new()
        .now(NOW)
        .answer(Answer::json(200, &comments(1..=3)).header("link", NEXT_COMMENTS))
        .answer(Answer::json(200, &comments(4..=5)));
    let all = list("");
    assert_eq!(ids(&all), [5, 4, 3, 2, 1]);
    assert_eq!(
        (&all["total_count"], &all["page"], &all["per_page"], &all["total_pages"], &all["cached"], &all["fetched_at"]),
        (&json!(5), &json!(1), &json!(30), &json!(1), &json!(false), &json!("2026-01-02T03:04:05Z"))
    );
    assert_eq!(
        paths(&gateway),
        ["/repos/O/R/issues/7/comments?per_page=100&page=1", "/repos/O/R/issues/7/comments?per_page=100&page=2"]
    );
    // The copy answers every further call, for any filter and any case of the names.
    for (rest, expected, count, pages) in [
        (r#","direction":"asc","per_page":2,"page":2"#, &[3, 4][..], 5, 3),
        (r#","per_page":2,"page":4"#, &[], 5, 3),
        (r#","order_by":"updated_at""#, &[1, 2, 3, 4, 5], 5, 1),
        (r#","order_by":"id","direction":"asc""#, &[1, 2, 3, 4, 5], 5, 1),
        (r#","created_after":"2026-01-01T01:00:00Z","created_before":"2026-01-01T04:00:00Z""#, &[3, 2], 2, 1),
        (r#","updated_after":"2026-02-26T00:00:00Z""#, &[1], 1, 1),
        (r#","updated_before":"2026-02-01T00:00:00Z""#, &[], 0, 0),
    ] {
        let answer = list(rest);
        assert_eq!(ids(&answer), expected, "{rest}");
        assert_eq!((&answer["total_count"], &answer["total_pages"]), (&json!(count), &json!(pages)), "{rest}");
        assert_eq!(answer["cached"], true);
    }
    let other_case = reply("list_issue_comments", r#"{"owner":"o","repo":"r","issue_number":7}"#);
    assert_eq!(other_case["cached"], true);
    assert_eq!(gateway.requests().len(), 2);
}

#[test]
fn a_copy_is_used_until_it_is_too_old_or_the_caller_forces_a_refresh() {
    let gateway = Gateway::new().now(NOW).answer(Answer::json(200, &comments(1..=1)));
    list("");
    let gateway = gateway.now(NOW + 300_000);
    assert_eq!(list("")["cached"], true);
    let gateway = gateway.answer(Answer::json(200, &comments(1..=2)));
    let refreshed = list(r#","force_refresh":true"#);
    assert_eq!((ids(&refreshed).len(), &refreshed["cached"]), (2, &json!(false)));
    let gateway = gateway.now(NOW + 600_001).answer(Answer::json(200, &comments(1..=3)));
    assert_eq!(ids(&list("")).len(), 3);
    let gateway = gateway.setting("comments_max_age_s", "10").now(NOW + 620_001).answer(Answer::json(200, "[]"));
    assert_eq!(ids(&list("")).len(), 0);
    assert_eq!(gateway.requests().len(), 4);
    assert!(
        gateway.requests().iter().all(|request| request.headers.len() == 2),
        "a copy without an ETag is not confirmed"
    );
}

#[test]
fn github_confirms_an_old_copy_of_one_page() {
    let gateway = Gateway::new().now(NOW).answer(Answer::json(200, &comments(1..=2)).header("ETag", "W/\"a\""));
    list("");
    let gateway = gateway.now(NOW + 301_000).answer(Answer::new(304, ""));
    let confirmed = list("");
    assert_eq!((ids(&confirmed), &confirmed["cached"]), (vec![2, 1], &json!(true)));
    assert_eq!(confirmed["fetched_at"], "2026-01-02T03:09:06Z");
    let gateway = gateway.now(NOW + 602_000).answer(Answer::json(200, &comments(1..=3)).header("ETag", "W/\"b\""));
    let changed = list("");
    assert_eq!((ids(&changed), &changed["cached"]), (vec![3, 2, 1], &json!(false)));
    let sent: Vec<_> = gateway.requests().iter().map(|request| request.headers.get(2).cloned()).collect();
    let etag = |value: &str| Some(("If-None-Match".to_owned(), value.to_owned()));
    assert_eq!(sent, [None, etag("W/\"a\""), etag("W/\"a\"")]);
}

#[test]
fn an_old_copy_of_a_full_page_is_read_anew_because_its_etag_says_nothing_of_further_pages() {
    let full = || format!("[{}]", vec![comments(1..=1).trim_matches(['[', ']']).to_owned(); 100].join(","));
    let gateway = Gateway::new().now(NOW).answer(Answer::json(200, &full()).header("ETag", "W/\"a\""));
    assert_eq!(list("")["total_count"], 100);
    let gateway = gateway
        .now(NOW + 301_000)
        .answer(Answer::json(200, &full()).header("ETag", "W/\"a\"").header("link", NEXT_COMMENTS))
        .answer(Answer::json(200, &comments(2..=2)));
    let all = list("");
    assert_eq!((&all["total_count"], &all["cached"]), (&json!(101), &json!(false)));
    assert!(gateway.requests().iter().all(|request| request.headers.len() == 2), "no request has If-None-Match");
}

#[test]
fn a_failure_is_never_answered_from_an_old_copy() {
    let gateway = Gateway::new().now(NOW).answer(Answer::json(200, &comments(1..=2)));
    list("");
    let _gateway = gateway.answer(Answer::new(503, ""));
    let input = format!(r#"{{{ISSUE},"force_refresh":true}}"#);
    assert!(
        matches!(invoke(&CONNECTOR, "list_issue_comments", &input), Err(Fault::Upstream(fault)) if fault.status == 503)
    );
}

#[test]
fn an_issue_with_too_many_comments_is_too_large() {
    let mut gateway = Gateway::new();
    for _ in 0..60 {
        gateway = gateway.answer(Answer::json(200, &comments(1..=1)).header("link", NEXT_COMMENTS));
    }
    let found = invoke(&CONNECTOR, "list_issue_comments", &format!("{{{ISSUE}}}"));
    assert!(matches!(found, Err(Fault::Http(Error::TooLarge(_)))), "{found:?}");
    assert_eq!(gateway.requests().len(), 50);
}

#[test]
fn dates_that_no_comment_can_match_are_refused() {
    let input =
        format!(r#"{{{ISSUE},"created_after":"2026-01-02T00:00:00Z","created_before":"2026-01-02T00:00:00Z"}}"#);
    assert_eq!(pointer("list_issue_comments", &input), "/created_after");
}

#[test]
fn a_new_comment_deletes_the_copy() {
    let gateway = Gateway::new()
        .answer(Answer::json(200, &comments(1..=1)))
        .answer(Answer::json(201, r#"{"id":2,"n":1.0}"#))
        .answer(Answer::json(200, &comments(1..=2)));
    list("");
    let input = r#"{"owner":"o","repo":"r","issue_number":7,"body":"Me \"too\""}"#;
    match invoke(&CONNECTOR, "create_issue_comment", input) {
        Ok(Outcome::ReplyDocument(comment)) => assert_eq!(comment.text(), r#"{"id":2,"n":1.0}"#),
        other => panic!("{other:?}"),
    }
    assert_eq!(ids(&list("")).len(), 2);
    let requests = gateway.requests();
    assert_eq!((requests[1].method, requests[1].path.as_str()), (Method::Post, "/repos/o/r/issues/7/comments"));
    assert_eq!(body(&requests[1]), Some(r#"{"body":"Me \"too\""}"#));
}

/// Creates a comment on the issue of [`ISSUE`].
fn comment() -> Result<Outcome, Fault> {
    invoke(&CONNECTOR, "create_issue_comment", &format!(r#"{{{ISSUE},"body":"x"}}"#))
}

#[test]
fn a_comment_that_github_may_have_written_deletes_the_copy() {
    let gateway = Gateway::new().answer(Answer::json(200, &comments(1..=1)));
    list("");
    let _gateway = gateway.answer(Answer::new(502, "")).answer(Answer::json(200, &comments(1..=2)));
    assert!(matches!(comment(), Err(Fault::Upstream(fault)) if fault.status == 502));
    let listed = list("");
    assert_eq!((ids(&listed).len(), &listed["cached"]), (2, &json!(false)));
}

#[test]
fn a_copy_that_was_read_before_a_new_comment_and_stored_after_it_is_not_used() {
    let read_before = || Copy { fetched_at: NOW, etag: None, pages: vec![comments(1..=1)] };
    let key = copy::key("O", "R", 7);
    let gateway = Gateway::new()
        .now(NOW + 20)
        .answer(Answer::json(201, r#"{"id":2}"#))
        .answer(Answer::json(200, &comments(1..=2)));
    assert!(comment().is_ok());
    read_before().save(&key, 300);
    let _gateway = gateway.now(NOW + 40);
    assert_eq!(ids(&list("")).len(), 2);
    assert_eq!(list("")["cached"], true, "a copy that was read after the comment is used");
}

#[test]
fn a_comment_that_github_refuses_keeps_the_copy() {
    let gateway =
        Gateway::new().answer(Answer::json(200, &comments(1..=1))).answer(Answer::json(403, r#"{"message":"no"}"#));
    list("");
    let input = r#"{"owner":"o","repo":"r","issue_number":7,"body":"x"}"#;
    assert!(invoke(&CONNECTOR, "create_issue_comment", input).is_err());
    assert_eq!(list("")["cached"], true);
    assert_eq!(gateway.requests().len(), 2);
}

#[test]
fn the_account_is_the_user_of_the_token() {
    let gateway = Gateway::new()
        .answer(Answer::json(200, r#"{"id":583231,"login":"octocat","name":"The Octocat","email":null,"avatar_url":"https://a.test/o","company":"@github"}"#))
        .answer(Answer::json(200, r#"{"id":1,"login":"a","company":null}"#))
        .answer(Answer::json(200, r#"{"login":"a"}"#));
    assert_eq!(
        reply("userinfo", "{}"),
        json!({"data": {"id": "583231", "email": null, "username": "octocat", "name": "The Octocat", "picture": "https://a.test/o",
            "organization": {"id": null, "name": "@github"}}, "meta": null})
    );
    assert_eq!(reply("userinfo", "{}")["data"]["organization"], Value::Null);
    assert!(matches!(invoke(&CONNECTOR, "userinfo", "{}"), Err(Fault::Http(Error::BadAnswer(_)))));
    let request = &gateway.requests()[0];
    assert_eq!((request.upstream.as_str(), request.path.as_str(), request.method), ("userinfo", "", Method::Get));
    assert_eq!(request.headers, headers("2022-11-28"));
}

#[test]
fn revocation_ends_one_token_of_the_user() {
    let Auth::OAuth2(client) = &CONNECTOR.auth else { panic!("OAuth 2.0") };
    assert!(client.pkce && client.scope_separator == " ");
    assert!(matches!(client.revocation, Some(Revocation::Delete(url)) if url.ends_with("/{client_id}/token")));
}
