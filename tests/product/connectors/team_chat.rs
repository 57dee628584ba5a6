//! The Slack connector against a stand-in for Slack: every operation, and its errors, which come
//! with status 200.

use serde_json::{Value, json};
use support::oauth::Account;
use support::{Dialect, Endpoint, Reply, Seen};

use super::{Connected, Row, row};
use crate::integrations::path;

/// Slack's answers about the owner of a token.
fn identity(seen: &Seen, account: &Account) -> Reply {
    Reply::json(match seen.path.as_str() {
        "/api/slack/auth.test" => json!({"ok": true, "user_id": "U1", "user": "ada", "team_id": "T1", "team": "Acme"}),
        "/api/slack/users.info" => json!({"ok": true, "user": {
            "id": "U1", "name": "ada", "profile": {"email": account.email, "real_name": "Ada L", "image_192": "https://img.example/a"},
        }}),
        _ => json!({"ok": false, "error": "unknown_method"}),
    })
}

fn connected() -> Connected {
    Connected::start("team_chat", Dialect::slack(), &[("api", "/slack")], "", identity)
}

fn rows() -> Vec<Row> {
    let channel = "C024BE91L";
    vec![
        row(
            "conversations_list",
            json!({"query": {"types": "public_channel,private_channel", "exclude_archived": true, "limit": 200}}),
            "GET /slack/conversations.list?types=public_channel,private_channel&exclude_archived=true&limit=200",
            Value::Null,
        ),
        row(
            "conversations_members",
            json!({"channel": channel, "limit": 200}),
            "GET /slack/conversations.members?channel=C024BE91L&limit=200",
            Value::Null,
        ),
        row(
            "conversations_info",
            json!({"channel": channel, "include_num_members": true}),
            "GET /slack/conversations.info?channel=C024BE91L&include_num_members=true",
            Value::Null,
        ),
        row(
            "users_conversations",
            json!({"query": {"types": ["public_channel", "im"], "limit": 100}}),
            "GET /slack/users.conversations?types=public_channel,im&limit=100",
            Value::Null,
        ),
        row(
            "conversations_history",
            json!({"channel": channel, "limit": 50, "oldest": "1700000000"}),
            "GET /slack/conversations.history?channel=C024BE91L&limit=50&oldest=1700000000",
            Value::Null,
        ),
        row(
            "conversations_replies",
            json!({"channel": channel, "ts": "1700000000.000100"}),
            "GET /slack/conversations.replies?channel=C024BE91L&ts=1700000000.000100",
            Value::Null,
        ),
        row(
            "conversations_create",
            json!({"name": "launch", "is_private": true}),
            "POST /slack/conversations.create",
            json!({"name": "launch", "is_private": true}),
        ),
        row(
            "conversations_rename",
            json!({"channel": channel, "name": "new"}),
            "POST /slack/conversations.rename",
            json!({"channel": channel, "name": "new"}),
        ),
        row(
            "conversations_set_purpose",
            json!({"channel": channel, "purpose": "All about it"}),
            "POST /slack/conversations.setPurpose",
            json!({"channel": channel, "purpose": "All about it"}),
        ),
        row(
            "chat_post_message",
            json!({"channel": channel, "text": "Hello"}),
            "POST /slack/chat.postMessage",
            json!({"channel": channel, "text": "Hello"}),
        ),
        row(
            "chat_update",
            json!({"channel": channel, "ts": "1700000000.000100", "text": "Hello again"}),
            "POST /slack/chat.update",
            json!({"channel": channel, "ts": "1700000000.000100", "text": "Hello again"}),
        ),
        row(
            "conversations_invite",
            json!({"channel": channel, "users": ["U1", "U2"]}),
            "POST /slack/conversations.invite",
            json!({"channel": channel, "users": "U1,U2"}),
        ),
        row("users_list", json!({"query": {"limit": 200}}), "GET /slack/users.list?limit=200", Value::Null),
        row("users_info", json!({"user": "U023BECGF"}), "GET /slack/users.info?user=U023BECGF", Value::Null),
        row(
            "users_lookup_by_email",
            json!({"email": "kim@example.com"}),
            "GET /slack/users.lookupByEmail?email=kim@example.com",
            Value::Null,
        ),
    ]
}

#[test]
fn every_operation_is_the_services_method_of_the_same_name() {
    let connected = connected();
    connected.check_complete(&rows(), &["userinfo"]);
    connected
        .check(&rows(), &json!({"ok": true, "channels": [{"id": "C1"}], "response_metadata": {"next_cursor": "abc="}}));
    let calls = connected.provider.api_calls();
    let mut with_json = calls.iter().filter(|seen| !seen.body.is_empty()).peekable();
    assert!(
        with_json.peek().is_some()
            && with_json.all(|seen| seen.header("content-type") == "application/json; charset=utf-8")
    );
}

#[test]
fn the_token_that_is_used_is_the_users() {
    let connected = connected();
    let record = connected.record();
    assert_eq!(record["account"], json!({"id": "U1", "email": "ada@example.com", "name": "Ada L"}));
    assert!(record["scopes"].as_array().unwrap().contains(&json!("channels:history")), "{record}");
    let expected = json!({"data": {
        "id": "U1", "email": "ada@example.com", "username": "ada", "name": "Ada L", "picture": "https://img.example/a",
        "organization": {"id": "T1", "name": "Acme"},
    }, "meta": null});
    assert_eq!(connected.call("userinfo", json!({})).ok(), expected);
}

#[test]
fn an_answer_that_is_not_ok_becomes_the_right_problem() {
    let connected = connected();
    for (error, status, kind) in [
        ("channel_not_found", 404, "upstream-rejected"),
        ("user_not_found", 404, "upstream-rejected"),
        ("name_taken", 400, "upstream-rejected"),
        ("is_archived", 400, "upstream-rejected"),
        ("not_in_channel", 403, "upstream-rejected"),
        ("missing_scope", 403, "upstream-rejected"),
        ("ratelimited", 429, "upstream-rate-limited"),
        ("internal_error", 502, "upstream-failed"),
    ] {
        connected.provider.on_api(move |_, _| Reply::json(json!({"ok": false, "error": error})));
        let answer = connected.call("conversations_info", json!({"channel": "C1"}));
        let problem = answer.problem(status, kind);
        assert!(problem["detail"].as_str().unwrap().contains(error), "{problem}");
        assert_eq!(problem["upstream"]["body"], json!({"ok": false, "error": error}), "{problem}");
        assert_eq!(answer.header("retry-after"), "", "Slack did not say when to try again: {error}");
    }
}

#[test]
fn a_token_that_slack_refuses_inside_a_200_is_refreshed_and_the_call_repeated() {
    let connected = connected();
    let provider = &connected.provider;
    let stale = provider.access_tokens().pop().unwrap();
    provider.on_api(move |seen, _| {
        let is_stale = seen.header("authorization").ends_with(&stale);
        Reply::json(if is_stale { json!({"ok": false, "error": "token_expired"}) } else { json!({"ok": true}) })
    });
    assert_eq!(connected.call("users_info", json!({"user": "U1"})).ok(), json!({"ok": true}));
    assert_eq!((provider.count(Endpoint::Refresh), provider.reuses()), (1, 0));
}

#[test]
fn a_token_that_slack_has_revoked_makes_the_user_authorize_again() {
    let connected = connected();
    connected.provider.withdraw();
    connected.provider.on_api(|_, _| Reply::json(json!({"ok": false, "error": "token_revoked"})));
    connected.call("users_info", json!({"user": "U1"})).problem(424, "reauthorization-required");
    assert_eq!(connected.record()["status"], "expired");
}

#[test]
fn a_message_without_content_is_refused() {
    let connected = connected();
    let before = connected.provider.api_calls().len();
    let violations = connected.call("chat_post_message", json!({"channel": "C1"})).violations();
    assert!(!violations.is_empty());
    assert_eq!(connected.provider.api_calls().len(), before);
}

#[test]
fn disconnecting_revokes_the_token() {
    let connected = connected();
    assert_eq!(connected.client.delete(&path("team_chat", "ada")).ok(), json!({"deleted": true, "revoked": true}));
    assert_eq!(connected.provider.live_grants(), 0);
}
