//! The limits of jobs.

use serde_json::json;
use support::{Gate, Gateway, Pending, Reply, Setup, Store, Upstream, module, wait_for};

use super::{begin, is_put_back, kind, record, setup, setup_with, wait};
use crate::integrations::{client, on_each_store};

on_each_store!(
    a_tenant_has_a_limited_number_of_pending_jobs,
    a_thousand_jobs_of_one_tenant_do_not_hold_up_another,
    jobs_of_one_connector_leave_workers_to_others,
);

/// A service that answers `/held` when the gate is open, and `/` immediately.
fn gated() -> (Upstream, Gate) {
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("/", Reply::json(json!({}))).reply("/held", Reply::json(json!({})).behind(&gate));
    (service, gate)
}

/// The setup with 4 MB of memory and a connector that can hold all of it.
fn with_little_memory(service: &Upstream) -> Setup {
    let setup = setup(&Store::Sqlite, service).guest("hostile");
    setup.upstream("hostile", "api", &service.url()).general("memory_mb = 4")
}

/// Calls that hold all memory of [`with_little_memory`] until the gate of the service is open.
fn hold_all_memory(gateway: &Gateway) -> [Pending; 2] {
    let hoard = json!({"path": "/", "count": 31, "text": "/held"});
    let hoards = [(); 2].map(|()| gateway.client().begin("/connectors/hostile/hoard_responses", hoard.clone()));
    let held = || gateway.metric("gateway_memory_held_bytes");
    wait_for("all memory to be held", || (held() == f64::from(64 << 16)).then_some(()));
    hoards
}

fn a_tenant_has_a_limited_number_of_pending_jobs(store: &Store) {
    let service = Upstream::start();
    let gateway = setup(store, &service).config("[jobs]\nworkers = 0\nmax_pending_per_tenant = 2").start();
    let client_of = |tenant: &str| client(&gateway, tenant, None, "operate");
    let acme = client_of("acme");
    let first = begin(&acme, "collect", json!({"path": "/"}));
    begin(&acme, "collect", json!({"path": "/"}));
    let refused = acme.call("account/collect", json!({"path": "/"}));
    refused.problem(429, "too-many-jobs");
    assert!(refused.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0));
    assert_eq!(acme.get("/jobs").ok()["jobs"].as_array().unwrap().len(), 2);
    begin(&client_of("other"), "collect", json!({"path": "/"}));
    acme.delete(&format!("/jobs/{first}")).ok();
    begin(&acme, "collect", json!({"path": "/"}));
}

fn a_thousand_jobs_of_one_tenant_do_not_hold_up_another(store: &Store) {
    let (service, gate) = gated();
    let gateway = setup(store, &service).config("[jobs]\nworkers = 2").start();
    let [large, small] = ["large", "small"].map(|tenant| client(&gateway, tenant, None, "operate"));
    let held: Vec<String> = (0..20).map(|_| begin(&large, "collect", json!({"path": "/held"}))).collect();
    service.wait_for_requests(1);
    for _ in 0..3 {
        let id = begin(&small, "collect", json!({"path": "/"}));
        wait(&small, &id, "succeeded");
    }
    assert_eq!(record(&large, &held[0])["status"], "running");
    gate.open();
    for id in &held {
        wait(&large, id, "succeeded");
    }
}

fn jobs_of_one_connector_leave_workers_to_others(store: &Store) {
    let (service, gate) = gated();
    let other = module::account(&json!({"identifier": "other", "auth": "none"}));
    let setup = setup(store, &service).module("other", other).upstream("other", "api", &service.url());
    let gateway = setup.config("[jobs]\nworkers = 4").start();
    let tenants = ["a", "b", "c"].map(|tenant| client(&gateway, tenant, None, "operate"));
    let held = [(); 2].map(|()| tenants.each_ref().map(|tenant| begin(tenant, "collect", json!({"path": "/held"}))));
    service.wait_for_requests(3);
    let free = client(&gateway, "d", None, "operate");
    let begun = free.call("other/collect", json!({"path": "/"})).ok();
    wait(&free, begun["job_id"].as_str().unwrap(), "succeeded");
    gate.open();
    for (tenant, id) in held.iter().flat_map(|round| tenants.iter().zip(round)) {
        wait(tenant, id, "succeeded");
    }
}

#[test]
fn a_job_over_its_time_has_failed() {
    let service = Upstream::start();
    service.reply("/", Reply::json(json!({})).behind(&Gate::default()));
    let gateway = setup(&Store::Sqlite, &service).config("[jobs]\ntimeout_s = 4").start();
    let client = gateway.client();
    let [read, write] = ["collect", "change"].map(|operation| begin(&client, operation, json!({"path": "/"})));
    let [read, write] = [read, write].map(|id| wait(&client, &id, "failed"));
    assert_eq!((kind(&read), &read["error"]["outcome"]), ("job-timed-out", &json!(null)));
    assert_eq!((kind(&write), &write["error"]["outcome"]), ("job-timed-out", &json!("unknown")));
    assert!(read["error"]["detail"].as_str().unwrap().contains("`jobs.timeout_s`"), "{read}");
}

#[test]
fn a_job_has_its_own_limit_of_cpu_time() {
    let service = Upstream::start();
    // The connector's own limit is higher than the limit of jobs.
    let setup = setup(&Store::Sqlite, &service).config("limits = { cpu_ms = 60000 }\n[jobs]\ncpu_ms = 20");
    let gateway = setup.start();
    let id = begin(&gateway.client(), "burn", json!({}));
    let failed = wait(&gateway.client(), &id, "failed");
    assert_eq!((kind(&failed), &failed["error"]["limit"]), ("connector-failed", &json!("cpu")));
    assert!(failed["error"]["detail"].as_str().unwrap().contains("`jobs.cpu_ms`"), "{failed}");
}

#[test]
fn a_job_may_send_more_requests_than_a_call_that_waits() {
    let service = Upstream::start();
    service.reply("/", Reply::json(json!({})));
    let gateway = setup(&Store::Sqlite, &service).start();
    let client = gateway.client();
    let waiting = client.call("account/collect", json!({"path": "/", "count": 257, "waiting": true}));
    assert_eq!(waiting.problem(500, "connector-failed")["limit"], "requests");
    let id = begin(&client, "collect", json!({"path": "/", "count": 257}));
    assert_eq!(wait(&client, &id, "succeeded")["result"]["count"], 257);
}

#[test]
fn a_result_over_the_limit_of_a_response_fails_the_job() {
    let service = Upstream::start();
    let of_size = |bytes: usize| Reply::json(json!({"text": "x".repeat(bytes)}));
    service.reply("/small", of_size((1 << 20) - 100)).reply("/large", of_size(1 << 20));
    let gateway = setup(&Store::Sqlite, &service).config("limits = { response_mb = 1 }").start();
    let client = gateway.client();
    let small = begin(&client, "fetch", json!({"path": "/small"}));
    assert_eq!(wait(&client, &small, "succeeded")["result"]["text"].as_str().unwrap().len(), (1 << 20) - 100);
    let large = begin(&client, "fetch", json!({"path": "/large"}));
    assert_eq!(kind(&wait(&client, &large, "failed")), "answer-too-large");
}

#[test]
fn a_result_that_is_not_json_fails_the_job() {
    let service = Upstream::start();
    service.reply("/", Reply::typed("application/json", "{\"begins\": \"like JSON\""));
    let gateway = setup(&Store::Sqlite, &service).start();
    let id = begin(&gateway.client(), "fetch", json!({"path": "/"}));
    assert_eq!(kind(&wait(&gateway.client(), &id, "failed")), "upstream-not-understood");
}

#[test]
fn a_job_waits_for_a_rate_limit_and_for_a_permit() {
    let service = Upstream::start();
    service.reply("/", Reply::json(json!({})));
    let gateway = setup_with(&Store::Sqlite, &service, &json!({"rate_limit": 1})).start();
    let client = gateway.client();
    let first = begin(&client, "limited", json!({"path": "/"}));
    wait(&client, &first, "succeeded");
    let second = begin(&client, "limited", json!({"path": "/"}));
    wait_for("the second job to be put back", || is_put_back(&client, &second).then_some(()));
    let third = begin(&client, "collect", json!({"path": "/"}));
    wait(&client, &third, "succeeded");
    assert_eq!(service.seen().len(), 2);

    let gate = Gate::default();
    service.reply("/held", Reply::json(json!({})).behind(&gate));
    let gateway = setup(&Store::Sqlite, &service).config("limits = { concurrency = 1 }").start();
    let client = gateway.client();
    let held = begin(&client, "collect", json!({"path": "/held"}));
    service.wait_for_requests(3);
    let next = begin(&client, "collect", json!({"path": "/"}));
    wait_for("the job to be put back", || is_put_back(&client, &next).then_some(()));
    gate.open();
    wait(&client, &held, "succeeded");
    wait(&client, &next, "succeeded");
}

#[test]
fn a_job_that_finds_no_memory_for_its_request_waits_until_there_is_some() {
    let (service, gate) = gated();
    let gateway = with_little_memory(&service).general("log = \"debug\"").start();
    let hoards = hold_all_memory(&gateway);
    let before = service.seen().len();
    let id = begin(&gateway.client(), "collect", json!({"path": "/"}));
    gateway.wait_for_log("the job to wait", |line| line["message"] == "the job waits again");
    assert_eq!(service.seen().len(), before);
    gate.open();
    for hoard in hoards {
        hoard.wait().ok();
    }
    wait(&gateway.client(), &id, "succeeded");
}

#[test]
fn an_answer_that_is_replaced_for_lack_of_memory_is_logged_and_counted_with_its_own_status() {
    let (service, gate) = gated();
    let gateway = with_little_memory(&service).start();
    let client = gateway.client();
    let jobs: Vec<_> = (0..60).map(|_| begin(&client, "collect", json!({"path": "/"}))).collect();
    for id in &jobs {
        wait(&client, id, "succeeded");
    }
    let hoards = hold_all_memory(&gateway);
    let counted = |status: u16| {
        gateway.metric(&format!("gateway_requests_total{{connector=\"\",operation=\"jobs\",status=\"{status}\"}}"))
    };
    let before = (counted(200), counted(503));
    client.get("/jobs?limit=100").problem(503, "busy");
    assert_eq!((counted(200), counted(503)), (before.0, before.1 + 1.0));
    gateway.wait_for_log("the line of the request", |line| line["message"] == "failed" && line["problem"] == "busy");
    gate.open();
    for hoard in hoards {
        hoard.wait().ok();
    }
    assert_eq!(client.get("/jobs?limit=100").ok()["jobs"].as_array().unwrap().len(), 60);
}

#[test]
fn a_result_is_read_only_if_there_is_memory_for_it() {
    let service = Upstream::start();
    service.reply("/large", Reply::json(json!({"text": "x".repeat(4 << 20)})));
    let gateway = setup(&Store::Sqlite, &service).general("memory_mb = 8").start();
    let client = gateway.client();
    let id = begin(&client, "fetch", json!({"path": "/large"}));
    wait_for("the job to end", || {
        let ended = client.get("/jobs?status=succeeded").ok();
        (ended["jobs"][0]["job_id"] == json!(id)).then_some(())
    });
    let problem = client.get(&format!("/jobs/{id}")).problem(503, "busy");
    assert!(problem["detail"].as_str().unwrap().contains("`memory_mb`"), "{problem}");
    let record = client.get(&format!("/admin/jobs/{id}")).ok();
    assert_eq!(record["result"]["text"].as_str().unwrap().len(), 4 << 20, "an operator always sees it");
}
