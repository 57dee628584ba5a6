//! An operation answers what it declares: JSON, a file, or either.

use serde_json::{Value, json};
use support::{Answer, Gateway, Reply, Upstream};

use support::hostile::{assert_serves, gateway};

const PAGE: &str = "<!doctype html><html><body>Down for maintenance</body></html>";

/// A call without the envelope's members, and calls with each of them.
fn calls(gateway: &Gateway, operation: &str) -> Vec<Answer> {
    let filter = json!([{"field_name": "a", "type": "string_list", "values": ["x"]}]);
    [
        json!({"path": "/"}),
        json!({"path": "/", "response_fields": ["a"]}),
        json!({"path": "/", "response_filters": filter}),
    ]
    .into_iter()
    .map(|body| gateway.call(operation, body))
    .collect()
}

/// A response with a body and without a content type.
fn untyped(body: &str) -> Reply {
    Reply::pieces("", &[body])
}

#[test]
fn a_json_operation_whose_upstream_sends_something_else_is_502() {
    let upstream = Upstream::start();
    let gateway = gateway(&upstream, "");
    let replies = [
        Reply::typed("text/html; charset=utf-8", PAGE),
        Reply::typed("text/html", r#"{"a": 1}"#),
        Reply::typed("application/xhtml+xml", PAGE),
        Reply::typed("text/plain", PAGE),
        Reply::typed("text/plain", "Down for maintenance"),
        Reply::typed("text/plain", "nothing here"),
        Reply::typed("text/plain", "12 monkeys"),
        Reply::typed("text/plain; charset=utf-8", "\"unfinished"),
        Reply::typed("application/json", PAGE),
        Reply::typed("application/xml", "<a/>"),
        Reply::typed("application/pdf", "%PDF-1.7"),
        Reply::typed("application/octet-stream", "{}"),
        Reply::typed("multipart/mixed; boundary=x", "--x--"),
        Reply::typed("text/csv", "a,b\n1,2\n"),
        untyped(PAGE),
        untyped("a,b\n1,2\n"),
        untyped("true story"),
    ];
    for reply in replies {
        upstream.reply("/", reply);
        for answer in calls(&gateway, "hostile/forward_json") {
            let sent = String::from_utf8_lossy(&answer.body).into_owned();
            let problem = answer.problem(502, "upstream-not-understood");
            assert_eq!(
                (&problem["owner"], answer.header("x-error-source")),
                (&json!("provider"), "upstream"),
                "{sent}"
            );
            for leaked in ["maintenance", "monkeys", "content_base64"] {
                assert!(!sent.contains(leaked), "{sent}");
            }
        }
    }
    assert_serves(&gateway);
}

#[test]
fn json_as_plain_text_or_without_a_type_is_json() {
    let upstream = Upstream::start();
    let gateway = gateway(&upstream, "");
    let documents = [
        r#"{"a": 1.0, "b": [true]}"#,
        " \r\n\t {\"a\": 1.0}",
        r#"[{"a": 1.0}, {"b": 2}]"#,
        "[]",
        "\"text\"",
        "-1.50",
        "true",
        "null",
    ];
    for document in documents {
        for reply in [
            Reply::typed("text/plain", document.to_owned()),
            Reply::typed("Text/Plain; charset=utf-8", document.to_owned()),
            untyped(document),
        ] {
            upstream.reply("/", reply);
            let answer = gateway.call("hostile/forward_json", json!({"path": "/"}));
            assert_eq!((answer.status, answer.text().trim()), (200, document.trim()));
            assert_eq!(answer.header("content-type"), "application/json");
            let shaped = gateway.call("hostile/forward_json", json!({"path": "/", "response_fields": ["a"]}));
            assert_eq!(shaped.status, 200, "{document}: {}", shaped.text());
            assert!(!shaped.text().contains('b'), "{document}: {}", shaped.text());
        }
    }
}

#[test]
fn json_as_plain_text_streams_like_any_json() {
    let upstream = Upstream::start();
    // Larger than anything that the gateway may hold for an invocation.
    let text = format!("[{}0]", "1, ".repeat(2 << 20));
    let gateway = gateway(&upstream, "limits.response_mb = 1");
    for content_type in ["application/json", "text/plain", ""] {
        upstream.reply("/", Reply::pieces(content_type, &[&text[..1000], &text[1000..]]));
        let answer = gateway.call("hostile/forward_json", json!({"path": "/"}));
        assert!(answer.status == 200 && answer.text() == text, "{content_type}: {}", answer.status);
        let shaped = json!({"path": "/", "response_fields": ["a"]});
        gateway.call("hostile/forward_json", shaped).problem(413, "answer-too-large");
    }
}

#[test]
fn an_empty_response_of_a_json_operation_is_an_empty_object() {
    let upstream = Upstream::start();
    let gateway = gateway(&upstream, "");
    for reply in [
        Reply::empty(200),
        Reply::empty(204),
        Reply::typed("text/html", ""),
        Reply::typed("application/json", " \n"),
        untyped(""),
    ] {
        upstream.reply("/", reply);
        for answer in calls(&gateway, "hostile/forward_json") {
            assert_eq!(answer.ok(), json!({}));
        }
    }
}

#[test]
fn a_file_operation_answers_a_file_whatever_its_media_type() {
    let upstream = Upstream::start();
    let gateway = gateway(&upstream, "");
    let cases = [
        (Reply::typed("application/json", r#"{"a": 1}"#), "application/json", 8, "eyJhIjogMX0="),
        (Reply::typed("application/vnd.x+json; v=1", "[]"), "application/vnd.x+json", 2, "W10="),
        (Reply::typed("text/html", "<a>"), "text/html", 3, "PGE+"),
        (Reply::typed("text/plain", "a"), "text/plain", 1, "YQ=="),
        (Reply::typed("IMAGE/PNG", "a"), "image/png", 1, "YQ=="),
        (Reply::typed("text/csv", ""), "text/csv", 0, ""),
        (untyped("{}"), "application/octet-stream", 2, "e30="),
        (untyped(""), "application/octet-stream", 0, ""),
        (Reply::empty(204), "application/octet-stream", 0, ""),
    ];
    for (reply, content_type, size, base64) in cases {
        upstream.reply("/", reply);
        let expected = json!({
            "file_name": "forward_file", "content_type": content_type, "size": size, "content_base64": base64,
        });
        assert_eq!(gateway.call("hostile/forward_file", json!({"path": "/"})).ok(), expected);
        let shaped = json!({"path": "/", "response_fields": ["size"]});
        assert_eq!(gateway.call("hostile/forward_file", shaped).ok(), json!({"size": size}), "{content_type}");
    }
    assert_serves(&gateway);
}

#[test]
fn a_caller_that_accepts_the_type_of_a_json_file_gets_its_bytes() {
    let upstream = Upstream::start();
    // Not in the gateway's own spelling, so that a change would show.
    let text = "{ \"a\":1.0 }\n";
    upstream.reply("/", Reply::typed("application/geo+json", text));
    let gateway = gateway(&upstream, "");
    let call = gateway.client().request("POST", "/connectors/hostile/forward_file");
    let answer = call.header("accept", "application/geo+json").json(&json!({"path": "/"})).send();
    assert_eq!((answer.status, answer.text().as_str()), (200, text));
    assert_eq!(answer.header("content-type"), "application/geo+json");
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"forward_file\"");
}

#[test]
fn an_operation_that_answers_either_goes_by_the_media_type() {
    let upstream = Upstream::start();
    let gateway = gateway(&upstream, "");
    for (reply, is_file) in [
        (Reply::typed("application/json", "[1]"), false),
        (Reply::typed("text/plain", "[1]"), true),
        (untyped("[1]"), true),
        (Reply::typed("text/html", PAGE), true),
    ] {
        upstream.reply("/", reply);
        let answer = gateway.call("hostile/forward", json!({"path": "/"})).ok();
        assert_eq!(answer["content_base64"].is_string(), is_file, "{answer}");
    }
    for reply in [Reply::empty(200), Reply::empty(204), untyped("")] {
        upstream.reply("/", reply);
        assert_eq!(gateway.call("hostile/forward", json!({"path": "/"})).ok(), json!({}));
    }
}

#[test]
fn an_error_of_the_upstream_stays_one_whatever_the_operation_answers() {
    let upstream = Upstream::start();
    let gateway = gateway(&upstream, "");
    upstream.reply("/", Reply::typed("text/html", PAGE).status(403));
    for operation in ["hostile/forward", "hostile/forward_json", "hostile/forward_file"] {
        let problem = gateway.call(operation, json!({"path": "/"})).problem(403, "upstream-rejected");
        assert_eq!(problem["upstream"]["body"], PAGE);
    }
}

#[test]
fn a_connector_that_answers_another_kind_than_it_declared_fails() {
    let gateway = gateway(&Upstream::start(), "");
    let file = json!({"bytes": "{}", "file_name": "a.json", "content_type": "application/json"});
    let accepting = |operation: &str, body: &Value| {
        let call = gateway.client().request("POST", &format!("/connectors/hostile/{operation}"));
        call.header("accept", "application/json").json(body).send()
    };
    for answer in [gateway.call("hostile/file_as_json", file.clone()), accepting("file_as_json", &file)] {
        let problem = answer.problem(500, "connector-failed");
        assert_eq!((&problem["connector"], &problem["owner"]), (&json!("hostile"), &json!("connector")));
    }
    let document =
        json!({"json": r#"{"file_name": "a", "content_type": "text/plain", "size": 0, "content_base64": ""}"#});
    for answer in [gateway.call("hostile/json_as_file", document.clone()), accepting("json_as_file", &document)] {
        answer.problem(500, "connector-failed");
    }
    assert_serves(&gateway);
}
