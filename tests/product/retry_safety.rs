//! Problems say if a call can be repeated safely, what the upstream answered, and who can fix the
//! cause.

use serde_json::{Value, json};
use support::{Gateway, Reply, Setup, Upstream};

use support::hostile::gateway;

/// The members of a problem by which a program decides to call again: `retryable` and `outcome`.
fn retry_advice(problem: &Value) -> (bool, &str) {
    (problem["retryable"].as_bool().unwrap(), problem["outcome"].as_str().unwrap_or("known"))
}

#[test]
fn a_write_is_retryable_only_if_it_surely_was_not_done() {
    let upstream = Upstream::start();
    upstream
        .reply("/503", Reply::empty(503))
        .reply("/500", Reply::empty(500))
        .reply("/gone", Reply::hang_up())
        .reply("/html", Reply::typed("text/html", "<p>done</p>"))
        .reply("/408", Reply::empty(408))
        .reply("/425", Reply::empty(425))
        .reply("/429", Reply::empty(429))
        .reply("/400", Reply::empty(400));
    let gateway = gateway(&upstream, "");
    let unknown = (false, "unknown");
    let cases = [
        ("/503", 502, "upstream-failed", unknown, (true, "known")),
        ("/500", 502, "upstream-failed", unknown, (true, "known")),
        ("/gone", 502, "upstream-unreachable", unknown, (true, "known")),
        ("/html", 502, "upstream-not-understood", unknown, (true, "known")),
        ("/408", 408, "upstream-rejected", (true, "known"), (true, "known")),
        ("/425", 425, "upstream-rejected", (true, "known"), (true, "known")),
        ("/429", 429, "upstream-rate-limited", (true, "known"), (true, "known")),
        ("/400", 400, "upstream-rejected", (false, "known"), (false, "known")),
    ];
    for (path, status, kind, of_write, of_read) in cases {
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            let problem =
                gateway.call("hostile/write_json", json!({"method": method, "path": path})).problem(status, kind);
            assert_eq!(retry_advice(&problem), of_write, "{method} {path}");
            assert_eq!(upstream.take_seen().len(), 1, "{method} {path} is sent once");
        }
        let problem = gateway.call("hostile/forward_json", json!({"path": path})).problem(status, kind);
        assert_eq!(retry_advice(&problem), of_read, "{path}");
        upstream.take_seen();
    }
}

#[test]
fn a_write_that_times_out_is_of_unknown_outcome_and_one_that_found_no_server_is_not() {
    let (upstream, gate) = (Upstream::start(), support::Gate::default());
    upstream.reply("/slow", Reply::json(json!({})).behind(&gate));
    let gateway = gateway(&upstream, "limits.timeout_s = 3");
    for operation in ["hostile/write", "hostile/write_steps"] {
        let step = json!({"method": "POST", "path": "/slow"});
        let body = if operation.ends_with("steps") { json!({"items": [step]}) } else { step };
        let problem = gateway.call(operation, body).problem(504, "upstream-timed-out");
        assert_eq!(retry_advice(&problem), (false, "unknown"), "{operation}");
    }
    let problem = gateway.call("hostile/forward", json!({"path": "/slow"})).problem(504, "upstream-timed-out");
    assert_eq!(retry_advice(&problem), (true, "known"));
    let closed = format!("http://127.0.0.1:{}", support::upstream::free_port());
    let gateway = Setup::new().guest("hostile").upstream("hostile", "api", &closed).start();
    for operation in ["hostile/write", "hostile/forward"] {
        let problem =
            gateway.call(operation, json!({"method": "POST", "path": "/"})).problem(502, "upstream-unreachable");
        assert_eq!(retry_advice(&problem), (true, "known"), "{operation}");
    }
}

#[test]
fn a_composed_write_that_fails_after_a_step_was_done_is_of_unknown_outcome() {
    let upstream = Upstream::start();
    upstream
        .reply("/done", Reply::json(json!({"ok": true})))
        .reply("/refused", Reply::empty(404))
        .reply("/refused-inside", Reply::json(json!({"ok": false, "code": 404})));
    let gateway = gateway(&upstream, "");
    let (read, write) = (|path: &str| json!({"path": path}), |path: &str| json!({"method": "POST", "path": path}));
    let cases = [
        (vec![read("/done"), write("/refused")], "known"),
        (vec![read("/done"), write("/refused-inside")], "known"),
        (vec![write("/done"), write("/refused")], "unknown"),
        (vec![write("/done"), write("/refused-inside")], "unknown"),
        (vec![write("/done"), read("/refused")], "unknown"),
    ];
    for (steps, outcome) in cases {
        let body = json!({"items": steps});
        let problem = gateway.call("hostile/write_steps", body.clone()).problem(404, "upstream-rejected");
        assert_eq!(retry_advice(&problem), (false, outcome), "{body}");
        let problem = gateway.call("hostile/send_steps", body.clone()).problem(404, "upstream-rejected");
        assert_eq!(retry_advice(&problem), (false, "known"), "an operation that only reads: {body}");
    }
}

#[test]
fn a_redirect_that_would_turn_a_write_into_get_is_502_and_not_followed() {
    let upstream = Upstream::start();
    upstream.reply("/to", Reply::json(json!({"arrived": true})));
    let gateway = gateway(&upstream, "");
    for status in [301, 302, 303] {
        upstream.reply("/from", Reply::redirect("/to").status(status));
        let body = json!({"method": "POST", "path": "/from"});
        let problem = gateway.call("hostile/write", body).problem(502, "upstream-not-understood");
        assert_eq!(retry_advice(&problem), (false, "unknown"), "{status}");
        assert_eq!(upstream.take_seen().len(), 1, "{status}");
        gateway.call("hostile/forward", json!({"path": "/from"})).ok();
        upstream.take_seen();
    }
    for status in [307, 308] {
        upstream.reply("/from", Reply::redirect("/to").status(status));
        gateway.call("hostile/write", json!({"method": "POST", "path": "/from"})).ok();
        assert_eq!(upstream.take_seen()[1].method, "POST", "{status}");
    }
}

/// The problem of a thin and of a composed operation, which must be the same.
#[track_caller]
fn refused(gateway: &Gateway, path: &str, status: u16, kind: &str) -> Value {
    let thin = gateway.call("hostile/forward", json!({"path": path})).problem(status, kind);
    let composed = gateway.call("hostile/send_steps", json!({"items": [{"path": path}]})).problem(status, kind);
    for member in ["upstream", "owner", "retryable"] {
        assert_eq!(thin[member], composed[member], "{member}");
    }
    thin
}

#[test]
fn the_upstreams_own_status_and_body_are_passed_on_unchanged() {
    let upstream = Upstream::start();
    let limited = json!({"error": {"errors": [{"reason": "rateLimitExceeded"}]}});
    upstream
        .reply("/limited", Reply::json(limited.clone()).status(403))
        .reply("/limited-by-header", Reply::empty(403).header("retry-after", "7"));
    let gateway = gateway(&upstream, "");
    let problem = refused(&gateway, "/limited", 429, "upstream-rate-limited");
    assert_eq!(problem["upstream"], json!({"status": 403, "body": limited}));
    let answer = gateway.call("hostile/forward", json!({"path": "/limited-by-header"}));
    assert_eq!(answer.problem(429, "upstream-rate-limited")["upstream"], json!({"status": 403, "body": null}));
    assert_eq!(answer.header("retry-after"), "7");
    let inside = json!({"ok": false, "code": 403});
    upstream.reply("/inside", Reply::json(inside.clone()));
    let body = json!({"items": [{"path": "/inside"}]});
    let problem = gateway.call("hostile/send_steps", body).problem(403, "upstream-rejected");
    assert_eq!(problem["upstream"], json!({"status": 200, "body": inside}));
}

#[test]
fn a_body_that_is_too_long_to_show_is_said_to_be_cut() {
    let upstream = Upstream::start();
    upstream.reply("/long", Reply::typed("text/plain", "x".repeat(1 << 20)).status(400));
    upstream.reply("/short", Reply::typed("text/plain", "x".repeat(1 << 10)).status(400));
    let gateway = gateway(&upstream, "");
    let problem = refused(&gateway, "/long", 400, "upstream-rejected");
    assert_eq!(problem["upstream"]["truncated"], true);
    assert!(problem["upstream"]["body"].as_str().is_some_and(|body| body.len() == 64 << 10));
    let problem = refused(&gateway, "/short", 400, "upstream-rejected");
    assert_eq!(problem["upstream"].get("truncated"), None);
}

#[test]
fn the_owner_of_a_problem_is_the_one_who_can_fix_it() {
    let upstream = Upstream::start();
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    upstream
        .reply("/scope", Reply::json(json!({"error": "missing_scope", "needed": "write"})).status(403))
        .reply("/challenge", Reply::empty(403).header("www-authenticate", challenge))
        .reply("/forbidden", Reply::empty(403))
        .reply("/down", Reply::empty(500));
    let running = gateway(&upstream, "");
    assert_eq!(refused(&running, "/scope", 403, "upstream-rejected")["owner"], "user");
    let answer = running.call("hostile/forward", json!({"path": "/challenge"}));
    assert_eq!(answer.problem(403, "upstream-rejected")["owner"], "user");
    assert_eq!(refused(&running, "/forbidden", 403, "upstream-rejected")["owner"], "caller");
    assert_eq!(refused(&running, "/down", 502, "upstream-failed")["owner"], "provider");
    let nowhere = Setup::new().guest("hostile").upstream("hostile", "api", "http://nowhere.invalid").start();
    for (operation, body) in [("forward", json!({"path": "/"})), ("send_steps", json!({"items": [{"path": "/"}]}))] {
        let problem = nowhere.call(&format!("hostile/{operation}"), body).problem(502, "upstream-unreachable");
        assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("operator"), &json!(true)), "{operation}");
        assert!(problem["detail"].as_str().unwrap().contains("nowhere.invalid"), "{problem}");
    }
}

#[test]
fn white_space_from_an_upstream_that_sends_json_is_an_empty_object() {
    let upstream = Upstream::start();
    let gateway = gateway(&upstream, "");
    for body in ["", " ", "\r\n\t \n"] {
        upstream.reply("/", Reply::typed("application/json", body));
        for operation in ["hostile/forward_json", "hostile/forward"] {
            for shaped in [json!({"path": "/"}), json!({"path": "/", "response_fields": ["a"]})] {
                assert_eq!(gateway.call(operation, shaped.clone()).text(), "{}", "{operation} {shaped} {body:?}");
            }
        }
        let read = gateway.call("hostile/read_body", json!({"path": "/", "form": "document"}));
        assert_eq!(read.text(), "{}", "{body:?}");
    }
}
