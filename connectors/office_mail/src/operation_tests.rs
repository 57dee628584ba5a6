//! The request of each row. The crate `connector-microsoft` has the test of `userinfo`.

use connector_sdk::http::{Body, Error, Method};
use connector_sdk::testing::{Answer, Gateway, forwarded, invoke};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

const IMPORT: &str = r#"{"mail_folder_id":"inbox","body":{"subject":"Imported"}}"#;

fn body(operation: &str, input: &str) -> String {
    match forwarded(&CONNECTOR, operation, input).body {
        Some(Body::Json(text)) => text,
        other => panic!("{operation}: {other:?}"),
    }
}

#[test]
fn a_created_message_has_the_flags_of_a_received_one() {
    let created = r#"{"id":"AAMkAGI2","isDraft":false,"subject":"Imported"}"#;
    let gateway = Gateway::new().answer(Answer::json(201, created));
    let outcome = invoke(&CONNECTOR, "create_message_in_folder", IMPORT);
    assert!(matches!(outcome, Ok(Outcome::ReplyDocument(answer)) if answer.text() == created));
    let requests = gateway.requests();
    assert_eq!((requests.len(), requests[0].method, requests[0].upstream.as_str()), (1, Method::Post, "graph"));
    assert_eq!(requests[0].path, "/me/mailFolders/inbox/messages");
    let Some(Body::Json(message)) = &requests[0].body else { panic!("a body") };
    assert_eq!(
        message,
        r#"{"subject":"Imported","singleValueExtendedProperties":[{"id":"Integer 0x0E07","value":"1"}]}"#
    );
    assert!(gateway.log().is_empty());
}

#[test]
fn the_flags_of_the_caller_are_sent_as_they_are() {
    let message = r#"{"singleValueExtendedProperties": [{"id":"integer 0x0e07","value":"8"}]}"#;
    let gateway = Gateway::new().answer(Answer::json(201, r#"{"id":"AAMkAGI2","isDraft":true}"#));
    let input = format!(r#"{{"mail_folder_id":"drafts","body":{message}}}"#);
    assert!(invoke(&CONNECTOR, "create_message_in_folder", &input).is_ok());
    assert!(matches!(&gateway.requests()[0].body, Some(Body::Json(sent)) if sent == message));
}

#[test]
fn a_message_that_is_still_a_draft_is_answered_with_a_line_in_the_log() {
    let gateway = Gateway::new().answer(Answer::json(201, r#"{"id":"AAMkAGI2","isDraft":true}"#));
    let outcome = invoke(&CONNECTOR, "create_message_in_folder", IMPORT);
    assert!(
        matches!(outcome, Ok(Outcome::ReplyDocument(answer)) if answer.string("/id").as_deref() == Some("AAMkAGI2"))
    );
    assert_eq!(gateway.log().len(), 1);
    assert!(gateway.log()[0].contains("Microsoft made a draft"), "{:?}", gateway.log());
}

#[test]
fn a_refusal_of_microsoft_keeps_its_status_and_body() {
    let error =
        r#"{"error":{"code":"ErrorFolderNotFound","message":"The specified folder could not be found in the store."}}"#;
    let _gateway = Gateway::new().answer(Answer::json(404, error)).failure(Error::TimedOut);
    let Err(Fault::Upstream(failure)) = invoke(&CONNECTOR, "create_message_in_folder", IMPORT) else {
        panic!("a refusal")
    };
    assert_eq!((failure.status, failure.body.as_deref()), (404, Some(error)));
    let outcome = invoke(&CONNECTOR, "create_message_in_folder", IMPORT);
    assert!(matches!(outcome, Err(Fault::Http(Error::TimedOut))), "{outcome:?}");
}

#[test]
fn a_sent_message_is_saved_unless_the_caller_declines() {
    assert_eq!(
        body("send_mail", r#"{"message":{"subject":"s"},"save_to_sent_items":false}"#),
        r#"{"message":{"subject":"s"},"saveToSentItems":false}"#
    );
    assert_eq!(
        body("send_mail", r#"{"message":{"subject":"s"},"save_to_sent_items":null}"#),
        r#"{"message":{"subject":"s"},"saveToSentItems":true}"#
    );
    assert_eq!(body("create_mail_folder", r#"{"display_name":"Clients"}"#), r#"{"displayName":"Clients"}"#);
}

#[test]
fn a_reply_may_have_a_message() {
    assert_eq!(body("reply_to_message", r#"{"message_id":"m"}"#), "{}");
    assert_eq!(
        body("reply_to_message", r#"{"message_id":"m","message":{"toRecipients":[]},"comment":"Hi"}"#),
        r#"{"comment":"Hi","message":{"toRecipients":[]}}"#
    );
}

#[test]
fn an_id_stays_within_its_segment() {
    let request =
        forwarded(&CONNECTOR, "get_message", r#"{"message_id":"AAMk/A+B==","query":{"$expand":"attachments"}}"#);
    assert_eq!(request.path, "/me/messages/AAMk%2FA%2BB%3D%3D?$expand=attachments");
    for id in ["", "..", "../events"] {
        let input = format!(r#"{{"mail_folder_id":"{id}","display_name":"x"}}"#);
        let Err(Fault::InvalidInput(violations)) = invoke(&CONNECTOR, "update_mail_folder", &input) else {
            panic!("{id}")
        };
        assert_eq!(violations[0].pointer, "/mail_folder_id");
    }
}

#[test]
fn account_and_header_are_those_of_every_connector_of_graph() {
    connector_microsoft::testing::check(&CONNECTOR);
}
