//! Every kind of problem that a caller can cause, as the caller sees it.

use serde_json::json;
use support::{Gateway, Reply, Setup, Upstream, dexscreener, module, wait_for};

fn market() -> (Gateway, Upstream) {
    let service = dexscreener::start();
    let gateway = Setup::new().shipped("dex_market_data").upstream("dex_market_data", "api", &service.url()).start();
    (gateway, service)
}

const SEARCH: &str = "/connectors/dex_market_data/search_pairs";

#[test]
fn a_body_that_is_not_json_is_400_with_the_place() {
    let (gateway, service) = market();
    let client = gateway.client();
    for body in ["{", "{\"q\": }", "nonsense", "{\"q\": \"x\"} {}", "{\"q\": \"\u{1}\"}"] {
        let call = client.request("POST", SEARCH).header("content-type", "application/json").body(body.to_owned());
        let problem = call.send().problem(400, "not-json");
        assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("caller"), &json!(false)), "{body:?}");
    }
    let call = client.request("POST", SEARCH).header("content-type", "application/json").body(vec![b'{', 0xff, b'}']);
    call.send().problem(400, "not-json");
    let deep = format!("{{\"q\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let call = client.request("POST", SEARCH).header("content-type", "application/json").body(deep);
    assert!(matches!(call.send().status, 400 | 422));
    assert!(service.seen().is_empty());
}

#[test]
fn json_that_cannot_be_taken_is_400_with_the_reason() {
    let (gateway, service) = market();
    let deep = format!("{{\"q\": {}1{}}}", "[".repeat(128), "]".repeat(128));
    let cases = [
        ("\u{feff}{\"q\": \"x\"}".to_owned(), "byte order mark"),
        ("{\"q\": 1E400}".to_owned(), "1E400"),
        ("{\"q\": -1e999}".to_owned(), "range"),
        (deep, "127 levels"),
        ("{\"q\": \"\\ud800\"}".to_owned(), "half of a character"),
    ];
    for (body, words) in cases {
        let call = gateway.client().request("POST", SEARCH).header("content-type", "application/json").body(body);
        let problem = call.send().problem(400, "not-json");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{words}: {problem}");
    }
    let allowed = format!("{{\"q\": {}1{}}}", "[".repeat(127), "]".repeat(127));
    let call = gateway.client().request("POST", SEARCH).header("content-type", "application/json").body(allowed);
    call.send().violations();
    assert!(service.seen().is_empty());
}

#[test]
fn an_encoded_body_is_415_and_the_answer_says_what_is_accepted() {
    let (gateway, service) = market();
    let call = |encoding: &str| {
        let call = gateway.client().request("POST", SEARCH).header("content-encoding", encoding);
        call.json(&json!({"q": "x"})).send()
    };
    for encoding in ["gzip", "br", "deflate, gzip"] {
        let answer = call(encoding);
        answer.problem(415, "unsupported-media-type");
        assert_eq!(answer.header("accept-encoding"), "identity");
    }
    assert!(service.seen().is_empty());
    call("identity").ok();
}

#[test]
fn an_unknown_connector_is_404_with_the_nearest_name() {
    let (gateway, _service) = market();
    let problem = gateway.call("dex_market_dat/search_pairs", json!({})).problem(404, "unknown-connector");
    assert!(problem["detail"].as_str().unwrap().contains("`dex_market_data`"), "{problem}");
    let problem = gateway.call("zzz/search_pairs", json!({})).problem(404, "unknown-connector");
    assert!(problem["detail"].as_str().unwrap().contains("GET /connectors"), "{problem}");
}

#[test]
fn an_unknown_operation_is_404_with_the_nearest_name() {
    let (gateway, _service) = market();
    let problem = gateway.call("dex_market_data/serch_pairs", json!({})).problem(404, "unknown-operation");
    assert!(problem["detail"].as_str().unwrap().contains("`search_pairs`"), "{problem}");
    gateway.call("dex_market_data/zzz", json!({})).problem(404, "unknown-operation");
}

#[test]
fn an_unknown_path_is_404_and_says_where_operations_are() {
    let (gateway, _service) = market();
    for path in [
        "/connector",
        "/connectors/dex_market_data",
        "/connectors/dex_market_data/search_pairs/more",
        "/admin",
        "/metrics/x",
        "//",
    ] {
        let problem = gateway.client().post(path, json!({})).problem(404, "not-found");
        assert!(problem["detail"].as_str().unwrap().contains("/openapi.json"), "{path}: {problem}");
    }
}

#[test]
fn a_wrong_method_is_405_with_the_right_one() {
    let (gateway, _service) = market();
    let cases = [
        ("GET", SEARCH, "POST"),
        ("PUT", SEARCH, "POST"),
        ("DELETE", SEARCH, "POST"),
        ("POST", "/connectors", "GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
        ("DELETE", "/openapi.json", "GET, HEAD"),
        ("PUT", "/admin/connectors", "GET, HEAD, POST"),
        ("POST", "/admin/connectors/dex_market_data", "GET, HEAD, DELETE"),
        ("GET", "/admin/connectors/dex_market_data/rollback", "POST"),
    ];
    for (method, path, allowed) in cases {
        let answer = gateway.client().request(method, path).send();
        answer.problem(405, "method-not-allowed");
        assert_eq!(answer.header("allow"), allowed, "{method} {path}");
    }
}

#[test]
fn a_body_over_the_limit_is_413_whether_it_says_its_length_or_not() {
    let service = dexscreener::start();
    let gateway = Setup::new()
        .config("max_body_mb = 1")
        .shipped("dex_market_data")
        .upstream("dex_market_data", "api", &service.url())
        .start();
    let body = |size: usize| format!("{{\"q\": \"{}\"}}", "x".repeat(size));
    let call = || gateway.client().request("POST", SEARCH).header("content-type", "application/json");
    call().body(body(2 << 20)).send().problem(413, "body-too-large");
    call().chunked(body(2 << 20)).send().problem(413, "body-too-large");
    assert!(service.seen().is_empty());
    call().chunked(body(10)).send().ok();
}

#[test]
fn a_body_that_is_not_json_by_its_type_is_415() {
    let (gateway, service) = market();
    let client = gateway.client();
    for content_type in
        ["text/plain", "application/x-www-form-urlencoded", "application/xml", "json", "application/jsonx"]
    {
        let call = client.request("POST", SEARCH).header("content-type", content_type).body("{\"q\": \"x\"}");
        let problem = call.send().problem(415, "unsupported-media-type");
        assert!(problem["detail"].as_str().unwrap().contains("application/json"), "{problem}");
    }
    client.request("POST", SEARCH).body("{\"q\": \"x\"}").send().problem(415, "unsupported-media-type");
    assert!(service.seen().is_empty());
    for content_type in ["application/json", "Application/JSON; charset=utf-8", "application/problem+json"] {
        client.request("POST", SEARCH).header("content-type", content_type).body("{\"q\": \"x\"}").send().ok();
    }
}

#[test]
fn all_violations_are_reported_at_once_with_their_places_and_what_to_do() {
    let (gateway, service) = market();
    let body = json!({"chain": "solana", "token_adress": "T1", "chain_id": 7, "query": {"x": 1}});
    let answer = gateway.call("dex_market_data/get_token_pools", body);
    let mut violations = answer.violations();
    violations.sort();
    let pointers: Vec<&str> = violations.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(pointers, ["/chain", "/chain_id", "/query", "/token_address", "/token_adress"]);
    assert!(violations[0].1.contains("`chain_id`"), "{violations:?}");
    assert!(violations[1].1.contains("string"), "{violations:?}");
    assert!(violations[3].1.contains("required"), "{violations:?}");
    assert!(violations[4].1.contains("`token_address`"), "{violations:?}");
    assert!(answer.text().contains("5 violations"), "{}", answer.text());
    assert!(service.seen().is_empty());
}

#[test]
fn half_of_a_character_in_the_envelope_is_a_violation_that_says_so() {
    let (gateway, _service) = market();
    let body = r#"{"q": "x", "response_fields": ["\ud800"]}"#;
    let call = gateway.client().request("POST", SEARCH).header("content-type", "application/json").body(body);
    let violations = call.send().violations();
    assert_eq!(violations[0].0, "/response_fields/0");
    assert!(violations[0].1.contains("half of a character"), "{violations:?}");
}

#[test]
fn values_that_are_too_long_for_a_path_are_the_callers_to_shorten() {
    let (gateway, service) = market();
    let violations = gateway.call("dex_market_data/search_pairs", json!({"q": "q".repeat(20_000)})).violations();
    assert_eq!(violations.len(), 1);
    assert!(violations[0].0.is_empty() && violations[0].1.contains("16384 bytes"), "{violations:?}");
    assert!(service.seen().is_empty());
}

#[test]
fn a_body_that_is_not_an_object_is_a_violation_at_the_root() {
    let (gateway, _service) = market();
    for body in [json!([]), json!("x"), json!(7), json!(true)] {
        let violations = gateway.client().post(SEARCH, body).violations();
        assert_eq!(violations[0].0, "");
    }
}

#[test]
fn a_member_that_occurs_twice_is_a_violation() {
    let (gateway, _service) = market();
    let call = gateway.client().request("POST", SEARCH).header("content-type", "application/json");
    let answer = call.body(r#"{"q": "a", "q": "b", "q": "c", "response_fields": [], "response_fields": ["x"]}"#).send();
    let pointers: Vec<String> = answer.violations().into_iter().map(|(pointer, _)| pointer).collect();
    assert_eq!(pointers, ["/q", "/response_fields"], "each member is reported once");
    assert!(answer.text().contains("2 violations"), "{}", answer.text());
}

#[test]
fn the_nearest_name_may_be_one_of_the_envelope() {
    let (gateway, _service) = market();
    let body = json!({"q": "x", "response_field": ["a"], "response_filter": []});
    let violations = gateway.client().post(SEARCH, body).violations();
    assert!(violations[0].1.contains("did you mean `response_fields`?"), "{violations:?}");
    assert!(violations[1].1.contains("did you mean `response_filters`?"), "{violations:?}");
}

#[test]
fn null_is_absent() {
    let (gateway, service) = market();
    let body = json!({"token_addresses": "T1", "chain_id": null, "response_fields": null, "response_filters": null, "query": null});
    gateway.call("dex_market_data/get_pairs_by_token", body).ok();
    assert!(service.seen()[0].path.starts_with("/latest/dex/tokens/"));
    let violations = gateway.call("dex_market_data/search_pairs", json!({"q": null})).violations();
    assert_eq!(violations[0].0, "/q");
}

#[test]
fn an_error_does_not_repeat_the_callers_values() {
    let (gateway, _service) = market();
    let answer = gateway.call("dex_market_data/search_pairs", json!({"q": {"secret": "hunter2"}}));
    answer.violations();
    assert!(!answer.text().contains("hunter2"), "{}", answer.text());
    assert!(!gateway.lines().iter().any(|line| line.contains("hunter2")));
}

#[test]
fn failures_of_an_upstream_have_different_kinds() {
    let (gateway, service) = market();
    let cases = [
        (Reply::typed("text/plain", "no").status(403), 403, "upstream-rejected"),
        (Reply::empty(404), 404, "upstream-rejected"),
        (Reply::empty(429), 429, "upstream-rate-limited"),
        (Reply::empty(500), 502, "upstream-failed"),
        (Reply::empty(599), 502, "upstream-failed"),
        (Reply::hang_up(), 502, "upstream-unreachable"),
    ];
    for (reply, status, kind) in cases {
        service.reply("/latest/dex/search", reply);
        let answer = gateway.client().post(SEARCH, json!({"q": "x"}));
        answer.problem(status, kind);
        assert_eq!(answer.header("x-error-source"), "upstream", "{kind}");
        assert_eq!(answer.header("retry-after"), "", "no upstream said when to try again: {kind}");
    }
}

#[test]
fn a_long_error_of_an_upstream_is_not_shown_whole() {
    let (gateway, service) = market();
    service.reply("/latest/dex/search", Reply::typed("text/plain", "x".repeat(10 << 20)).status(400));
    let answer = gateway.client().post(SEARCH, json!({"q": "x"}));
    answer.problem(400, "upstream-rejected");
    assert!(answer.body.len() < 1 << 20);
}

#[test]
fn over_the_concurrency_limit_is_503_with_a_time_to_try_again() {
    let (service, gate) = (Upstream::start(), support::Gate::default());
    service.reply("/wait", Reply::json(json!({})).behind(&gate));
    let gateway = Setup::new()
        .module("liar", module::liar("version=1.0.0"))
        .upstream("liar", "api", &service.url())
        .config("limits.concurrency = 2")
        .start();
    let wait = || gateway.client().begin("/connectors/liar/wait", json!({}));
    let calls = [wait(), wait()];
    service.wait_for_requests(2);
    let answer = gateway.call("liar/version", json!({}));
    let problem = answer.problem(503, "busy");
    assert!(answer.header("retry-after").parse::<u64>().is_ok());
    assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("operator"), &json!(true)));
    gate.open();
    for call in calls {
        call.wait().ok();
    }
    wait_for("a free place", || (gateway.call("liar/version", json!({})).status == 200).then_some(()));
}

#[test]
fn without_a_free_slot_in_the_sandbox_it_is_503_too() {
    let (service, gate) = (Upstream::start(), support::Gate::default());
    service.reply("/wait", Reply::json(json!({})).behind(&gate));
    let gateway = Setup::new()
        .config("sandbox.instances = 1")
        .module("liar", module::liar("version=1.0.0"))
        .upstream("liar", "api", &service.url())
        .start();
    let call = gateway.client().begin("/connectors/liar/wait", json!({}));
    service.wait_for_requests(1);
    for operation in ["liar/version", "liar/version_at_once"] {
        let answer = gateway.call(operation, json!({}));
        answer.problem(503, "busy");
        assert!(answer.header("retry-after").parse::<u64>().is_ok());
    }
    gate.open();
    call.wait().ok();
    wait_for("a free slot", || (gateway.call("liar/version", json!({})).status == 200).then_some(()));
}
