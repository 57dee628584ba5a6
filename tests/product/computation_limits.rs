//! Callers, connectors and services that make the gateway compute for long. Their work is bounded
//! before it is done, and other callers are served at the same time.

use std::thread::available_parallelism;
use std::time::Duration;

use serde_json::{Value, json};
use support::{Answer, Client, Gateway, Pending, Reply, Setup, Upstream, module, usage, wait_at_most, wait_for};

use support::hostile::{assert_serves, gateway};

/// The largest body that the gateway accepts, in bytes.
const LARGEST_BODY: usize = 10 << 20;

/// Calls that compute for long: one on each core, and two that wait.
fn as_many_as_wait() -> usize {
    available_parallelism().unwrap().get() + 2
}

/// Waits until every core computes for one of the calls, and checks that another caller is served
/// before any of them ends. On a busy machine, a call may end before that, and all begin again.
#[track_caller]
fn assert_served_during(gateway: &Gateway, begin: impl Fn() -> Vec<Pending>) -> Vec<Answer> {
    wait_at_most(Duration::from_secs(600), "the others to be served while all of these calls compute", || {
        let calls = begin();
        wait_for("a computation that waits", || {
            let waits = gateway.metric("gateway_computations_waiting") >= 1.0;
            (waits || calls.iter().all(Pending::is_done)).then_some(())
        });
        assert_serves(gateway);
        let served_during = calls.iter().all(|call| !call.is_done());
        let answers: Vec<Answer> = calls.into_iter().map(Pending::wait).collect();
        served_during.then_some(answers)
    })
}

/// Posts a JSON text to an operation.
fn post(client: &Client, operation: &str, body: String) -> Answer {
    let path = format!("/connectors/{operation}");
    client.request("POST", &path).header("content-type", "application/json").body(body).send()
}

/// A JSON text of the largest size: `item` again and again, between `begin` and `end`.
fn largest(begin: &str, item: &str, end: &str) -> String {
    let count = (LARGEST_BODY - begin.len() - end.len()) / (item.len() + 1);
    format!("{begin}{}{end}", vec![item; count].join(","))
}

#[test]
fn a_huge_envelope_is_one_violation_and_takes_little_memory() {
    let gateway = gateway(&Upstream::start(), "");
    let before = usage::peak_mb(gateway.process_id());
    let filter = r#"{"field_name":"a","type":"string_list","values":["x"]}"#;
    let values = r#"{"response_filters":[{"field_name":"a","type":"string_list","values":["#;
    for (begin, item, end, pointer) in [
        (r#"{"response_filters":["#, "1", "]}", "/response_filters"),
        (r#"{"response_filters":["#, filter, "]}", "/response_filters"),
        (r#"{"response_fields":["#, r#""a""#, "]}", "/response_fields"),
        (values, r#""x""#, "]}]}", "/response_filters/0/values"),
    ] {
        let violations = post(&gateway.client(), "hostile/setting", largest(begin, item, end)).violations();
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert_eq!(violations[0].0, pointer);
        assert_serves(&gateway);
    }
    let grown = usage::peak_mb(gateway.process_id()) - before;
    assert!(grown < 300, "{grown} MB for bodies of 10 MB");
}

#[test]
fn of_a_million_violations_a_hundred_are_reported_at_most() {
    let gateway = gateway(&Upstream::start(), "");
    let unknown: Vec<String> = (0..700_000).map(|number| format!("\"u{number}\":1")).collect();
    let repeated = largest("{", r#""key":"a""#, "}");
    let members: Vec<String> = (0..700_000).map(|number| format!("\"m{number}\":1")).collect();
    let filter = format!("{{\"response_filters\":[{{{}}}]}}", members.join(","));
    let violations = post(&gateway.client(), "hostile/setting", repeated).violations();
    assert_eq!((violations.len(), violations[0].0.as_str()), (1, "/key"), "a repeated member is reported once");
    let names: Vec<String> = (0..350_000).map(|number| format!("\"u{number}\":1,\"u{number}\":1")).collect();
    let pairs = format!("{{{}}}", names.join(","));
    for (body, listed) in [(format!("{{{}}}", unknown.join(",")), 1), (pairs, 100), (filter, 100)] {
        let answer = post(&gateway.client(), "hostile/setting", body);
        let violations = answer.violations();
        assert_eq!(violations.len(), listed + 1);
        assert_eq!(violations[listed].1, "Further violations are not listed.");
        let detail = format!("The request has more violations than the {listed} that `errors` names.");
        assert_eq!(answer.json()["detail"], detail);
        assert!(answer.body.len() < 100_000, "{} bytes", answer.body.len());
        assert_serves(&gateway);
    }
}

#[test]
fn long_names_are_cut_in_messages() {
    let gateway = gateway(&Upstream::start(), "");
    let name = "n".repeat(1 << 20);
    let body = format!("{{\"{name}\": 1}}");
    let answer = post(&gateway.client(), "hostile/setting", body);
    assert_eq!(answer.violations().len(), 1);
    assert!(answer.body.len() < 4096, "{} bytes", answer.body.len());
    let path = "p".repeat(8000);
    for path in [format!("hostile/{path}"), format!("{path}/setting")] {
        let answer = gateway.call(&path, json!({}));
        assert_eq!(answer.status, 404);
        assert!(answer.body.len() < 1024, "{} bytes", answer.body.len());
        gateway.anonymous().call(&path, json!({})).problem(401, "unauthenticated");
        gateway.anonymous().get(&format!("/{path}")).problem(404, "not-found");
    }
    let is_refusal = |line: &&Value| line["status"] == 401 || line["status"] == 404;
    let log = support::wait_for("the refusals in the log", || {
        Some(gateway.log()).filter(|log| log.iter().filter(is_refusal).count() >= 6)
    });
    for line in log.iter().filter(is_refusal) {
        assert!(line.to_string().len() < 1024, "{line}");
    }
}

#[test]
fn searches_in_deep_documents_run_on_other_threads_than_those_that_serve() {
    let gateway = gateway(&Upstream::start(), "limits.cpu_ms = 3000\nlimits.timeout_s = 300");
    let client = gateway.client();
    let operations = ["/connectors/hostile/deep_pointer", "/connectors/hostile/deep_pointer_at_once"];
    let begin = |number: usize| client.begin(operations[number % 2], json!({"depth": 200_000}));
    for answer in assert_served_during(&gateway, || (0..as_many_as_wait()).map(begin).collect()) {
        assert_eq!(answer.problem(500, "connector-failed")["limit"], "cpu");
    }
    assert_serves(&gateway);
}

#[test]
fn large_answers_are_shaped_on_other_threads_than_those_that_serve() {
    let service = Upstream::start();
    let rows = r#"{"a":"1"},"#.repeat(200_000);
    service.reply("/rows", Reply::typed("application/json", format!("[{}{{}}]", rows)));
    let gateway = gateway(&service, "limits.timeout_s = 300");
    let filters = vec![json!({"field_name": "a", "type": "string_list", "values": ["1"]}); 100];
    let client = gateway.client();
    let body = json!({"upstream": "api", "method": "GET", "path": "/rows", "response_filters": filters});
    let begin = |_| client.begin("/connectors/hostile/forward_json", body.clone());
    for answer in assert_served_during(&gateway, || (0..as_many_as_wait()).map(begin).collect()) {
        assert_eq!((answer.status, answer.body.len()), (200, rows.len() + 1), "{}", &answer.text()[..100]);
    }
}

#[test]
fn an_immediate_operation_has_one_budget_of_cpu_time() {
    let gateway = gateway(&Upstream::start(), "limits.cpu_ms = 3000\nlimits.timeout_s = 300");
    let before = usage::cpu_ms(gateway.process_id());
    let answer = gateway.call("hostile/deep_pointer_at_once", json!({"depth": 200_000}));
    assert_eq!(answer.problem(500, "connector-failed")["limit"], "cpu");
    let used = usage::cpu_ms(gateway.process_id()) - before;
    // A busy machine gives less CPU time in the time that is counted.
    assert!(used < 5000, "{used} ms of CPU time");
}

#[test]
fn a_secret_of_equal_letters_is_masked_in_linear_time() {
    let (key, service) = ("a".repeat(4096), Upstream::start());
    let echo = format!("{}b", &key[..4095]).repeat(2000);
    service.reply("/me", Reply::json(json!({"echo": echo, "key": key})));
    let described = json!({"identifier": "account", "auth": "api_key", "placement": "header"});
    let gateway = Setup::new()
        .module("account", module::account(&described))
        .module("liar", module::liar("version=1.0.0"))
        .upstream("account", "api", &service.url())
        .config(&format!("upstreams.other = \"{}\"", service.url()))
        .start();
    let client = gateway.client();
    let credentials = json!({"auth_type": "api_key", "credentials": {"api_key": key}, "user_identifier": "mine"});
    client.post("/connectors/account/integrations", credentials).ok();
    let before = usage::cpu_ms(gateway.process_id());
    let answer = client.call("account/forward", json!({"path": "/me"}));
    let used = usage::cpu_ms(gateway.process_id()) - before;
    let answer: Value = answer.ok();
    assert_eq!(answer["key"], "*".repeat(4096));
    assert_eq!(answer["echo"].as_str().map(str::len), Some(echo.len()));
    assert!(used < 10_000, "{used} ms of CPU time for 8 MB");
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
}
