//! Operations that go wrong in each of the ways that the check looks for.

use reqwest::Version;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use support::{Answer, Seen};

use crate::check::{Checked, Extent, check};
use crate::lanes::Sent;
use crate::operations::{Call, Operation};
use crate::specifications::Template;

fn call(verb: &str, url: &str) -> Call {
    Call {
        shown: format!("{verb} {url}"),
        verb: verb.to_owned(),
        url: Template::parse(url, |_| false),
        constants: Vec::new(),
        methods: Err("there is no specification".to_owned()),
    }
}

/// The check of one input of an operation: the gateway's answer, and the requests that the upstream
/// got.
fn checked(kind: &str, calls: Vec<Call>, status: u16, problem: &str, requests: &[&str]) -> Checked {
    let entry = json!({"kind": kind});
    let operation = Operation { path: "list".to_owned(), entry, inputs: Vec::new(), calls };
    let body = json!({"type": format!("urn:connector-gateway:problem:{problem}"), "detail": "Why."});
    let requests = requests.iter().map(|target| {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Seen {
            method: "GET".to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: HeaderMap::new(),
            body: Vec::new().into(),
        }
    });
    let answer = Answer { status, version: Version::HTTP_11, headers: HeaderMap::new(), body: body.to_string().into() };
    check("service", &operation, &[Sent { input: Value::Null, answer, requests: requests.collect() }])
}

/// The places of the violations.
fn places(checked: &Checked) -> Vec<&str> {
    checked.violations.iter().map(|violation| violation.place.as_str()).collect()
}

#[test]
fn a_request_that_the_catalogue_does_not_name_is_found() {
    let result = |request: &str| checked("composed", vec![call("GET", "host/items/{id}")], 200, "", &[request]);
    assert_eq!(places(&result("host/items/1")), [""; 0]);
    assert_eq!(places(&result("host/things/1")), ["url"]);
    assert_eq!(places(&result("other/items/1")), ["url"]);
}

#[test]
fn a_constant_parameter_with_another_value_is_found() {
    let result = |request: &str| {
        let constants = vec![("fields".to_owned(), "*".to_owned())];
        let call = Call { constants, ..call("GET", "host/items") };
        checked("composed", vec![call], 200, "", &[request])
    };
    assert_eq!(places(&result("host/items?fields=*&page=2")), [""; 0]);
    assert_eq!(places(&result("host/items?fields=id")), ["constants"]);
    assert_eq!(places(&result("host/items")), ["constants"]);
}

#[test]
fn a_refused_input_and_a_failed_connector_are_found_and_a_failure_of_the_upstream_is_not() {
    let result = |status: u16, problem: &str| {
        checked("composed", vec![call("GET", "host/items")], status, problem, &["host/items"])
    };
    assert_eq!(places(&result(422, "validation")), ["answer"]);
    assert_eq!(places(&result(500, "connector-failed")), ["answer"]);
    assert_eq!(places(&result(429, "rate-limited")), ["answer"]);
    assert_eq!(places(&result(502, "upstream-not-understood")), [""; 0]);
    assert_eq!(places(&result(404, "resource-not-found")), [""; 0]);
}

#[test]
fn a_thin_operation_sends_one_request_and_answers_with_success() {
    let result = |status: u16, requests: &[&str]| {
        checked("thin", vec![call("GET", "host/items")], status, "upstream-not-understood", requests)
    };
    assert_eq!(places(&result(200, &["host/items"])), [""; 0]);
    assert_eq!(places(&result(502, &["host/items"])), ["answer"]);
    assert_eq!(places(&result(200, &[])), ["request"]);
    assert_eq!(places(&result(200, &["host/items", "host/items"])), ["request"]);
}

#[test]
fn an_operation_is_checked_as_far_as_its_calls_are_sent_and_described() {
    let described = |url: &str| Call { methods: Ok(Vec::new()), ..call("GET", url) };
    let result = |calls: Vec<Call>| {
        let result = checked("composed", calls, 200, "", &[]);
        (result.extent, result.reasons)
    };
    assert!(result(Vec::new()) == (Extent::Nothing, vec!["by the catalogue it sends no request".to_owned()]));
    assert!(result(vec![call("GET", "host/a")]) == (Extent::Nothing, vec!["there is no specification".to_owned()]));
    let unsent = "it never sent GET host/b".to_owned();
    assert!(result(vec![described("host/b")]) == (Extent::Nothing, vec![unsent]));
}
