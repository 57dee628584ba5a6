//! Records of calls, for the operator.

use serde_json::{Value, json};
use support::{Client, Dialect, Gate, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, module, wait_for};

use super::{pages, printed, run};
use crate::integrations::{self, client, on_each_store};

on_each_store!(
    a_call_that_failed_has_a_record_that_names_its_reason,
    records_have_filters_pages_and_commands,
    a_job_that_failed_has_a_record_with_the_gateway_that_ran_it,
);

const SECRETS: [&str; 4] = ["s3cret-query", "s3cret-body", "s3cret-header", "ada@example.com"];

fn started(store: &Store, service: &str, config: &str) -> (Gateway, Client) {
    let described = json!({"identifier": "account", "auth": "none", "rate_limit": 100});
    let gateway = Setup::new()
        .on(store)
        .module("account", module::account(&described))
        .upstream("account", "api", service)
        .config(&format!("{config}\n[fleet]\nname = \"first\"\n"))
        .start();
    let operator = gateway.client();
    (gateway, operator)
}

/// Waits for the record of a request.
#[track_caller]
fn record(operator: &Client, request_id: &str) -> Value {
    wait_for(&format!("the record of {request_id}"), || {
        let answer = operator.get(&format!("/admin/calls/{request_id}"));
        (answer.status == 200).then(|| answer.json())
    })
}

fn a_call_that_failed_has_a_record_that_names_its_reason(store: &Store) {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({"error": "s3cret-body"})).status(503));
    let (gateway, operator) = started(store, &service.url(), "");
    let caller = client(&gateway, "acme", Some("ann"), "operate");
    let path = "/users/ada@example.com/messages/AAMk7?token=s3cret-query";
    let body = json!({"path": path, "method": "GET"});
    let failed = caller
        .request("POST", "/connectors/account/forward")
        .header("x-request-id", "call-1")
        .header("x-own", "s3cret-header")
        .json(&body)
        .send();
    failed.problem(502, "upstream-failed");
    let record = record(&operator, "call-1");
    let expected = json!({
        "request_id": "call-1", "gateway": "first", "tenant": "acme", "subject": "ann", "connector": "account",
        "operation": "forward", "status": 502, "problem": "upstream-failed", "owner": "provider", "idempotency": null,
        "job_id": null,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&record[name], value, "{name} of {record:#}");
    }
    assert!(record["key_id"].as_str().unwrap().starts_with("key_") && record["version"].is_string(), "{record:#}");
    let stages: Vec<_> = record["stages"].as_object().unwrap().keys().cloned().collect();
    assert!(
        ["validate", "account", "admit", "invoke", "forward"]
            .iter()
            .all(|name| stages.iter().any(|stage| stage == name)),
        "{stages:?}"
    );
    let requests = record["upstream"].as_array().unwrap();
    assert_eq!(requests.len(), 3, "{requests:#?}");
    for (number, request) in (1..).zip(requests) {
        assert_eq!((&request["method"], &request["host"]), (&json!("GET"), &json!("127.0.0.1")));
        assert_eq!((&request["status"], &request["attempt"]), (&json!(503), &json!(number)));
        assert_eq!(request["path"], "/{path}/{path}/{path}/{…}");
        assert!(request["ms"].as_f64() > Some(0.0));
        assert_eq!(request["paused_ms"].as_f64() > Some(0.0), number > 1, "{request}");
    }
    let everything = record.to_string();
    assert!(SECRETS.iter().all(|secret| !everything.contains(secret)), "{everything}");

    // A call that succeeds, and a caller that is not known, have no record.
    service.reply("*", Reply::json(json!({})));
    let answer =
        caller.request("POST", "/connectors/account/forward").header("x-request-id", "good").json(&body).send();
    answer.ok();
    let unknown = gateway.anonymous().with_key("cgw_x").request("POST", "/connectors/account/forward");
    unknown.header("x-request-id", "unknown").json(&body).send().problem(401, "unauthenticated");
    let refused = caller.request("POST", "/connectors/account/forward").header("x-request-id", "last");
    refused.json(&json!({"none": 1})).send().problem(422, "validation");
    self::record(&operator, "last");
    operator.get("/admin/calls/good").problem(404, "unknown-call");
    operator.get("/admin/calls/unknown").problem(404, "unknown-call");
}

fn records_have_filters_pages_and_commands(store: &Store) {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})).status(404));
    let (gateway, operator) = started(store, &service.url(), "");
    let [acme, other] = ["acme", "other"].map(|tenant| client(&gateway, tenant, None, "operate,proxy"));
    for caller in [&acme, &other] {
        caller.call("account/forward", json!({"path": "/x"})).problem(404, "upstream-rejected");
        caller.call("account/nothing", json!({})).problem(404, "unknown-operation");
    }
    assert_eq!(acme.get("/proxy/account/api/users/alice").status, 404);
    let all = wait_for("all records", || {
        let all = pages(&operator, "/admin/calls", "calls");
        (all.len() == 5).then_some(all)
    });
    let newest: Vec<_> = all.iter().map(|record| record["operation"].as_str().unwrap()).collect();
    assert_eq!(newest[0], "proxy");
    assert_eq!((&all[0]["problem"], &all[0]["status"]), (&Value::Null, &json!(404)));
    assert_eq!(all[0]["upstream"][0]["path"], "/{…}/{…}", "each part may be a value");
    let count = |query: &str| operator.get(&format!("/admin/calls?{query}")).ok()["calls"].as_array().unwrap().len();
    for (query, expected) in [
        ("tenant=acme", 3),
        ("status=404", 5),
        ("status=502", 0),
        ("problem=unknown-operation", 2),
        ("owner=caller", 4),
        ("connector=account&operation=forward", 2),
        ("connector=none", 0),
        ("since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z", 0),
    ] {
        assert_eq!(count(query), expected, "{query}");
    }
    operator.get("/admin/calls?user=ann").problem(422, "validation");
    other.get("/admin/calls").problem(403, "missing-scope");

    let listed = printed(&gateway, &["calls", "list", "--tenant", "other", "--problem", "unknown-operation"]);
    let id = listed["calls"][0]["request_id"].as_str().unwrap();
    assert_eq!((listed["calls"].as_array().unwrap().len(), &listed["next_cursor"]), (1, &Value::Null));
    assert_eq!(printed(&gateway, &["calls", "show", id]), listed["calls"][0]);
    let of_today =
        |since: &str| printed(&gateway, &["calls", "list", "--since", since])["calls"].as_array().unwrap().len();
    assert_eq!((of_today("1h"), of_today("0s")), (5, 0));
    let shown = run(&gateway, &["calls", "show", all[0]["request_id"].as_str().unwrap()]).stdout;
    assert!(shown.contains("GET 127.0.0.1/{…}/{…}: 404 after "), "{shown}");
    assert_eq!(run(&gateway, &["calls", "show", "none"]).code, Some(1));

    // A misspelt name is no empty list without a word.
    let remarks = |filter: &[&str]| run(&gateway, &[&["calls", "list"][..], filter].concat()).stderr;
    for (filter, expected) in [
        (["--connector", "acount"], "There is no connector `acount`. Did you mean `account`?"),
        (["--problem", "upsream-failed"], "There is no problem `upsream-failed`. Did you mean `upstream-failed`?"),
    ] {
        // The gateway stores what it serves after its start.
        wait_for(expected, || remarks(&filter).contains(expected).then_some(()));
    }
    assert_eq!(remarks(&["--connector", "account", "--problem", "busy"]), "");
}

fn a_job_that_failed_has_a_record_with_the_gateway_that_ran_it(store: &Store) {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})).status(400));
    let (gateway, operator) = started(store, &service.url(), "[calls]\nkeep = \"all\"");
    let caller = client(&gateway, "acme", None, "operate");
    let begun = caller
        .request("POST", "/connectors/account/fetch")
        .header("x-request-id", "begin")
        .json(&json!({"path": "/"}))
        .send()
        .ok();
    let job = begun["job_id"].as_str().unwrap();
    let adding = record(&operator, "begin");
    assert_eq!((&adding["status"], &adding["job_id"]), (&json!(200), &begun["job_id"]));
    let run = record(&operator, job);
    assert_eq!(
        (&run["job_id"], &run["operation"], &run["tenant"]),
        (&begun["job_id"], &json!("fetch"), &json!("acme"))
    );
    assert_eq!((&run["status"], &run["problem"]), (&json!(400), &json!("upstream-rejected")));
    assert_eq!(run["upstream"][0]["status"], 400);
    assert_eq!(operator.get(&format!("/admin/jobs/{job}")).ok()["gateway"], "first");
}

#[test]
fn a_caller_that_does_not_wait_leaves_a_record_without_a_status() {
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("*", Reply::json(json!({})).behind(&gate));
    let (gateway, operator) = started(&Store::Sqlite, &service.url(), "");
    let call = gateway.client().request("POST", "/connectors/account/forward").header("x-request-id", "gone");
    let pending = call.json(&json!({"path": "/slow"})).begin();
    service.wait_for_requests(1);
    pending.give_up();
    let record = record(&operator, "gone");
    assert_eq!((&record["status"], &record["problem"]), (&Value::Null, &Value::Null));
    assert_eq!(record["upstream"][0]["status"], Value::Null);
    gate.open();
}

#[test]
fn the_operator_says_which_calls_are_recorded() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})));
    let body = json!({"path": "/"});
    let (gateway, operator) = started(&Store::Sqlite, &service.url(), "[calls]\nkeep = \"all\"\nmax = 3");
    for number in 0..6 {
        let call = gateway.client().request("POST", "/connectors/account/forward");
        call.header("x-request-id", &format!("call-{number}")).json(&body).send().ok();
        record(&operator, &format!("call-{number}"));
    }
    let kept = operator.get("/admin/calls").ok()["calls"].as_array().unwrap().clone();
    assert_eq!(
        kept.iter().map(|call| call["request_id"].as_str().unwrap()).collect::<Vec<_>>(),
        ["call-5", "call-4", "call-3"]
    );
    for (id, used) in [("one", "first"), ("two", "replayed")] {
        let call = gateway.client().request("POST", "/connectors/account/change").header("x-request-id", id);
        call.header("idempotency-key", "once").json(&body).send().ok();
        assert_eq!(record(&operator, id)["idempotency"], used);
    }

    let (gateway, operator) = started(&Store::Sqlite, &service.url(), "[calls]\nkeep = \"none\"");
    gateway.client().call("account/nothing", json!({})).problem(404, "unknown-operation");
    gateway.client().call("account/nothing", json!({})).problem(404, "unknown-operation");
    assert_eq!(operator.get("/admin/calls").ok()["calls"], json!([]));
}

#[test]
fn three_commands_lead_from_a_report_of_a_user_to_the_reason() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = integrations::started(Setup::new().account("account", &provider), &provider);
    let caller = client(&gateway, "acme", Some("ann"), "operate,integrate");
    integrations::connect(&caller, "account", "ada");
    provider.expire();
    provider.withdraw();
    caller.call("account/forward", json!({"path": "/messages"})).problem(424, "reauthorization-required");

    let since = "2020-01-31T12:00:00Z";
    let listed = wait_for("the record of the call", || {
        let listed = run(&gateway, &["calls", "list", "--tenant", "acme", "--since", since]).stdout;
        listed.contains("ann").then_some(listed)
    });
    assert!(listed.contains("reauthorization-required  user"), "{listed}");
    // The user may say who they are as the application knows them, or as the service does.
    for who in [
        ["--subject", "ann"],
        ["--user-identifier", "ada@example.com"],
        ["--account", "Ada@Example.com"],
        ["--account", "id-of-ada"],
    ] {
        let found = printed(&gateway, &["calls", "list", who[0], who[1]]);
        assert_eq!(found["calls"][0]["problem"], "reauthorization-required", "{who:?}: {found:#}");
    }
    for who in ["--subject", "--user-identifier", "--account"] {
        assert_eq!(printed(&gateway, &["calls", "list", who, "zoe"])["calls"], json!([]), "{who}");
    }
    let accounts = printed(&gateway, &["integrations", "list", "--account", "ADA@example.com"]);
    assert_eq!((&accounts["integrations"][0]["status"], &accounts["next_cursor"]), (&json!("expired"), &Value::Null));
    let id = listed.lines().nth(1).unwrap().split_whitespace().nth(1).unwrap();
    let shown = run(&gateway, &["calls", "show", id]).stdout;
    let accounts = run(&gateway, &["integrations", "list", "--tenant", "acme", "--subject", "ann"]).stdout;
    assert!(shown.contains("validate") && accounts.contains("invalid_grant"), "{shown}{accounts}");
}
