//! Callbacks: the webhooks at the end of jobs.

use serde_json::{Value, json};
use support::webhooks::{is_signed_with, make_secret, verified};
use support::{Client, Gate, Gateway, Reply, Setup, Store, Upstream, module, wait_for};

use super::wait;
use crate::integrations::{client, on_each_store};

on_each_store!(the_end_of_a_job_is_told_to_each_url_with_its_record, each_attempt_is_in_the_jobs_record);

struct World {
    gateway: Gateway,
    client: Client,
    receiver: Upstream,
    _service: Upstream,
}

fn world(store: &Store, callbacks: &str) -> World {
    let (service, receiver) = (Upstream::start(), Upstream::start());
    service.reply("*", Reply::json(json!({"a": 1})));
    receiver.reply("*", Reply::empty(204));
    let account = module::account(&json!({"identifier": "account", "auth": "none"}));
    let setup = Setup::new().on(store).module("account", account).config(&format!("[callbacks]\n{callbacks}"));
    let gateway = setup.upstream("account", "api", &service.url()).start();
    let client = gateway.client();
    World { gateway, client, receiver, _service: service }
}

const PRIVATE: &str = "allow_private_network = true";

#[track_caller]
fn begin(client: &Client, urls: &Value) -> String {
    let body = json!({"path": "/", "callback_urls": urls, "response_fields": ["zzz"]});
    let begun = client.call("account/collect", body).ok();
    begun["job_id"].as_str().unwrap().to_owned()
}

/// Waits until each callback of a job has this status, and returns the job's record.
#[track_caller]
fn wait_for_callbacks(client: &Client, job: &str, status: &str) -> Value {
    wait_for(&format!("callbacks to be {status}"), || {
        let record = client.get(&format!("/jobs/{job}")).ok();
        let all = record["callbacks"].as_array().unwrap().iter().all(|callback| callback["status"] == status);
        all.then_some(record)
    })
}

fn the_end_of_a_job_is_told_to_each_url_with_its_record(store: &Store) {
    let World { gateway: _gateway, client, receiver, _service } = world(store, PRIVATE);
    let (_, secret) = make_secret(&client);
    let urls = [format!("{}/one?token=t", receiver.url()), format!("{}/two", receiver.url())];
    let job = begin(&client, &json!([urls[0], urls[1], urls[0]]));
    let seen = wait(&receiver, 2);
    let mut record = wait_for_callbacks(&client, &job, "delivered");
    let callbacks = record.as_object_mut().unwrap().remove("callbacks").unwrap();
    assert_eq!((&record["job_id"], &record["status"]), (&json!(job), &json!("succeeded")));
    assert_eq!(record["response_fields_unmatched"][0]["path"], "zzz", "{record}");
    for (index, url) in urls.iter().enumerate() {
        let callback = &callbacks[index];
        assert_eq!((&callback["url"], callback["attempts"].as_array().unwrap().len()), (&json!(url), 1));
        assert_eq!(callback["attempts"][0]["status"], 204);
        let seen = seen.iter().find(|seen| callback["webhook_id"] == seen.header("webhook-id")).unwrap();
        assert!(url.contains(&seen.path), "{url} {}", seen.path);
        assert_eq!(verified(seen, &secret), record);
    }
    assert_eq!((callbacks.as_array().unwrap().len(), receiver.seen().len()), (2, 2), "each URL is notified once");
}

fn each_attempt_is_in_the_jobs_record(store: &Store) {
    let World { gateway: _gateway, client, receiver, _service } = world(store, PRIVATE);
    make_secret(&client);
    receiver.reply("*", Reply::hang_up());
    let job = begin(&client, &json!([receiver.url()]));
    wait(&receiver, 1);
    receiver.reply("*", Reply::empty(410));
    let record = wait_for_callbacks(&client, &job, "failed");
    let callback = &record["callbacks"][0];
    let attempts = callback["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2, "{callback}");
    assert!(attempts[0]["error"].is_string() && attempts[0].get("status").is_none(), "{callback}");
    assert!(attempts[1]["status"] == 410 && attempts[1].get("error").is_none(), "{callback}");
    assert!(attempts[0]["at"].as_str() < attempts[1]["at"].as_str());
    for seen in receiver.seen() {
        assert_eq!(callback["webhook_id"], seen.header("webhook-id"));
    }
    assert_eq!(record["status"], "succeeded", "a callback that failed changes nothing of the job");
}

#[test]
fn a_job_whose_urls_cannot_be_decrypted_ends_and_frees_its_worker() {
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("*", Reply::json(json!({"a": 1})).behind(&gate));
    let account = module::account(&json!({"identifier": "account", "auth": "none"}));
    let setup = Setup::new().on(&Store::Sqlite).module("account", account).config("[jobs]\nworkers = 1");
    let gateway = setup.upstream("account", "api", &service.url()).start();
    let client = gateway.client();
    make_secret(&client);
    let damaged = begin(&client, &json!(["https://app.example.com/hook"]));
    service.wait_for_requests(1);
    let altered = format!("UPDATE job_values SET bytes = x'00' WHERE id = '{damaged}/callbacks'");
    assert_eq!(gateway.home().sqlite(&altered), 1);
    gate.open();
    let next = client.call("account/collect", json!({"path": "/"})).ok();
    for job in [damaged.as_str(), next["job_id"].as_str().unwrap()] {
        let ended = wait_for("the end of a job", || {
            Some(client.get(&format!("/jobs/{job}")).ok()).filter(|record| record["status"] == "succeeded")
        });
        assert_eq!(ended["callbacks"], json!([]));
    }
}

#[test]
fn callbacks_need_a_secret_of_the_callers_tenant() {
    let World { gateway, client: of_default, receiver, _service } = world(&Store::Sqlite, PRIVATE);
    let acme = client(&gateway, "acme", None, "operate,integrate");
    make_secret(&of_default);
    let body = json!({"path": "/", "callback_urls": [receiver.url()]});
    let problem = acme.call("account/collect", body).problem(409, "webhook-secret-required");
    assert_eq!(problem["action"], json!({"method": "POST", "path": "/webhooks/secrets"}));
    assert_eq!(acme.get("/jobs").ok()["jobs"], json!([]));
    let (_, secret) = make_secret(&acme);
    begin(&acme, &json!([receiver.url()]));
    assert!(is_signed_with(&wait(&receiver, 1)[0], &secret));
}

#[test]
fn a_url_that_is_not_allowed_is_refused_at_once_with_its_pointer() {
    let World { gateway: _gateway, client, .. } = world(&Store::Sqlite, "");
    make_secret(&client);
    let urls = [
        "https://app.example.com/hook",
        "http://app.example.com/hook",
        "https://10.0.0.1/",
        "https://localhost/",
        "https://[::1]/",
        "ftp://app.example.com/",
        "https://user:secret@app.example.com/",
        "nonsense",
    ];
    let answer = client.call("account/collect", json!({"path": "/", "callback_urls": urls}));
    let pointers: Vec<_> = answer.violations().into_iter().map(|(pointer, _)| pointer).collect();
    let expected: Vec<_> = (1..urls.len()).map(|index| format!("/callback_urls/{index}")).collect();
    assert_eq!(pointers, expected);
    assert!(!answer.text().contains("secret@"), "{}", answer.text());
    assert_eq!(client.get("/jobs").ok()["jobs"], json!([]));
}
