//! Traces and metrics for an OpenTelemetry collector.

use memchr::memmem;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use serde_json::json;
use support::collector::{Span, attributes};
use support::upstream::free_port;
use support::{
    Answer, Collector, Dialect, Gate, Gateway, OAuthProvider, Reply, Setup, Upstream, dexscreener, wait_for,
};

use crate::integrations::{connect, email, started};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

fn market(config: &str) -> (Gateway, Upstream) {
    let service = dexscreener::start();
    let setup = Setup::new().shipped("dex_market_data").upstream("dex_market_data", "api", &service.url());
    (setup.config(config).start(), service)
}

/// The guest `account` without accounts, as a connector of a service.
fn account(collector: &Collector) -> (Gateway, Upstream) {
    let service = Upstream::start();
    let module = support::module::account(&json!({"identifier": "account", "auth": "none"}));
    let setup = Setup::new().module("account", module).upstream("account", "api", &service.url());
    (setup.config(&collector.config()).start(), service)
}

/// A call whose answer is shaped, in a trace of the caller.
fn search(gateway: &Gateway, traceparent: &str) -> Answer {
    gateway
        .client()
        .request("POST", "/connectors/dex_market_data/search_pairs")
        .header("traceparent", traceparent)
        .json(&json!({"q": "x", "response_fields": ["pairs.url"]}))
        .send()
}

fn sampled() -> String {
    format!("00-{TRACE}-{CALLER}-01")
}

#[track_caller]
fn find<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
    assert_eq!(found.len(), 1, "{name} in {spans:#?}");
    found[0]
}

#[test]
fn a_call_continues_the_callers_trace_with_a_span_for_each_stage_and_the_upstream_sees_the_last_one() {
    let collector = Collector::start();
    let (mut gateway, service) = market(&collector.config());
    search(&gateway, &sampled()).ok();
    gateway.stop();
    let spans = collector.spans();
    assert!(spans.iter().all(|span| span.trace_id == TRACE && !span.has_failed), "{spans:#?}");
    let call = find(&spans, "POST /connectors/{connector}/{operation}");
    assert_eq!(call.parent, CALLER);
    let expected = [
        ("http.request.method", "POST"),
        ("http.response.status_code", "200"),
        ("gateway.connector", "dex_market_data"),
        ("gateway.operation", "search_pairs"),
        ("gateway.tenant", "default"),
    ];
    for (name, value) in expected {
        assert_eq!(call.attribute(name), value, "{call:#?}");
    }
    let stages = ["auth", "read", "validate", "account", "admit", "credential", "forward", "shape"];
    for (stage, next) in stages.iter().zip(stages.iter().skip(1).map(Some).chain([None])) {
        let span = find(&spans, stage);
        assert_eq!(span.parent, call.id, "{stage}");
        assert!(call.times.0 <= span.times.0 && span.times.1 <= call.times.1, "{stage} in {spans:#?}");
        assert!(next.is_none_or(|next| span.times.1 <= find(&spans, next).times.0), "{stage} in {spans:#?}");
    }
    let request = find(&spans, "GET");
    assert_eq!(request.parent, find(&spans, "forward").id);
    assert_eq!((request.attribute("server.address"), request.attribute("gateway.upstream")), ("127.0.0.1", "api"));
    assert_eq!(service.seen()[0].header("traceparent"), format!("00-{TRACE}-{}-01", request.id));
    assert_eq!(spans.len(), stages.len() + 2);
    let resource = collector.resource();
    assert!(resource.contains(&("service.name".to_owned(), "connector-gateway".to_owned())), "{resource:?}");
}

#[test]
fn a_request_that_a_connector_sends_itself_is_in_the_span_of_its_invocation_and_a_retry_has_a_span_of_its_own() {
    let collector = Collector::start();
    let (mut gateway, service) = account(&collector);
    service.reply("/busy", Reply::empty(503));
    gateway.call("account/composed", json!({"path": "/busy"})).ok();
    gateway.stop();
    let spans = collector.spans();
    let requests: Vec<&Span> = spans.iter().filter(|span| span.name == "GET").collect();
    assert_eq!(requests.len(), service.seen().len());
    assert!(requests.len() > 1, "{spans:#?}");
    for (retry, (request, seen)) in requests.iter().zip(service.seen()).enumerate() {
        assert_eq!(request.parent, find(&spans, "invoke").id);
        assert_eq!(seen.header("traceparent"), format!("00-{}-{}-01", request.trace_id, request.id));
        assert_eq!(
            request.attribute("http.request.resend_count"),
            if retry == 0 { String::new() } else { retry.to_string() }
        );
        assert!(request.has_failed && request.attribute("http.response.status_code") == "503");
    }
}

#[test]
fn a_trace_that_the_caller_does_not_sample_is_passed_on_and_not_recorded() {
    let collector = Collector::start();
    let (mut gateway, service) = market(&collector.config());
    search(&gateway, &format!("00-{TRACE}-{CALLER}-00")).ok();
    gateway.stop();
    let passed_on = service.seen()[0].header("traceparent").to_owned();
    assert!(passed_on.starts_with(&format!("00-{TRACE}-")) && passed_on.ends_with("-00"), "{passed_on}");
    assert_eq!(collector.spans(), []);
}

#[test]
fn what_other_systems_add_to_a_trace_is_passed_on() {
    let collector = Collector::start();
    let (mut gateway, service) = market(&collector.config());
    let long = format!("vendor={}", "x".repeat(600));
    for state in ["vendor=its-own-words", "no state", &long] {
        let call = gateway.client().request("POST", "/connectors/dex_market_data/search_pairs");
        let call = call.header("traceparent", &sampled()).header("tracestate", state);
        call.json(&json!({"q": "x"})).send().ok();
    }
    gateway.stop();
    let states: Vec<String> = service.seen().iter().map(|seen| seen.header("tracestate").to_owned()).collect();
    assert_eq!(states, ["vendor=its-own-words", "", ""]);
    assert!(collector.spans().iter().any(|span| span.state == "vendor=its-own-words"));
}

#[test]
fn the_ratio_decides_about_traces_that_begin_at_the_gateway() {
    let collector = Collector::start();
    let (mut gateway, service) = market(&format!("{}\nsampling_ratio = 0", collector.config()));
    for traceparent in ["", "00-0-0-01", &sampled()] {
        search(&gateway, traceparent).ok();
    }
    gateway.stop();
    assert!(collector.spans().iter().all(|span| span.trace_id == TRACE));
    assert_eq!(find(&collector.spans(), "forward").trace_id, TRACE);
    assert!(service.seen()[..2].iter().all(|seen| seen.header("traceparent").ends_with("-00")));
}

#[test]
fn a_stage_that_fails_and_its_call_are_marked_as_failed() {
    let collector = Collector::start();
    let (mut gateway, service) = market(&collector.config());
    service.reply("/latest/dex/search", Reply::hang_up());
    search(&gateway, &sampled()).problem(502, "upstream-unreachable");
    gateway.stop();
    let spans = collector.spans();
    let failed: Vec<&str> = spans.iter().filter(|span| span.has_failed).map(|span| span.name.as_str()).collect();
    assert!(failed.contains(&"forward") && !failed.contains(&"credential"), "{spans:#?}");
    let call = find(&spans, "POST /connectors/{connector}/{operation}");
    assert!(call.has_failed && call.attribute("error.type") == "upstream-unreachable", "{call:#?}");
}

#[test]
fn a_job_has_a_trace_of_its_own() {
    let collector = Collector::start();
    let (mut gateway, service) = account(&collector);
    service.reply("/me", Reply::json(json!({})));
    let begun = gateway.call("account/fetch", json!({"path": "/me", "waiting": false})).ok();
    service.wait_for_requests(1);
    gateway.stop();
    let spans = collector.spans();
    let job = find(&spans, "job");
    assert_eq!((job.attribute("gateway.request_id"), job.parent.as_str()), (begun["job_id"].as_str().unwrap(), ""));
    assert_eq!(job.links, [find(&spans, "POST /connectors/{connector}/{operation}").id.clone()]);
    assert_eq!(find(&spans, "invoke").parent, job.id);
}

#[test]
fn no_secret_of_a_call_reaches_the_collector() {
    let (collector, provider) = (Collector::start(), OAuthProvider::start(Dialect::strict()));
    let setup = Setup::new().account("account", &provider).config(&collector.config());
    let mut gateway = started(setup, &provider);
    connect(&gateway.client(), "account", "ada");
    let body =
        json!({"path": "/me?secret=of-the-query", "body": "secret-of-the-body", "header": "secret-of-the-input"});
    let call = |operation: &str, body| {
        let request = gateway.client().request("POST", operation).header("traceparent", &sampled());
        let request = request.header("x-user-identifier", &email("ada")).header("tracestate", "vendor=its-own-words");
        request.header("x-secret", "of-the-header").json(&body).send()
    };
    for operation in ["forward", "composed"] {
        call(&format!("/connectors/account/{operation}?secret=of-the-url"), body.clone()).ok();
    }
    call("/connectors/secret_of_a_path/forward", body.clone()).problem(404, "unknown-connector");
    call("/connectors/account/secret_of_a_path", body).problem(404, "unknown-operation");
    gateway.stop();
    assert!(collector.spans().len() > 20, "{:#?}", collector.spans());
    let mut secrets = provider.secrets();
    secrets.extend([support::setup::KEY.to_owned(), email("ada"), "ada%40example".to_owned()]);
    secrets.extend(["of-the-", "secret"].map(str::to_owned));
    for seen in collector.service().seen() {
        for secret in &secrets {
            let found = memmem::find(&seen.body, secret.as_bytes());
            assert!(found.is_none(), "{secret} in {}", String::from_utf8_lossy(&seen.body));
        }
    }
}

#[test]
fn the_metrics_of_the_gateway_arrive_again_and_again() {
    let collector = Collector::start();
    let (gateway, _service) = market(&format!("{}\nmetrics_interval_s = 1", collector.config()));
    search(&gateway, &sampled()).ok();
    let count = wait_for("a counter of calls", || {
        let metric = collector.metrics().into_iter().find(|metric| metric.name == "gateway_requests")?;
        let Some(Data::Sum(sum)) = metric.data else { panic!("{metric:?}") };
        let called = ("operation".to_owned(), "search_pairs".to_owned());
        sum.data_points.into_iter().find(|point| attributes(point.attributes.clone()).contains(&called))
    });
    let (began, at) = (count.start_time_unix_nano, count.time_unix_nano);
    assert!(began > 0 && began < at);
    wait_for("the next metrics", || {
        let metric = collector.metrics().into_iter().find(|metric| metric.name == "gateway_stage_seconds")?;
        let Some(Data::Histogram(histogram)) = metric.data else { panic!("{metric:?}") };
        histogram.data_points.into_iter().find(|point| point.start_time_unix_nano == began && point.time_unix_nano > at)
    });
}

#[test]
fn requests_to_the_collector_carry_the_operators_headers_below_the_configured_path() {
    let collector = Collector::start();
    let config = collector.config().replace("\"\n", "/otlp\"\n").trim_end_matches('"').to_owned() + "/otlp\"";
    let (mut gateway, _service) = market(&format!(
        "{config}\nservice_name = \"edge\"\nheaders = {{ authorization = \"Bearer of-the-collector\" }}"
    ));
    search(&gateway, &sampled()).ok();
    gateway.stop();
    let seen = collector.service().seen();
    assert!(seen.iter().any(|seen| seen.path == "/otlp/v1/traces"), "{seen:?}");
    assert!(seen.iter().any(|seen| seen.path == "/otlp/v1/metrics"), "{seen:?}");
    for seen in seen {
        assert_eq!(seen.header("authorization"), "Bearer of-the-collector");
        assert_eq!((seen.header("content-type"), seen.header("traceparent")), ("application/x-protobuf", ""));
    }
    assert!(collector.resource().contains(&("service.name".to_owned(), "edge".to_owned())));
    assert!(!gateway.lines().join("\n").contains("of-the-collector"));
}

#[test]
fn nothing_is_recorded_or_passed_on_without_an_endpoint() {
    let (collector, service) = (Collector::start(), dexscreener::start());
    let setup = Setup::new().shipped("dex_market_data").upstream("dex_market_data", "api", &service.url());
    // The variables of the OpenTelemetry libraries do not turn it on.
    let mut gateway = setup.variable("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.service().url()).start();
    search(&gateway, &sampled()).ok();
    gateway.stop();
    assert_eq!(service.seen()[0].header("traceparent"), "");
    assert_eq!(collector.service().seen().len(), 0);
}

#[test]
fn a_collector_that_is_away_fails_no_call_and_is_logged_once() {
    let (mut gateway, _service) = market(&format!("[telemetry]\nendpoint = \"http://127.0.0.1:{}\"", free_port()));
    let is_warning =
        |line: &serde_json::Value| line["message"].as_str().is_some_and(|text| text.contains("telemetry.endpoint"));
    for _ in 0..3 {
        search(&gateway, &sampled()).ok();
        gateway.wait_for_log("a warning", is_warning);
    }
    assert_eq!(gateway.stop().code(), Some(0));
    let warnings: Vec<_> = gateway.log().into_iter().filter(is_warning).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn a_collector_that_does_not_answer_holds_up_no_call_and_spans_over_the_queue_are_dropped() {
    let (collector, gate) = (Collector::start(), Gate::default());
    collector.service().reply("*", Reply::empty(200).behind(&gate));
    let (mut gateway, service) = account(&collector);
    service.reply("/me", Reply::json(json!({})));
    const CALLS: usize = 1500;
    for _ in 0..CALLS {
        gateway.call("account/forward", json!({"path": "/me"})).ok();
    }
    gate.open();
    assert_eq!(gateway.stop().code(), Some(0));
    let spans = collector.spans();
    let in_a_call = spans.iter().filter(|span| span.trace_id == spans[0].trace_id).count();
    assert!(in_a_call > 8 && spans.len() < CALLS * in_a_call, "{} of {CALLS} times {in_a_call}", spans.len());
}

#[test]
fn a_collector_that_does_not_answer_does_not_hold_up_the_end() {
    let (collector, gate) = (Collector::start(), Gate::default());
    collector.service().reply("*", Reply::empty(200).behind(&gate));
    let (mut gateway, _service) = market(&collector.config());
    search(&gateway, &sampled()).ok();
    collector.service().wait_for_requests(1);
    assert_eq!(gateway.stop().code(), Some(0));
    assert!(gateway.log().iter().any(|line| line["message"] == "stopped"));
}
