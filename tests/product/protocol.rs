//! HTTP itself: versions, connections, request ids.

use std::io::Read;

use serde_json::json;
use support::wire::{connection, head};
use support::{Client, Gateway, Reply, Setup, Upstream, module};

fn gateway() -> Gateway {
    Setup::new().module("liar", module::liar("version=1.0.0")).start()
}

#[test]
fn http2_is_accepted_without_tls_by_prior_knowledge() {
    let gateway = gateway();
    let client = gateway.client().over_http2();
    let calls: Vec<_> = (0..50).map(|_| client.begin("/connectors/liar/version", json!({}))).collect();
    for call in calls {
        let answer = call.wait();
        assert_eq!(format!("{:?}", answer.version), "HTTP/2.0");
        answer.ok();
    }
    client.get("/connectors").ok();
    client.post("/connectors/liar/none", json!({})).problem(404, "unknown-operation");
}

#[test]
fn an_upstreams_answer_streams_to_a_caller_over_http2() {
    let service = Upstream::start();
    service.reply("/forward", Reply::pieces("application/json", &["[1,", "2]"]));
    let gateway =
        Setup::new().module("liar", module::liar("version=1.0.0")).upstream("liar", "api", &service.url()).start();
    let answer = gateway.client().over_http2().call("liar/forward", json!({}));
    assert_eq!(answer.text(), "[1,2]");
}

#[test]
fn every_answer_has_a_request_id_of_its_own() {
    let gateway = gateway();
    let one = gateway.call("liar/version", json!({}));
    let other = gateway.call("liar/none", json!({}));
    let ids = [one.header("x-request-id"), other.header("x-request-id")];
    assert!(ids.iter().all(|id| !id.is_empty()) && ids[0] != ids[1], "{ids:?}");
}

#[test]
fn a_callers_request_id_is_kept_in_answer_problem_and_log() {
    let gateway = gateway();
    let call = gateway.client().request("POST", "/connectors/liar/none").header("x-request-id", "caller-7:a/b");
    let answer = call.json(&json!({})).send();
    assert_eq!(answer.header("x-request-id"), "caller-7:a/b");
    assert_eq!(answer.problem(404, "unknown-operation")["instance"], "caller-7:a/b");
    let line = gateway.wait_for_log("its line", |line| line["request_id"] == "caller-7:a/b");
    assert_eq!((&line["status"], &line["problem"]), (&json!(404), &json!("unknown-operation")));
}

#[test]
fn an_invalid_request_id_is_replaced() {
    let gateway = gateway();
    for id in ["", "two words", &"x".repeat(129)] {
        let answer = gateway.client().request("GET", "/healthz").header("x-request-id", id).send();
        let given = answer.header("x-request-id");
        assert!(!given.is_empty() && given != id, "{id:?} became {given:?}");
    }
}

#[test]
fn head_is_get_without_the_body() {
    let gateway = gateway();
    for path in ["/connectors", "/healthz", "/readyz", "/openapi.json"] {
        let answer = gateway.client().request("HEAD", path).send();
        assert_eq!((answer.status, answer.body.len()), (200, 0), "{path}");
        assert_eq!(answer.header("content-type"), "application/json", "{path}");
    }
}

#[test]
fn health_and_description_need_no_key() {
    let gateway = gateway();
    let anonymous = gateway.anonymous();
    assert_eq!(anonymous.get("/healthz").ok()["status"], "ok");
    assert_eq!(anonymous.get("/readyz").ok(), json!({"status": "ready", "connectors": 1}));
    assert_eq!(anonymous.get("/openapi.json").ok()["openapi"], "3.1.0");
}

#[test]
fn the_query_of_a_path_does_not_matter_to_an_operation() {
    let gateway = gateway();
    gateway.client().post("/connectors/liar/version?x=1", json!({})).ok();
}

/// Sends bytes and reads until the connection closes.
fn raw(gateway: &Gateway, request: &str) -> String {
    let mut stream = connection(&gateway.address(), request.as_bytes());
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    // A reset is an answer too.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn an_answer_that_breaks_off_has_its_status_before_the_connection_closes() {
    let service = Upstream::start();
    service.reply("/forward", Reply::cut_off("application/json", "[1, "));
    let gateway =
        Setup::new().module("liar", module::liar("version=1.0.0")).upstream("liar", "api", &service.url()).start();
    for _ in 0..20 {
        let request = head("/connectors/liar/forward", 2) + "{}";
        let mut stream = connection(&gateway.address(), request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        // The end of the service's answer may arrive with its beginning, or later.
        assert!(answer.starts_with("HTTP/1.1 200 ") || answer.starts_with("HTTP/1.1 502 "), "{answer:?}");
    }
}

#[test]
fn an_invalid_request_does_not_harm_other_connections() {
    let gateway = gateway();
    let requests = [
        "\r\n\r\n",
        "nonsense\r\n\r\n",
        "POST /connectors/liar/version HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        "POST /connectors/liar/version HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnot a frame at all",
    ];
    for request in requests {
        let answer = raw(&gateway, request);
        assert!(!answer.contains(" 200 "), "{request:?}: {answer}");
        gateway.call("liar/version", json!({})).ok();
    }
    let many = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{}\r\n", "X-Many: 1\r\n".repeat(5000));
    assert!(!raw(&gateway, &many).contains(" 200 "));
    gateway.call("liar/version", json!({})).ok();
}

#[test]
fn a_request_that_breaks_http_gets_a_problem_document() {
    let gateway = gateway();
    let get = |path: &str, headers: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
    let many = "X-Many: 1\r\n".repeat(120);
    for (request, status) in [
        ("nonsense\r\n\r\n".to_owned(), 400),
        (get("/healthz", "a name: 1\r\n"), 400),
        (get("/healthz", &many), 431),
        (get(&format!("/{}", "x".repeat(65_600)), ""), 414),
    ] {
        // On a new connection, and after an answer.
        for before in [String::new(), get("/healthz", "")] {
            let answers = raw(&gateway, &format!("{before}{request}"));
            let answer = &answers[answers.rfind("HTTP/1.1 ").unwrap()..];
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answers}");
            assert_eq!(answers.matches(" 200 OK").count(), before.len().min(1), "{answers}");
            if !before.is_empty() && !answer.contains("problem") {
                // The library sent both answers in one piece.
                continue;
            }
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            let document: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(document["type"], "urn:connector-gateway:problem:bad-request");
            assert_eq!((&document["status"], &document["owner"]), (&json!(status), &json!("caller")));
            let id = document["instance"].as_str().unwrap();
            assert!(head.contains(&format!("x-request-id: {id}")), "{head}");
            assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        }
    }
}

#[test]
fn what_an_upstream_sends_is_never_taken_for_an_answer_of_the_http_library() {
    let service = Upstream::start();
    let body = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    service.reply("/forward", Reply::pieces("application/json", &["[1,", body, body]));
    let gateway =
        Setup::new().module("liar", module::liar("version=1.0.0")).upstream("liar", "api", &service.url()).start();
    assert_eq!(gateway.client().call("liar/forward", json!({})).text(), format!("[1,{body}{body}"));
}

#[test]
fn http_1_1_without_exactly_one_host_is_400() {
    let gateway = gateway();
    let health = |version: &str, hosts: &str| {
        let request = format!("GET /healthz HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n");
        let mut stream = connection(&gateway.address(), request.as_bytes());
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    for hosts in ["", "Host: a\r\nHost: b\r\n"] {
        let answer = health("1.1", hosts);
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("problem:bad-request"), "{answer}");
    }
    assert!(health("1.0", "").contains(" 200 "));
    assert!(health("1.1", "Host: a\r\n").contains(" 200 "));
}

#[test]
fn a_caller_that_disconnects_ends_only_its_own_call() {
    let (service, gate) = (Upstream::start(), support::Gate::default());
    service.reply("/wait", Reply::json(json!({})).behind(&gate));
    let gateway =
        Setup::new().module("liar", module::liar("version=1.0.0")).upstream("liar", "api", &service.url()).start();
    let client: Client = gateway.client();
    client.begin("/connectors/liar/wait", json!({})).give_up();
    let stays = client.begin("/connectors/liar/wait", json!({}));
    service.wait_for_requests(1);
    support::wait_for("the abandoned call to end", || (gateway.metric("gateway_in_flight") <= 1.0).then_some(()));
    gate.open();
    stays.wait().ok();
}
