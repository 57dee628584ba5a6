//! Requests that a connector may send, and hosts that it may reach.

use serde_json::{Value, json};
use support::{Gateway, Reply, Setup, Upstream, gzip, wait_for};

use support::hostile::{assert_serves, gateway};

/// A gateway with the hostile guest, whose upstream is at this URL. The guest may not reach private
/// networks.
fn guarded(url: &str) -> Gateway {
    Setup::new()
        .guest("hostile")
        .guest("liar")
        .config(&format!("[connectors.hostile]\nupstreams.api = \"{url}\""))
        .start()
}

/// The name of the error that the guest gets for a request. Also checks the problem that the caller
/// gets when the guest passes the error on.
#[track_caller]
fn refused(gateway: &Gateway, request: Value, status: u16, kind: &str) -> String {
    let result = gateway.call("hostile/call", request.clone()).ok();
    let mut passed_on = request;
    passed_on["as_fault"] = true.into();
    gateway.call("hostile/call", passed_on.clone()).problem(status, kind);
    gateway.call("hostile/forward", passed_on).problem(status, kind);
    result["error"].as_str().unwrap_or_else(|| panic!("the request was sent: {result}")).to_owned()
}

#[test]
fn a_host_that_was_not_granted_is_not_called() {
    let gateway = gateway(&Upstream::start(), "");
    let error = refused(&gateway, json!({"upstream": "other", "path": "/"}), 403, "egress-denied");
    assert_eq!(error, "denied");
    let hosts = gateway.connector("hostile").unwrap()["hosts"].clone();
    assert!(hosts["missing"].as_array().unwrap().contains(&json!("other.example")), "{hosts}");
    assert_serves(&gateway);
}

#[test]
fn an_upstream_that_the_manifest_does_not_name_is_not_called() {
    let gateway = gateway(&Upstream::start(), "");
    let error = refused(&gateway, json!({"upstream": "unheard_of", "path": "/"}), 500, "connector-failed");
    assert_eq!(error, "invalid-request");
    assert_serves(&gateway);
}

#[test]
fn private_addresses_are_not_called_however_they_are_written() {
    let upstream = Upstream::start();
    upstream.reply("*", Reply::json(json!({"secret": true})));
    let port = upstream.port();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "0.0.0.0",
        "[::]",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "[fc00::1]",
        "[fe80::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[2001::1]",
    ];
    for host in hosts {
        let gateway = guarded(&format!("http://{host}:{port}"));
        let error = refused(&gateway, json!({"path": "/"}), 403, "egress-denied");
        assert_eq!(error, "denied", "{host}");
        assert_serves(&gateway);
    }
    assert!(upstream.seen().is_empty());
}

#[test]
fn a_name_that_resolves_to_a_private_address_is_not_called() {
    let upstream = Upstream::start();
    upstream.reply("*", Reply::json(json!({"secret": true})));
    let gateway = guarded(&format!("http://localhost:{}", upstream.port()));
    assert_eq!(refused(&gateway, json!({"path": "/"}), 403, "egress-denied"), "denied");
    assert_serves(&gateway);
    assert!(upstream.seen().is_empty());
}

#[test]
fn the_operator_can_allow_private_addresses_for_a_connector() {
    let upstream = Upstream::start();
    upstream.reply("/", Reply::json(json!({"n": 1})));
    let gateway = gateway(&upstream, "");
    assert_eq!(gateway.call("hostile/call", json!({"path": "/"})).ok()["status"], 200);
    assert_eq!(gateway.call("hostile/forward", json!({"path": "/"})).ok(), json!({"n": 1}));
}

#[test]
fn a_redirect_within_the_service_is_followed() {
    let upstream = Upstream::start();
    upstream.reply("/from", Reply::redirect("/to")).reply("/to", Reply::json(json!({"arrived": true})));
    let gateway = gateway(&upstream, "");
    assert_eq!(gateway.call("hostile/forward", json!({"path": "/from"})).ok(), json!({"arrived": true}));
}

#[test]
fn a_redirect_to_another_host_is_not_followed() {
    let (upstream, victim) = (Upstream::start(), Upstream::start());
    victim.reply("*", Reply::json(json!({"secret": true})));
    let targets = [
        format!("{}/", victim.url()),
        format!("http://localhost:{}/", victim.port()),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://elsewhere.example/".to_owned(),
        "http://elsewhere.test/".to_owned(),
        "file:///etc/passwd".to_owned(),
        format!("http://user:password@127.0.0.1:{}/", upstream.port()),
    ];
    let gateway = gateway(&upstream, "");
    for target in targets {
        upstream.reply("/from", Reply::redirect(&target));
        let result = gateway.call("hostile/call", json!({"path": "/from"})).ok();
        assert!(result["error"].is_string(), "{target}: {result}");
        let answer = gateway.call("hostile/forward", json!({"path": "/from"}));
        assert!(matches!(answer.status, 403 | 502), "{target}: {}", answer.text());
        if ["169.254", "localhost", "elsewhere.test"].iter().any(|host| target.contains(host)) {
            // Its author can name the host, and an operator cannot.
            assert_eq!(answer.problem(403, "egress-denied")["owner"], "connector", "{target}");
        }
        assert_serves(&gateway);
    }
    assert!(victim.seen().is_empty());
    assert!(upstream.seen().iter().all(|seen| seen.path == "/from"));
}

#[test]
fn redirects_without_end_are_not_followed() {
    let upstream = Upstream::start();
    upstream.reply("/from", Reply::redirect("/from"));
    let gateway = gateway(&upstream, "");
    let result = gateway.call("hostile/call", json!({"path": "/from"})).ok();
    assert!(result["error"].is_string(), "{result}");
    assert_eq!(upstream.seen().len(), 4, "the first request and three redirects");
    assert_serves(&gateway);
}

#[test]
fn a_connector_cannot_set_headers_that_belong_to_the_gateway() {
    let upstream = Upstream::start();
    upstream.reply("*", Reply::json(json!({})));
    let gateway = gateway(&upstream, "");
    let names = [
        "Host",
        "Authorization",
        "AUTHORIZATION",
        "Cookie",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Keep-Alive",
        "Upgrade",
        "TE",
        "Trailer",
        "Proxy-Authorization",
        "Proxy-Connection",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "Forwarded",
        "Via",
    ];
    for name in names {
        let request = json!({"path": "/", "headers": [[name, "forged"]]});
        assert_eq!(refused(&gateway, request, 500, "connector-failed"), "invalid-request", "{name}");
    }
    assert!(upstream.seen().is_empty());
    let request = json!({"path": "/", "headers": [["X-Own", "one"], ["x-own", "two"], ["User-Agent", "guest"]]});
    gateway.call("hostile/forward", request).ok();
    let seen = upstream.seen();
    assert_eq!(seen[0].headers.get_all("x-own").iter().collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(seen[0].header("user-agent"), "guest");
    assert_eq!(seen[0].header("host"), format!("127.0.0.1:{}", upstream.port()));
    assert_serves(&gateway);
}

#[test]
fn line_breaks_do_not_get_into_a_request() {
    let upstream = Upstream::start();
    upstream.reply("*", Reply::json(json!({})));
    let gateway = gateway(&upstream, "");
    let requests = [
        json!({"path": "/", "headers": [["X-Own", "a\r\nAuthorization: forged"]]}),
        json!({"path": "/", "headers": [["X-Own", "a\nb"]]}),
        json!({"path": "/", "headers": [["X-Own", "a\u{0}b"]]}),
        json!({"path": "/", "headers": [["X-Own\r\nHost", "forged"]]}),
        json!({"path": "/", "headers": [["X Own", "a"]]}),
        json!({"method": "POST", "path": "/", "body": {"content_type": "text/plain\r\nX-Own: forged", "bytes": "x"}}),
    ];
    for request in requests {
        assert_eq!(refused(&gateway, request.clone(), 500, "connector-failed"), "invalid-request", "{request}");
    }
    // In a path, it is a value of the caller.
    for request in [json!({"path": "/ HTTP/1.1\r\nHost: forged"}), json!({"path": "/a\nb"})] {
        assert_eq!(refused(&gateway, request.clone(), 422, "validation"), "invalid-request", "{request}");
    }
    assert!(upstream.seen().is_empty());
    assert_serves(&gateway);
}

#[test]
fn a_path_cannot_lead_out_of_the_base_url() {
    let upstream = Upstream::start();
    upstream.reply("*", Reply::json(json!({})));
    let gateway = Setup::new()
        .guest("hostile")
        .guest("liar")
        .upstream("hostile", "api", &format!("{}/v1/tenant", upstream.url()))
        .start();
    // The value of a caller makes the path wrong.
    for path in [
        "/../other",
        "/a/../../other",
        "/%2e%2e/other",
        "/.%2e/other",
        "/%252e%252e/other",
        "/..%2fother",
        "/..;/other",
        "\\..\\other",
        "/a%0ab",
        "/a%2500b",
    ] {
        assert_eq!(refused(&gateway, json!({"path": path}), 422, "validation"), "invalid-request", "{path}");
    }
    let paths = [
        "//elsewhere.example/",
        "@elsewhere.example/",
        ".elsewhere.example/",
        "other",
        ":80/",
        "/a#b",
        "/ü",
        "/a b",
        "http://elsewhere.example/",
    ];
    for path in paths {
        assert_eq!(refused(&gateway, json!({"path": path}), 500, "connector-failed"), "invalid-request", "{path}");
    }
    assert!(upstream.seen().is_empty());
    for (path, expected) in [("", "/v1/tenant"), ("/a%2Fb", "/v1/tenant/a%2Fb"), ("/a..b", "/v1/tenant/a..b")] {
        gateway.call("hostile/forward", json!({"path": path})).ok();
        assert_eq!(upstream.take_seen()[0].path, expected);
    }
    gateway.call("hostile/forward", json!({"path": "/a?q=..%2F&r=1"})).ok();
    assert_eq!(upstream.seen()[0].query, "q=..%2F&r=1");
    assert_serves(&gateway);
}

#[test]
fn bodies_arrive_as_the_connector_made_them() {
    let upstream = Upstream::start();
    upstream.reply("*", Reply::json(json!({})));
    let gateway = gateway(&upstream, "");
    let cases = [
        ("POST", json!({"json": "{\"n\": 1.0}"}), "application/json", "{\"n\": 1.0}"),
        (
            "PUT",
            json!({"form": [["a", "1 2"], ["ü", "&="]]}),
            "application/x-www-form-urlencoded",
            "a=1+2&%C3%BC=%26%3D",
        ),
        ("PATCH", json!({"content_type": "text/csv", "bytes": "a,b\n"}), "text/csv", "a,b\n"),
        ("DELETE", json!(null), "", ""),
    ];
    for (method, body, content_type, text) in cases {
        gateway.call("hostile/forward", json!({"method": method, "path": "/", "body": body})).ok();
        let seen = upstream.take_seen();
        assert_eq!(seen[0].method, method);
        assert_eq!(seen[0].header("content-type"), content_type, "{method}");
        assert_eq!(seen[0].body, text, "{method}");
    }
}

#[test]
fn a_request_that_writes_is_not_retried() {
    let upstream = Upstream::start();
    upstream.reply("/", Reply::empty(503)).reply("/gone", Reply::hang_up());
    let gateway = gateway(&upstream, "");
    gateway.call("hostile/forward", json!({"method": "POST", "path": "/"})).problem(502, "upstream-failed");
    assert_eq!(upstream.take_seen().len(), 1);
    gateway.call("hostile/forward", json!({"method": "POST", "path": "/gone"})).problem(502, "upstream-unreachable");
    assert_eq!(upstream.take_seen().len(), 1);
    gateway.call("hostile/forward", json!({"path": "/"})).problem(502, "upstream-failed");
    assert_eq!(upstream.take_seen().len(), 3, "a request that reads is retried twice");
}

#[test]
fn a_body_without_end_is_read_to_its_limit_only() {
    let upstream = Upstream::start();
    upstream.reply("/endless", Reply::endless("application/json"));
    let bomb = Reply::typed("application/json", gzip::bomb(256)).header("content-encoding", "gzip");
    upstream.reply("/bomb", bomb);
    let gateway = gateway(&upstream, "limits.response_mb = 2\nlimits.download_mb = 2");
    for (path, status, kind) in [("/endless", 413, "answer-too-large"), ("/bomb", 502, "upstream-not-understood")] {
        for form in ["bytes", "text", "document"] {
            let answer = gateway.call("hostile/read_body", json!({"path": path, "form": form}));
            answer.problem(status, kind);
        }
        let shaped = json!({"path": path, "response_fields": ["a"]});
        gateway.call("hostile/forward", shaped).problem(status, kind);
    }
    assert_serves(&gateway);
}

#[test]
fn a_stream_that_breaks_off_does_not_look_complete_to_the_caller() {
    let upstream = Upstream::start();
    upstream.reply("/cut", Reply::cut_off("application/json", "{\"a\": [1, 2"));
    let gateway = gateway(&upstream, "");
    let client = gateway.client();
    let call = client.request("POST", "/connectors/hostile/forward").json(&json!({"path": "/cut"}));
    if let Ok(answer) = call.try_send() {
        assert_eq!(answer.status, 502, "a part of an answer looks complete: {}", answer.text());
    }
    gateway.call("hostile/read_body", json!({"path": "/cut"})).problem(502, "upstream-not-understood");
    assert_serves(&gateway);
}

#[test]
fn an_immediate_operation_cannot_send_requests() {
    let upstream = Upstream::start();
    upstream.reply("/", Reply::json(json!({})));
    let gateway = gateway(&upstream, "");
    // On a busy machine, a run that takes too long is repeated on the slower path, which has `http`.
    let call = || gateway.call("hostile/call_at_once", json!({"path": "/"}));
    let refused = wait_for("a call to be refused", || Some(call()).filter(|answer| answer.status != 200));
    refused.problem(500, "connector-failed");
    assert_serves(&gateway);
}
