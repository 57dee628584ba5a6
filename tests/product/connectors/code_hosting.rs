//! The GitHub connector against a stand-in for GitHub: every operation, pagination, and the cache
//! of comments.

use serde_json::{Value, json};
use support::oauth::Account;
use support::{Dialect, Endpoint, Reply, Seen};

use super::{Connected, Row, anything, row};
use crate::integrations::path;

fn user(_: &Seen, account: &Account) -> Reply {
    Reply::json(json!({
        "id": 583_231, "login": "ada", "email": account.email, "name": "Ada L", "avatar_url": "https://img.example/a", "company": "Acme",
    }))
}

fn connected(config: &str) -> Connected {
    Connected::start("code_hosting", Dialect::github(), &[("api", "/github")], config, user)
}

fn rows() -> Vec<Row> {
    let issue = |more: Value| {
        let mut issue = json!({"owner": "octocat", "repo": "hello-world"});
        issue.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        issue
    };
    vec![
        row(
            "create_issue",
            issue(
                json!({"title": "Found a bug", "body": "Steps: …", "labels": ["bug"], "assignees": ["ada"], "milestone": 3}),
            ),
            "POST /github/repos/octocat/hello-world/issues",
            json!({"title": "Found a bug", "body": "Steps: …", "labels": ["bug"], "assignees": ["ada"], "milestone": 3}),
        ),
        row(
            "get_issue",
            issue(json!({"issue_number": 1347})),
            "GET /github/repos/octocat/hello-world/issues/1347",
            Value::Null,
        ),
        row(
            "create_issue_comment",
            issue(json!({"issue_number": 1347, "body": "Me too"})),
            "POST /github/repos/octocat/hello-world/issues/1347/comments",
            json!({"body": "Me too"}),
        ),
        row(
            "advanced_search",
            json!({"q": "org:octocat is:open (label:bug OR label:regression)", "sort": "updated", "per_page": 50}),
            "GET /github/search/issues?advanced_search=true&q=org:octocat is:open (label:bug OR label:regression)&sort=updated&per_page=50",
            Value::Null,
        ),
        row(
            "list_commits",
            issue(json!({"sha": "main", "since": "2026-03-01T00:00:00Z"})),
            "GET /github/repos/octocat/hello-world/commits?sha=main&since=2026-03-01T00:00:00Z",
            Value::Null,
        ),
        row("get_repository", issue(json!({})), "GET /github/repos/octocat/hello-world", Value::Null),
        row(
            "list_repositories",
            json!({"query": {"sort": "pushed", "per_page": 50}}),
            "GET /github/user/repos?sort=pushed&per_page=50",
            Value::Null,
        ),
        row(
            "update_issue",
            issue(json!({"issue_number": 1347, "state": "closed", "state_reason": "completed"})),
            "PATCH /github/repos/octocat/hello-world/issues/1347",
            json!({"state": "closed", "state_reason": "completed"}),
        ),
        row(
            "update_issue",
            issue(json!({"issue_number": 1347, "milestone": null, "title": null})),
            "PATCH /github/repos/octocat/hello-world/issues/1347",
            json!({"milestone": null}),
        ),
        row(
            "list_pull_requests",
            issue(json!({"query": {"state": "open"}})),
            "GET /github/repos/octocat/hello-world/pulls?state=open",
            Value::Null,
        ),
        row(
            "get_commit",
            issue(json!({"ref": "feature/a b"})),
            "GET /github/repos/octocat/hello-world/commits/feature/a%20b",
            Value::Null,
        ),
        row(
            "get_file_contents",
            issue(json!({"path": "docs/README.md", "ref": "main"})),
            "GET /github/repos/octocat/hello-world/contents/docs/README.md?ref=main",
            Value::Null,
        ),
    ]
}

#[test]
fn every_thin_operation_is_the_services_request() {
    let connected = connected("");
    connected.check_complete(&rows(), &["list_issues", "list_issue_comments", "search_issues", "userinfo"]);
    connected.check(&rows(), &anything());
    for seen in connected.provider.api_calls() {
        assert_eq!(seen.header("x-github-api-version"), "2022-11-28");
        assert!(!seen.header("user-agent").is_empty(), "GitHub refuses requests without it");
    }
}

/// Of a thin operation and of a composed one.
#[test]
fn a_control_character_in_a_value_of_a_path_is_a_mistake_of_the_caller() {
    let connected = connected("");
    let before = connected.provider.api_calls().len();
    for value in ["a\u{0}", "a\nb", "a%0Ab", "%250d"] {
        for (operation, more) in [("get_repository", json!({})), ("list_issues", json!({}))] {
            let mut body = more;
            body["owner"] = json!("octocat");
            body["repo"] = json!(value);
            let violations = connected.call(operation, body).violations();
            assert_eq!(violations.len(), 1, "{operation} {value:?}");
            assert_eq!(violations[0].0, "/repo", "{operation} {value:?}");
        }
    }
    assert_eq!(connected.provider.api_calls().len(), before, "nothing was sent");
}

#[test]
fn the_account_is_shown_in_the_common_shape() {
    let connected = connected("");
    assert_eq!(connected.record()["account"], json!({"id": "583231", "email": "ada@example.com", "name": "Ada L"}));
    let expected = json!({"data": {
        "id": "583231", "email": "ada@example.com", "username": "ada", "name": "Ada L", "picture": "https://img.example/a",
        "organization": {"id": null, "name": "Acme"},
    }, "meta": null});
    assert_eq!(connected.call("userinfo", json!({})).ok(), expected);
}

/// Pages of issues or comments with GitHub's Link headers: page `page` of `per_page` items each, of
/// `total` items.
fn pages(seen: &Seen, total: usize, item: impl Fn(usize) -> Value) -> Reply {
    let number = |name: &str, default: usize| seen.parameter(name).map_or(default, |text| text.parse().unwrap());
    let (page, size) = (number("page", 1), number("per_page", 30));
    let items: Vec<Value> = (0..total).skip((page - 1) * size).take(size).map(item).collect();
    let last = total.div_ceil(size).max(1);
    let base = format!("http://{}{}", seen.header("host"), seen.path);
    let link = |page: usize, rel: &str| format!("<{base}?page={page}&per_page={size}>; rel=\"{rel}\"");
    let reply = Reply::json(json!(items));
    if page < last {
        reply.header("link", &format!("{}, {}", link(page + 1, "next"), link(last, "last")))
    } else {
        reply.header("link", &link(1, "first"))
    }
}

fn issue(number: usize) -> Value {
    let mut issue = json!({
        "number": number, "title": format!("Issue {number}"), "state": "open", "comments": number,
        "created_at": format!("2026-01-{:02}T00:00:00Z", number % 28 + 1), "updated_at": format!("2026-02-{:02}T00:00:00Z", number % 28 + 1),
        "user": {"login": "ada"}, "labels": [{"name": "bug"}],
    });
    if number % 5 == 4 {
        issue["pull_request"] = json!({"url": "x"});
    }
    issue
}

#[test]
fn issues_are_listed_by_cursor_to_the_end() {
    let connected = connected("");
    connected.provider.on_api(|seen, _| pages(seen, 25, issue));
    let mut input = json!({"owner": "octocat", "repo": "hello-world", "per_page": 10});
    let mut found = Vec::new();
    loop {
        let page = connected.call("list_issues", input.clone()).ok();
        found.extend(page["items"].as_array().unwrap().iter().map(|issue| issue["number"].as_u64().unwrap()));
        if page["page_info"]["has_next_page"] != true {
            break;
        }
        input["page_cursor"] = page["page_info"]["next_cursor"].clone();
    }
    assert_eq!(
        found,
        (0..25).filter(|number| number % 5 != 4).collect::<Vec<u64>>(),
        "all issues once, without pull requests"
    );
    connected.call("list_issues", json!({"owner": "o", "repo": "r", "page_cursor": "made up"})).violations();
}

fn comment(number: usize) -> Value {
    json!({
        "id": number, "body": format!("Comment {number}"), "user": {"login": "ada"},
        "created_at": format!("2026-01-{:02}T00:00:00Z", number % 28 + 1), "updated_at": format!("2026-01-{:02}T12:00:00Z", number % 28 + 1),
    })
}

#[test]
fn comments_come_from_the_cache_until_it_is_refreshed_or_dropped() {
    let connected = connected("");
    connected.provider.on_api(|seen, _| {
        if seen.method == "GET" { pages(seen, 150, comment) } else { Reply::json(comment(150)).status(201) }
    });
    let list = |more: Value| {
        let mut input = json!({"owner": "octocat", "repo": "hello-world", "issue_number": 7});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let before = connected.provider.api_calls().len();
        let answer = connected.call("list_issue_comments", input).ok();
        (answer, connected.provider.api_calls().len() - before)
    };
    let (first, calls) = list(json!({}));
    assert_eq!((calls, &first["cached"], &first["total_count"]), (2, &json!(false), &json!(150)));
    assert_eq!((&first["page"], &first["per_page"], &first["total_pages"]), (&json!(1), &json!(30), &json!(5)));
    let (second, calls) = list(json!({"page": 5, "per_page": 30, "direction": "asc", "order_by": "id"}));
    assert_eq!((calls, &second["cached"]), (0, &json!(true)));
    let ids: Vec<u64> =
        second["items"].as_array().unwrap().iter().map(|comment| comment["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (120..150).collect::<Vec<u64>>());
    assert_eq!(list(json!({"force_refresh": true})).1, 2);
    assert_eq!(list(json!({"created_after": "2026-01-28T00:00:00Z"})).0["total_count"], 0, "strictly later");
    connected
        .call(
            "create_issue_comment",
            json!({"owner": "octocat", "repo": "hello-world", "issue_number": 7, "body": "x"}),
        )
        .ok();
    assert_eq!(list(json!({})).0["cached"], false);
    connected.call("list_issue_comments", json!({"owner": "o", "repo": "r", "issue_number": 7, "created_after": "2026-01-02T00:00:00Z", "created_before": "2026-01-01T00:00:00Z"})).violations();
}

#[test]
fn issues_are_searched_in_several_repositories() {
    let connected = connected("settings = { default_organization = \"acme\" }");
    connected.provider.on_api(|seen, _| match seen.path.as_str() {
        "/api/github/repos/octocat/hello-world/issues" | "/api/github/repos/acme/docs/issues" => pages(seen, 10, issue),
        _ => Reply::json(json!({"message": "Not Found"})).status(404),
    });
    let input =
        json!({"repositories": ["octocat/hello-world", "docs", "acme/gone"], "waiting": true, "fields": ["state"]});
    let answer = connected.call("search_issues", input).ok();
    assert_eq!(answer["total_count"], 16, "{answer}");
    assert_eq!(answer["errors"].as_array().unwrap().len(), 1);
    assert_eq!(answer["errors"][0]["repository"], "acme/gone");
    for issue in answer["issues"].as_array().unwrap() {
        let mut members: Vec<&String> = issue.as_object().unwrap().keys().collect();
        members.sort_unstable();
        assert_eq!(members, ["number", "repository", "state", "title"]);
    }
    let summary =
        connected.call("search_issues", json!({"repositories": ["docs"], "waiting": true, "summarize": true})).ok();
    assert_eq!(summary["issues"].as_array().unwrap().len(), 5);
    assert!(summary["summary"]["by_state"].is_object(), "{summary}");
}

/// Issues of GitHub have some 5 KB. The answer has 24 MB, and an invocation 32 MiB of memory.
#[test]
fn a_search_answers_with_5000_issues_of_full_size() {
    // The gateway of the tests is not optimised, and what it does for the connector counts.
    let connected = connected("limits.cpu_ms = 10000");
    let body = "x".repeat(4_500);
    connected.provider.on_api(move |seen, _| {
        pages(seen, 7_000, |number| {
            let mut issue = issue(number);
            issue["body"] = json!(body);
            issue
        })
    });
    let answer = connected.call("search_issues", json!({"repositories": ["o/r"], "waiting": true})).ok();
    // Every fifth is a pull request.
    assert_eq!((&answer["total_count"], &answer["truncated"]), (&json!(5_600), &json!(true)));
    assert_eq!(answer["issues"].as_array().unwrap().len(), 5_000);
}

#[test]
fn githubs_rate_limits_are_passed_on_with_the_time_to_wait() {
    let connected = connected("");
    connected.provider.on_api(|_, _| {
        Reply::json(json!({"message": "API rate limit exceeded"}))
            .status(403)
            .header("x-ratelimit-remaining", "0")
            .header("retry-after", "30")
    });
    let answer = connected.call("get_repository", json!({"owner": "o", "repo": "r"}));
    let problem = answer.problem(429, "upstream-rate-limited");
    assert_eq!((answer.header("retry-after"), &problem["retryable"]), ("30", &json!(true)));
    assert_eq!(problem["upstream"]["body"]["message"], "API rate limit exceeded");
    let detail = "The upstream answered 403 Forbidden. The service limits the rate of calls; try again in 30 s.";
    assert_eq!(problem["detail"], detail);
}

#[test]
fn a_rate_limit_that_github_tells_in_the_body_alone_is_one_for_every_kind_of_operation() {
    let connected = connected("");
    let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
    connected.provider.on_api(move |_, _| Reply::json(json!({"message": message})).status(403));
    for (operation, body) in [
        ("get_repository", json!({"owner": "o", "repo": "r"})),
        ("search_issues", json!({"repositories": ["o/r"], "waiting": true})),
    ] {
        let answer = connected.call(operation, body);
        let problem = answer.problem(429, "upstream-rate-limited");
        assert_eq!(problem["upstream"], json!({"status": 403, "body": {"message": message}}), "{operation}");
        assert_eq!(answer.header("retry-after"), "", "GitHub did not say when to try again: {operation}");
        // The function `search_issues` writes its own detail.
        if operation == "get_repository" {
            let detail = "The upstream answered 403 Forbidden. The service limits the rate of calls; try again later.";
            assert_eq!(problem["detail"], detail);
        }
    }
}

#[test]
fn the_next_page_is_found_in_any_line_of_the_header_link() {
    let connected = connected("");
    connected.provider.on_api(|seen, _| {
        let link =
            |page: u32, rel: &str| format!("<http://{}{}?page={page}>; rel=\"{rel}\"", seen.header("host"), seen.path);
        match seen.parameter("page").as_deref() {
            Some("2") => Reply::json(json!([issue(2)])),
            _ => Reply::json(json!([issue(1)])).header("link", &link(2, "last")).header("link", &link(2, "next")),
        }
    });
    let answer = connected.call("search_issues", json!({"repositories": ["o/r"], "waiting": true})).ok();
    assert_eq!(answer["total_count"], 2, "{answer}");
}

#[test]
fn githubs_token_answers_are_requested_as_json_and_errors_inside_a_200_are_understood() {
    let connected = connected("");
    connected.provider.expire();
    connected.call("get_repository", json!({"owner": "o", "repo": "r"})).ok();
    assert_eq!((connected.provider.count(Endpoint::Refresh), connected.provider.reuses()), (1, 0));
    connected.provider.withdraw();
    connected.call("get_repository", json!({"owner": "o", "repo": "r"})).problem(424, "reauthorization-required");
}

#[test]
fn disconnecting_deletes_the_token_at_github() {
    let connected = connected("");
    assert_eq!(connected.client.delete(&path("code_hosting", "ada")).ok(), json!({"deleted": true, "revoked": true}));
    assert_eq!(connected.provider.live_grants(), 0);
    let seen = connected.provider.seen().pop().unwrap();
    let url = format!("/applications/{}/token", connected.provider.dialect().client_id);
    assert_eq!((seen.method.as_str(), seen.path), ("DELETE", url), "only this token, not every token of the user");
}
