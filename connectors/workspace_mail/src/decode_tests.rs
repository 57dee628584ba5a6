//! Messages and drafts, with and without decoded bodies.

use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use connector_sdk::http::Error;
use connector_sdk::testing::{Answer, Gateway, forwarded, invoke};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

/// A draft as Gmail answers it: text in Latin-1, HTML in UTF-8, a picture, and a text file that
/// needs a separate request.
fn draft() -> String {
    let body = |bytes: &[u8]| format!(r#"{{"size":{},"data":"{}"}}"#, bytes.len(), URL_SAFE_NO_PAD.encode(bytes));
    let (text, html, picture) = (body(b"caf\xE9 >>> ???"), body("<p>Zo\u{eb}</p>".as_bytes()), body(b"\x89PNG"));
    format!(
        r#"{{"id":"r-1","message":{{"id":"m1","threadId":"t1","labelIds":["DRAFT"],"historyId":"12","sizeEstimate":1.50,
        "payload":{{"partId":"","mimeType":"multipart/mixed","filename":"","headers":[{{"name":"Subject","value":"S"}}],"body":{{"size":0}},
        "parts":[{{"mimeType":"multipart/alternative","headers":[],"body":{{"size":0}},"parts":[
        {{"mimeType":"text/plain","headers":[{{"name":"content-type","value":"text/plain; charset=\"iso-8859-1\""}}],"body":{text}}},
        {{"mimeType":"text/html","headers":[{{"name":"Content-Type","value":"text/html; charset=utf-8"}}],"body":{html}}}]}},
        {{"mimeType":"image/png","filename":"p.png","headers":[],"body":{picture}}},
        {{"mimeType":"text/csv","filename":"t.csv","headers":[],"body":{{"attachmentId":"a1","size":7}}}}]}}}}}}"#
    )
}

fn read(operation: &str, input: &str, answer: &str) -> Result<String, Fault> {
    let _gateway = Gateway::new().answer(Answer::json(200, answer));
    match invoke(&CONNECTOR, operation, input)? {
        Outcome::Reply(text) => Ok(text),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_that_is_not_decoded_is_gmails_own_answer() {
    for (operation, input, path) in [
        ("get_draft", r#"{"draft_id":"r-1"}"#, "/users/me/drafts/r-1"),
        ("get_draft", r#"{"draft_id":"r-1","format":"raw","decode_body":false}"#, "/users/me/drafts/r-1?format=raw"),
        // These formats have no bodies.
        (
            "get_draft",
            r#"{"draft_id":"r-1","format":"minimal","decode_body":true}"#,
            "/users/me/drafts/r-1?format=minimal",
        ),
        (
            "messages_get",
            r#"{"message_id":"18c","format":"metadata","metadata_headers":["From","X-A, B"],"decode_body":true}"#,
            "/users/me/messages/18c?format=metadata&metadataHeaders=From&metadataHeaders=X-A%2C%20B",
        ),
        ("get_thread", r#"{"thread_id":"18c"}"#, "/users/me/threads/18c"),
        (
            "get_thread",
            r#"{"thread_id":"18c","format":"metadata","metadata_headers":["Subject","From"],"decode_body":true}"#,
            "/users/me/threads/18c?format=metadata&metadataHeaders=Subject&metadataHeaders=From",
        ),
        ("messages_get", r#"{"message_id":"a/b"}"#, "/users/me/messages/a%2Fb"),
    ] {
        let request = forwarded(&CONNECTOR, operation, input);
        assert_eq!((request.upstream.as_str(), request.path.as_str()), ("api", path));
    }
}

#[test]
fn every_text_body_is_decoded_and_all_else_stays() {
    let sent = draft();
    let answer = read("get_draft", r#"{"draft_id":"r-1","format":"full","decode_body":true}"#, &sent).expect("a draft");
    let expected = sent
        .replace(&URL_SAFE_NO_PAD.encode(b"caf\xE9 >>> ???"), "café >>> ???")
        .replace(&URL_SAFE_NO_PAD.encode("<p>Zo\u{eb}</p>"), "<p>Zoë</p>");
    assert_eq!(answer, expected);
    assert!(answer.contains(r#""size":12,"data":"café"#) && answer.contains("1.50"));
    assert!(answer.contains(&URL_SAFE_NO_PAD.encode(b"\x89PNG")));
}

#[test]
fn a_message_is_decoded_without_a_draft_around_it() {
    let gateway = Gateway::new().answer(Answer::json(
        200,
        r#"{"id":"18c","payload":{"mimeType":"TEXT/plain","body":{"size":3,"data":"YSJi"}}}"#,
    ));
    let outcome = invoke(&CONNECTOR, "messages_get", r#"{"message_id":"18c","decode_body":true}"#);
    let Ok(Outcome::Reply(text)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(text, r#"{"id":"18c","payload":{"mimeType":"TEXT/plain","body":{"size":3,"data":"a\"b"}}}"#);
    assert_eq!(gateway.requests()[0].path, "/users/me/messages/18c");
}

#[test]
fn each_message_of_a_thread_is_decoded() {
    let thread = |first: &str, second: &str| {
        let message = |data: &str| format!(r#"{{"payload":{{"mimeType":"text/html","body":{{"data":"{data}"}}}}}}"#);
        format!(r#"{{"id":"t","messages":[{}, {}],"historyId":"1"}}"#, message(first), message(second))
    };
    let answer = read("get_thread", r#"{"thread_id":"t","decode_body":true}"#, &thread("aGk", "R3LDvMOfZQ"));
    assert_eq!(answer.expect("a thread"), thread("hi", "Grüße"));
    let empty = r#"{"id":"t"}"#;
    assert_eq!(read("get_thread", r#"{"thread_id":"t","decode_body":true}"#, empty).expect("a thread"), empty);
}

#[test]
fn a_raw_message_becomes_text() {
    let input = r#"{"draft_id":"r-1","format":"raw","decode_body":true}"#;
    for (message, expected) in
        [("Subject: é\r\n\r\nx".as_bytes(), r"Subject: é\r\n\r\nx"), (b"Subject: \xE9\r\n", r"Subject: é\r\n")]
    {
        for encoded in [URL_SAFE.encode(message), URL_SAFE_NO_PAD.encode(message)] {
            let sent = format!(r#"{{"id":"r-1","message":{{"raw":"{encoded}","id":"m"}}}}"#);
            let answer = read("get_draft", input, &sent).expect("a draft");
            assert_eq!(answer, format!(r#"{{"id":"r-1","message":{{"raw":"{expected}","id":"m"}}}}"#));
        }
    }
}

#[test]
fn base64_may_have_blanks_and_line_breaks() {
    let message = |data: &str| format!(r#"{{"payload":{{"mimeType":"text/plain","body":{{"data":"{data}"}}}}}}"#);
    let answer = read("messages_get", r#"{"message_id":"18c","decode_body":true}"#, &message(r"R3LD\r\n vMOf\tZQ=="));
    assert_eq!(answer.expect("a message"), message("Grüße"));
}

#[test]
fn utf_8_under_the_charset_of_the_sender_is_utf_8() {
    let message = |data: &str| {
        let headers = r#"[{"name":"Content-Type","value":"text/plain; charset=iso-8859-1"}]"#;
        format!(r#"{{"payload":{{"mimeType":"text/plain","headers":{headers},"body":{{"data":"{data}"}}}}}}"#)
    };
    let answer = read("messages_get", r#"{"message_id":"18c","decode_body":true}"#, &message("R3LDvMOfZQ"));
    assert_eq!(answer.expect("a message"), message("Grüße"));
}

#[test]
fn a_message_without_bodies_stays_as_it_is() {
    for sent in [
        r#"{"id":"r-1"}"#,
        r#"{"id":"r-1","message":{"id":"m","payload":null,"raw":null}}"#,
        r#"{"id":"r-1","message":{"payload":{"mimeType":"text/plain","body":{"size":0}}}}"#,
        r#"{"id":"r-1","message":{"payload":{"mimeType":"text/plain"}}}"#,
        r#"{"id":"r-1","message":{"payload":{"body":{"data":"eA"}}}}"#,
    ] {
        assert_eq!(read("get_draft", r#"{"draft_id":"r-1","decode_body":true}"#, sent).expect("a draft"), sent);
    }
}

#[test]
fn parts_may_be_nested_deeply() {
    let open = r#"{"mimeType":"multipart/mixed","parts":["#.repeat(300);
    let message = |data: &str| {
        let inner = format!(r#"{{"mimeType":"text/plain","body":{{"data":"{data}"}}}}"#);
        format!(r#"{{"payload":{open}{inner}{}}}"#, "]}".repeat(300))
    };
    let answer = read("messages_get", r#"{"message_id":"18c","decode_body":true}"#, &message("aGk"));
    assert_eq!(answer.expect("a message"), message("hi"));
}

#[test]
fn an_answer_of_another_form_is_gmails_failure() {
    for sent in [
        "[]",
        r#"{"message":[]}"#,
        r#"{"message":{"payload":7}}"#,
        r#"{"message":{"payload":{"mimeType":"text/plain","body":{"data":"***"}}}}"#,
        r#"{"message":{"payload":{"mimeType":"text/plain","body":{"data":7}}}}"#,
        r#"{"message":{"raw":{}}}"#,
    ] {
        let outcome = read("get_draft", r#"{"draft_id":"r-1","decode_body":true}"#, sent);
        assert!(matches!(outcome, Err(Fault::Http(Error::BadAnswer(_)))), "{sent}: {outcome:?}");
    }
}

#[test]
fn a_refusal_of_gmail_is_passed_on() {
    let body = r#"{"error":{"code":404,"message":"Requested entity was not found."}}"#;
    let _gateway = Gateway::new().answer(Answer::json(404, body));
    let outcome = invoke(&CONNECTOR, "get_draft", r#"{"draft_id":"r-1","decode_body":true}"#);
    let Err(Fault::Upstream(fault)) = outcome else { panic!("{outcome:?}") };
    assert_eq!((fault.status, fault.body.as_deref()), (404, Some(body)));
}
