//! The life of one job, as its caller sees it.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use support::{Dialect, Gate, OAuthProvider, Reply, Store, Upstream};

use super::{begin, kind, record, setup, wait};
use crate::integrations::{connect, email, gateway, on_each_store};

on_each_store!(
    a_job_answers_at_once_and_has_what_waiting_would_have_answered,
    the_record_of_a_job_names_the_fields_that_lead_nowhere,
    the_record_of_a_job_follows_its_life,
    a_job_that_fails_has_the_problem_of_the_operation,
    a_cancelled_job_sends_nothing_more_and_has_failed,
    a_job_that_waits_can_be_cancelled,
    jobs_are_listed_with_the_newest_first,
    a_job_is_removed_some_time_after_its_end,
);

fn a_job_answers_at_once_and_has_what_waiting_would_have_answered(store: &Store) {
    let service = Upstream::start();
    service
        .reply("/doc", Reply::typed("application/json", r#"{"a": 1.0, "b": {"c": 12345678901234567890123, "d": 2}}"#));
    let gateway = setup(store, &service).start();
    let client = gateway.client();
    for (operation, body) in [
        ("fetch", json!({"path": "/doc"})),
        ("fetch", json!({"path": "/doc", "response_fields": ["b.c"]})),
        ("collect", json!({"path": "/doc", "count": 2, "value": "kept"})),
        ("change", json!({"path": "/doc"})),
    ] {
        let mut waiting = body.clone();
        waiting["waiting"] = json!(true);
        let answer = client.call(&format!("account/{operation}"), waiting).text();
        for waiting in [None, Some(json!(false)), Some(json!(null))] {
            let mut body = body.clone();
            if let Some(waiting) = waiting {
                body["waiting"] = waiting;
            }
            let id = begin(&client, operation, body);
            wait(&client, &id, "succeeded");
            let record = client.get(&format!("/jobs/{id}")).text();
            // As text, because numbers keep their form.
            assert!(record.contains(&format!("\"result\":{answer}")), "{record} has not {answer}");
        }
    }
}

fn the_record_of_a_job_names_the_fields_that_lead_nowhere(store: &Store) {
    let service = Upstream::start();
    service.reply("/doc", Reply::json(json!({"items": [{"name": "x"}]})));
    let gateway = setup(store, &service).start();
    let client = gateway.client();
    for (fields, expected) in [
        (
            json!(["items.nmae", "zzz"]),
            json!([{"path": "items.nmae", "nearest": "items.name"}, {"path": "zzz", "nearest": null}]),
        ),
        (json!(["items.name"]), json!(null)),
    ] {
        let id = begin(&client, "fetch", json!({"path": "/doc", "response_fields": fields}));
        let ended = wait(&client, &id, "succeeded");
        assert_eq!(ended["response_fields_unmatched"], expected, "{ended}");
    }
}

fn the_record_of_a_job_follows_its_life(store: &Store) {
    let service = Upstream::start();
    let gate = Gate::default();
    let held = gate.clone();
    let asked = AtomicUsize::new(0);
    service.on("/", move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::json(json!({})),
        _ => Reply::json(json!({})).behind(&held),
    });
    let gateway = setup(store, &service).start();
    let client = gateway.client();
    let id = begin(&client, "collect", json!({"path": "/", "count": 2}));
    let running = support::wait_for("the progress", || {
        Some(record(&client, &id)).filter(|record| record["progress"]["message"] == "1 of 2")
    });
    assert_eq!(running["progress"], json!({"fraction": 0.5, "message": "1 of 2"}));
    assert_eq!((&running["job_id"], &running["status"]), (&json!(id), &json!("running")));
    assert_eq!((&running["connector"], &running["operation"]), (&json!("account"), &json!("collect")));
    assert_eq!(
        (&running["result"], &running["error"], &running["callbacks"]),
        (&json!(null), &json!(null), &json!([]))
    );
    assert!(running["created_at"].is_string() && running["started_at"].is_string());
    assert_eq!((&running["finished_at"], &running["expires_at"]), (&json!(null), &json!(null)));
    gate.open();
    let ended = wait(&client, &id, "succeeded");
    assert_eq!((&ended["progress"], &ended["error"]), (&json!(null), &json!(null)));
    assert_eq!(ended["result"]["count"], 2);
    assert!(ended["finished_at"].is_string() && ended["expires_at"].as_str() > ended["finished_at"].as_str());
    support::wait_for("the metric", || {
        (gateway.metric("gateway_jobs_total{connector=\"account\",outcome=\"succeeded\"}") == 1.0).then_some(())
    });
    client.get("/jobs/job_00000000000000000000000000000000").problem(404, "unknown-job");
}

fn a_job_that_fails_has_the_problem_of_the_operation(store: &Store) {
    let service = Upstream::start();
    service.reply("/gone", Reply::json(json!({"reason": "it moved"})).status(410));
    service.reply("/text", Reply::typed("text/html", "<p>"));
    let gateway = setup(store, &service).start();
    let client = gateway.client();
    for (path, status, expected) in [("/gone", 410, "upstream-rejected"), ("/none", 404, "upstream-rejected")] {
        let waiting = client.call("account/fetch", json!({"path": path, "waiting": true})).problem(status, expected);
        let id = begin(&client, "fetch", json!({"path": path}));
        let failed = wait(&client, &id, "failed");
        assert_eq!((kind(&failed), &failed["result"]), (expected, &json!(null)));
        for member in ["status", "title", "detail", "owner", "retryable", "upstream"] {
            assert_eq!(failed["error"][member], waiting[member], "{member}");
        }
        assert_eq!(failed["error"]["instance"], json!(id));
    }
    let before = client.get("/jobs").ok()["jobs"].as_array().unwrap().len();
    client.call("account/fetch", json!({"waiting": "yes"})).problem(422, "validation");
    client.call("account/fetch", json!({"unknown": 1})).problem(422, "validation");
    client.call("account/collect", json!({"response_fields": 1})).problem(422, "validation");
    assert_eq!(client.get("/jobs").ok()["jobs"].as_array().unwrap().len(), before, "a wrong body makes no job");
}

fn a_cancelled_job_sends_nothing_more_and_has_failed(store: &Store) {
    let service = Upstream::start();
    let gate = Gate::default();
    service.reply("/", Reply::json(json!({})).behind(&gate));
    let gateway = setup(store, &service).start();
    let client = gateway.client();
    let id = begin(&client, "collect", json!({"path": "/", "count": 100}));
    service.wait_for_requests(1);
    assert_eq!(client.delete(&format!("/jobs/{id}")).ok(), json!({"cancelled": true}));
    let failed = record(&client, &id);
    assert_eq!((&failed["status"], kind(&failed)), (&json!("failed"), "cancelled"));
    support::wait_for("the worker to be free", || (gateway.metric("gateway_jobs_running") == 0.0).then_some(()));
    gate.open();
    // A second job shows that time has passed.
    let second = begin(&client, "collect", json!({"path": "/other"}));
    wait(&client, &second, "succeeded");
    assert_eq!(service.seen().iter().filter(|seen| seen.path == "/").count(), 1);
    assert_eq!(client.delete(&format!("/jobs/{id}")).ok(), json!({"cancelled": false}));
    assert_eq!(client.delete(&format!("/jobs/{second}")).ok(), json!({"cancelled": false}));
    client.delete("/jobs/job_00000000000000000000000000000000").problem(404, "unknown-job");
    assert_eq!(failed["error"]["outcome"], json!(null));

    service.reply("/", Reply::json(json!({})).behind(&Gate::default()));
    let change = begin(&client, "change", json!({"path": "/"}));
    service.wait_for_requests(3);
    client.delete(&format!("/jobs/{change}")).ok();
    assert_eq!(record(&client, &change)["error"]["outcome"], "unknown", "the service may have changed the data");
}

#[test]
fn a_job_whose_error_cannot_be_decrypted_keeps_no_other_from_a_list() {
    let service = Upstream::start();
    service.reply("/gone", Reply::empty(404)).reply("/", Reply::json(json!({})));
    let gateway = setup(&Store::Sqlite, &service).start();
    let client = gateway.client();
    let id = begin(&client, "fetch", json!({"path": "/gone"}));
    wait(&client, &id, "failed");
    let other = begin(&client, "collect", json!({"path": "/"}));
    wait(&client, &other, "succeeded");
    let altered = format!("UPDATE job_values SET bytes = x'00' WHERE id = '{id}/error'");
    assert_eq!(gateway.home().sqlite(&altered), 1);
    let listed = client.get("/jobs").ok();
    assert_eq!((&listed["jobs"][0]["job_id"], &listed["jobs"][1]["job_id"]), (&json!(other), &json!(id)));
    assert_eq!(kind(&listed["jobs"][1]), "internal");
    assert_eq!(kind(&record(&client, &id)), "internal");
}

fn a_job_that_waits_can_be_cancelled(store: &Store) {
    let service = Upstream::start();
    let gateway = setup(store, &service).config("[jobs]\nworkers = 0").start();
    let client = gateway.client();
    let id = begin(&client, "collect", json!({"path": "/"}));
    assert_eq!(record(&client, &id)["status"], "pending");
    assert_eq!(client.delete(&format!("/jobs/{id}")).ok(), json!({"cancelled": true}));
    let failed = record(&client, &id);
    assert_eq!((kind(&failed), &failed["started_at"]), ("cancelled", &json!(null)));
    assert_eq!(client.delete(&format!("/jobs/{id}")).ok(), json!({"cancelled": false}));
}

fn jobs_are_listed_with_the_newest_first(store: &Store) {
    let service = Upstream::start();
    let gateway = setup(store, &service).config("[jobs]\nworkers = 0").start();
    let client = gateway.client();
    let mut ids: Vec<String> = (0..5).map(|_| begin(&client, "collect", json!({"path": "/"}))).collect();
    ids.reverse();
    let mut seen = Vec::new();
    let mut cursor = String::new();
    for page in 0..3 {
        let listed = client.get(&format!("/jobs?limit=2{cursor}")).ok();
        let jobs = listed["jobs"].as_array().unwrap();
        seen.extend(jobs.iter().map(|job| job["job_id"].as_str().unwrap().to_owned()));
        match listed["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => assert_eq!(page, 2),
        }
    }
    assert_eq!(seen, ids);
    client.delete(&format!("/jobs/{}", ids[3])).ok();
    let of = |status: &str| {
        let listed = client.get(&format!("/jobs?status={status}")).ok();
        listed["jobs"].as_array().unwrap().clone()
    };
    let failed = of("failed");
    assert_eq!((failed.len(), &failed[0]["job_id"], kind(&failed[0])), (1, &json!(ids[3]), "cancelled"));
    assert_eq!((of("pending").len(), of("running").len(), of("succeeded").len()), (4, 0, 0));
    for query in ["limit=0", "limit=1000", "status=done", "cursor=x", "order=asc"] {
        client.get(&format!("/jobs?{query}")).problem(422, "validation");
    }
}

fn a_job_is_removed_some_time_after_its_end(store: &Store) {
    let service = Upstream::start();
    service.reply("/", Reply::json(json!({})));
    let gateway = setup(store, &service).config("[jobs]\nkeep_h = 0.0005").start();
    let client = gateway.client();
    let id = begin(&client, "collect", json!({"path": "/"}));
    support::wait_for("the job to be removed", || {
        Some(client.get(&format!("/jobs/{id}"))).filter(|answer| answer.status == 404)
    })
    .problem(404, "unknown-job");
    assert_eq!(client.get("/jobs").ok(), json!({"jobs": [], "next_cursor": null}));
}

#[test]
fn a_job_runs_on_the_account_that_was_chosen_when_it_began() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    client.call("account/fetch", json!({"path": "/me"})).problem(424, "integration-required");
    connect(&client, "account", "ada");
    connect(&client, "account", "bob");
    client.call("account/fetch", json!({"path": "/me"})).problem(424, "selection-required");
    assert_eq!(client.get("/jobs").ok()["jobs"], json!([]), "a call without an account makes no job");
    for name in ["ada", "bob"] {
        let call = client.request("POST", "/connectors/account/fetch").header("x-user-identifier", &email(name));
        let begun = call.json(&json!({"path": "/me"})).send().ok();
        let ended = wait(&client, begun["job_id"].as_str().unwrap(), "succeeded");
        assert_eq!(ended["result"]["email"], email(name));
    }
}

#[test]
fn an_account_that_is_removed_fails_the_job() {
    let provider = OAuthProvider::start(Dialect::strict());
    let store = Store::Sqlite;
    let setup = support::Setup::new().on(&store).account("account", &provider).config("[jobs]\nworkers = 0");
    let gateway = crate::integrations::started(setup, &provider);
    connect(&gateway.client(), "account", "ada");
    let id = begin(&gateway.client(), "fetch", json!({"path": "/me"}));
    gateway.client().delete(&crate::integrations::path("account", "ada")).ok();
    let gateway = gateway.start_again_with("GATEWAY__JOBS__WORKERS", "8");
    let failed = wait(&gateway.client(), &id, "failed");
    assert_eq!((kind(&failed), &failed["error"]["status"]), ("integration-required", &json!(424)));
}
