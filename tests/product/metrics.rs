//! Metrics in the text format of Prometheus.

use serde_json::json;
use support::{Gateway, Reply, Setup, Upstream, dexscreener};

fn market() -> (Gateway, Upstream) {
    let service = dexscreener::start();
    let gateway = Setup::new().shipped("dex_market_data").upstream("dex_market_data", "api", &service.url()).start();
    (gateway, service)
}

#[test]
fn answers_are_counted_by_connector_operation_and_status() {
    let (gateway, service) = market();
    let search = |body| gateway.call("dex_market_data/search_pairs", body);
    for _ in 0..3 {
        search(json!({"q": "x"})).ok();
    }
    search(json!({})).violations();
    service.reply("/latest/dex/search", Reply::empty(500));
    search(json!({"q": "x"})).problem(502, "upstream-failed");
    for (status, count) in [(200, 3.0), (422, 1.0), (502, 1.0)] {
        let series = format!(
            "gateway_requests_total{{connector=\"dex_market_data\",operation=\"search_pairs\",status=\"{status}\"}}"
        );
        assert_eq!(gateway.metric(&series), count, "{series}");
    }
    let labels = "{connector=\"dex_market_data\",operation=\"search_pairs\"}";
    assert!(gateway.metric(&format!("gateway_request_seconds_count{labels}")) >= 3.0);
    assert_eq!(gateway.metric("gateway_in_flight"), 0.0);
    assert_eq!(gateway.metric("gateway_connectors"), 1.0);
}

#[test]
fn the_time_of_a_call_is_measured_by_stage() {
    let (gateway, _service) = market();
    gateway.call("dex_market_data/search_pairs", json!({"q": "x", "response_fields": ["pairs.url"]})).ok();
    let count = |stage: &str| {
        gateway.metric(&format!("gateway_stage_seconds_count{{connector=\"dex_market_data\",stage=\"{stage}\"}}"))
    };
    for stage in ["validate", "account", "admit", "credential", "forward", "shape"] {
        assert_eq!(count(stage), 1.0, "{stage}");
    }
    assert_eq!(count("invoke"), 0.0, "the operation is data, so that nothing runs in the sandbox");
}

#[test]
fn requests_to_services_are_counted_with_their_retries() {
    let (gateway, service) = market();
    gateway.call("dex_market_data/search_pairs", json!({"q": "x"})).ok();
    service.reply("/latest/dex/search", Reply::empty(503));
    gateway.call("dex_market_data/search_pairs", json!({"q": "x"})).problem(502, "upstream-failed");
    let count = |outcome: &str| {
        let labels = format!("connector=\"dex_market_data\",upstream=\"api\",outcome=\"{outcome}\"");
        gateway.metric(&format!("gateway_upstream_requests_total{{{labels}}}"))
    };
    assert_eq!((count("200"), count("503")), (1.0, 3.0));
}

#[test]
fn names_that_callers_invent_do_not_become_labels() {
    let (gateway, _service) = market();
    for number in 0..20 {
        gateway.call(&format!("made_up_{number}/operation"), json!({})).problem(404, "unknown-connector");
        gateway.call(&format!("dex_market_data/made_up_{number}"), json!({})).problem(404, "unknown-operation");
        gateway.client().get(&format!("/made_up_{number}")).problem(404, "not-found");
    }
    let text = gateway.client().get("/metrics").text();
    assert!(!text.contains("made_up"), "{text}");
}

#[test]
fn the_text_is_valid_for_prometheus() {
    let (gateway, _service) = market();
    gateway.call("dex_market_data/search_pairs", json!({"q": "x"})).ok();
    let answer = gateway.client().get("/metrics");
    assert_eq!(answer.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = answer.text();
    assert!(text.ends_with("# EOF\n"), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(series.starts_with("gateway_"), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    for name in [
        "requests",
        "request_seconds",
        "stage_seconds",
        "swaps",
        "upstream_requests",
        "module_cache",
        "connectors",
        "in_flight",
    ] {
        assert!(text.contains(&format!("# TYPE gateway_{name} ")), "{name}");
        assert!(text.contains(&format!("# HELP gateway_{name} ")), "{name}");
    }
}

#[test]
fn a_page_that_lets_its_own_name_lead_to_the_gateway_gets_no_metrics() {
    let gateway = Setup::new().config("admin_hosts = [\"gateway.internal\"]").start();
    let status = |path: &str, host: &str| gateway.client().request("GET", path).header("host", host).send().status;
    for path in ["/metrics", "/admin/grants"] {
        assert_eq!(status(path, "rebound.example"), 400, "{path}");
        assert_eq!(status(path, "gateway.internal"), 200, "{path}");
        assert_eq!(status(path, "localhost:1"), 200, "{path}");
    }
    assert_eq!(status("/healthz", "rebound.example"), 200);
}
