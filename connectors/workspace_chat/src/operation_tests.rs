//! The request of each row. The crate `connector-google` tests `userinfo` further.

use connector_sdk::http::Body;
use connector_sdk::testing::{about, forwarded, invoke, pages, refused};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

#[test]
fn entries_of_the_query_have_googles_names() {
    for (operation, input, path) in [
        (
            "messages_create",
            r#"{"space_id":"s","body":{},"query":{"createMessageNotificationOptions.notificationType":"NOTIFICATION_TYPE_SILENT","messageReplyOption":"REPLY_MESSAGE_OR_FAIL","threadKey":"t"}}"#,
            "/spaces/s/messages?createMessageNotificationOptions.notificationType=NOTIFICATION_TYPE_SILENT&messageReplyOption=REPLY_MESSAGE_OR_FAIL&threadKey=t",
        ),
        (
            "messages_list",
            r#"{"space_id":"s","query":{"showDeleted":true,"pageToken":"a=b"}}"#,
            "/spaces/s/messages?showDeleted=true&pageToken=a%3Db",
        ),
        (
            "memberships_list",
            r#"{"space_id":"s","query":{"showGroups":false,"pageToken":"p"}}"#,
            "/spaces/s/members?showGroups=false&pageToken=p",
        ),
        (
            "memberships_create",
            r#"{"space_id":"s","query":{"useAdminAccess":true},"body":{}}"#,
            "/spaces/s/members?useAdminAccess=true",
        ),
        ("spaces_list", r#"{"query":{"pageToken":"p"}}"#, "/spaces?pageToken=p"),
    ] {
        assert_eq!(forwarded(&CONNECTOR, operation, input).path, path);
    }
}

#[test]
fn every_list_has_pages() {
    assert_eq!(
        pages(&CONNECTOR),
        [
            "spaces_list: /spaces, next cursor /nextPageToken, into /query/pageToken",
            "messages_list: /messages, next cursor /nextPageToken, into /query/pageToken",
            "memberships_list: /memberships, next cursor /nextPageToken, into /query/pageToken",
        ]
    );
}

/// The body of the request that a message with a text of this many bytes makes. `None` if the
/// message is refused at `pointer`.
fn message(operation: &str, input: impl Fn(&str) -> String, bytes: usize, pointer: &str) -> Option<String> {
    // Two bytes in UTF-8, and six as an escape.
    let text = "ü".repeat(bytes / 2) + &"x".repeat(bytes % 2);
    let plain = invoke(&CONNECTOR, operation, &input(&text));
    let escaped = invoke(&CONNECTOR, operation, &input(&text.replace('ü', "\\u00fc")));
    match (plain, escaped) {
        (Ok(Outcome::Forward(plain)), Ok(Outcome::Forward(_))) => match plain.body {
            Some(Body::Json(text)) => Some(text),
            other => panic!("{other:?}"),
        },
        (Err(Fault::InvalidInput(plain)), Err(Fault::InvalidInput(escaped))) => {
            assert_eq!((plain[0].pointer.as_str(), escaped[0].pointer.as_str()), (pointer, pointer));
            None
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_has_at_most_32000_bytes_with_everything_in_it() {
    let frame = r#"{"text":""}"#.len();
    let create = |text: &str| format!(r#"{{"space_id":"s", "body": {{ "text": "{text}" }} }}"#);
    let sent = message("messages_create", create, 32_000 - frame, "/body").expect("a request");
    assert_eq!(sent.len(), 32_000);
    assert_eq!(message("messages_create", create, 32_001 - frame, "/body"), None);
}

#[test]
fn a_new_text_has_at_most_32000_bytes() {
    let update = |text: &str| format!(r#"{{"space_id":"s","message_id":"m","text":"{text}"}}"#);
    assert!(message("messages_update", update, 32_000, "/text").is_some());
    assert_eq!(message("messages_update", update, 32_001, "/text"), None);
}

#[test]
fn the_schema_refuses_a_group_as_a_member() {
    let schema = about(&CONNECTOR, "memberships_create").input_schema;
    let body = r#""body":{"type":"object","properties":{"groupMember":false},"additionalProperties":true,"#;
    assert!(schema.contains(body), "{schema}");
}

#[test]
fn an_id_stays_within_its_segment() {
    assert_eq!(forwarded(&CONNECTOR, "spaces_get", r#"{"space_id":"a/b:setup?d"}"#).path, "/spaces/a%2Fb%3Asetup%3Fd");
    for (operation, input, pointer) in [
        ("spaces_get", r#"{"space_id":""}"#, "/space_id"),
        ("messages_get", r#"{"space_id":"s","message_id":".."}"#, "/message_id"),
        ("memberships_delete", r#"{"space_id":"s","member_id":""}"#, "/member_id"),
    ] {
        assert_eq!(refused(&CONNECTOR, operation, input)[0].pointer, pointer);
    }
}

#[test]
fn userinfo_is_the_common_shape() {
    connector_google::testing::check_userinfo(&CONNECTOR);
}
