//! Usage: what tenants have called on each day, for the operator.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use support::{Client, Gate, Gateway, Reply, Setup, Store, Upstream, module, wait_for};

use super::{pages, run};
use crate::fleet::key_of;
use crate::integrations::{client, on_each_store};

on_each_store!(
    calls_by_every_way_are_counted,
    requests_of_a_job_that_was_cancelled_are_counted,
    usage_has_pages_days_and_a_command,
    a_kill_loses_only_calls_that_were_not_written_yet_and_no_call_is_counted_twice,
);

fn started(store: &Store, service: &Upstream, config: &str) -> Gateway {
    Setup::new()
        .on(store)
        .module("account", module::account(&json!({"identifier": "account", "auth": "none"})))
        .upstream("account", "api", &service.url())
        .config(config)
        .start()
}

fn service() -> Upstream {
    let service = Upstream::start();
    service.reply("/a", Reply::json(json!({"done": true})));
    service.reply("/gone", Reply::json(json!({})).status(404));
    service
}

/// Waits for the next day (UTC) when it begins within a minute, so that all calls of a test are of
/// one day.
fn stay_within_a_day() {
    const DAY_S: u64 = 24 * 60 * 60;
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() % DAY_S;
    if DAY_S - passed <= 60 {
        std::thread::sleep(Duration::from_secs(DAY_S - passed));
    }
}

fn usage(gateway: &Gateway, by: &str) -> Vec<Value> {
    gateway.client().get(&format!("/admin/usage?by={by}")).ok()["usage"].as_array().unwrap().clone()
}

/// The number of calls of a tenant, added up over the rows of a list.
fn counted(gateway: &Gateway, by: &str, tenant: &str) -> usize {
    let rows = usage(gateway, by);
    let calls = rows.iter().filter(|row| row["tenant"] == tenant).map(|row| row["calls"].as_u64().unwrap());
    usize::try_from(calls.sum::<u64>()).unwrap()
}

/// The row of a tenant in which these members have these values.
#[track_caller]
fn row(rows: &[Value], members: Value) -> Value {
    let members = members.as_object().unwrap();
    let fits = |row: &&Value| members.iter().all(|(name, value)| &row[name] == value);
    let found: Vec<_> = rows.iter().filter(fits).collect();
    assert_eq!(found.len(), 1, "{members:?} in {rows:#?}");
    found[0].clone()
}

#[track_caller]
fn assert_counts(row: &Value, expected: Value) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&row[name], value, "{name} of {row:#}");
    }
}

/// A call of a tool.
fn call_tool(client: &Client, tool: &str, arguments: Value) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments, "_meta": {}});
    for (name, value) in [("protocolVersion", json!("2026-07-28")), ("clientCapabilities", json!({}))] {
        params["_meta"][format!("io.modelcontextprotocol/{name}")] = value;
    }
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
    let call = client.request("POST", "/mcp").header("accept", "application/json, text/event-stream");
    let call = call.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "tools/call");
    let call = call.header("mcp-name", tool);
    call.json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).send().ok()
}

fn calls_by_every_way_are_counted(store: &Store) {
    let service = service();
    stay_within_a_day();
    let gateway = started(store, &service, "[calls]\nkeep = \"none\"");
    let acme = client(&gateway, "acme", None, "operate,proxy");
    let ann = client(&gateway, "acme", Some("ann"), "operate");
    let other = client(&gateway, "other", None, "operate");
    let body = json!({"path": "/a"});
    for caller in [&acme, &ann, &ann, &other] {
        caller.call("account/forward", body.clone()).ok();
    }
    ann.call("account/forward", json!({"path": "/gone"})).problem(404, "upstream-rejected");
    acme.call("account/nothing", json!({})).problem(404, "unknown-operation");
    acme.call("nothing/at-all", json!({})).problem(404, "unknown-connector");
    gateway.anonymous().with_key("cgw_x").call("account/forward", body.clone()).problem(401, "unauthenticated");
    assert_eq!(acme.request("POST", "/proxy/account/api/a").body(b"12345".to_vec()).send().status, 200);
    call_tool(&acme, "account__forward", body.clone());
    let job = acme.call("account/fetch", body.clone()).json();
    let failed = acme.call("account/fetch", json!({"path": "/gone"})).json();
    for job in [&job, &failed] {
        let path = format!("/jobs/{}", job["job_id"].as_str().unwrap());
        wait_for("the end of the job", || {
            let job = acme.get(&path).ok();
            ["succeeded", "failed"].iter().any(|status| job["status"] == *status).then_some(())
        });
    }
    // A gateway that stops stores what it has counted.
    let gateway = gateway.start_again();

    let by_operation = usage(&gateway, "operation");
    let sent = body.to_string().len();
    let forward = row(&by_operation, json!({"tenant": "acme", "operation": "forward"}));
    let (calls, answer) = (5, r#"{"done":true}"#.len());
    assert_counts(
        &forward,
        json!({"connector": "account", "calls": calls, "failed": 1, "upstream_requests": 5, "jobs": 0, "events": 0}),
    );
    assert_eq!(forward["bytes_in"], json!(4 * sent + json!({"path": "/gone"}).to_string().len()));
    assert!(forward["bytes_out"].as_u64().unwrap() >= 4 * answer as u64, "{forward}");
    assert!(forward.get("subject").is_none(), "{forward}");
    let fetch = row(&by_operation, json!({"tenant": "acme", "operation": "fetch"}));
    assert_counts(&fetch, json!({"calls": 2, "failed": 1, "upstream_requests": 2, "jobs": 2}));
    let proxied = row(&by_operation, json!({"tenant": "acme", "operation": "proxy"}));
    assert_counts(&proxied, json!({"calls": 1, "failed": 0, "upstream_requests": 1, "bytes_in": 5}));
    assert_eq!(proxied["bytes_out"], json!(answer));
    // Callers could invent any number of names.
    let unknown = row(&by_operation, json!({"tenant": "acme", "connector": null}));
    assert_counts(&unknown, json!({"operation": null, "calls": 2, "failed": 2, "upstream_requests": 0}));

    let by_subject = usage(&gateway, "subject");
    let of_ann = row(&by_subject, json!({"tenant": "acme", "subject": "ann"}));
    assert_counts(&of_ann, json!({"calls": 3, "failed": 1}));
    assert!(of_ann.get("connector").is_none() && of_ann.get("operation").is_none(), "{of_ann}");
    assert_counts(&row(&by_subject, json!({"tenant": "acme", "subject": null})), json!({"calls": 7, "jobs": 2}));
    let by_tenant = usage(&gateway, "tenant");
    assert_counts(&row(&by_tenant, json!({"tenant": "acme"})), json!({"calls": 10, "failed": 4, "jobs": 2}));
    assert_counts(&row(&by_tenant, json!({"tenant": "other"})), json!({"calls": 1, "failed": 0}));
    let names: Vec<_> = by_tenant[0].as_object().unwrap().keys().map(String::as_str).collect();
    let counts = ["calls", "failed", "upstream_requests", "bytes_in", "bytes_out", "jobs", "events"];
    assert_eq!(names, [&["day", "tenant"][..], &counts].concat());
    assert_eq!(gateway.client().get("/admin/usage").ok()["usage"], json!(by_tenant), "`tenant` is the default");
    let by_connector = usage(&gateway, "connector");
    assert_counts(&row(&by_connector, json!({"tenant": "acme", "connector": "account"})), json!({"calls": 8}));
    acme.at(&gateway.address()).get("/admin/usage").problem(403, "missing-scope");
}

fn requests_of_a_job_that_was_cancelled_are_counted(store: &Store) {
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("/a", Reply::json(json!({})).behind(&gate));
    stay_within_a_day();
    let gateway = started(store, &service, "");
    let acme = client(&gateway, "acme", None, "operate");
    let job = acme.call("account/collect", json!({"path": "/a", "count": 3})).ok();
    service.wait_for_requests(1);
    acme.delete(&format!("/jobs/{}", job["job_id"].as_str().unwrap())).ok();
    wait_for("the worker to be free", || (gateway.metric("gateway_jobs_running") == 0.0).then_some(()));
    // A gateway that stops stores what it has counted.
    let gateway = gateway.start_again();
    let collected = row(&usage(&gateway, "operation"), json!({"tenant": "acme", "operation": "collect"}));
    assert_counts(&collected, json!({"calls": 1, "failed": 0, "upstream_requests": 1, "jobs": 0}));
}

fn usage_has_pages_days_and_a_command(store: &Store) {
    let service = service();
    stay_within_a_day();
    let gateway = started(store, &service, "");
    for tenant in ["a", "b", "c"] {
        let caller = client(&gateway, tenant, Some("ann"), "operate");
        caller.call("account/forward", json!({"path": "/a"})).ok();
    }
    let gateway = gateway.start_again();
    let operator = gateway.client();
    let tenants = |rows: &[Value]| -> Vec<String> {
        let names = rows.iter().map(|row| row["tenant"].as_str().unwrap().to_owned());
        names.filter(|name| name != "default").collect()
    };
    let all = pages(&operator, "/admin/usage", "usage");
    assert_eq!(tenants(&all), ["a", "b", "c"]);
    let day = all[0]["day"].as_str().unwrap();
    let from = |query: &str| operator.get(&format!("/admin/usage?{query}")).ok()["usage"].as_array().unwrap().len();
    assert_eq!(from(&format!("since={day}T23:59:59Z")), all.len(), "the whole day is in the list");
    assert_eq!(from(&format!("until={day}T00:00:00Z")), 0);
    assert_eq!(from(&format!("since={day}T00:00:00Z&until={day}T00:00:01Z")), all.len());
    let violations = operator.get("/admin/usage?by=user&since=today&tenant=a").violations();
    assert_eq!(violations.iter().map(|(pointer, _)| &**pointer).collect::<Vec<_>>(), ["/by", "/since", "/tenant"]);
    let printed = run(&gateway, &["usage", "--by", "operation"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    for word in ["DAY", "OPERATION", "BYTES OUT", day, "forward"] {
        assert!(printed.stdout.contains(word), "{word} in {}", printed.stdout);
    }
    let by_subject = super::printed(&gateway, &["usage", "--by", "subject", "--since", "1d"]);
    assert_eq!(by_subject["usage"][0]["subject"], "ann", "{by_subject}");
}

/// The ids of the recorded calls of a tenant. Each call has one record.
fn recorded(gateway: &Gateway, tenant: &str) -> BTreeSet<String> {
    let listed = gateway.client().get(&format!("/admin/calls?tenant={tenant}&limit=200")).ok();
    let records = listed["calls"].as_array().unwrap();
    let ids: BTreeSet<_> = records.iter().map(|record| record["request_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), records.len(), "{listed:#}");
    ids
}

/// The gateway writes usage every few seconds and records more often, each in separate
/// transactions. So a kill may lose other calls from the usage than from the records.
fn a_kill_loses_only_calls_that_were_not_written_yet_and_no_call_is_counted_twice(store: &Store) {
    const WRITTEN: usize = 5;
    const LATE: usize = 3;
    let service = service();
    let mut gateway = started(store, &service, "[calls]\nkeep = \"all\"");
    let acme = client(&gateway, "acme", None, "operate");
    let call = |gateway: &Gateway, ids: &[String]| {
        let caller = acme.at(&gateway.address());
        for id in ids {
            let call = caller.request("POST", "/connectors/account/forward").header("x-request-id", id);
            call.json(&json!({"path": "/a"})).send().ok();
        }
    };
    let (mut in_usage, mut in_records) = (0, BTreeSet::new());
    for kill in 1..=2 {
        let named =
            |kind: &str, count: usize| (0..count).map(|number| format!("{kind}-{kill}-{number}")).collect::<Vec<_>>();
        let (early, late) = (named("early", WRITTEN), named("late", LATE));
        call(&gateway, &early);
        in_usage += WRITTEN;
        in_records.extend(early);
        // The limit of this wait is the promise: a kill loses no call that is older than a minute.
        wait_for("the usage of all calls", || (counted(&gateway, "operation", "acme") == in_usage).then_some(()));
        wait_for("the records of all calls", || (recorded(&gateway, "acme") == in_records).then_some(()));
        call(&gateway, &late);
        gateway.kill();
        gateway = gateway.start_again();

        let kept = counted(&gateway, "operation", "acme");
        assert!((in_usage..=in_usage + LATE).contains(&kept), "{kept} calls after {in_usage} were written");
        // One transaction writes the rows of operations and the rows of users.
        for by in ["tenant", "connector", "subject"] {
            assert_eq!(counted(&gateway, by, "acme"), kept, "by {by}");
        }
        in_usage = kept;
        let records = recorded(&gateway, "acme");
        assert!(records.is_superset(&in_records), "{records:?} after {in_records:?} were written");
        in_records.extend(late);
        assert!(records.is_subset(&in_records), "{records:?}");
        in_records = records;
    }
    let last = ["last-0", "last-1"].map(str::to_owned);
    call(&gateway, &last);
    // A gateway that stops writes everything, and nothing of what a kill has lost comes back.
    let gateway = gateway.start_again();
    assert_eq!(counted(&gateway, "operation", "acme"), in_usage + last.len());
    in_records.extend(last);
    assert_eq!(recorded(&gateway, "acme"), in_records);
}

#[test]
fn gateways_add_to_the_same_rows_and_one_that_is_killed_keeps_what_it_has_stored() {
    let (store, service) = (Store::postgres(), service());
    let one = started(&store, &service, "");
    let setup = Setup::new().on(&store).general(&key_of(&one));
    let other = setup
        .module("account", module::account(&json!({"identifier": "account", "auth": "none"})))
        .upstream("account", "api", &service.url())
        .start();
    let acme = client(&one, "acme", None, "operate");
    let at_other = acme.at(&other.address());
    for _ in 0..3 {
        acme.call("account/forward", json!({"path": "/a"})).ok();
    }
    wait_for("the other gateway to know the key", || (at_other.get("/connectors").status == 200).then_some(()));
    for _ in 0..4 {
        at_other.call("account/forward", json!({"path": "/a"})).ok();
    }
    let calls = |gateway: &Gateway| counted(gateway, "operation", "acme");
    wait_for("the usage of both gateways", || (calls(&one) == 7).then_some(()));
    other.kill();
    acme.call("account/forward", json!({"path": "/a"})).ok();
    // The counts that the killed gateway had stored are neither lost nor counted again.
    let one = one.start_again();
    assert_eq!(calls(&one), 8);
    assert_eq!(one.metric("gateway_dropped_usage_total"), 0.0);
}

#[test]
fn usage_that_cannot_be_stored_waits_for_the_database() {
    let (store, service) = (Store::postgres(), service());
    let (proxy, behind) = store.database().behind_proxy();
    let gateway = Setup::new()
        .general(&behind)
        .module("account", module::account(&json!({"identifier": "account", "auth": "none"})))
        .upstream("account", "api", &service.url())
        .start();
    let client = gateway.client();
    client.call("account/forward", json!({"path": "/a"})).ok();
    proxy.cut();
    client.call("account/forward", json!({"path": "/a"})).ok();
    gateway.wait_for_log("the usage that cannot be stored", |line| {
        line.to_string().contains("the usage cannot be stored")
    });
    proxy.restore();
    let calls = || {
        let listed = client.get("/admin/usage?by=operation");
        let listed = (listed.status == 200).then(|| listed.json())?;
        let rows = listed["usage"].as_array().unwrap().clone();
        rows.iter().find(|row| row["operation"] == "forward").map(|row| row["calls"].as_u64().unwrap())
    };
    wait_for("the usage", || (calls() == Some(2)).then_some(()));
}
