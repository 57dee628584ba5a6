//! /proxy: requests of callers to the services of connectors, around their operations.

mod rules;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use support::setup::KEY;
use support::wire::{self, connection};
use support::{
    Answer, Client, Dialect, Endpoint, Gate, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, module, usage,
    wait_for,
};

use crate::integrations::{client, connect, on_each_store, started};

on_each_store!(a_request_reaches_the_service_as_it_was_sent_with_the_users_credential);

/// A gateway with the guest `account`, and a client that may use its proxy.
fn world(store: &Store, provider: &OAuthProvider) -> (Gateway, Client) {
    let gateway = started(Setup::new().on(store).account("account", provider), provider);
    let caller = client(&gateway, "default", None, "operate,integrate,proxy");
    (gateway, caller)
}

/// A gateway with a connector that needs no account, at this service.
fn open(url: &str, config: &str) -> (Gateway, Client) {
    let described = json!({"identifier": "account", "auth": "none", "rate_limit": 2});
    let gateway = Setup::new()
        .module("account", module::account(&described))
        .general(config)
        .upstream("account", "api", url)
        .start();
    let caller = client(&gateway, "default", None, "proxy");
    (gateway, caller)
}

/// As [`open`], without a rate limit.
fn unlimited(url: &str) -> (Gateway, Client) {
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new().module("account", module::account(&described)).upstream("account", "api", url).start();
    let caller = client(&gateway, "default", None, "proxy");
    (gateway, caller)
}

fn a_request_reaches_the_service_as_it_was_sent_with_the_users_credential(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let (gateway, caller) = world(store, &provider);
    caller.get("/proxy/account/api/me").problem(424, "integration-required");
    connect(&caller, "account", "ada");
    provider.on_api(|seen, account| {
        let status = if seen.path.ends_with("missing") { 404 } else { 201 };
        Reply::json(json!({"of": account.email, "method": seen.method}))
            .status(status)
            .header("etag", "\"1\"")
            .header("x-service", "1")
    });
    let answer = caller
        .request("POST", "/proxy/account/api/a%2Fb/c?x=%20&y=1")
        .header("content-type", "text/csv")
        .header("x-proxy-header-x-version", "7")
        .header("x-other", "no")
        .header("if-match", "\"1\"")
        .body("a,b")
        .send();
    assert_eq!((answer.status, answer.header("etag"), answer.header("x-service")), (201, "\"1\"", ""));
    assert_eq!(answer.json(), json!({"of": "ada@example.com", "method": "POST"}));
    let seen = provider.api_calls().pop().unwrap();
    assert_eq!((seen.path.as_str(), seen.query.as_str(), &seen.body[..]), ("/api/a%2Fb/c", "x=%20&y=1", &b"a,b"[..]));
    assert_eq!(
        (seen.header("content-type"), seen.header("x-version"), seen.header("if-match")),
        ("text/csv", "7", "\"1\"")
    );
    assert_eq!((seen.header("x-other"), seen.header("cookie")), ("", ""));
    assert!(seen.header("authorization").starts_with("Bearer ") && !seen.header("authorization").contains("cgw"));

    let missing = caller.request("DELETE", "/proxy/account/api/missing").send();
    assert_eq!((missing.status, missing.header("x-error-source")), (404, "upstream"));
    for method in ["PUT", "PATCH", "GET"] {
        let answer = caller.request(method, "/proxy/account/api/x").send();
        assert_eq!((answer.status, &answer.json()["method"]), (201, &json!(method)), "{method}");
    }
    assert_eq!(caller.request("HEAD", "/proxy/account/api/x").send().status, 201);

    // An access token that has ended is refreshed, and the request is sent again.
    provider.expire();
    assert_eq!(caller.get("/proxy/account/api/me").status, 201);
    assert_eq!(provider.count(Endpoint::Refresh), 1);
    provider.withdraw();
    caller.get("/proxy/account/api/me").problem(424, "reauthorization-required");
    drop(gateway);
}

#[test]
fn a_key_sends_requests_only_with_the_scope_and_within_its_limits() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new()
        .module("account", module::account(&described))
        .module("liar", module::liar("version=1.0.0"))
        .upstream("account", "api", &service.url())
        .start();
    assert!(!KEY.is_empty());
    gateway.client().get("/proxy/account/api/").problem(403, "missing-scope");
    let make = |limits: Value| {
        let mut body = json!({"name": "test", "scopes": ["proxy"]});
        body.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
        let made = gateway.client().post("/admin/keys", body).json();
        gateway.anonymous().with_key(made["key"].as_str().unwrap())
    };
    let reader = make(json!({"allow": ["account"], "effects": ["read"]}));
    reader.get("/proxy/account/api/").ok();
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        reader.request(method, "/proxy/account/api/").send().problem(403, "not-allowed");
    }
    make(json!({"allow": ["account/forward"]})).get("/proxy/account/api/").problem(403, "not-allowed");
    make(json!({"allow": ["liar"]})).get("/proxy/account/api/").problem(403, "not-allowed");
    let writer = make(json!({"effects": ["write"]}));
    writer.request("PUT", "/proxy/account/api/").send().ok();
    writer.request("DELETE", "/proxy/account/api/").send().problem(403, "not-allowed");
}

#[test]
fn a_path_that_leaves_the_base_url_and_an_unknown_name_are_refused() {
    let service = Upstream::start();
    let (gateway, caller) = open(&format!("{}/base", service.url()), "");
    for path in ["/a/%2E%2E%2Fb", "//evil.example/", "/a//b", "/a%5c..%5cb", "/a%0d%0ab"] {
        let answer = caller.request("GET", &format!("/proxy/account/api{path}")).send();
        assert_eq!(answer.violations()[0].0, "/path", "{path}");
    }
    // A client would resolve these itself.
    for path in ["/../x", "/a/..", "/./x", "/a\\..\\b", "/%2e%2e/x", "/.%2E/x", "/a/%2e"] {
        let request = format!(
            "GET /proxy/account/api{path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
            caller.key()
        );
        let mut stream = connection(&gateway.address(), request.as_bytes());
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 422") || answer.starts_with("HTTP/1.1 400"), "{path}: {answer}");
    }
    assert!(service.seen().is_empty());
    let problem = caller.get("/proxy/account/apis/x").problem(404, "unknown-upstream");
    assert!(problem["detail"].as_str().unwrap().contains("`api`"), "{problem}");
    caller.get("/proxy/acount/api/x").problem(404, "unknown-connector");
    for header in ["authorization", "cookie", "host", "x-forwarded-for"] {
        let call = caller.request("GET", "/proxy/account/api/").header(&format!("x-proxy-header-{header}"), "x");
        call.send().violations();
    }
}

#[test]
fn a_request_counts_in_the_rate_limits_of_the_connector() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let (_gateway, caller) = open(&service.url(), "");
    let first = caller.get("/proxy/account/api/");
    assert!(first.header("ratelimit").contains("r=1"), "{}", first.header("ratelimit"));
    caller.get("/proxy/account/api/").ok();
    caller.get("/proxy/account/api/").problem(429, "rate-limited");
    assert_eq!(service.seen().len(), 2);
}

#[test]
fn a_request_with_an_idempotency_key_is_sent_once() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({"a": 1})).status(202));
    let (_gateway, caller) = open(&service.url(), "");
    let send = |body: &'static str, path: &str| -> Answer {
        caller.request("POST", &format!("/proxy/account/api{path}")).header("idempotency-key", "k").body(body).send()
    };
    assert_eq!(send("x", "/a").status, 202);
    let again = send("x", "/a");
    assert_eq!((again.status, again.json()), (202, json!({"a": 1})));
    assert_eq!(service.seen().len(), 1);
    send("y", "/a").problem(422, "idempotency-key-reused");
    send("x", "/a?b=1").problem(422, "idempotency-key-reused");
}

/// Over HTTP/2, the address of a request has the name of the gateway in it.
#[test]
fn a_repeat_is_the_same_request_over_either_version_of_http_and_however_its_path_is_written() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({"a": 1})).status(202));
    let (_gateway, caller) = open(&service.url(), "");
    let send = |caller: &Client, path: &str| -> Answer {
        caller.request("POST", path).header("idempotency-key", "k").body("x").send()
    };
    assert_eq!(send(&caller, "/proxy/account/api/a?b=1").status, 202);
    let over_http2 = caller.clone().over_http2();
    for (caller, path) in [(&over_http2, "/proxy/account/api/a?b=1"), (&caller, "/pr%6Fxy/acc%6Funt/api/a?b=1")] {
        let again = send(caller, path);
        assert_eq!((again.status, again.header("idempotent-replayed")), (202, "true"), "{path}: {}", again.text());
    }
    assert_eq!(service.seen().len(), 1);
}

#[test]
fn a_request_that_the_service_has_not_taken_can_be_sent_again_with_its_idempotency_key() {
    let service = Upstream::start();
    let (_gateway, caller) = unlimited(&service.url());
    let send = |path: &str| -> Answer {
        let call = caller.request("POST", &format!("/proxy/account/api{path}")).header("idempotency-key", path);
        call.body("x").send()
    };
    for (path, status) in [("/early", 425), ("/late", 408)] {
        service.reply(path, Reply::json(json!({"no": 1})).status(status));
        assert_eq!(send(path).status, status, "{path}");
        service.reply(path, Reply::json(json!({"yes": 1})).status(201));
        let again = send(path);
        assert_eq!((again.status, again.header("idempotent-replayed"), again.json()), (201, "", json!({"yes": 1})));
        let replayed = send(path);
        assert_eq!((replayed.status, replayed.header("idempotent-replayed")), (201, "true"));
    }
}

#[test]
fn a_rate_limit_of_the_service_is_not_kept_for_an_idempotency_key() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({"no": 1})).status(429).header("retry-after", "1"));
    let (_gateway, caller) = unlimited(&service.url());
    let send = || caller.request("POST", "/proxy/account/api/a").header("idempotency-key", "k").body("x").send();
    let first = send();
    assert_eq!((first.status, first.header("x-error-source")), (429, "upstream"), "{}", first.text());
    service.reply("*", Reply::json(json!({"yes": 1})));
    let again = wait_for("the service to be called again", || Some(send()).filter(|answer| answer.status != 429));
    assert_eq!((again.status, again.header("idempotent-replayed"), again.json()), (200, "", json!({"yes": 1})));
    assert_eq!(send().header("idempotent-replayed"), "true");
}

#[test]
fn an_idempotency_key_belongs_to_the_headers_that_change_the_meaning_of_a_request() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})).status(412));
    let (_gateway, caller) = unlimited(&service.url());
    let send = |headers: &[(&str, &str)]| -> Answer {
        let call = caller.request("PUT", "/proxy/account/api/a").header("idempotency-key", "k").body("x");
        headers.iter().fold(call, |call, (name, value)| call.header(name, value)).send()
    };
    let first = [("content-type", "text/csv"), ("if-match", "\"1\""), ("x-proxy-header-x-version", "1")];
    assert_eq!(send(&first).status, 412);
    let with_other_answer = [&first[..], &[("accept", "application/json"), ("prefer", "wait=20")]].concat();
    let again = send(&with_other_answer);
    assert_eq!((again.status, again.header("idempotent-replayed")), (412, "true"));
    for (index, other) in ["text/plain", "\"2\"", "2"].into_iter().enumerate() {
        let mut changed = first;
        changed[index].1 = other;
        let problem = send(&changed).problem(422, "idempotency-key-reused");
        assert!(problem["detail"].as_str().unwrap().contains("If-*"), "{problem}");
    }
    send(&first[..2]).problem(422, "idempotency-key-reused");
    assert_eq!(service.seen().len(), 1);
}

#[test]
fn a_caller_can_shorten_the_deadline_and_the_preference_to_wait_is_the_services() {
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("/slow", Reply::json(json!({})).status(202).behind(&gate));
    let (_gateway, caller) = unlimited(&service.url());
    let get = |name: &str, value: &str| caller.request("GET", "/proxy/account/api/slow").header(name, value);
    let problem = get("request-timeout", "1").send().problem(504, "upstream-timed-out");
    let expected = "The call did not end in the 1 s that its header Request-Timeout allows; allow more time.";
    assert_eq!((problem["owner"].as_str(), problem["detail"].as_str()), (Some("caller"), Some(expected)));
    // On a slow machine, the first request may not have reached the service.
    let before = service.seen().len();
    let waiting = get("prefer", "wait=1").begin();
    service.wait_for_requests(before + 1);
    // A service that applies the preference answers when the time is over.
    thread::sleep(Duration::from_millis(1500));
    gate.open();
    assert_eq!(waiting.wait().status, 202);
    assert_eq!(service.seen().pop().unwrap().header("prefer"), "wait=1");
}

#[test]
fn a_body_that_does_not_arrive_in_time_or_is_encoded_is_refused_as_for_operations() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let (gateway, caller) = unlimited(&service.url());
    for key in ["", "Idempotency-Key: k\r\n"] {
        let head = format!(
            "POST /proxy/account/api/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n{key}Request-Timeout: 1\r\n\
             Content-Length: 9\r\n\r\nhalf",
            caller.key()
        );
        let late = wire::answer(&mut connection(&gateway.address(), head.as_bytes()));
        assert!(late.starts_with("HTTP/1.1 408 ") && late.contains("\"retryable\":true"), "{key}{late}");
    }
    let send =
        |coding: &str| caller.request("POST", "/proxy/account/api/a").header("content-encoding", coding).body("whole");
    let keyed = |coding: &str| send(coding).header("idempotency-key", coding);
    send("gzip").send().problem(415, "unsupported-media-type");
    keyed("gzip").send().problem(415, "unsupported-media-type");
    assert!(service.seen().is_empty());
    send("Identity").send().ok();
    keyed("Identity").send().ok();
}

#[test]
fn a_caller_that_stops_sending_a_streamed_body_is_told_so_and_not_that_the_service_fails() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let (gateway, caller) = open(&service.url(), "caller_timeout_s = 4");
    let mut request = format!(
        "POST /proxy/account/api/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: 200000\r\n\r\n",
        caller.key()
    )
    .into_bytes();
    // More than the gateway keeps, and not the whole.
    request.extend([b'x'; 150_000]);
    let late = wire::answer(&mut connection(&gateway.address(), &request));
    assert!(late.starts_with("HTTP/1.1 408 ") && late.contains("\"outcome\":\"unknown\""), "{late}");
}

#[test]
fn a_credential_in_a_form_goes_into_forms_alone() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = started(
        Setup::new().account("account", &provider).config(&format!("upstreams.form = \"{}\"", provider.api())),
        &provider,
    );
    let caller = client(&gateway, "default", None, "integrate,proxy");
    connect(&caller, "account", "ada");
    let send = |content_type: &str, body: &'static str| {
        caller.request("POST", "/proxy/account/form/x").header("content-type", content_type).body(body).send()
    };
    send("application/x-www-form-urlencoded", "a=1&b=%26");
    let seen = provider.api_calls().pop().unwrap();
    let form = seen.form();
    assert!(
        form.contains(&("b".to_owned(), "&".to_owned())) && form.iter().any(|(name, _)| name == "token"),
        "{form:?}"
    );
    for (content_type, body) in [("application/json", "{}"), ("application/x-www-form-urlencoded", "token=x")] {
        send(content_type, body).violations();
    }
}

/// A service that reads a body of any size, and answers with as many bytes as it has read.
fn echoing_service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            thread::spawn(move || echo_size(stream));
        }
    });
    format!("http://{address}")
}

fn echo_size(mut stream: TcpStream) -> Option<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let mut buffer = vec![0; 64 << 10];
    let Some(length) = head.split("content-length: ").nth(1) else {
        while stream.read(&mut buffer).ok()? > 0 {}
        return None;
    };
    let length: u64 = length.split("\r\n").next()?.parse().ok()?;
    let mut left = length;
    while left > 0 {
        let most = buffer.len().min(usize::try_from(left).ok()?);
        let read = stream.read(&mut buffer[..most]).ok().filter(|read| *read > 0)?;
        left -= read as u64;
    }
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(reply.as_bytes()).ok()?;
    let mut left = length;
    while left > 0 {
        let size = left.min(buffer.len() as u64);
        stream.write_all(&buffer[..usize::try_from(size).ok()?]).ok()?;
        left -= size;
    }
    Some(())
}

#[test]
fn a_body_of_any_size_streams_in_both_ways_in_constant_memory() {
    const BYTES: usize = 1 << 30;
    let limits = "max_body_mb = 1024";
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new()
        .module("account", module::account(&described))
        .general(limits)
        .upstream("account", "api", &echoing_service())
        .config("limits.download_mb = 1024\nlimits.timeout_s = 300")
        .start();
    let caller = client(&gateway, "default", None, "proxy");
    // The first request loads what all later ones need.
    assert_eq!(caller.request("POST", "/proxy/account/api/").body(vec![1; 100]).send().body.len(), 100);
    let before = usage::peak_mb(gateway.process_id());
    let answer = caller.request("POST", "/proxy/account/api/").body(Bytes::from(vec![1; BYTES])).send();
    assert_eq!((answer.status, answer.body.len()), (200, BYTES));
    let grown = usage::peak_mb(gateway.process_id()) - before;
    assert!(grown < 64, "the memory grew by {grown} MB");
}

#[test]
fn a_body_over_the_limit_is_refused_whether_its_size_is_announced_or_not() {
    let (_gateway, caller) = open(&echoing_service(), "max_body_mb = 1");
    let body = Bytes::from(vec![1; 3 << 20]);
    let announced = caller.request("POST", "/proxy/account/api/").body(body.clone()).send();
    announced.problem(413, "body-too-large");
    let chunked = caller.request("POST", "/proxy/account/api/").chunked(body).send();
    assert_eq!(chunked.problem(413, "body-too-large")["outcome"], "unknown");
}
