//! The mail connector against a stand-in for Gmail: large messages within the sandbox's limits, and
//! the counts of labels.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Value, json};
use support::{Dialect, Reply};

use super::{Connected, anything, google_claims};

fn connected() -> Connected {
    connected_with("")
}

/// `config` has keys of the connector's section.
fn connected_with(config: &str) -> Connected {
    let upstreams = [("api", "/gmail/v1"), ("upload", "/upload/gmail/v1"), ("oauth2", "/oauth2/v2")];
    Connected::start("workspace_mail", Dialect::google(), &upstreams, config, google_claims)
}

/// The text of a mail with so many bytes.
fn mail(bytes: usize) -> String {
    let line = "From: \"Lee\" <lee@example.com>, größer: 0123456789 0123456789 0123456789\r\n";
    let mut mail = line.repeat(bytes / line.len());
    mail.push_str(&"x".repeat(bytes - mail.len()));
    mail
}

/// Gmail's answer with a mail, and its part that is the mail.
fn received(format: &str, mail: &str) -> (Value, &'static str) {
    let encoded = URL_SAFE.encode(mail);
    let part = json!({"mimeType": "text/plain", "body": {"size": mail.len(), "data": encoded}});
    match format {
        "raw" => (json!({"id": "18c", "raw": encoded}), "/raw"),
        _ => (json!({"id": "18c", "payload": part}), "/payload/body/data"),
    }
}

#[test]
fn a_mail_of_8_mb_is_decoded() {
    let (connected, mail) = (connected(), mail(8 << 20));
    for format in ["raw", "full"] {
        let (reply, place) = received(format, &mail);
        connected.provider.on_api(move |_, _| Reply::json(reply.clone()));
        let input = json!({"message_id": "18c", "format": format, "decode_body": true});
        let answer = connected.call("messages_get", input).ok();
        assert!(answer.pointer(place).is_some_and(|text| text == mail.as_str()), "{format}");
    }
}

#[test]
fn a_mail_of_25_mb_is_decoded_once_the_operator_raised_the_key_that_the_problem_names() {
    // The second mail is within the limit of responses.
    for (bytes, format, key) in [
        (25 << 20, "raw", "limits.response_mb"),
        (25 << 20, "full", "limits.response_mb"),
        (25_000_000, "raw", "limits.memory_mb"),
    ] {
        let mail = mail(bytes);
        let (reply, place) = received(format, &mail);
        let input = json!({"message_id": "18c", "format": format, "decode_body": true});
        let call = |config: &str| {
            let (connected, reply) = (connected_with(config), reply.clone());
            connected.provider.on_api(move |_, _| Reply::json(reply.clone()));
            connected.call("messages_get", input.clone())
        };
        let refused = call("");
        let problem = refused.json();
        assert_eq!(problem["owner"], "operator", "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        let named: Vec<&str> = detail.split('`').filter(|word| word.starts_with("limits.")).collect();
        assert_eq!(named, [key], "{problem}");
        let answer = call(&format!("{key} = 64")).ok();
        assert!(answer.pointer(place).is_some_and(|text| text == mail.as_str()), "{bytes} {format}");
    }
}

/// A message with a file of so many characters of base64.
fn message(length: usize) -> Value {
    let file = json!({"file_name": "a.bin", "content_base64": "A".repeat(length)});
    json!({"to": "kim@example.com", "body": "<p>See the attachment.</p>", "attachments": [file]})
}

#[test]
fn a_message_of_any_size_that_the_gateway_accepts_reaches_gmail() {
    let connected = connected();
    let reply = anything();
    connected.provider.on_api(move |_, _| Reply::json(reply.clone()));
    // The largest message in JSON, and the largest body that the gateway accepts without
    // configuration.
    for (length, target) in [
        (5_100_000, "/gmail/v1/users/me/drafts"),
        ((10 << 20) - 1_000, "/upload/gmail/v1/users/me/drafts?uploadType=media"),
    ] {
        let before = connected.provider.api_calls().len();
        assert_eq!(connected.call("create_draft", message(length)).ok(), anything());
        let [seen] = &connected.provider.api_calls()[before..] else { panic!("one request") };
        let query = if seen.query.is_empty() { String::new() } else { format!("?{}", seen.query) };
        assert!(format!("{}{query}", seen.path).ends_with(target), "{} {query}", seen.path);
        assert!(seen.header("authorization").starts_with("Bearer "));
        let raw = match seen.header("content-type") {
            "message/rfc822" => seen.body.to_vec(),
            _ => {
                let resource: Value = serde_json::from_slice(&seen.body).unwrap();
                URL_SAFE.decode(resource["message"]["raw"].as_str().unwrap()).unwrap()
            }
        };
        assert!(raw.starts_with(b"To: kim@example.com\r\n"));
        let content = raw.iter().filter(|byte| **byte == b'A').count();
        assert!(content >= length, "{content}");
    }
}

#[test]
fn a_message_with_many_parts_within_parts_is_decoded() {
    let connected = connected();
    let nested = |data: &str| {
        let inner = json!({"mimeType": "text/plain", "body": {"data": data}});
        let payload = (0..50).fold(inner, |part, _| json!({"mimeType": "multipart/mixed", "parts": [part]}));
        json!({"id": "18c", "payload": payload})
    };
    let reply = nested("R3LDvMOfZQ");
    connected.provider.on_api(move |_, _| Reply::json(reply.clone()));
    let answer = connected.call("messages_get", json!({"message_id": "18c", "decode_body": true}));
    assert_eq!(answer.ok(), nested("Grüße"));
}

#[test]
fn the_counts_of_every_label_are_read() {
    let connected = connected();
    connected.provider.on_api(|seen, _| match seen.path.rsplit('/').next().unwrap() {
        "labels" => {
            let labels: Vec<Value> =
                (0..12).map(|id| json!({"id": format!("L{id}"), "name": "n", "type": "user"})).collect();
            Reply::json(json!({"labels": labels}))
        }
        "L7" => Reply::json(json!({"error": {"code": 404}})).status(404),
        id => Reply::json(json!({
            "id": id, "name": "n", "type": "user",
            "messagesTotal": 3, "messagesUnread": 2, "threadsTotal": 1, "threadsUnread": 0,
        })),
    });
    let answer = connected.call("total_emails_per_label", json!({"waiting": true})).ok();
    assert_eq!(answer["total"], 11);
    assert_eq!(
        answer["labels"][10],
        json!({
            "id": "L11", "name": "n", "type": "user",
            "messagesTotal": 3, "messagesUnread": 2, "threadsTotal": 1, "threadsUnread": 0,
        })
    );
}

#[test]
fn a_refusal_of_gmail_reaches_the_caller_with_its_status() {
    let connected = connected();
    let error = json!({"error": {"code": 400, "message": "Invalid To header"}});
    let reply = Reply::json(error.clone()).status(400);
    connected.provider.on_api(move |_, _| reply.clone());
    let sent = connected.call("messages_send", json!({"to": "kim@example.com", "body": "x"}));
    let problem = sent.problem(400, "upstream-rejected");
    assert_eq!(problem["upstream"], json!({"status": 400, "body": error}));
}
