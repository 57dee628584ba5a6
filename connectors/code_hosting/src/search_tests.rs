//! The search over repositories, with prepared responses of GitHub.

use connector_sdk::http::Error;
use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Fault, Outcome};
use serde_json::{Value, json};

use crate::CONNECTOR;

fn search(input: &str) -> Value {
    match invoke(&CONNECTOR, "search_issues", input) {
        Ok(Outcome::Reply(text)) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{input}: {other:?}"),
    }
}

fn fault(input: &str) -> Fault {
    invoke(&CONNECTOR, "search_issues", input).expect_err("a fault")
}

fn pointers(input: &str) -> Vec<String> {
    match fault(input) {
        Fault::InvalidInput(violations) => violations.into_iter().map(|violation| violation.pointer).collect(),
        other => panic!("{input}: {other:?}"),
    }
}

fn paths(gateway: &Gateway) -> Vec<String> {
    gateway.requests().iter().map(|request| request.path.clone()).collect()
}

/// An issue that was updated on this day of January 2026.
fn issue(number: u64, day: u64, rest: &str) -> String {
    format!(
        r#"{{"number":{number},"title":"T{number}","state":"open","created_at":"2025-01-{number:02}T00:00:00Z","updated_at":"2026-01-{day:02}T12:00:00Z","comments":{number},"user":{{"login":"u{number}"}}{rest}}}"#
    )
}

fn page(issues: &[String]) -> Answer {
    Answer::json(200, &format!("[{}]", issues.join(",")))
}

/// `repository#number` of each issue.
fn names(answer: &Value) -> Vec<String> {
    let issues = answer["issues"].as_array().expect("a list");
    issues.iter().map(|issue| format!("{}#{}", issue["repository"].as_str().unwrap_or("?"), issue["number"])).collect()
}

const NEXT: &str = r#"<https://api.test/repositories/1/issues?state=all&per_page=100&page=2&after=Y3%3D>; rel="next""#;

#[test]
fn issues_of_all_repositories_are_one_list() {
    let gateway = Gateway::new()
        .setting("default_organization", "\"acme\"")
        .answer(page(&[issue(1, 9, ""), issue(2, 7, r#","pull_request":{}"#)]).header("Link", NEXT))
        .answer(page(&[issue(5, 8, "")]))
        .answer(page(&[issue(3, 2, "")]));
    let found = search(r#"{"repositories":["o/r","docs","O/R","acme/Docs"],"waiting":true}"#);
    assert_eq!(names(&found), ["o/r#1", "acme/docs#5", "o/r#3"]);
    assert_eq!((&found["total_count"], &found["truncated"]), (&json!(3), &json!(false)));
    assert_eq!(found["repositories"], json!(["o/r", "acme/docs"]));
    assert_eq!((&found["errors"], found.get("summary")), (&json!([]), None));
    assert_eq!(found["issues"][0]["user"], json!({"login": "u1"}));
    assert_eq!(
        paths(&gateway),
        [
            "/repos/o/r/issues?state=all&sort=updated&per_page=100",
            "/repos/acme/docs/issues?state=all&sort=updated&per_page=100",
            "/repos/o/r/issues?state=all&per_page=100&page=2&after=Y3%3D",
        ]
    );
    assert_eq!(gateway.requests()[0].headers.len(), 2);
    let report = |fraction: f64, message: &str| (fraction, message.to_owned());
    assert_eq!(
        gateway.progress(),
        [
            report(0.0, "0 of 2 repositories and 0 issues are read"),
            report(0.5, "1 of 2 repositories and 3 issues are read")
        ]
    );
}

#[test]
fn the_criteria_of_a_search_are_sent_to_github() {
    let gateway = Gateway::new().answer(page(&[]));
    search(
        r#"{"repositories":["o/r"],"state":"open","creator":"c","sort":"comments","direction":"asc","labels":["bug","ui"],
            "assignee":"a","milestone":3,"since":"2026-01-01"}"#,
    );
    assert_eq!(
        paths(&gateway),
        [
            "/repos/o/r/issues?state=open&sort=comments&direction=asc&creator=c&assignee=a&milestone=3&labels=bug%2Cui&since=2026-01-01T00%3A00%3A00Z&per_page=100"
        ]
    );
}

#[test]
fn a_search_includes_its_last_day() {
    let _gateway = Gateway::new().answer(page(&[issue(1, 9, ""), issue(2, 8, ""), issue(3, 7, "")]));
    assert_eq!(names(&search(r#"{"repositories":["o/r"],"until":"2026-01-08"}"#)), ["o/r#2", "o/r#3"]);
}

#[test]
fn issues_are_sorted_as_the_caller_says() {
    for (rest, expected) in [
        (r#""sort":"created""#, ["b/b#3", "a/a#2", "a/a#1"]),
        (r#""sort":"comments","direction":"asc""#, ["a/a#1", "a/a#2", "b/b#3"]),
        (r#""direction":"desc""#, ["a/a#1", "b/b#3", "a/a#2"]),
    ] {
        let _gateway =
            Gateway::new().answer(page(&[issue(1, 9, ""), issue(2, 3, "")])).answer(page(&[issue(3, 5, "")]));
        assert_eq!(names(&search(&format!(r#"{{"repositories":["a/a","b/b"],{rest}}}"#))), expected, "{rest}");
    }
}

#[test]
fn issues_are_cut_to_the_fields_that_the_caller_names() {
    let _gateway = Gateway::new().answer(page(&[issue(1, 9, "")]));
    let found = search(r#"{"repositories":["o/r"],"fields":["user.login","state"]}"#);
    assert_eq!(
        found["issues"],
        json!([{"repository": "o/r", "number": 1, "title": "T1", "state": "open", "user": {"login": "u1"}}])
    );
}

#[test]
fn an_issue_on_two_pages_is_one_result() {
    let _gateway = Gateway::new()
        .answer(page(&[issue(1, 9, ""), issue(2, 7, "")]).header("Link", NEXT))
        .answer(page(&[issue(2, 8, "")]))
        // The second page of `o/r` has shifted by one, because an issue was changed while the search read.
        .answer(page(&[issue(2, 7, ""), issue(3, 6, "")]));
    let found = search(r#"{"repositories":["o/r","o/s"],"summarize":true}"#);
    assert_eq!(names(&found), ["o/r#1", "o/s#2", "o/r#2", "o/r#3"]);
    assert_eq!((&found["total_count"], &found["summary"]["by_repository"]), (&json!(4), &json!({"o/r": 3, "o/s": 1})));
}

#[test]
fn a_summary_counts_all_issues_and_the_answer_has_five() {
    let labels = |names: &str| format!(r#","labels":[{names}]"#);
    let bug = labels(r#"{"name":"bug"},{"name":"ui"}"#);
    let _gateway = Gateway::new()
        .answer(page(&(1..=6).map(|number| issue(number, number, &bug)).collect::<Vec<_>>()))
        .answer(page(&[issue(7, 7, &labels("\"bug\""))]));
    let found = search(r#"{"repositories":["o/r","o/s"],"summarize":true}"#);
    assert_eq!((&found["total_count"], names(&found).len()), (&json!(7), 5));
    assert_eq!(names(&found)[0], "o/s#7");
    let summary = &found["summary"];
    assert_eq!(summary["by_state"], json!({"open": 7}));
    assert_eq!(summary["by_repository"].to_string(), r#"{"o/r":6,"o/s":1}"#);
    assert_eq!(summary["by_label"].to_string(), r#"{"bug":7,"ui":6}"#);
    assert_eq!(summary["by_creator"].as_object().map(serde_json::Map::len), Some(7));
    assert_eq!(
        (&summary["oldest_update"], &summary["newest_update"]),
        (&json!("2026-01-01T12:00:00Z"), &json!("2026-01-07T12:00:00Z"))
    );
}

#[test]
fn without_a_list_the_default_organization_is_searched() {
    let repository = |name: &str, rest: &str| format!(r#"{{"name":"{name}","owner":{{"login":"Acme"}}{rest}}}"#);
    let first =
        [repository("a", ""), repository("old", r#","archived":true"#), repository("off", r#","disabled":true"#)];
    let second = [repository("b", r#","has_issues":true"#), repository("wiki", r#","has_issues":false"#)];
    let next = r#"<https://api.test/organizations/9/repos?per_page=100&type=all&page=2>; rel="next""#;
    let gateway = Gateway::new()
        .setting("default_organization", "\"acme\"")
        .answer(page(&first).header("Link", next))
        .answer(page(&second))
        .answer(page(&[issue(1, 1, "")]))
        .answer(page(&[]));
    let found = search("{}");
    assert_eq!(found["repositories"], json!(["Acme/a", "Acme/b"]));
    assert_eq!(names(&found), ["Acme/a#1"]);
    let paths = paths(&gateway);
    assert_eq!(paths[..2], ["/orgs/acme/repos?per_page=100&type=all", "/orgs/acme/repos?per_page=100&type=all&page=2"]);
    assert!(paths[2].starts_with("/repos/Acme/a/issues?"), "{paths:?}");
}

#[test]
fn a_search_without_repositories_and_organization_is_refused() {
    let gateway = Gateway::new();
    assert_eq!(pointers("{}"), ["/repositories"]);
    assert_eq!(
        pointers(r#"{"repositories":["docs","a/b/c","o/r","../x","a b"]}"#),
        ["/repositories/0", "/repositories/1", "/repositories/3", "/repositories/4"]
    );
    assert!(gateway.requests().is_empty());
}

#[test]
fn criteria_that_contradict_each_other_are_refused_before_the_search() {
    let _gateway = Gateway::new().setting("default_organization", "\"acme\"");
    assert_eq!(pointers(r#"{"milestone":1}"#), ["/milestone"]);
    assert_eq!(
        pointers(r#"{"repositories":["a/a","b/b"],"milestone":1,"since":"2026-02-30"}"#),
        ["/since", "/milestone"]
    );
    assert_eq!(pointers(r#"{"since":"2026-02-02","until":"2026-02-01"}"#), ["/since"]);
}

#[test]
fn a_repository_that_cannot_be_read_does_not_hide_the_others() {
    let _gateway = Gateway::new()
        .answer(Answer::json(404, r#"{"message":"Not Found"}"#))
        .answer(Answer::new(410, "gone"))
        .answer(page(&[issue(1, 1, "")]));
    let found = search(r#"{"repositories":["o/secret","o/off","o/r"]}"#);
    assert_eq!(names(&found), ["o/r#1"]);
    assert_eq!(
        found["errors"],
        json!([
            {"repository": "o/secret", "status": 404, "message": "Not Found"},
            {"repository": "o/off", "status": 410, "message": "The service answered with status 410."},
        ])
    );
    assert_eq!(found["repositories"], json!(["o/secret", "o/off", "o/r"]));
}

#[test]
fn if_no_repository_can_be_read_the_first_refusal_is_the_answer() {
    let _gateway = Gateway::new()
        .answer(Answer::json(403, r#"{"message":"Forbidden"}"#))
        .answer(Answer::json(404, r#"{"message":"Not Found"}"#));
    let Fault::Upstream(fault) = fault(r#"{"repositories":["o/a","o/b"]}"#) else { panic!("upstream") };
    assert_eq!((fault.status, fault.body.as_deref()), (403, Some(r#"{"message":"Forbidden"}"#)));
}

#[test]
fn a_failure_that_concerns_all_repositories_ends_the_search() {
    for (status, retry_after) in [(401, None), (429, Some(9)), (500, None)] {
        let mut refusal = Answer::json(status, "{}");
        if let Some(seconds) = retry_after {
            refusal = refusal.header("retry-after", &seconds.to_string());
        }
        let _gateway = Gateway::new().answer(page(&[])).answer(refusal);
        let Fault::Upstream(fault) = fault(r#"{"repositories":["o/a","o/b"]}"#) else { panic!("upstream") };
        assert_eq!((fault.status, fault.retry_after_seconds), (status, retry_after));
    }
    let _gateway = Gateway::new().failure(Error::TimedOut);
    assert!(matches!(fault(r#"{"repositories":["o/a"]}"#), Fault::Http(Error::TimedOut)));
}

#[test]
fn a_search_sends_fewer_requests_than_the_gateway_allows() {
    let mut gateway = Gateway::new();
    for _ in 0..300 {
        gateway = gateway.answer(page(&[]).header("Link", NEXT));
    }
    let found = search(r#"{"repositories":["o/a","o/b"]}"#);
    assert_eq!((&found["truncated"], &found["total_count"]), (&json!(true), &json!(0)));
    assert_eq!(gateway.requests().len(), 250);
}

/// So many issues in pages of `per_page`. Each issue has `bytes` bytes of text.
fn many(count: u64, per_page: usize, bytes: usize) -> Gateway {
    let body = format!(r#","body":"{}""#, "x".repeat(bytes));
    let issues: Vec<String> = (0..count).map(|number| issue(number, 28 - number / 500, &body)).collect();
    let last = issues.len().div_ceil(per_page) - 1;
    let mut gateway = Gateway::new();
    for (index, chunk) in issues.chunks(per_page).enumerate() {
        let page = page(chunk);
        gateway = gateway.answer(if index < last { page.header("Link", NEXT) } else { page });
    }
    gateway
}

#[test]
fn an_answer_has_at_most_5000_issues_and_counts_all_that_match() {
    for (count, shown, is_truncated) in [(5_000, 5_000, false), (5_001, 5_000, true), (6_050, 5_000, true)] {
        let _gateway = many(count, 25, 10);
        let found = search(r#"{"repositories":["o/a"]}"#);
        assert_eq!((names(&found).len(), &found["total_count"]), (shown, &json!(count)));
        assert_eq!(found["truncated"], is_truncated, "{count}");
    }
}

#[test]
fn a_summary_counts_issues_that_the_answer_does_not_have() {
    let _gateway = many(6_050, 25, 10);
    let found = search(r#"{"repositories":["o/a"],"summarize":true}"#);
    assert_eq!((names(&found).len(), &found["total_count"], &found["truncated"]), (5, &json!(6_050), &json!(true)));
    assert_eq!(found["summary"]["by_repository"], json!({"o/a": 6_050}));
    assert_eq!(found["summary"]["oldest_update"], "2026-01-16T12:00:00Z");
}

#[test]
fn an_answer_has_at_most_28_mib_of_issues() {
    for (count, is_truncated) in [(95, false), (100, true)] {
        let _gateway = many(count, 4, 300_000);
        let found = search(r#"{"repositories":["o/a"]}"#);
        let bytes = found["issues"].to_string().len();
        assert!((26 << 20..=(28 << 20) + 200).contains(&bytes), "{bytes}");
        assert_eq!((&found["total_count"], &found["truncated"]), (&json!(count), &json!(is_truncated)));
    }
}

#[test]
fn a_search_reads_10000_issues_and_says_that_there_may_be_more() {
    let gateway = many(12_000, 50, 10);
    let found = search(r#"{"repositories":["o/a"]}"#);
    assert_eq!((&found["truncated"], &found["total_count"]), (&json!(true), &json!(10_050)));
    assert_eq!(gateway.requests().len(), 201);
}
