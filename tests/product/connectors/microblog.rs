//! The X connector against a stand-in for X, which wants PKCE, HTTP Basic and a new refresh token
//! for every refresh.

use serde_json::{Value, json};
use support::oauth::Account;
use support::{Dialect, Endpoint, Reply, Seen};

use super::Connected;

/// X's answer about the owner of a token.
fn user(_: &Seen, account: &Account) -> Reply {
    Reply::json(json!({"data": {
        "id": "7", "name": account.name, "username": "ada", "profile_image_url": "https://img.example/a",
    }}))
}

fn connected() -> Connected {
    Connected::start("microblog", Dialect::basic(), &[("api", "/2")], "", user)
}

/// X's refusal for its rate limit, which ends with the year 2099.
fn limited() -> Reply {
    let problem =
        json!({"title": "Too Many Requests", "detail": "Too Many Requests", "type": "about:blank", "status": 429});
    let reply = Reply::json(problem).status(429).header("x-rate-limit-remaining", "0");
    reply.header("x-rate-limit-reset", "4102444800")
}

/// A post of the conversation `1000`, with the members of X's posts and the size of a long one.
fn post(id: u64) -> Value {
    let annotation =
        json!({"start": 0, "end": 23, "probability": 0.9812, "type": "Person", "normalized_text": "Ada Lovelace"});
    json!({
        "id": id.to_string(), "conversation_id": "1000", "author_id": "7", "text": "ü".repeat(280), "lang": "de",
        "created_at": "2026-01-01T00:00:00.000Z",
        "public_metrics": {"retweet_count": 1, "reply_count": 2, "like_count": 3, "quote_count": 4, "bookmark_count": 5},
        "entities": {"annotations": vec![annotation; 20]},
        "referenced_posts": [{"type": "replied_to", "id": (id - 1).to_string()}],
    })
}

#[test]
fn the_account_is_the_users_and_its_token_is_refreshed() {
    let connected = connected();
    assert_eq!(connected.record()["account"], json!({"id": "7", "email": null, "name": "ADA"}));
    let asked = connected.provider.api_calls().pop().unwrap();
    assert_eq!((asked.path.as_str(), asked.query.as_str()), ("/api/2/users/me", "user.fields=profile_image_url"));
    let expected = json!({"data": {
        "id": "7", "email": null, "username": "ada", "name": "ADA", "picture": "https://img.example/a", "organization": null,
    }, "meta": null});
    connected.provider.expire();
    assert_eq!(connected.call("userinfo", json!({})).ok(), expected);
    assert_eq!((connected.provider.count(Endpoint::Refresh), connected.provider.reuses()), (1, 0));
}

#[test]
fn an_empty_search_is_refused_before_it_is_sent() {
    let connected = connected();
    let sent = connected.provider.api_calls().len();
    for body in [json!({"query": ""}), json!({})] {
        let violations = connected.call("tweet_counts", body).violations();
        assert_eq!((violations.len(), violations[0].0.as_str()), (1, "/query"), "{violations:?}");
    }
    assert_eq!(connected.provider.api_calls().len(), sent);
}

#[test]
fn disconnecting_revokes_the_token() {
    let connected = connected();
    // X gives no email address, which is the identifier of other integrations.
    let integration =
        format!("/connectors/microblog/integrations/{}", connected.record()["user_identifier"].as_str().unwrap());
    assert_eq!(connected.client.delete(&integration).ok(), json!({"deleted": true, "revoked": true}));
    assert_eq!(connected.provider.live_grants(), 0);
}

#[test]
fn a_thread_of_a_thousand_posts_fits_the_limits_of_an_invocation() {
    let connected = connected();
    connected.provider.on_api(|seen, _| {
        if seen.path == "/api/2/tweets/1000" {
            return Reply::json(json!({"data": {"id": "1000", "conversation_id": "1000", "text": "first"}}));
        }
        let page: u64 = seen.parameter("next_token").map_or(0, |token| token.parse().unwrap());
        // X gives the newest posts first.
        let posts: Vec<Value> = (0..100).map(|number| post(2000 - page * 100 - number)).collect();
        let users: Vec<Value> = (0..100).map(|number| json!({"id": number.to_string(), "name": "N", "username": "u"})).collect();
        Reply::json(json!({
            "data": &posts, "includes": {"users": users, "posts": &posts}, "meta": {"next_token": (page + 1).to_string(), "result_count": 100},
        }))
    });
    let thread = connected.call("get_thread", json!({"id": "1000"})).ok();
    let ids: Vec<u64> =
        thread["data"].as_array().unwrap().iter().map(|post| post["id"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!(ids, (1000..=2000).collect::<Vec<u64>>());
    assert_eq!(thread["includes"]["users"].as_array().unwrap().len(), 100);
    let meta = json!({
        "conversation_id": "1000", "result_count": 1001, "pages": 10, "truncated": true, "searched_days": 7, "missing": [],
    });
    assert_eq!(thread["meta"], meta);
}

#[test]
fn a_rate_limit_within_a_thread_answers_what_was_read() {
    let connected = connected();
    connected.provider.on_api(|seen, _| match seen.path.as_str() {
        "/api/2/tweets/1002" => Reply::json(json!({"data": post(1002)})),
        "/api/2/tweets/1000" => Reply::json(json!({"data": {"id": "1000", "conversation_id": "1000"}})),
        _ => limited(),
    });
    let thread = connected.call("get_thread", json!({"id": "1002", "response_fields": ["data.id", "meta"]})).ok();
    assert_eq!(thread["data"], json!([{"id": "1000"}, {"id": "1002"}]));
    let meta = json!({
        "conversation_id": "1000", "result_count": 2, "pages": 0, "truncated": true, "searched_days": 7,
        "missing": ["1001"], "retry_at": "2100-01-01T00:00:00Z",
    });
    assert_eq!(thread["meta"], meta);
}

#[test]
fn a_rate_limit_of_a_call_is_a_problem_with_the_time_to_wait() {
    let connected = connected();
    connected.provider.on_api(|_, _| limited());
    for (operation, input) in [
        ("get_thread", json!({"id": "1000"})),
        ("get_tweets", json!({"ids": ["1"]})),
        ("tweet_search", json!({"query": "rust"})),
        ("get-users", json!({"username": "ada"})),
    ] {
        let answer = connected.call(operation, input);
        let problem = answer.problem(429, "upstream-rate-limited");
        assert_eq!(problem["upstream"]["body"]["title"], "Too Many Requests", "{operation}");
        assert!(answer.header("retry-after").parse::<u64>().unwrap() > 60, "{operation}");
    }
}

#[test]
fn a_look_up_that_finds_nothing_is_not_found_and_a_partial_answer_is_passed_on() {
    let connected = connected();
    let nothing =
        json!({"errors": [{"value": "9", "detail": "Could not find user with id: [9].", "title": "Not Found Error"}]});
    let reply = nothing.clone();
    connected.provider.on_api(move |_, _| Reply::json(reply.clone()));
    let answer = connected.call("get-users", json!({"id": "9"}));
    let problem = answer.problem(404, "resource-not-found");
    assert_eq!(problem["answer"], nothing);
    assert_eq!(connected.call("get-users", json!({"ids": ["9"]})).ok(), nothing);

    let partial = json!({"data": [{"id": "7", "username": "ada"}], "errors": nothing["errors"]});
    let reply = partial.clone();
    connected.provider.on_api(move |_, _| Reply::json(reply.clone()));
    assert_eq!(connected.call("get-users", json!({"ids": ["7", "9"]})).ok(), partial);
}

#[test]
fn bounds_are_checked_before_anything_is_sent() {
    let connected = connected();
    connected.provider.on_api(|_, _| Reply::json(json!({"meta": {"result_count": 0}})));
    let ids = |count: usize| vec!["1"; count];
    let before = connected.provider.api_calls().len();
    for (operation, input) in [
        // Characters are counted, not bytes.
        ("tweet_search", json!({"query": "ü".repeat(512), "lang": "de", "max_results": 100})),
        ("tweet_search", json!({"query": "a", "max_results": 10})),
        ("get_tweets", json!({"ids": ids(100)})),
        ("get-users", json!({"usernames": ids(100)})),
    ] {
        connected.call(operation, input).ok();
    }
    assert_eq!(connected.provider.api_calls().len(), before + 4);
    for (operation, input, pointer) in [
        ("tweet_search", json!({"query": "ü".repeat(513)}), "/query"),
        ("tweet_search", json!({"query": ""}), "/query"),
        ("tweet_search", json!({"query": "a", "max_results": 101}), "/max_results"),
        ("tweet_search", json!({"query": "a", "max_results": 9}), "/max_results"),
        ("tweet_search", json!({"query": "a", "lang": "DE"}), "/lang"),
        ("get_tweets", json!({"ids": ids(101)}), "/ids"),
        ("get_tweets", json!({"ids": ["12345678901234567890"]}), "/ids/0"),
        ("get-users", json!({"ids": []}), "/ids"),
        ("get-users", json!({"usernames": ["much_too_long_name"]}), "/usernames/0"),
        ("get-users", json!({}), ""),
    ] {
        let violations = connected.call(operation, input).violations();
        assert!(violations.iter().any(|(found, _)| found == pointer), "{operation} {pointer}: {violations:?}");
    }
    assert_eq!(connected.provider.api_calls().len(), before + 4);
}
