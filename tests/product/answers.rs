//! Answers, files and faults of a connector, and the responses that callers get for them.

use serde_json::{Value, json};
use support::{Gateway, Reply, Upstream};

use support::hostile::{assert_serves, gateway};

fn guest() -> Gateway {
    gateway(&Upstream::start(), "")
}

#[test]
fn text_that_is_not_json_is_a_fault_of_the_connector() {
    let gateway = guest();
    for body in [json!({}), json!({"response_fields": ["half"]})] {
        let answer = gateway.call("hostile/bad_json_reply", body);
        answer.problem(500, "connector-failed");
        assert_eq!(answer.header("x-error-source"), "connector");
    }
    assert_serves(&gateway);
}

#[test]
fn a_fault_of_the_connector_reaches_the_caller_in_the_connectors_words() {
    let gateway = guest();
    let fault =
        |kind: &str| gateway.call("hostile/fault", json!({"kind": kind, "detail": "the words of the connector"}));
    assert_eq!(fault("invalid-input").violations(), [("/detail".to_owned(), "the words of the connector".to_owned())]);
    let cases = [
        ("not-found", 404, "resource-not-found", "caller"),
        ("timed-out", 504, "upstream-timed-out", "provider"),
        ("failed", 500, "connector-failed", "connector"),
    ];
    for (kind, status, name, owner) in cases {
        let problem = fault(kind).problem(status, name);
        assert_eq!(problem["owner"], owner, "{kind}");
        if kind != "timed-out" {
            assert!(problem["detail"].as_str().unwrap().contains("words of the connector"), "{problem}");
        }
    }
}

#[test]
fn a_fault_with_an_upstreams_status_looks_like_an_answer_of_the_upstream() {
    let gateway = guest();
    let cases = [
        (400, 400, "upstream-rejected"),
        (409, 409, "upstream-rejected"),
        (429, 429, "upstream-rate-limited"),
        (500, 502, "upstream-failed"),
        (503, 502, "upstream-failed"),
    ];
    for (said, status, kind) in cases {
        let answer = gateway.call("hostile/fault", json!({"kind": "upstream", "status": said, "detail": "words"}));
        let problem = answer.problem(status, kind);
        assert_eq!(problem["upstream"], json!({"status": said, "body": {"code": 7}}));
        assert_eq!(answer.header("x-error-source"), "upstream");
        if said == 429 {
            assert_eq!(answer.header("retry-after"), "9");
        }
    }
    for nonsense in [0, 200, 302, 999] {
        let answer = gateway.call("hostile/fault", json!({"kind": "upstream", "status": nonsense, "detail": "words"}));
        answer.problem(502, "upstream-failed");
    }
}

#[test]
fn a_file_is_an_object_with_its_bytes_in_base64() {
    let gateway = guest();
    let body = json!({"bytes": "hello", "file_name": "hello.txt", "content_type": "text/plain", "members": r#"{"more": 1.0}"#});
    let answer = gateway.call("hostile/file", body);
    let expected = json!({
        "file_name": "hello.txt",
        "content_type": "text/plain",
        "size": 5,
        "more": 1.0,
        "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        "content_base64": "aGVsbG8=",
    });
    assert_eq!(answer.ok(), expected);
}

#[test]
fn a_caller_that_accepts_the_type_of_a_file_gets_its_bytes() {
    let gateway = guest();
    let client = gateway.client();
    let body = json!({"bytes": "hello", "file_name": "hello.txt", "content_type": "text/plain"});
    let call = |accept: &str| {
        let call = client.request("POST", "/connectors/hostile/file").header("accept", accept);
        call.json(&body).send().header("content-type").to_owned()
    };
    for accept in ["text/plain", "text/plain;q=0.5", "application/json;q=0.1, TEXT/PLAIN"] {
        assert_eq!(call(accept), "text/plain", "{accept}");
    }
    for accept in ["*/*", "text/*", "application/json", "text/html", "text/plain;q=0"] {
        assert_eq!(call(accept), "application/json", "{accept}");
    }
}

#[test]
fn a_files_name_and_type_cannot_forge_headers() {
    let gateway = guest();
    let client = gateway.client();
    let cases = [
        ("a\r\nX-Forged: 1", "text/plain"),
        ("a\"; filename=\"b", "text/plain"),
        ("../../etc/passwd", "text/plain"),
        ("a", "text/plain\r\nX-Forged: 1"),
        ("ü", "text/plain"),
        ("", ""),
    ];
    for (file_name, content_type) in cases {
        let body = json!({"bytes": "x", "file_name": file_name, "content_type": content_type});
        let call = client.request("POST", "/connectors/hostile/file").header("accept", "text/plain").json(&body);
        let answer = call.send();
        assert_eq!(answer.header("x-forged"), "", "{file_name:?} {content_type:?}");
        assert!(matches!(answer.status, 200 | 500), "{file_name:?} {content_type:?}: {}", answer.text());
        let disposition = answer.header("content-disposition");
        assert!(matches!(disposition.matches('"').count(), 0 | 2), "{disposition}");
    }
    assert_serves(&gateway);
}

#[test]
fn a_file_of_a_connector_has_a_clean_name_as_a_download_has() {
    let gateway = guest();
    for (given, name) in [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\a.txt", "a.txt"),
        ("invoice\u{202e}fdp.exe\r\n", "invoicefdp.exe"),
        ("..", "file"),
        ("", "file"),
        ("Größe 1.txt", "Größe 1.txt"),
    ] {
        let body = json!({"bytes": "x", "file_name": given, "content_type": "text/plain"});
        assert_eq!(gateway.call("hostile/file", body).ok()["file_name"], name, "{given:?}");
    }
}

#[test]
fn members_that_are_not_an_object_are_a_fault_of_the_connector() {
    let gateway = guest();
    for members in ["{", "7", "[]"] {
        let body = json!({"bytes": "x", "file_name": "x", "content_type": "text/plain", "members": members});
        gateway.call("hostile/file", body).problem(500, "connector-failed");
    }
    assert_serves(&gateway);
}

#[test]
fn a_file_over_its_own_limit_is_too_large() {
    let gateway = guest();
    let body = json!({"bytes": "hello", "file_name": "x", "content_type": "text/plain", "max_bytes": 4});
    gateway.call("hostile/file", body).problem(413, "answer-too-large");
}

#[test]
fn an_answer_of_another_type_is_passed_on_as_a_file() {
    let upstream = Upstream::start();
    let image =
        Reply::typed("image/png; x=1", "not really").header("content-disposition", "attachment; filename=\"../a.png\"");
    upstream.reply("/image", image).reply("/plain", Reply::typed("text/plain; charset=utf-8", "words"));
    let gateway = gateway(&upstream, "");
    let file = gateway.call("hostile/forward", json!({"path": "/image"})).ok();
    let expected =
        json!({"file_name": "a.png", "content_type": "image/png", "size": 10, "content_base64": "bm90IHJlYWxseQ=="});
    assert_eq!(file, expected);
    let file = gateway.call("hostile/forward", json!({"path": "/plain"})).ok();
    assert_eq!(file["content_type"], "text/plain");
    let client = gateway.client();
    let call = client.request("POST", "/connectors/hostile/forward").header("accept", "image/png");
    let answer = call.json(&json!({"path": "/image"})).send();
    assert_eq!((answer.header("content-type"), answer.text().as_str()), ("image/png", "not really"));
}

#[test]
fn json_is_known_by_its_type_with_any_suffix_and_parameter() {
    let upstream = Upstream::start();
    let gateway = gateway(&upstream, "");
    for content_type in
        ["application/json", "application/json; charset=utf-8", "application/vnd.example+json", "text/json"]
    {
        upstream.reply("/", Reply::typed(content_type, r#"{"n": 1.0}"#));
        let answer = gateway.call("hostile/forward", json!({"path": "/"}));
        assert_eq!(answer.text(), r#"{"n": 1.0}"#, "{content_type}");
        assert_eq!(answer.header("content-type"), "application/json");
    }
}

#[test]
fn headers_of_the_service_do_not_reach_the_caller() {
    let upstream = Upstream::start();
    let reply = Reply::json(json!({}))
        .header("set-cookie", "session=1")
        .header("x-internal", "1")
        .header("x-request-id", "theirs");
    upstream.reply("/", reply);
    let gateway = gateway(&upstream, "");
    let answer = gateway.call("hostile/forward", json!({"path": "/"}));
    assert_eq!(answer.ok(), json!({}));
    assert_eq!((answer.header("set-cookie"), answer.header("x-internal")), ("", ""));
    assert_ne!(answer.header("x-request-id"), "theirs");
}

#[test]
fn the_services_limits_links_and_request_id_are_passed_on_with_answers_and_problems() {
    let upstream = Upstream::start();
    let next = "<https://api.example/items?page=2>; rel=\"next\"";
    let reply = |status: u16| {
        Reply::json(json!({}))
            .status(status)
            .header("x-ratelimit-remaining", "7")
            .header("x-ratelimit-reset", "60")
            .header("x-service-request-id", "theirs")
            .header("link", next)
    };
    upstream.reply("/ok", reply(200)).reply("/refused", reply(404));
    let gateway = gateway(&upstream, "");
    for path in ["/ok", "/refused"] {
        let answer = gateway.call("hostile/forward", json!({"path": path}));
        assert_eq!(answer.header("x-upstream-ratelimit-remaining"), "7", "{path}");
        assert_eq!(answer.header("x-upstream-ratelimit-reset"), "60", "{path}");
        assert_eq!(answer.header("x-upstream-request-id"), "theirs", "{path}");
        assert_eq!(answer.header("x-upstream-link"), next, "{path}");
    }
}

#[test]
fn a_compressed_answer_is_read_whatever_its_coding_is_called_and_a_damaged_one_is_502() {
    let upstream = Upstream::start();
    let gateway = gateway(&upstream, "");
    let whole = support::gzip::compressed(b"{\"n\": 1.0}");
    let padded = [&whole[..], &[0; 64]].concat();
    let damaged = whole[..whole.len() - 4].to_vec();
    let forward = |coding: &str, body: &[u8]| {
        upstream.reply("/", Reply::typed("application/json", body.to_vec()).header("content-encoding", coding));
        gateway.call("hostile/forward", json!({"path": "/"}))
    };
    for (coding, body) in [("gzip", &whole[..]), ("x-gzip", &whole), ("gzip", &padded), ("Identity", b"{\"n\": 1.0}")] {
        assert_eq!(forward(coding, body).text(), "{\"n\": 1.0}", "{coding}");
    }
    assert_eq!(forward("gzip", b"").ok(), json!({}));
    forward("gzip", &damaged).problem(502, "upstream-not-understood");
    upstream.reply("/", Reply::typed("image/png", damaged).header("content-encoding", "gzip"));
    let call = gateway.client().request("POST", "/connectors/hostile/forward").header("accept", "image/png");
    call.json(&json!({"path": "/"})).send().problem(502, "upstream-not-understood");
    upstream.reply("/", Reply::typed("image/png", "x").header("content-encoding", "br"));
    let encoded = gateway.call("hostile/forward_file", json!({"path": "/"}));
    let problem = encoded.problem(502, "upstream-not-understood");
    assert!(problem["detail"].as_str().unwrap().contains("\"br\""), "{problem}");
    upstream.reply("/", Reply::typed("image/png", "x").header("content-encoding", "utf-8"));
    assert_eq!(gateway.call("hostile/forward_file", json!({"path": "/"})).status, 200, "that is no coding");
    upstream.reply("/", Reply::typed("image/png", "").header("content-encoding", "br"));
    assert_eq!(gateway.call("hostile/forward_file", json!({"path": "/"})).ok()["size"], 0);
}

#[test]
fn a_byte_order_mark_before_a_document_is_no_part_of_it() {
    let upstream = Upstream::start();
    upstream.reply("/", Reply::typed("application/json", "\u{feff}{\"n\": 1.0}"));
    let gateway = gateway(&upstream, "");
    for body in [json!({"path": "/"}), json!({"path": "/", "response_fields": ["n"]})] {
        assert_eq!(gateway.call("hostile/forward", body).ok(), json!({"n": 1.0}));
    }
    let read = gateway.call("hostile/read_body", json!({"path": "/", "form": "document"}));
    assert_eq!(read.ok(), json!({"n": 1.0}));
}

#[test]
fn an_answer_streams_to_the_caller_as_it_comes() {
    let (upstream, gate) = (Upstream::start(), support::Gate::default());
    let text = format!("[{}0]", "1, ".repeat(100_000));
    upstream.reply("/", Reply::pieces("application/json", &[&text[..1000], &text[1000..]]).behind(&gate));
    let gateway = gateway(&upstream, "");
    let call = gateway.client().begin("/connectors/hostile/forward", json!({"path": "/"}));
    upstream.wait_for_requests(1);
    gate.open();
    assert_eq!(call.wait().text(), text);
    let call: Value = gateway.call("hostile/read_body", json!({"path": "/", "form": "document"})).ok();
    assert_eq!(call.as_array().map(Vec::len), Some(100_001));
}
