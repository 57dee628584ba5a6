//! Callers that open connections and then send nothing, or do not read their answers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use support::setup::KEY;
use support::wire::{PREFACE, answer, connection, frame, head, narrow_connection, post};
use support::{Gate, Gateway, Reply, Setup, Upstream, module, wait_for};

/// A gateway that gives callers this time.
fn patient_for(seconds: u32) -> Setup {
    Setup::new().module("liar", module::liar("version=1.0.0")).general(&format!("caller_timeout_s = {seconds}"))
}

/// Reads until the gateway closes the connection.
#[track_caller]
fn wait_for_end(stream: &mut TcpStream) {
    let mut piece = [0; 1024];
    while let Ok(length) = stream.read(&mut piece).map_err(|error| {
        // A reset is an end too.
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    }) {
        if length == 0 {
            return;
        }
    }
}

#[test]
fn a_connection_without_a_request_is_closed() {
    let gateway = patient_for(1).start();
    let settings = frame(4, 0, 0, &[]);
    let beginnings: [&[u8]; 7] = [
        b"",
        b"GET /healthz HT",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        &PREFACE[..12],
        &[PREFACE, &settings[..]].concat(),
        // The time begins anew with each answer.
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HT",
    ];
    let streams: Vec<TcpStream> =
        beginnings.iter().map(|beginning| connection(&gateway.address(), beginning)).collect();
    for mut stream in streams {
        wait_for_end(&mut stream);
        // A new client, because the connection of the gateway's own one is closed in these seconds
        // too.
        gateway.anonymous().with_key(KEY).call("liar/version", json!({})).ok();
    }
}

#[test]
fn a_connection_over_the_limit_replaces_the_one_that_is_idle_for_longest() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).general("max_connections = 3").start();
    let mut silent: Vec<TcpStream> = (0..3).map(|_| connection(&gateway.address(), b"")).collect();
    // They stay open, so that each of them replaces one.
    let _others: Vec<TcpStream> =
        (0..3).map(|_| connection(&gateway.address(), b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")).collect();
    for stream in &mut silent {
        wait_for_end(stream);
    }
    // The gateway has closed the connections of its own client, which may not have noticed.
    assert!(gateway.metric_for(&gateway.anonymous().with_key(KEY), "gateway_connections") <= 3.0);
}

#[test]
fn connections_without_a_request_do_not_replace_one_that_has_had_one() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).general("max_connections = 4").start();
    let request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut used = connection(&gateway.address(), request);
    let mut status = [0; 12];
    used.read_exact(&mut status).unwrap();
    let mut silent: Vec<TcpStream> = (0..8).map(|_| connection(&gateway.address(), b"")).collect();
    // The gateway has taken all of them when it has closed the first ones.
    silent.iter_mut().take(5).for_each(wait_for_end);
    used.write_all(request).unwrap();
    let mut answers = String::new();
    while answers.matches("HTTP/1.1 200").count() < 1 {
        let mut piece = [0; 1024];
        let length = used.read(&mut piece).unwrap();
        assert_ne!(length, 0, "the connection was closed after {answers}");
        answers.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
}

#[test]
fn while_every_connection_has_a_call_the_operator_is_served_and_another_call_is_told() {
    let service = Upstream::start();
    let gate = Gate::default();
    service.reply("/forward", Reply::json(json!({})).behind(&gate));
    let gateway = Setup::new()
        .module("liar", module::liar("version=1.0.0"))
        .upstream("liar", "api", &service.url())
        .general("max_connections = 3")
        .start();
    let request = head("/connectors/liar/forward", 2) + "{}";
    let mut calls = Vec::new();
    for count in 1..=3 {
        // A connection whose request has not arrived yet would make room for the next one.
        calls.push(connection(&gateway.address(), request.as_bytes()));
        wait_for("the call", || (service.seen().len() == count).then_some(()));
    }
    let operator = gateway.anonymous().with_key(KEY);
    assert_eq!(operator.get("/healthz").status, 200);
    operator.get("/admin/keys").ok();
    let refused = gateway.anonymous().with_key(KEY).call("liar/version", json!({}));
    let problem = refused.problem(503, "busy");
    assert!(problem["detail"].as_str().unwrap().contains("max_connections"), "{problem}");
    assert_eq!((refused.header("retry-after"), refused.header("connection")), ("1", "close"));
    gate.open();
    for call in &mut calls {
        assert!(answer(call).starts_with("HTTP/1.1 200 "));
    }
}

#[test]
fn a_caller_who_reads_slowly_gets_the_whole_answer() {
    let service = Upstream::start();
    let text = "x".repeat(600_000);
    service.reply("/forward", Reply::json(json!({"text": text})));
    let gateway = patient_for(5).upstream("liar", "api", &service.url()).start();
    let request = head("/connectors/liar/forward", 2) + "{}";
    let mut stream = narrow_connection(&gateway.address(), request.as_bytes());
    // The answer waits in buffers for longer than a caller may wait between two reads, or before
    // the next request.
    let mut answer = Vec::new();
    let mut piece = [0; 2 << 10];
    while !answer.ends_with(b"x\"}") {
        std::thread::sleep(Duration::from_millis(20));
        let length = stream.read(&mut piece).unwrap();
        assert_ne!(length, 0, "the connection was closed after {} bytes", answer.len());
        answer.extend_from_slice(&piece[..length]);
    }
}

#[test]
fn a_call_that_is_refused_before_its_body_is_read_leaves_the_connection_to_the_next_call() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).start();
    let body = vec![b' '; 16 << 20];
    let version = head("/connectors/liar/version", body.len());
    let path = |other: &str| version.replacen("/connectors/liar/version", other, 1);
    let header = |line: &str| version.replacen("Host: x", &format!("Host: x\r\n{line}"), 1);
    let mut stream = connection(&gateway.address(), b"");
    for (head, status) in [
        (version.replacen("Bearer", "Bearer no", 1), 401),
        (path("/nowhere"), 404),
        (path("/connectors/none/version"), 404),
        (path("/connectors/liar/none"), 404),
        (path("/healthz"), 405),
        (path("/admin/connectors?accept=maybe").replacen("Host: x", "Host: localhost", 1), 422),
        (path("/admin/connectors?accept=maybe"), 400),
        (header("Host: y"), 400),
        (header("X-User-Identifier: "), 422),
        (header("Request-Timeout: soon"), 400),
        (header("Content-Encoding: gzip"), 415),
        (version.clone(), 413),
        (version.replacen("POST", "GET", 1).replacen("/connectors/liar/version", "/healthz", 1), 200),
    ] {
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body).unwrap();
        let answer = answer(&mut stream);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}{answer}");
        assert!(!answer.contains("connection: close"), "{head}{answer}");
    }
}

#[test]
fn a_refused_call_that_has_not_sent_its_body_yet_learns_that_the_connection_closes() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).start();
    let expecting = |path: &str, length| head(path, length).replacen("Host: x", "Host: x\r\nExpect: 100-continue", 1);
    for (path, length, status) in [("/connectors/none/version", 2, 404), ("/connectors/liar/version", 16 << 20, 413)] {
        let mut stream = connection(&gateway.address(), expecting(path, length).as_bytes());
        let answer = answer(&mut stream);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
        wait_for_end(&mut stream);
    }
    let mut stream = connection(&gateway.address(), expecting("/connectors/liar/version", 2).as_bytes());
    let mut permission = [0; 25];
    stream.read_exact(&mut permission).unwrap();
    assert_eq!(&permission, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{}").unwrap();
    assert!(answer(&mut stream).starts_with("HTTP/1.1 200 "));
}

#[test]
fn callers_who_were_refused_and_still_send_leave_their_places_to_others() {
    // Three connections are of the refused callers, and the client that asks for the metric may open
    // several: none of the eight is replaced before the others come.
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).general("max_connections = 8").start();
    let refused_caller = head("/connectors/liar/version", 100).replacen("Bearer", "Bearer no", 1) + "{";
    let mut refused_callers: Vec<TcpStream> =
        (0..3).map(|_| connection(&gateway.address(), refused_caller.as_bytes())).collect();
    let refused = "gateway_requests_total{connector=\"liar\",operation=\"version\",status=\"401\"}";
    wait_for("the refusals", || (gateway.metric(refused) == 3.0).then_some(()));
    let request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let _others: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut other = connection(&gateway.address(), request);
            assert!(answer(&mut other).starts_with("HTTP/1.1 200 "));
            other
        })
        .collect();
    for refused_caller in &mut refused_callers {
        assert_eq!(refused_caller.read(&mut [0]).unwrap_or(0), 0, "the connection was closed before the answer");
    }
}

/// A service with a large answer, and a gateway that lets two calls use it at the same time.
fn two_places(service: &Upstream) -> Gateway {
    let file = "x".repeat(20 << 20);
    service.reply("/forward", Reply::json(json!({"text": file})));
    // The places have to be seen as taken before they come back.
    patient_for(5)
        .upstream("liar", "api", &service.url())
        .config("[connectors.liar.limits]\nconcurrency = 2\ntimeout_s = 60\nresponse_mb = 32\n")
        .start()
}

/// Waits until two callers that take nothing of their answers have both places, and then until
/// another caller is served.
#[track_caller]
fn another_caller_is_served(gateway: &Gateway, service: &Upstream) {
    wait_for("two calls", || (service.seen().len() == 2).then_some(()));
    for status in [503, 200] {
        wait_for("this status", || (gateway.call("liar/version", json!({})).status == status).then_some(()));
    }
}

#[test]
fn answers_that_no_caller_reads_give_their_places_back() {
    let service = Upstream::start();
    let gateway = two_places(&service);
    let request = head("/connectors/liar/forward", 2) + "{}";
    let unread: Vec<TcpStream> = (0..2).map(|_| connection(&gateway.address(), request.as_bytes())).collect();
    another_caller_is_served(&gateway, &service);
    wait_for("the connections to be closed", || (gateway.metric("gateway_connections") <= 1.0).then_some(()));
    drop(unread);
}

/// Two callers do not read an answer that the gateway has in memory. Their places come back, and
/// another caller is served.
fn places_of_composed_answers_come_back(general: &str, limits: &str) {
    let gateway = Setup::new()
        .guest("hostile")
        .general(general)
        .config("[connectors.hostile.limits]\nconcurrency = 2\ncpu_ms = 10000\nmemory_mb = 128")
        .config(limits)
        .start();
    let body = json!({"bytes": 20 << 20}).to_string();
    let request = head("/connectors/hostile/huge_reply", body.len()) + &body;
    let mut unread: Vec<TcpStream> = (0..2).map(|_| connection(&gateway.address(), request.as_bytes())).collect();
    for stream in &mut unread {
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    }
    let setting = || gateway.call("hostile/setting", json!({"key": "none"})).status;
    assert_eq!(setting(), 503, "both answers are still being sent");
    wait_for("a place", || (setting() == 200).then_some(()));
}

#[test]
fn composed_answers_that_no_caller_reads_give_their_places_back() {
    places_of_composed_answers_come_back("caller_timeout_s = 8", "timeout_s = 120");
}

#[test]
fn composed_answers_that_no_caller_reads_give_their_places_back_at_the_deadline_of_the_call() {
    places_of_composed_answers_come_back("caller_timeout_s = 120", "timeout_s = 10");
}

#[test]
fn http2_answers_without_a_window_give_their_places_back() {
    let service = Upstream::start();
    let gateway = two_places(&service);
    // SETTINGS_INITIAL_WINDOW_SIZE is 4.
    let mut bytes = [PREFACE, &frame(4, 0, 0, &[0, 4, 0, 0, 0, 0])].concat();
    for stream in [1, 3] {
        bytes.extend(frame(1, 4, stream, &post("/connectors/liar/forward")));
        bytes.extend(frame(0, 1, stream, b"{}"));
    }
    let unread = connection(&gateway.address(), &bytes);
    another_caller_is_served(&gateway, &service);
    wait_for("the connection to be closed", || (gateway.metric("gateway_connections") <= 1.0).then_some(()));
    drop(unread);
}
