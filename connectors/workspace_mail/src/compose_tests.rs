//! The messages that go to Gmail, read by another library, and the inputs that are refused.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use connector_sdk::http::{Body, Method};
use connector_sdk::testing::{forwarded, refused};
use mailparse::{MailAddr, MailHeaderMap, ParsedMail, addrparse_header, parse_mail};
use serde_json::{Value, json};

use crate::CONNECTOR;
use crate::delivery::{MAX, MAX_IN_JSON};

/// The resource that goes to Gmail in JSON, and its message.
fn sent(operation: &str, input: &Value) -> (Value, String) {
    let request = forwarded(&CONNECTOR, operation, &input.to_string());
    assert_eq!(request.upstream, "api");
    let Some(Body::Json(text)) = request.body else { panic!("{:?}", request.body) };
    let resource: Value = serde_json::from_str(&text).expect("JSON");
    let message = if operation == "messages_send" { &resource } else { &resource["message"] };
    let raw = URL_SAFE.decode(message["raw"].as_str().expect("raw")).expect("base64");
    let message = String::from_utf8(raw).expect("a message is ASCII");
    for line in message.split("\r\n") {
        assert!(line.len() <= 78 && line.is_ascii() && !line.contains(['\r', '\n']), "{line:?}");
    }
    (resource, message)
}

fn draft(input: &Value) -> String {
    sent("create_draft", input).1
}

/// The types of a part and of the parts in it.
fn shape(part: &ParsedMail<'_>) -> String {
    let inner: Vec<String> = part.subparts.iter().map(shape).collect();
    if inner.is_empty() { part.ctype.mimetype.clone() } else { format!("{}[{}]", part.ctype.mimetype, inner.join(" ")) }
}

fn violations(operation: &str, input: &Value) -> Vec<String> {
    let violations = refused(&CONNECTOR, operation, &input.to_string());
    violations.into_iter().map(|violation| violation.pointer).collect()
}

#[test]
fn a_draft_is_the_message_of_a_resource() {
    let (resource, message) =
        sent("create_draft", &json!({"to": "kim@example.com", "subject": "Hi", "body": "Hello", "thread_id": "t\"1"}));
    assert_eq!(resource["message"]["threadId"], "t\"1");
    assert_eq!(
        message,
        "To: kim@example.com\r\nSubject: Hi\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Transfer-Encoding: base64\r\n\r\nSGVsbG8=\r\n"
    );
    let (resource, _) = sent("create_draft", &json!({"subject": "Hi"}));
    assert_eq!(resource["message"].as_object().map(serde_json::Map::len), Some(1));
}

#[test]
fn each_operation_has_its_method_path_and_resource() {
    let content = json!({"to": ["kim@example.com"], "thread_id": "t1", "draft_id": "r/1"});
    for (operation, method, path, message) in [
        ("create_draft", Method::Post, "/users/me/drafts", "/message"),
        ("update_draft", Method::Put, "/users/me/drafts/r%2F1", "/message"),
        ("messages_send", Method::Post, "/users/me/messages/send", ""),
    ] {
        let request = forwarded(&CONNECTOR, operation, &content.to_string());
        assert_eq!((request.method, request.path.as_str()), (method, path));
        let (resource, _) = sent(operation, &content);
        let message = resource.pointer(message).expect("a message");
        assert_eq!(message["threadId"], "t1", "{operation}");
        assert_eq!(message.as_object().map(serde_json::Map::len), Some(2), "{operation}");
    }
    assert_eq!(violations("update_draft", &json!({"draft_id": "..", "subject": "x"})), ["/draft_id"]);
}

#[test]
fn headers_have_names_and_subjects_of_every_language() {
    let subject = "Größe der Schachtel: 日本語のとても長い件名、まだまだ続く、そして終わる — 🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉";
    let message = draft(&json!({
        "sender": "Käthe Groß <kaethe@example.com>",
        "to": ["\"Lee, Kim\" <kim@example.com>", "日本 太郎 <taro@example.com>", "plain@example.com"],
        "cc": "c@example.com",
        "bcc": ["d@example.com"],
        "subject": subject,
    }));
    let parsed = parse_mail(message.as_bytes()).expect("a message");
    assert_eq!(parsed.headers.get_first_value("Subject").as_deref(), Some(subject));
    let people = |name: &str| -> Vec<(String, String)> {
        let header = parsed.headers.get_first_header(name).expect("a header");
        let list = addrparse_header(header).expect("addresses");
        let single = list.iter().map(|address| match address {
            MailAddr::Single(person) => (person.display_name.clone().unwrap_or_default(), person.addr.clone()),
            MailAddr::Group(group) => panic!("{group:?}"),
        });
        single.collect()
    };
    let person = |name: &str, address: &str| (name.to_owned(), address.to_owned());
    assert_eq!(people("From"), [person("Käthe Groß", "kaethe@example.com")]);
    assert_eq!(
        people("To"),
        [
            person("Lee, Kim", "kim@example.com"),
            person("日本 太郎", "taro@example.com"),
            person("", "plain@example.com")
        ]
    );
    assert_eq!((people("Cc"), people("Bcc")), (vec![person("", "c@example.com")], vec![person("", "d@example.com")]));
}

#[test]
fn a_subject_arrives_as_it_is() {
    let long_word = "x".repeat(2_000);
    let many_words = "word ".repeat(400) + "end";
    for subject in ["Minutes", " two  blanks ", "=?utf-8?q?x?=", "tab\there", "\u{7}", &long_word, &many_words, "ü"] {
        let message = draft(&json!({"subject": subject}));
        let parsed = parse_mail(message.as_bytes()).expect("a message");
        assert_eq!(parsed.headers.get_first_value("Subject").as_deref(), Some(subject));
    }
    assert!(draft(&json!({"subject": "Minutes: a = b?"})).contains("Subject: Minutes: a = b?\r\n"));
}

#[test]
fn many_recipients_are_folded() {
    let to: Vec<String> = (0..300).map(|number| format!("recipient.{number}@mail.example.com")).collect();
    let message = draft(&json!({"to": to}));
    let parsed = parse_mail(message.as_bytes()).expect("a message");
    let header = parsed.headers.get_first_header("To").expect("a header");
    assert_eq!(addrparse_header(header).expect("addresses").len(), 300);
}

#[test]
fn html_comes_with_its_plain_text() {
    let message = draft(&json!({"body": "<p>Grüße &amp; mehr</p>\n<p>Zwei</p>"}));
    let parsed = parse_mail(message.as_bytes()).expect("a message");
    assert_eq!(shape(&parsed), "multipart/alternative[text/plain text/html]");
    assert_eq!(parsed.subparts[0].get_body().expect("text"), "Grüße & mehr\r\n\r\nZwei");
    assert_eq!(parsed.subparts[1].get_body().expect("HTML"), "<p>Grüße &amp; mehr</p>\r\n<p>Zwei</p>");
}

#[test]
fn plain_text_is_one_part_with_the_line_ends_of_mail() {
    let message = draft(&json!({"body": "a\nb\r\nc < d"}));
    let parsed = parse_mail(message.as_bytes()).expect("a message");
    assert_eq!((shape(&parsed).as_str(), parsed.get_body().expect("text").as_str()), ("text/plain", "a\r\nb\r\nc < d"));
}

#[test]
fn attachments_follow_the_body_and_inline_files_follow_the_html() {
    let file = |name: &str, bytes: &[u8], id: Value| json!({"file_name": name, "content_base64": STANDARD.encode(bytes), "content_id": id});
    let picture: Vec<u8> = (0..=255).cycle().take(1_000).collect();
    let long_name = format!("{}.png", "name ".repeat(30));
    let message = draft(&json!({
        "body": "<img src=\"cid:logo@x\">",
        "attachments": [
            file("Größe \"1\".pdf", b"%PDF", Value::Null),
            file(&long_name, &picture, json!("<logo@x>")),
            file("", b"", Value::Null),
        ],
    }));
    let parsed = parse_mail(message.as_bytes()).expect("a message");
    assert_eq!(
        shape(&parsed),
        "multipart/mixed[multipart/alternative[text/plain multipart/related[text/html image/png]] application/pdf application/octet-stream]"
    );
    let inline = &parsed.subparts[0].subparts[1].subparts[1];
    assert_eq!(inline.get_body_raw().expect("bytes"), picture);
    assert_eq!(inline.headers.get_first_value("Content-ID").as_deref(), Some("<logo@x>"));
    let disposition = inline.get_content_disposition();
    assert_eq!(disposition.disposition, mailparse::DispositionType::Inline);
    assert_eq!(disposition.params.get("filename"), Some(&long_name));
    let pdf = &parsed.subparts[1];
    let disposition = pdf.get_content_disposition();
    assert_eq!(disposition.disposition, mailparse::DispositionType::Attachment);
    assert_eq!(disposition.params.get("filename").map(String::as_str), Some("Größe \"1\".pdf"));
    assert_eq!(pdf.get_body_raw().expect("bytes"), b"%PDF");
    assert_eq!(parsed.subparts[2].get_body_raw().expect("bytes"), b"");
}

#[test]
fn a_name_that_looks_like_an_encoded_word_is_not_decoded() {
    for name in ["=?utf-8?Q?a=2Epdf?=", "x =?utf-8?B?w6k=?= y.pdf", "=?", &format!("=?{}é\"\\?=", "long ".repeat(40))]
    {
        let file = json!({"file_name": name, "content_base64": "JVBERg=="});
        let message = draft(&json!({"body": "x", "attachments": [file]}));
        let header = message.split("\r\nContent-Disposition: ").nth(1).expect("the header of the file");
        let header = header.split("\r\nContent-Transfer-Encoding").next().expect("a header");
        assert!(!header.contains("=?"), "{header}");
        assert!(header.lines().all(|line| line.len() < 78), "{header}");
        let parsed = parse_mail(message.as_bytes()).expect("a message");
        let disposition = parsed.subparts[1].get_content_disposition();
        assert_eq!(disposition.params.get("filename").map(String::as_str), Some(name));
    }
}

#[test]
fn a_file_for_html_is_attached_to_a_plain_text() {
    let picture = json!({"file_name": "a.png", "content_base64": "AAAA", "content_id": "a"});
    let shape_of = |input: Value| shape(&parse_mail(draft(&input).as_bytes()).expect("a message"));
    assert_eq!(shape_of(json!({"body": "x", "attachments": [picture]})), "multipart/mixed[text/plain image/png]");
    assert_eq!(shape_of(json!({"subject": "x", "attachments": [picture]})), "multipart/mixed[image/png]");
    assert_eq!(shape_of(json!({"subject": "x"})), "text/plain");
}

#[test]
fn content_of_any_length_arrives_as_it_is() {
    for length in [1, 2, 3, 56, 57, 58, 3_072, 3_073, 100_000] {
        let bytes: Vec<u8> = (0..length).map(|index| u8::try_from(index % 251).expect("a byte")).collect();
        for content in [STANDARD.encode(&bytes), STANDARD.encode(&bytes).trim_end_matches('=').to_owned()] {
            let message =
                draft(&json!({"subject": "x", "attachments": [{"file_name": "a", "content_base64": content}]}));
            let parsed = parse_mail(message.as_bytes()).expect("a message");
            assert!(parsed.subparts[0].get_body_raw().expect("bytes") == bytes, "{length}");
        }
    }
}

#[test]
fn no_text_of_a_caller_ends_a_part() {
    let body = "x\r\n--=_mixed--\r\n--=_upload\r\nBcc: eve@example.com";
    let message = draft(
        &json!({"body": body, "subject": "--=_mixed", "attachments": [{"file_name": "--=_mixed", "content_base64": "AAAA"}]}),
    );
    let parsed = parse_mail(message.as_bytes()).expect("a message");
    assert_eq!(parsed.subparts.len(), 2);
    assert_eq!(parsed.subparts[0].get_body().expect("text"), body);
}

#[test]
fn an_answer_names_the_message_that_it_answers() {
    let message = draft(&json!({"subject": "Re: x", "in_reply_to": "<a.b@mail.example>"}));
    assert!(message.contains("\r\nIn-Reply-To: <a.b@mail.example>\r\nReferences: <a.b@mail.example>\r\n"), "{message}");
    let longest = format!("<{}>", "x".repeat(900));
    let request = forwarded(&CONNECTOR, "create_draft", &json!({"subject": "x", "in_reply_to": longest}).to_string());
    assert!(matches!(request.body, Some(Body::Json(_))));
    let too_long = format!("<{}>", "x".repeat(901));
    for wrong in ["a@b", "<>", "<a b>", "<a><b>", "<a@b>\r\nBcc: eve@example.com", "<a\nb>", "<é>", "", &too_long] {
        assert_eq!(violations("create_draft", &json!({"subject": "x", "in_reply_to": wrong})), ["/in_reply_to"]);
    }
}

#[test]
fn a_line_break_in_a_header_is_refused() {
    for (field, value, pointer) in [
        ("subject", json!("a\r\nBcc: eve@example.com"), "/subject"),
        ("subject", json!("a\rb"), "/subject"),
        ("subject", json!("a\nb"), "/subject"),
        ("sender", json!("a@example.com\nX: y"), "/sender"),
        ("to", json!("a@example.com\r\nBcc: eve@example.com"), "/to"),
        ("cc", json!(["a@example.com", "\"x\ny\" <b@example.com>"]), "/cc/1"),
        ("bcc", json!(["x\r\n <b@example.com>"]), "/bcc"),
        ("attachments", json!([{"file_name": "a\nb", "content_base64": ""}]), "/attachments/0/file_name"),
        (
            "attachments",
            json!([{"file_name": "a", "content_type": "a/b\r\nX: y", "content_base64": ""}]),
            "/attachments/0/content_type",
        ),
        (
            "attachments",
            json!([{"file_name": "a", "content_id": "a\nb", "content_base64": ""}]),
            "/attachments/0/content_id",
        ),
    ] {
        let input = json!({"body": "x", field: value, "draft_id": "r-1"});
        assert_eq!(violations("update_draft", &input), [pointer], "{input}");
    }
}

#[test]
fn every_wrong_field_is_named() {
    let input = json!({
        "to": ["a@example.com", "b", "c@example.com, d@example.com"], "sender": "me", "subject": "a\nb",
        "attachments": [{"file_name": "a", "content_base64": "SGVsbG8="}, {"file_name": "b", "content_base64": "*"}],
    });
    assert_eq!(
        violations("messages_send", &input),
        ["/sender", "/to/1", "/to/2", "/attachments/1/content_base64", "/subject"]
    );
}

#[test]
fn a_draft_has_a_recipient_a_subject_or_a_body() {
    for input in
        [json!({}), json!({"subject": "", "body": ""}), json!({"to": [], "sender": "a@example.com", "attachments": []})]
    {
        assert_eq!(violations("create_draft", &input), [""], "{input}");
    }
    for input in [json!({"bcc": "a@example.com"}), json!({"subject": "x"}), json!({"body": "x"})] {
        draft(&input);
    }
    for input in [json!({"subject": "x", "body": "y"}), json!({"to": [], "cc": []})] {
        assert_eq!(violations("messages_send", &input), [""], "{input}");
    }
}

/// An input whose message has exactly `size` bytes.
fn of_size(size: usize, thread_id: Option<&str>) -> Value {
    let input = |lines: usize, rest: usize| {
        let content_type = format!("a/{}", "b".repeat(1 + rest));
        let file = json!({"file_name": "a", "content_type": content_type, "content_base64": "A".repeat(lines * 76)});
        json!({"subject": "x", "thread_id": thread_id, "attachments": [file]})
    };
    // A full line has 76 characters and its end.
    let missing = size - draft(&input(1, 0)).len();
    input(1 + missing / 78, missing % 78)
}

/// Upstream, path, media type and bytes of an upload.
fn uploaded(input: &Value) -> (String, String, String, Vec<u8>) {
    let request = forwarded(&CONNECTOR, "create_draft", &input.to_string());
    let Some(Body::Bytes(body)) = request.body else { panic!("an upload") };
    (request.upstream, request.path, body.content_type, body.bytes)
}

#[test]
fn a_message_over_5_mib_is_uploaded() {
    let (_, message) = sent("create_draft", &of_size(MAX_IN_JSON, None));
    assert_eq!(message.len(), 5_242_880);
    let (upstream, path, content_type, bytes) = uploaded(&of_size(MAX_IN_JSON + 1, None));
    assert_eq!((upstream.as_str(), path.as_str()), ("upload", "/users/me/drafts?uploadType=media"));
    assert_eq!((content_type.as_str(), bytes.len()), ("message/rfc822", 5_242_881));
    assert!(bytes.starts_with(b"Subject: x"));
}

#[test]
fn an_upload_keeps_its_thread() {
    let (_, path, content_type, bytes) = uploaded(&of_size(MAX_IN_JSON + 1, Some("t1")));
    assert_eq!(path, "/users/me/drafts?uploadType=multipart");
    let upload = [format!("Content-Type: {content_type}\r\n\r\n").into_bytes(), bytes].concat();
    let parsed = parse_mail(&upload).expect("a multipart body");
    assert_eq!(shape(&parsed), "multipart/related[application/json message/rfc822]");
    assert_eq!(parsed.subparts[0].get_body().expect("JSON").trim_end(), r#"{"message":{"threadId":"t1"}}"#);
    let message = parsed.subparts[1].get_body_raw().expect("a message");
    assert!(message.starts_with(b"Subject: x"));
    assert_eq!(message.len(), 5_242_881);
}

#[test]
fn a_message_has_at_most_36_700_160_bytes() {
    assert_eq!(uploaded(&of_size(MAX, None)).3.len(), 36_700_160);
    assert_eq!(violations("create_draft", &of_size(MAX + 1, None)), [""]);
}

#[test]
fn the_same_input_makes_the_same_message() {
    let input = json!({"body": "<p>x</p>", "attachments": [{"file_name": "a", "content_base64": "AAAA"}]});
    assert_eq!(draft(&input), draft(&input));
}
