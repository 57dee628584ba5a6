//! The request of each row. The crate `connector-microsoft` has the test of `userinfo`.

use connector_sdk::Fault;
use connector_sdk::http::{Body, Method};
use connector_sdk::testing::{forwarded, invoke};

use crate::CONNECTOR;

#[test]
fn every_message_may_have_mentions_and_attachments() {
    let message =
        r#""content":"Hi <at id=\"0\">Kim</at>","subject":"S","mentions":[{"id": 0}],"attachments":[{"id":"a"}]"#;
    let expected = r#"{"body":{"content":"Hi <at id=\"0\">Kim</at><attachment id=\"a\"></attachment>","contentType":"html"},"subject":"S","mentions":[{"id": 0}],"attachments":[{"id":"a"}]}"#;
    for (operation, ids, path) in [
        ("send_channel_message", r#""team_id":"t","channel_id":"c""#, "/teams/t/channels/c/messages"),
        (
            "reply_to_channel_message",
            r#""team_id":"t","channel_id":"c","message_id":"m""#,
            "/teams/t/channels/c/messages/m/replies",
        ),
        ("send_chat_message", r#""chat_id":"c""#, "/chats/c/messages"),
    ] {
        let request = forwarded(&CONNECTOR, operation, &format!("{{{ids},{message}}}"));
        assert_eq!((request.method, request.path.as_str()), (Method::Post, path));
        let Some(Body::Json(body)) = request.body else { panic!("{operation}: a body") };
        assert_eq!(body, expected, "{operation}");
        let outcome = invoke(&CONNECTOR, operation, &format!(r#"{{{ids},"content":""}}"#));
        let Err(Fault::InvalidInput(violations)) = outcome else { panic!("{operation}: {outcome:?}") };
        assert_eq!(violations[0].pointer, "/content");
    }
}

#[test]
fn a_token_of_a_page_is_sent_as_the_service_gave_it() {
    let input = r#"{"query":{"$top":2,"$skiptoken":"[{\"token\":\"+RID:~vps=\"}]"}}"#;
    assert_eq!(
        forwarded(&CONNECTOR, "list_chats", input).path,
        "/me/chats?$top=2&$skiptoken=%5B%7B%22token%22%3A%22%2BRID%3A~vps%3D%22%7D%5D"
    );
}

#[test]
fn an_id_stays_within_its_segment() {
    for id in ["", "..", "../users"] {
        let outcome = invoke(&CONNECTOR, "delete_team", &format!(r#"{{"team_id":"{id}"}}"#));
        let Err(Fault::InvalidInput(violations)) = outcome else { panic!("{id}: {outcome:?}") };
        assert_eq!(violations[0].pointer, "/team_id");
    }
}

#[test]
fn account_and_header_are_those_of_every_connector_of_graph() {
    connector_microsoft::testing::check(&CONNECTOR);
}

#[test]
fn a_message_without_tags_is_sent_as_the_caller_gives_it() {
    for (operation, ids) in [
        ("send_channel_message", r#""team_id":"t","channel_id":"c""#),
        ("reply_to_channel_message", r#""team_id":"t","channel_id":"c","message_id":"m""#),
        ("send_chat_message", r#""chat_id":"c""#),
    ] {
        for (message, expected) in [
            (r#""content":"Hello""#, r#"{"body":{"content":"Hello"}}"#),
            (
                r#""content":"<b>2.1</b>","content_type":"html","importance":"high""#,
                r#"{"body":{"content":"<b>2.1</b>","contentType":"html"},"importance":"high"}"#,
            ),
        ] {
            let body = forwarded(&CONNECTOR, operation, &format!("{{{ids},{message}}}")).body;
            assert!(matches!(&body, Some(Body::Json(text)) if text == expected), "{operation}: {body:?}");
        }
    }
}
