//! The operations, with prepared responses of Slack.

use connector_sdk::auth::{Auth, Revocation};
use connector_sdk::http::{Body, Error, Method};
use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

/// Method, path and body of the one request that an operation sends.
fn sent(operation: &str, input: &str) -> (Method, String, Option<String>) {
    let gateway = Gateway::new().answer(Answer::json(200, r#"{"ok":true,"n":1.0}"#));
    match invoke(&CONNECTOR, operation, input) {
        Ok(Outcome::ReplyDocument(answer)) => assert_eq!(answer.text(), r#"{"ok":true,"n":1.0}"#),
        other => panic!("{operation}: {other:?}"),
    }
    let [request] = &gateway.requests()[..] else { panic!("{operation}: not one request") };
    assert_eq!(request.upstream, "api");
    let charset = ("Content-Type".to_owned(), "application/json; charset=utf-8".to_owned());
    let headers = if request.body.is_some() { vec![charset] } else { vec![] };
    assert_eq!(request.headers, headers, "{operation}");
    let body = match &request.body {
        None => None,
        Some(Body::Json(text)) => Some(text.clone()),
        other => panic!("{operation}: {other:?}"),
    };
    (request.method, request.path.clone(), body)
}

#[test]
fn methods_that_read_have_their_arguments_in_the_query() {
    for (operation, input, expected) in [
        (
            "conversations_list",
            r#"{"query":{"types":["public_channel","im"],"exclude_archived":true,"limit":200,"cursor":"a=","team_id":"T1"}}"#,
            "/conversations.list?types=public_channel,im&exclude_archived=true&limit=200&cursor=a%3D&team_id=T1",
        ),
        ("conversations_list", "{}", "/conversations.list"),
        (
            "conversations_members",
            r#"{"channel":"C1","cursor":"x","limit":200}"#,
            "/conversations.members?channel=C1&cursor=x&limit=200",
        ),
        (
            "conversations_info",
            r#"{"channel":"C1","include_locale":false,"include_num_members":true}"#,
            "/conversations.info?channel=C1&include_locale=false&include_num_members=true",
        ),
        (
            "users_conversations",
            r#"{"query":{"types":"im","exclude_muted":true,"user":"U1"}}"#,
            "/users.conversations?types=im&exclude_muted=true&user=U1",
        ),
        (
            "conversations_history",
            r#"{"channel":"C1","limit":50,"oldest":"1700000000","latest":"1700000001.5","inclusive":true,"include_all_metadata":true}"#,
            "/conversations.history?channel=C1&limit=50&oldest=1700000000&latest=1700000001.5&inclusive=true&include_all_metadata=true",
        ),
        (
            "conversations_replies",
            r#"{"channel":"C1","ts":"1700000000.000100","limit":10}"#,
            "/conversations.replies?channel=C1&ts=1700000000.000100&limit=10",
        ),
        ("users_list", r#"{"query":{"include_locale":true}}"#, "/users.list?include_locale=true"),
        ("users_info", r#"{"user":"U1","include_locale":true}"#, "/users.info?user=U1&include_locale=true"),
        ("users_lookup_by_email", r#"{"email":"a+b@c.test"}"#, "/users.lookupByEmail?email=a%2Bb%40c.test"),
    ] {
        assert_eq!(sent(operation, input), (Method::Get, expected.to_owned(), None), "{operation}");
    }
}

#[test]
fn methods_that_write_have_their_arguments_as_json() {
    for (operation, input, path, body) in [
        (
            "conversations_create",
            r#"{"name":"launch","is_private":true,"team_id":"T1"}"#,
            "/conversations.create",
            r#"{"name":"launch","is_private":true,"team_id":"T1"}"#,
        ),
        (
            "conversations_rename",
            r#"{"name":"b","channel":"C1"}"#,
            "/conversations.rename",
            r#"{"channel":"C1","name":"b"}"#,
        ),
        (
            "conversations_set_purpose",
            r#"{"channel":"C1","purpose":"p"}"#,
            "/conversations.setPurpose",
            r#"{"channel":"C1","purpose":"p"}"#,
        ),
        (
            "chat_post_message",
            r#"{"channel":"C1","blocks":[{"type":"divider"}],"thread_ts":"1.2","reply_broadcast":true,"unfurl_links":false,"unfurl_media":false,"mrkdwn":true,"metadata":{"event_type":"e"}}"#,
            "/chat.postMessage",
            r#"{"channel":"C1","blocks":[{"type":"divider"}],"thread_ts":"1.2","reply_broadcast":true,"unfurl_links":false,"unfurl_media":false,"mrkdwn":true,"metadata":{"event_type":"e"}}"#,
        ),
        (
            "chat_update",
            r#"{"channel":"C1","ts":"1.2","attachments":[{"text":"a"}],"markdown_text":"*b*"}"#,
            "/chat.update",
            r#"{"channel":"C1","ts":"1.2","attachments":[{"text":"a"}],"markdown_text":"*b*"}"#,
        ),
        (
            "conversations_invite",
            r#"{"channel":"C1","users":["U1","U2"],"force":true}"#,
            "/conversations.invite",
            r#"{"channel":"C1","users":"U1,U2","force":true}"#,
        ),
        (
            "conversations_invite",
            r#"{"channel":"C1","users":"U1"}"#,
            "/conversations.invite",
            r#"{"channel":"C1","users":"U1"}"#,
        ),
    ] {
        assert_eq!(sent(operation, input), (Method::Post, path.to_owned(), Some(body.to_owned())), "{operation}");
    }
}

#[test]
fn a_message_without_content_is_refused() {
    let gateway = Gateway::new();
    assert!(matches!(
        invoke(&CONNECTOR, "chat_post_message", r#"{"channel":"C1","thread_ts":"1.2","text":null}"#),
        Err(Fault::InvalidInput(_))
    ));
    assert!(gateway.requests().is_empty());
    assert_eq!(sent("chat_post_message", r#"{"channel":"C1","text":"Hi"}"#).1, "/chat.postMessage");
}

fn fault(answer: Answer) -> Fault {
    let _gateway = Gateway::new().answer(answer);
    invoke(&CONNECTOR, "users_info", r#"{"user":"U1"}"#).expect_err("a fault")
}

#[test]
fn a_failure_with_status_200_has_the_status_of_its_code() {
    for (code, status) in [("token_revoked", 401), ("user_not_found", 404), ("user_not_visible", 400)] {
        let Fault::Upstream(fault) = fault(Answer::json(200, &format!(r#"{{"ok":false,"error":"{code}"}}"#))) else {
            panic!("{code}")
        };
        assert_eq!(fault.status, status, "{code}");
    }
}

#[test]
fn a_rate_limit_says_when_to_try_again() {
    let body = r#"{"ok":false,"error":"ratelimited"}"#;
    for status in [200, 429] {
        let Fault::Upstream(fault) = fault(Answer::json(status, body).header("Retry-After", "30")) else {
            panic!("{status}")
        };
        assert_eq!((fault.status, fault.retry_after_seconds), (429, Some(30)), "{status}");
        assert_eq!(fault.body.as_deref(), Some(body));
    }
}

#[test]
fn a_response_that_is_not_slacks_is_an_error() {
    assert!(matches!(fault(Answer::json(200, r#"{"user":{}}"#)), Fault::Http(Error::BadAnswer(_))));
    assert!(matches!(fault(Answer::new(503, "")), Fault::Upstream(fault) if fault.status == 503));
}

const TOKEN: &str =
    r#"{"ok":true,"url":"https://a.slack.test/","team":"Acme","user":"grace","team_id":"T1","user_id":"W1"}"#;

fn userinfo(profile: &str) -> (String, Vec<(Method, String)>) {
    let gateway = Gateway::new().answer(Answer::json(200, TOKEN)).answer(Answer::json(200, profile));
    let Ok(Outcome::Reply(text)) = invoke(&CONNECTOR, "userinfo", "{}") else { panic!("a reply") };
    let requests = gateway.requests();
    (text, requests.iter().map(|request| (request.method, format!("{}{}", request.upstream, request.path))).collect())
}

#[test]
fn the_account_is_the_tokens_user_with_the_profile() {
    let (text, requests) = userinfo(
        r#"{"ok":true,"user":{"id":"W1","name":"ghopper","profile":{"real_name":"Grace Hopper","email":"g@acme.test","image_192":"https://i.test/g"}}}"#,
    );
    assert_eq!(
        text,
        r#"{"data":{"id":"W1","email":"g@acme.test","username":"ghopper","name":"Grace Hopper","picture":"https://i.test/g","organization":{"id":"T1","name":"Acme"}},"meta":null}"#
    );
    assert_eq!(requests, [(Method::Post, "userinfo".to_owned()), (Method::Get, "api/users.info?user=W1".to_owned())]);
}

#[test]
fn without_the_scope_for_profiles_the_account_has_the_tokens_user_only() {
    let (text, _) = userinfo(r#"{"ok":false,"error":"missing_scope","needed":"users:read"}"#);
    assert_eq!(
        text,
        r#"{"data":{"id":"W1","email":null,"username":"grace","name":null,"picture":null,"organization":{"id":"T1","name":"Acme"}},"meta":null}"#
    );
}

#[test]
fn another_failure_of_the_profile_is_not_hidden() {
    for (profile, status) in [("token_revoked", 401), ("user_not_found", 404)] {
        let _gateway = Gateway::new()
            .answer(Answer::json(200, TOKEN))
            .answer(Answer::json(200, &format!(r#"{{"ok":false,"error":"{profile}"}}"#)));
        let Err(Fault::Upstream(fault)) = invoke(&CONNECTOR, "userinfo", "{}") else { panic!("{profile}") };
        assert_eq!(fault.status, status);
    }
}

#[test]
fn a_token_without_a_user_is_an_error() {
    let _gateway = Gateway::new().answer(Answer::json(200, r#"{"ok":true}"#));
    assert!(matches!(invoke(&CONNECTOR, "userinfo", "{}"), Err(Fault::Http(Error::BadAnswer(_)))));
}

#[test]
fn the_connector_asks_for_the_users_token() {
    let Auth::OAuth2(client) = &CONNECTOR.auth else { panic!("OAuth 2.0") };
    assert_eq!((client.scope_parameter, client.scope_separator), ("user_scope", ","));
    assert_eq!((client.token_pointer, client.pkce), ("/authed_user", false));
    assert!(matches!(client.revocation, Some(Revocation::Bearer("https://slack.com/api/auth.revoke"))));
}
