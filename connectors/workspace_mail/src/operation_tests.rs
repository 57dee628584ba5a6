//! The request of each row, and the operations on labels. The crate `connector-google` tests
//! `userinfo` further.

use connector_sdk::auth::Auth;
use connector_sdk::http::{Body, Error};
use connector_sdk::table::CredentialUse;
use connector_sdk::testing::{Answer, Gateway, forwarded, invoke, pages, refused};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

#[test]
fn every_parameter_of_a_row_has_gmails_name() {
    for (operation, input, path) in [
        ("list_drafts", "{}", "/users/me/drafts"),
        (
            "list_drafts",
            r#"{"include_spam_trash":true,"page_token":"a b","q":"in:anywhere"}"#,
            "/users/me/drafts?includeSpamTrash=true&pageToken=a%20b&q=in%3Aanywhere",
        ),
        ("list_threads", "{}", "/users/me/threads"),
        (
            "list_threads",
            r#"{"include_spam_trash":true,"label_ids":["INBOX","L 1"],"page_token":"t","q":["a","b"]}"#,
            "/users/me/threads?includeSpamTrash=true&labelIds=INBOX&labelIds=L%201&pageToken=t&q=a%20b",
        ),
        (
            "messages_list",
            r#"{"query":{"q":"is:unread","labelIds":["INBOX","Label_1"],"includeSpamTrash":false,"pageToken":"t"}}"#,
            "/users/me/messages?q=is%3Aunread&labelIds=INBOX&labelIds=Label_1&includeSpamTrash=false&pageToken=t",
        ),
    ] {
        assert_eq!(forwarded(&CONNECTOR, operation, input).path, path);
    }
}

#[test]
fn every_member_of_a_body_has_gmails_name() {
    for (operation, input, expected) in [
        (
            "create_label",
            r#"{"name":"Invoices","type":"user","message_list_visibility":"hide"}"#,
            r#"{"name":"Invoices","labelListVisibility":"labelShow","messageListVisibility":"hide","type":"user"}"#,
        ),
        (
            "messages_modify",
            r#"{"message_id":"18c","add_label_ids":["Label_1","STARRED"],"remove_label_ids":["UNREAD"]}"#,
            r#"{"addLabelIds":["Label_1","STARRED"],"removeLabelIds":["UNREAD"]}"#,
        ),
    ] {
        let body = forwarded(&CONNECTOR, operation, input).body;
        assert!(matches!(&body, Some(Body::Json(text)) if text == expected), "{body:?}");
    }
}

#[test]
fn a_label_has_both_colors_or_neither() {
    for (input, missing) in [
        (r##"{"name":"x","background_color":"#16a766"}"##, "/text_color"),
        (r##"{"name":"x","text_color":"#16a766","background_color":null}"##, "/background_color"),
    ] {
        assert_eq!(refused(&CONNECTOR, "create_label", input)[0].pointer, missing);
    }
}

#[test]
fn lists_name_the_field_of_the_next_page() {
    assert_eq!(
        pages(&CONNECTOR),
        [
            "list_drafts: /drafts, next cursor /nextPageToken, into /page_token",
            "list_threads: /threads, next cursor /nextPageToken, into /page_token",
            "messages_list: /messages, next cursor /nextPageToken, into /query/pageToken",
        ]
    );
}

const LABELS: &str = r#"{"labels":[{"id":"INBOX","name":"INBOX","type":"system"},{"id":"Label_1","name":"Old"},{"id":"a/b","name":"c"}]}"#;

fn label(id: &str, messages: u32) -> Answer {
    let counts = format!(r#""messagesTotal":{messages},"messagesUnread":1,"threadsTotal":2,"threadsUnread":0"#);
    let text = format!(r#"{{"id":"{id}","name":"n","type":"user","labelListVisibility":"labelShow",{counts}}}"#);
    Answer::json(200, &text)
}

fn totals() -> Result<String, Fault> {
    match invoke(&CONNECTOR, "total_emails_per_label", r#"{"waiting":true}"#)? {
        Outcome::Reply(text) => Ok(text),
        other => panic!("{other:?}"),
    }
}

#[test]
fn totals_have_the_counts_of_every_label_in_the_order_of_the_list() {
    let gateway = Gateway::new().answer(Answer::json(200, LABELS));
    // A label without messages may have no counts.
    let empty = Answer::json(200, r#"{"id":"a/b","name":"c"}"#);
    let gateway = gateway.answer(label("INBOX", 9)).answer(label("Label_1", 7)).answer(empty);
    assert_eq!(
        totals().expect("totals"),
        concat!(
            r#"{"labels":[{"id":"INBOX","name":"n","type":"user","messagesTotal":9,"messagesUnread":1,"threadsTotal":2,"threadsUnread":0},"#,
            r#"{"id":"Label_1","name":"n","type":"user","messagesTotal":7,"messagesUnread":1,"threadsTotal":2,"threadsUnread":0},"#,
            r#"{"id":"a/b","name":"c","type":null,"messagesTotal":0,"messagesUnread":0,"threadsTotal":0,"threadsUnread":0}],"total":3}"#
        )
    );
    let paths: Vec<String> = gateway.requests().iter().map(|request| request.path.clone()).collect();
    assert_eq!(
        paths,
        ["/users/me/labels", "/users/me/labels/INBOX", "/users/me/labels/Label_1", "/users/me/labels/a%2Fb"]
    );
}

#[test]
fn a_label_that_vanished_is_left_out() {
    let gone = Answer::json(404, r#"{"error":{"code":404}}"#);
    let gateway = Gateway::new().answer(Answer::json(200, LABELS)).answer(label("INBOX", 9));
    let _gateway = gateway.answer(gone).answer(label("a/b", 1));
    let text = totals().expect("totals");
    assert!(text.ends_with(r#""total":2}"#) && !text.contains("Label_1"), "{text}");
}

#[test]
fn a_mailbox_without_labels_has_no_totals() {
    let _gateway = Gateway::new().answer(Answer::json(200, "{}"));
    assert_eq!(totals().expect("totals"), r#"{"labels":[],"total":0}"#);
}

#[test]
fn totals_fail_with_the_first_failure_of_gmail() {
    let start = || Gateway::new().answer(Answer::json(200, LABELS)).answer(label("INBOX", 9));
    let busy = Answer::json(429, r#"{"error":{"code":429,"message":"Too many requests"}}"#).header("retry-after", "7");
    let _gateway = start().answer(busy).answer(label("a/b", 1));
    let Err(Fault::Upstream(fault)) = totals() else { panic!("a fault") };
    assert_eq!((fault.status, fault.retry_after_seconds), (429, Some(7)));
    assert_eq!(fault.body.as_deref(), Some(r#"{"error":{"code":429,"message":"Too many requests"}}"#));

    let _gateway = start().failure(Error::TimedOut);
    assert!(matches!(totals(), Err(Fault::Http(Error::TimedOut))));
    for malformed in ["[]", r#"{"id":7}"#, r#"{"id":"x","name":"n","messagesTotal":"many"}"#] {
        let _gateway = start().answer(Answer::json(200, malformed)).answer(label("a/b", 1));
        assert!(matches!(totals(), Err(Fault::Http(Error::BadAnswer(_)))), "{malformed}");
    }
}

#[test]
fn at_most_five_labels_are_read_at_a_time() {
    let listed: Vec<String> = (0..7).map(|id| format!(r#"{{"id":"L{id}","name":"n"}}"#)).collect();
    let mut gateway = Gateway::new().answer(Answer::json(200, &format!(r#"{{"labels":[{}]}}"#, listed.join(","))));
    for id in 0..4 {
        gateway = gateway.answer(label(&format!("L{id}"), 1));
    }
    let gateway = gateway.answer(Answer::json(500, "{}"));
    assert!(matches!(totals(), Err(Fault::Upstream(fault)) if fault.status == 500));
    // The list and the first five: the others were not requested.
    assert_eq!(gateway.requests().len(), 6);
}

#[test]
fn totals_report_the_number_of_labels_that_are_read() {
    let listed: Vec<String> = (0..8).map(|id| format!(r#"{{"id":"L{id}","name":"n"}}"#)).collect();
    let mut gateway = Gateway::new().answer(Answer::json(200, &format!(r#"{{"labels":[{}]}}"#, listed.join(","))));
    for id in 0..8 {
        gateway = gateway.answer(label(&format!("L{id}"), 1));
    }
    totals().expect("totals");
    let report = |fraction: f64, message: &str| (fraction, message.to_owned());
    assert_eq!(gateway.progress(), [report(0.0, "0 of 8 labels are read"), report(0.625, "5 of 8 labels are read")]);
}

#[test]
fn the_credential_goes_to_the_upstream_for_uploads_as_well() {
    let credential = |name: &str| {
        let upstream = CONNECTOR.upstreams.iter().find(|upstream| upstream.name == name);
        upstream.map(|upstream| upstream.credential)
    };
    assert_eq!(credential("api"), Some(None));
    assert_eq!(credential("upload"), Some(Some(CredentialUse::Standard)));
    assert_eq!(credential("userinfo"), Some(Some(CredentialUse::Standard)));
}

#[test]
fn userinfo_is_the_common_shape() {
    connector_google::testing::check_userinfo(&CONNECTOR);
    assert!(matches!(&CONNECTOR.auth, Auth::OAuth2(client) if client.provider == "google"));
}
