//! Forms with files, which the gateway builds of the parts that a connector gives.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use support::hostile::{assert_serves, gateway};
use support::multipart::Part;
use support::{Reply, Setup, Upstream, wait_for};

/// The two ways in which the gateway runs an operation.
const FORMS: [&str; 2] = ["hostile/form", "hostile/form_at_once"];

fn service() -> Upstream {
    let service = Upstream::start();
    service.reply("/photos", Reply::json(json!({"stored": true})));
    service
}

fn form(parts: &Value) -> Value {
    json!({"path": "/photos", "text": "content", "parts": parts})
}

#[test]
fn a_form_arrives_with_its_fields_and_its_files() {
    let service = service();
    let gateway = gateway(&service, "");
    // A file that looks like the end of a part, and one that is long.
    let trap = b"\r\n--boundary--\r\nContent-Disposition: form-data; name=\"admin\"\r\n\r\n1\r\n";
    let long: Vec<u8> = (0..3_000_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    let parts = json!([
        ["title", null, null, null],
        ["about", null, "application/json", null],
        ["trap", "a b.txt", null, STANDARD.encode(trap)],
        ["long", "\u{fc} \u{1f600}.bin", "image/png", STANDARD.encode(&long)],
        ["empty", "empty", null, ""],
    ]);
    for operation in FORMS {
        assert_eq!(gateway.call(operation, form(&parts)).ok(), json!({"stored": true}));
        let seen = service.take_seen().remove(0);
        assert_eq!(seen.header("content-length"), seen.body.len().to_string());
        let octets = "application/octet-stream";
        assert_eq!(
            seen.multipart(),
            [
                Part::text("title", "content"),
                Part { content_type: Some("application/json".to_owned()), ..Part::text("about", "content") },
                Part::file("trap", "a b.txt", octets, trap),
                Part::file("long", "\u{fc} \u{1f600}.bin", "image/png", &long),
                Part::file("empty", "empty", octets, b""),
            ]
        );
    }
}

#[test]
fn no_name_of_a_part_makes_another_part_or_header() {
    let service = service();
    let gateway = gateway(&service, "");
    let names = ["a\"; filename=\"b", "a\r\nX-Y: z", "a\r\n\r\n--", "a\\", "\u{fc}\"\0"];
    for name in names {
        gateway
            .call("hostile/form", form(&json!([[name, null, null, null], ["last", "say \"hi\".txt", null, "SGk="]])))
            .ok();
        let parts = service.take_seen().remove(0).multipart();
        assert_eq!(parts.len(), 2, "{name:?}: {parts:?}");
        let encoded = parts[0].name.clone();
        assert!(!encoded.contains(['"', '\\', '\r', '\n', '\0']), "{encoded:?}");
        assert_eq!(percent_encoding::percent_decode_str(&encoded).decode_utf8().unwrap(), name);
        assert_eq!((&parts[0].file_name, &parts[0].content_type), (&None, &None));
        assert_eq!(parts[1], Part::file("last", "say %22hi%22.txt", "application/octet-stream", b"Hi"));
    }
}

#[test]
fn a_part_that_breaks_a_rule_is_named_and_nothing_is_sent() {
    let service = service();
    let gateway = gateway(&service, "");
    for (part, detail) in [
        (
            json!(["a", "../a", null, null]),
            "Give a file name without folders, slashes, backslashes and control characters.",
        ),
        (
            json!(["a", "a\r\nX: y", null, null]),
            "Give a file name without folders, slashes, backslashes and control characters.",
        ),
        (json!(["a", "..", null, null]), "Give the name of a file, and not of a folder."),
        (json!(["a", "", null, null]), "Give a file name of 1 to 255 bytes."),
        (json!(["a", "a", "text/plain\r\nX: y", null]), "Give a media type such as `image/png`."),
        (json!(["a", "a", null, "SGk"]), "Give the content in base64 (RFC 4648, section 4)."),
    ] {
        for operation in FORMS {
            let answer = gateway.call(operation, form(&json!([["first", null, null, null], part]))).ok();
            assert_eq!(answer, json!({"index": 1, "detail": detail}));
        }
    }
    let many = vec![json!(["a", null, null, null]); 1025];
    let answer = gateway.call("hostile/form", form(&json!(many))).ok();
    assert_eq!(answer, json!({"index": 1024, "detail": "Give at most 1024 parts."}));
    assert_eq!(service.seen().len(), 0);
}

#[test]
fn a_media_type_that_the_gateway_did_not_give_stands_for_no_form() {
    let service = service();
    let gateway = gateway(&service, "");
    let content_type = format!("multipart/form-data; boundary={}", "0".repeat(32));
    let body = json!({"content_type": content_type, "bytes": ""});
    gateway.call("hostile/write", json!({"path": "/photos", "method": "POST", "body": body})).ok();
    let seen = service.take_seen().remove(0);
    assert_eq!((seen.header("content-type"), seen.body.len()), (content_type.as_str(), 0));
}

#[test]
fn forms_count_in_the_memory_of_a_call_and_of_all_calls() {
    let hoard = json!({"bytes": 1 << 20, "count": 1000});
    let gateway = gateway(&Upstream::start(), "limits.response_mb = 4");
    let problem = gateway.call("hostile/hoard_forms", hoard.clone()).problem(500, "connector-failed");
    assert_eq!(problem["limit"], "memory", "{problem}");
    assert_serves(&gateway);
    assert_eq!(gateway.call("hostile/hoard_forms", json!({"bytes": 1 << 20, "count": 4})).ok(), json!({"forms": 4}));
    let gateway = Setup::new().guest("hostile").guest("liar").general("memory_mb = 16").start();
    let problem = gateway.call("hostile/hoard_forms", hoard).problem(503, "busy");
    assert_eq!(problem["retryable"], true);
    assert_serves(&gateway);
    wait_for("the memory to be free", || (gateway.metric("gateway_memory_held_bytes") == 0.0).then_some(()));
}
