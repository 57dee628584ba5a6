//! The request of each row, and the reset of a password. The crate `connector-google` tests
//! `userinfo` further.

use connector_sdk::http::{Body, Error, Method};
use connector_sdk::testing::{Answer, Gateway, about, forwarded, invoke, pages, refused};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

#[test]
fn a_new_member_has_the_role_member_unless_the_caller_gives_another() {
    let body = |role: &str| {
        let input = format!(r#"{{"group_key":"g","email":"kim@acme.test"{role}}}"#);
        match forwarded(&CONNECTOR, "add_member_to_group", &input).body {
            Some(Body::Json(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(body(""), r#"{"email":"kim@acme.test","role":"MEMBER"}"#);
    assert_eq!(body(r#","role":"OWNER""#), r#"{"email":"kim@acme.test","role":"OWNER"}"#);
}

#[test]
fn lists_are_those_of_the_own_organization_unless_the_caller_names_another() {
    let path = |operation: &str, query: &str| forwarded(&CONNECTOR, operation, &format!(r#"{{"query":{query}}}"#)).path;
    for operation in ["list_groups", "list_users"] {
        let resource = operation.replace("list_", "/");
        assert_eq!(path(operation, "{}"), format!("{resource}?customer=my_customer"));
        assert_eq!(path(operation, r#"{"customer":"C1"}"#), format!("{resource}?customer=C1"));
        assert_eq!(path(operation, r#"{"domain":"acme.test"}"#), format!("{resource}?domain=acme.test"));
        assert_eq!(
            path(operation, r#"{"pageToken":"t","domain":null}"#),
            format!("{resource}?pageToken=t&customer=my_customer")
        );
    }
    assert_eq!(path("list_groups", r#"{"userKey":"kim@acme.test"}"#), "/groups?userKey=kim%40acme.test");
}

#[test]
fn an_update_without_changes_is_refused() {
    for input in [r#"{"group_key":"g"}"#, r#"{"group_key":"g","name":null,"email":null}"#] {
        assert_eq!(refused(&CONNECTOR, "update_group", input)[0].pointer, "");
    }
    for (field, body) in [("email", "a@b.test"), ("name", ""), ("description", "")] {
        let request = forwarded(&CONNECTOR, "update_group", &format!(r#"{{"group_key":"g","{field}":"{body}"}}"#));
        assert_eq!((request.method, request.path.as_str()), (Method::Patch, "/groups/g"));
        let expected = format!(r#"{{"{field}":"{body}"}}"#);
        assert!(matches!(request.body, Some(Body::Json(text)) if text == expected));
    }
}

const INPUT: &str = r#"{"user_key":"kim@acme.test","password":"s3cret-\"<pass>","change_password_at_next_login":true}"#;

/// The password of [`INPUT`].
const PASSWORD: &str = "s3cret-\"<pass>";

#[test]
fn a_reset_changes_the_password_and_nothing_else() {
    let user = r#"{"kind":"admin#directory#user","id":"117","primaryEmail":"kim@acme.test","name":{"fullName":"Kim"},"isAdmin":false,"suspended":false,"changePasswordAtNextLogin":true,"customerId":"C1"}"#;
    let gateway = Gateway::new().answer(Answer::json(200, user)).answer(Answer::json(200, r#"{"id":"117"}"#));
    let Ok(Outcome::Reply(answer)) = invoke(&CONNECTOR, "reset_user_password", INPUT) else { panic!("a reply") };
    assert_eq!(
        answer,
        r#"{"id":"117","primaryEmail":"kim@acme.test","changePasswordAtNextLogin":true,"suspended":false,"isAdmin":false}"#
    );
    let input = r#"{"user_key":"117","password":"correct-horse"}"#;
    let Ok(Outcome::Reply(answer)) = invoke(&CONNECTOR, "reset_user_password", input) else { panic!("a reply") };
    assert_eq!(
        answer,
        r#"{"id":"117","primaryEmail":null,"changePasswordAtNextLogin":null,"suspended":null,"isAdmin":null}"#
    );

    let requests = gateway.requests();
    let sent = |index: usize| match &requests[index].body {
        Some(Body::Json(text)) => (requests[index].method, requests[index].path.as_str(), text.as_str()),
        other => panic!("{other:?}"),
    };
    let body = r#"{"password":"s3cret-\"<pass>","changePasswordAtNextLogin":true}"#;
    assert_eq!(sent(0), (Method::Patch, "/users/kim%40acme.test", body));
    let body = r#"{"password":"correct-horse","changePasswordAtNextLogin":false}"#;
    assert_eq!(sent(1), (Method::Patch, "/users/117", body));
    assert!(gateway.log().is_empty());
}

#[test]
fn the_schema_bounds_the_password_and_marks_it_as_a_secret() {
    let schema = about(&CONNECTOR, "reset_user_password").input_schema;
    let password =
        r#""password":{"type":"string","pattern":"^[\\x00-\\x7F]*$","minLength":8,"maxLength":100,"writeOnly":true,"#;
    assert!(schema.contains(password), "{schema}");
}

#[test]
fn a_password_of_other_characters_is_not_sent() {
    for password in ["pässword1", "password\u{1F600}", "\u{80}1234567"] {
        let input = format!(r#"{{"user_key":"kim","password":"{password}"}}"#);
        let violations = refused(&CONNECTOR, "reset_user_password", &input);
        assert_eq!(violations[0].pointer, "/password");
        assert!(!violations[0].detail.contains(password));
    }
}

/// The fault of a reset if Google responds with this status and message. The message may name the
/// password of [`INPUT`].
fn refusal(status: u16, message: &str) -> Fault {
    let message = message.replace('"', "\\\"").replace('<', "\\u003c");
    let body = format!(
        r#"{{"error":{{"code":{status},"message":"{message}","errors":[{{"message":"{message}","reason":"invalid"}}]}}}}"#
    );
    let gateway = Gateway::new().answer(Answer::json(status, &body));
    let fault = invoke(&CONNECTOR, "reset_user_password", INPUT).expect_err("a fault");
    assert_eq!(gateway.requests().len(), 1);
    let shown = format!("{fault:?}");
    assert!(!shown.contains("s3cret") && gateway.log().is_empty(), "{shown}");
    fault
}

#[test]
fn a_password_that_google_refuses_is_a_violation_with_googles_message() {
    for (status, message, detail) in [
        (400, "Invalid Password", "Invalid Password"),
        (400, "The password s3cret-\"<pass> is too common", "The password *** is too common"),
        (412, "Password reuse is not allowed", "Password reuse is not allowed"),
        (412, "Precondition failed", "Precondition failed"),
        (412, "", "Google refused the password. Give another one."),
    ] {
        let Fault::InvalidInput(violations) = refusal(status, message) else { panic!("{message}") };
        assert_eq!((violations[0].pointer.as_str(), violations[0].detail.as_str()), ("/password", detail));
    }
}

#[test]
fn a_refused_password_that_is_the_word_itself_is_a_violation_too() {
    let body = r#"{"error":{"code":400,"message":"Invalid password: too common"}}"#;
    let _gateway = Gateway::new().answer(Answer::json(400, body));
    let input = r#"{"user_key":"117","password":"password"}"#;
    let Err(Fault::InvalidInput(violations)) = invoke(&CONNECTOR, "reset_user_password", input) else {
        panic!("a violation")
    };
    assert_eq!(
        (violations[0].pointer.as_str(), violations[0].detail.as_str()),
        ("/password", "Invalid ***: too common")
    );
}

#[test]
fn googles_other_refusals_keep_their_status_and_hide_the_password() {
    for (status, expected) in
        [(400, "400"), (403, "administrator"), (404, "`kim@acme.test`"), (409, "409"), (503, "503")]
    {
        let Fault::Upstream(fault) = refusal(status, &format!("Not {PASSWORD}")) else { panic!("{status}") };
        assert_eq!(fault.status, status);
        assert!(fault.detail.contains(expected), "{}", fault.detail);
        let body = fault.body.expect("Google's error");
        assert!(body.contains(r#""message":"Not ***""#) && body.contains(r#""reason":"invalid""#), "{body}");
    }
}

#[test]
fn a_refusal_that_is_not_json_keeps_its_status_and_the_time_to_wait() {
    let _gateway = Gateway::new()
        .answer(Answer::new(503, "s3cret-busy").header("retry-after", "7"))
        .answer(Answer::json(400, r#"["password"]"#));
    let Err(Fault::Upstream(fault)) = invoke(&CONNECTOR, "reset_user_password", INPUT) else { panic!("a fault") };
    assert_eq!((fault.status, fault.retry_after_seconds, fault.body), (503, Some(7), None));
    let Err(Fault::Upstream(fault)) = invoke(&CONNECTOR, "reset_user_password", INPUT) else { panic!("a fault") };
    assert_eq!((fault.status, fault.body.as_deref()), (400, Some(r#"["password"]"#)));
}

#[test]
fn a_response_without_a_user_is_an_error() {
    let _gateway = Gateway::new().answer(Answer::json(200, "[]"));
    let outcome = invoke(&CONNECTOR, "reset_user_password", INPUT);
    assert!(matches!(outcome, Err(Fault::Http(Error::BadAnswer(_)))));
}

#[test]
fn an_id_stays_within_its_segment() {
    assert_eq!(forwarded(&CONNECTOR, "get_user", r#"{"user_key":"a/b?c"}"#).path, "/users/a%2Fb%3Fc");
    for user in ["", ".."] {
        let input = format!(r#"{{"user_key":"{user}","password":"correct-horse"}}"#);
        assert_eq!(refused(&CONNECTOR, "reset_user_password", &input)[0].pointer, "/user_key");
    }
}

#[test]
fn every_list_has_pages() {
    assert_eq!(
        pages(&CONNECTOR),
        [
            "list_groups: /groups, next cursor /nextPageToken, into /query/pageToken",
            "list_group_members: /members, next cursor /nextPageToken, into /query/pageToken",
            "list_users: /users, next cursor /nextPageToken, into /query/pageToken",
        ]
    );
}

#[test]
fn userinfo_is_the_common_shape() {
    connector_google::testing::check_userinfo(&CONNECTOR);
}
