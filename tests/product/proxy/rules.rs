//! The rules of requests to services hold for requests of callers too.

use std::io::Read;

use bytes::Bytes;
use serde_json::json;
use support::wire::narrow_connection;
use support::{Dialect, Endpoint, Gate, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, module, wait_for};

use super::{open, world};
use crate::integrations::{client, connect, email};

/// A body that is too large to be kept.
fn large_body() -> Bytes {
    Bytes::from(vec![b'x'; 200 << 10])
}

/// A gateway with a connector that needs no account, with further keys in the connector's section.
fn with_settings(url: &str, settings: &str) -> Gateway {
    let described = json!({"identifier": "account", "auth": "none"});
    Setup::new().module("account", module::account(&described)).upstream("account", "api", url).config(settings).start()
}

#[test]
fn headers_for_the_gateway_stay_there_and_the_service_sets_no_cookie_and_lets_no_page_read() {
    let provider = OAuthProvider::start(Dialect::strict());
    let (_gateway, caller) = world(&Store::Sqlite, &provider);
    for name in ["ada", "bob"] {
        connect(&caller, "account", name);
    }
    provider.on_api(|_, account| {
        Reply::json(json!({"of": account.email}))
            .header("set-cookie", "session=1")
            .header("access-control-allow-origin", "*")
            .header("access-control-allow-credentials", "true")
            .header("etag", "\"1\"")
    });
    let of_gateway =
        [("x-debug", "1"), ("cookie", "a=b"), ("origin", "https://evil.example"), ("forwarded", "for=1.2.3.4")];
    for name in ["ada", "bob"] {
        let call = caller
            .request("POST", "/proxy/account/api/x")
            .header("x-user-identifier", &email(name))
            .header("idempotency-key", name)
            .body("{}");
        let answer = of_gateway.iter().fold(call, |call, (name, value)| call.header(name, value)).send();
        assert_eq!((answer.ok(), answer.header("etag")), (json!({"of": email(name)}), "\"1\""));
        for header in ["set-cookie", "access-control-allow-origin", "access-control-allow-credentials"] {
            assert_eq!(answer.header(header), "", "{header}");
        }
        let seen = provider.api_calls().pop().unwrap();
        let kept = of_gateway.map(|(name, _)| name).into_iter().chain(["x-user-identifier", "idempotency-key"]);
        for header in kept {
            assert_eq!(seen.header(header), "", "{header}");
        }
    }
}

#[test]
fn answers_are_for_one_caller_and_have_only_headers_about_themselves() {
    let service = Upstream::start();
    let reply = Reply::json(json!({}))
        .header("cache-control", "public, max-age=60, s-maxage=600")
        .header("x-accel-redirect", "/internal")
        .header("strict-transport-security", "max-age=1")
        .header("link", "</next>; rel=next")
        .header("x-service-request-id", "theirs");
    service.reply("/a", reply);
    let (_gateway, caller) = open(&service.url(), "");
    let answer = caller.get("/proxy/account/api/a");
    assert_eq!((answer.ok(), answer.header("link")), (json!({}), "</next>; rel=next"));
    assert_eq!(answer.header("x-upstream-request-id"), "theirs");
    assert_eq!((answer.header("x-accel-redirect"), answer.header("strict-transport-security")), ("", ""));
    assert_eq!(answer.header("cache-control"), "private, max-age=60");
    let refused = caller.get("/proxy/account/apis/a");
    refused.problem(404, "unknown-upstream");
    assert_eq!(refused.header("cache-control"), "private");
    for answer in [answer, refused] {
        assert_eq!(answer.header("vary"), "Authorization, X-User-Identifier");
    }
}

#[test]
fn the_route_and_the_service_get_the_same_path() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let (_gateway, caller) = open(&format!("{}/base", service.url()), "");
    caller.request("GET", "/pr%6Fxy/acc%6Funt/api/b%3Fc%23/%64?e=1").send().ok();
    assert_eq!(service.seen()[0].path, "/base/b%3Fc%23/%64");
    for path in ["/a/..%3Fb", "/a/%2e%2e%23"] {
        let answer = caller.request("GET", &format!("/proxy/account/api{path}")).send();
        assert_eq!(answer.violations()[0].0, "/path", "{path}");
    }
    assert_eq!(service.seen().len(), 1);
}

#[test]
fn a_private_address_is_not_called() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({"secret": true})));
    let described = json!({"identifier": "account", "auth": "none"});
    for host in ["127.0.0.1", "localhost", "[::1]", "2130706433"] {
        let url = format!("http://{host}:{}", service.port());
        let gateway = Setup::new()
            .module("account", module::account(&described))
            .config(&format!("[connectors.account]\nupstreams.api = \"{url}\""))
            .start();
        let caller = client(&gateway, "default", None, "proxy");
        caller.get("/proxy/account/api/").problem(403, "egress-denied");
        caller.request("POST", "/proxy/account/api/").body(large_body()).send().problem(403, "egress-denied");
    }
    assert!(service.seen().is_empty());
}

#[test]
fn a_redirect_is_followed_within_the_service_and_takes_no_credential_elsewhere() {
    let provider = OAuthProvider::start(Dialect::strict());
    let (_gateway, caller) = world(&Store::Sqlite, &provider);
    connect(&caller, "account", "ada");
    provider.on_api(|seen, _| match seen.path.as_str() {
        "/api/from" => Reply::redirect("/api/to"),
        path => Reply::json(json!({"path": path, "method": seen.method, "bytes": seen.body.len()})),
    });
    assert_eq!(caller.get("/proxy/account/api/from").ok()["path"], "/api/to");
    // A method that changes data does not become GET.
    let written = caller.request("POST", "/proxy/account/api/from").body("x").send();
    written.problem(502, "upstream-not-understood");
    provider.on_api(|seen, _| match seen.path.as_str() {
        "/api/from" => Reply::redirect("/api/to").status(307),
        path => Reply::json(json!({"path": path, "method": seen.method, "bytes": seen.body.len()})),
    });
    let sent = |body: Bytes| caller.request("POST", "/proxy/account/api/from").body(body).send();
    assert_eq!(sent(Bytes::from("abc")).ok(), json!({"path": "/api/to", "method": "POST", "bytes": 3}));
    let before = provider.api_calls().len();
    assert!(sent(large_body()).status >= 400, "a body that was not kept is not sent twice");
    assert_eq!(provider.api_calls().len(), before + 1);

    let elsewhere = Upstream::start();
    elsewhere.reply("*", Reply::json(json!({})));
    let target = format!("{}/landed", elsewhere.url());
    provider.on_api(move |_, _| Reply::redirect(&target));
    let answer = caller.get("/proxy/account/api/from");
    assert!(matches!(answer.status, 403 | 502), "{}", answer.text());
    assert!(elsewhere.seen().iter().all(|seen| seen.header("authorization").is_empty()));
}

#[test]
fn a_short_body_is_sent_again_after_a_renewal_and_a_long_one_by_its_caller() {
    let provider = OAuthProvider::start(Dialect::strict());
    let (_gateway, caller) = world(&Store::Sqlite, &provider);
    connect(&caller, "account", "ada");
    provider.on_api(|seen, _| Reply::json(json!({"bytes": seen.body.len()})));
    let send = |body: Bytes| {
        caller.request("POST", "/proxy/account/api/x").header("content-type", "text/plain").body(body).send()
    };
    provider.expire();
    assert_eq!(send(Bytes::from(vec![b'x'; 64 << 10])).ok(), json!({"bytes": 64 << 10}));
    assert_eq!(provider.count(Endpoint::Refresh), 1);

    provider.expire();
    let refused = send(large_body());
    let problem = refused.problem(503, "token-refreshed");
    assert_eq!((&problem["retryable"], problem.get("outcome")), (&json!(true), None), "{problem}");
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(provider.count(Endpoint::Refresh), 2);
    assert_eq!(send(large_body()).ok(), json!({"bytes": 200 << 10}));
    assert_eq!(provider.count(Endpoint::Refresh), 2);

    // If the renewal fails too, the user must act.
    provider.withdraw();
    send(large_body()).problem(424, "reauthorization-required");
}

#[test]
fn an_answer_over_the_limit_of_downloads_is_refused_or_cut_off() {
    let service = Upstream::start();
    let gateway = with_settings(&service.url(), "limits.download_mb = 1");
    let caller = client(&gateway, "default", None, "proxy");
    service.reply("/fits", Reply::typed("application/x-own", vec![0; 1 << 20]));
    service.reply("/large", Reply::typed("application/x-own", vec![0; (1 << 20) + 1]));
    service.reply("/endless", Reply::endless("application/x-own"));
    assert_eq!(caller.get("/proxy/account/api/fits").body.len(), 1 << 20);
    let problem = caller.get("/proxy/account/api/large").problem(413, "answer-too-large");
    assert!(problem["detail"].as_str().unwrap().contains("limits.download_mb"), "{problem}");
    let endless = caller.request("GET", "/proxy/account/api/endless").try_send();
    assert!(endless.is_err(), "the answer must not seem to be complete: {endless:?}");
}

#[test]
fn a_part_of_a_file_and_conditions_go_through() {
    let service = Upstream::start();
    service.on("/file", |seen| match (seen.header("range"), seen.header("if-none-match")) {
        ("bytes=1-2", "") => Reply::typed("text/plain", "bc").status(206).header("content-range", "bytes 1-2/4"),
        (_, "\"1\"") => Reply::empty(304).header("etag", "\"1\""),
        _ => Reply::typed("text/plain", "abcd"),
    });
    let (_gateway, caller) = open(&service.url(), "");
    let part = caller.request("GET", "/proxy/account/api/file").header("range", "bytes=1-2").send();
    assert_eq!((part.status, part.text().as_str(), part.header("content-range")), (206, "bc", "bytes 1-2/4"));
    let same = caller.request("GET", "/proxy/account/api/file").header("if-none-match", "\"1\"").send();
    assert_eq!((same.status, same.header("etag"), same.body.len()), (304, "\"1\"", 0));
}

#[test]
fn options_asks_the_gateway_and_not_the_service() {
    const PAGE: &str = "https://app.example.com";
    let service = Upstream::start();
    service.reply("*", Reply::empty(200));
    let (gateway, caller) = open(&service.url(), &format!("allowed_origins = [\"{PAGE}\"]"));
    let refused = caller.request("OPTIONS", "/proxy/account/api/x").send();
    refused.problem(405, "method-not-allowed");
    assert_eq!(refused.header("allow"), "GET, HEAD, POST, PUT, PATCH, DELETE");
    let call = gateway.anonymous().request("OPTIONS", "/proxy/account/api/x").header("origin", PAGE);
    let call = call.header("access-control-request-headers", "if-match,x-proxy-header-x-version, x-other");
    let allowed = call.header("access-control-request-method", "PUT").send();
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (204, PAGE));
    let sent = allowed.header("access-control-allow-headers");
    assert!(sent.starts_with("Authorization, ") && sent.ends_with(", if-match, x-proxy-header-x-version"), "{sent}");
    assert!(service.seen().is_empty());
}

#[test]
fn requests_wait_for_the_pacing_of_the_connector() {
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("*", Reply::json(json!({})).behind(&gate));
    let gateway = with_settings(&service.url(), "pacing = { interval_ms = 1, concurrency = 1, max_wait_ms = 60000 }");
    let caller = client(&gateway, "default", None, "proxy");
    let calls = ["a", "b", "c"].map(|path| caller.request("GET", &format!("/proxy/account/api/{path}")).begin());
    service.wait_for_requests(1);
    wait_for("all three to be in progress", || (gateway.metric("gateway_in_flight") >= 3.0).then_some(()));
    assert_eq!(service.seen().len(), 1, "one connection at a time");
    gate.open();
    for call in calls {
        call.wait().ok();
    }
    assert_eq!(service.seen().len(), 3);
}

#[test]
fn a_caller_that_does_not_read_its_answer_is_cut_off_at_the_deadline_and_holds_no_memory() {
    const STALLED: usize = 4;
    let service = Upstream::start();
    service.reply("/endless", Reply::endless("application/x-own")).reply("/short", Reply::json(json!({})));
    let settings = format!("limits.download_mb = 1024\nlimits.timeout_s = 5\nlimits.concurrency = {STALLED}");
    let gateway = with_settings(&service.url(), &settings);
    let caller = client(&gateway, "default", None, "proxy");
    let request = format!(
        "GET /proxy/account/api/endless HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        caller.key()
    );
    let stalled: Vec<_> = (0..STALLED).map(|_| narrow_connection(&gateway.address(), request.as_bytes())).collect();
    service.wait_for_requests(STALLED);
    // The answers hold all places of the connector until the deadline of their calls.
    caller.get("/proxy/account/api/short").problem(503, "busy");
    wait_for("a place to be free", || (caller.get("/proxy/account/api/short").status == 200).then_some(()));
    for mut stream in stalled {
        let mut left = Vec::new();
        // The gateway resets a connection whose answer it has cut off.
        let _reset_or_end = stream.read_to_end(&mut left);
        assert!(left.len() < 16 << 20, "{} bytes were kept for a caller that did not read", left.len());
    }
    wait_for("the memory to be free", || (gateway.metric("gateway_memory_held_bytes") == 0.0).then_some(()));
}
