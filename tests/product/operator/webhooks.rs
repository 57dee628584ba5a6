//! Webhooks of all tenants, for the operator.

use serde_json::{Value, json};
use support::process;
use support::setup::KEY;
use support::webhooks::{make_secret, verified};
use support::{Client, Gateway, Reply, Setup, Store, Upstream, module, wait_for};

use super::{pages, printed, run};
use crate::integrations::{client, on_each_store};

on_each_store!(
    webhooks_of_all_tenants_are_listed_and_sent_once_more_under_their_id,
    a_webhook_that_has_failed_is_attempted_once_for_each_request,
);

struct World {
    gateway: Gateway,
    operator: Client,
    receiver: Upstream,
    _service: Upstream,
}

fn world(store: &Store, callbacks: &str) -> World {
    let (service, receiver) = (Upstream::start(), Upstream::start());
    service.reply("*", Reply::json(json!({"a": 1})));
    receiver.reply("*", Reply::empty(204));
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new()
        .on(store)
        .module("account", module::account(&described))
        .upstream("account", "api", &service.url())
        .config(&format!("[callbacks]\nallow_private_network = true\n{callbacks}"))
        .start();
    let operator = gateway.client();
    World { gateway, operator, receiver, _service: service }
}

/// Begins a job of a tenant that notifies a path of the receiver, and returns the job's id.
#[track_caller]
fn begin(world: &World, tenant: &str, path: &str) -> (Value, String) {
    let caller = client(&world.gateway, tenant, None, "operate,integrate");
    let (_, secret) = make_secret(&caller);
    let urls = json!([format!("{}{path}", world.receiver.url())]);
    let begun = caller.call("account/collect", json!({"path": "/", "callback_urls": urls})).ok();
    (begun["job_id"].clone(), secret)
}

/// Waits until the newest webhook has this status and number of attempts.
#[track_caller]
fn wait_for_status(operator: &Client, status: &str, attempts: usize) -> Value {
    wait_for(&format!("the webhook to be {status}"), || {
        let newest = operator.get("/admin/webhooks?limit=1").ok()["webhooks"][0].clone();
        let made = newest["attempts"].as_array()?.len();
        (newest["status"] == status && made == attempts).then_some(newest)
    })
}

fn webhooks_of_all_tenants_are_listed_and_sent_once_more_under_their_id(store: &Store) {
    let world = world(store, "");
    let World { gateway, operator, receiver, .. } = &world;
    begin(&world, "acme", "/one?token=t");
    receiver.wait_for_requests(1);
    wait_for_status(operator, "delivered", 1);
    let (job, secret) = begin(&world, "other", "/two");
    receiver.wait_for_requests(2);
    let newest = wait_for_status(operator, "delivered", 1);
    assert_eq!((&newest["tenant"], &newest["kind"], &newest["job_id"]), (&json!("other"), &json!("job"), &job));
    assert_eq!(
        (&newest["url"], &newest["receiver"]),
        (&json!(format!("{}/two", receiver.url())), &json!(receiver.url()))
    );
    assert!(newest["next_attempt_at"].is_null() && newest["kept_until"].is_string(), "{newest}");

    let count =
        |query: &str| operator.get(&format!("/admin/webhooks?{query}")).ok()["webhooks"].as_array().unwrap().len();
    assert_eq!(pages(operator, "/admin/webhooks", "webhooks").len(), 2);
    assert_eq!((count("tenant=acme"), count("status=delivered"), count("status=pending")), (1, 2, 0));
    assert_eq!(count(&format!("url={}", receiver.url())), 2);
    assert_eq!(count(&format!("url={}/one%3Ftoken=t", receiver.url())), 1);
    assert_eq!(count(&format!("url={}/one", receiver.url())), 0);
    assert_eq!(printed(gateway, &["webhooks", "list", "--tenant", "other"])["webhooks"][0], newest);
    let to = format!("{}/two", receiver.url());
    assert_eq!(printed(gateway, &["webhooks", "list", "--to", &to])["webhooks"].as_array().unwrap().len(), 1);

    let id = newest["id"].as_str().unwrap();
    let resent = operator.post(&format!("/admin/webhooks/{id}/resend"), json!({}));
    assert_eq!((resent.status, &resent.json()["status"]), (202, &json!("pending")));
    receiver.wait_for_requests(3);
    wait_for_status(operator, "delivered", 2);
    let seen = receiver.seen();
    let of_job: Vec<_> = seen.iter().filter(|seen| seen.path == "/two").collect();
    assert_eq!((of_job.len(), of_job[1].header("webhook-id")), (2, id));
    assert_eq!(verified(of_job[0], &secret), verified(of_job[1], &secret));
    let queued = run(gateway, &["webhooks", "resend", id]);
    assert_eq!(queued.code, Some(0), "{}", queued.stderr);
    assert!(queued.stderr.contains("is queued") && queued.stdout.contains("pending"), "{}", queued.stderr);
    receiver.wait_for_requests(4);
    wait_for_status(operator, "delivered", 3);
    let listed = printed(gateway, &["webhooks", "list", "--id", id]);
    assert_eq!(listed["webhooks"][0]["attempts"].as_array().unwrap().len(), 3, "{listed}");

    let entries = operator.get("/admin/audit?action=webhook.resent").ok()["entries"].clone();
    assert_eq!(
        (entries.as_array().unwrap().len(), &entries[0]["target"], &entries[0]["tenant"]),
        (2, &json!(id), &json!("other"))
    );
    operator.post("/admin/webhooks/msg_none/resend", json!({})).problem(404, "unknown-webhook");
    operator.request("GET", "/admin/webhooks?status=x&url=y&job=z").send().violations();
    client(gateway, "acme", None, "operate,integrate").get("/admin/webhooks").problem(403, "missing-scope");
}

fn a_webhook_that_has_failed_is_attempted_once_for_each_request(store: &Store) {
    let world = world(store, "");
    let World { operator, receiver, .. } = &world;
    receiver.reply("*", Reply::empty(410));
    begin(&world, "acme", "/");
    let failed = wait_for_status(operator, "failed", 1);
    let listed = run(&world.gateway, &["webhooks", "list", "--status", "failed"]).stdout;
    assert!(listed.contains("LAST ANSWER") && listed.contains("410"), "{listed}");
    receiver.reply("*", Reply::empty(500));
    let resend = format!("/admin/webhooks/{}/resend", failed["id"].as_str().unwrap());
    operator.post(&resend, json!({}));
    wait_for_status(operator, "failed", 2);
    receiver.reply("*", Reply::empty(204));
    operator.post(&resend, json!({}));
    wait_for_status(operator, "delivered", 3);
}

#[test]
fn a_list_of_another_server_is_no_empty_list() {
    let other = Upstream::start();
    other.reply("*", Reply::json(json!({"ok": true})));
    let home = Setup::new().prepare();
    let listed = process::run(home.command(&["webhooks", "list"]).args(["--key", KEY, "--url", &other.url()]));
    assert_eq!(listed.code, Some(1), "{}", listed.stdout);
    assert!(listed.stderr.contains("not as a Connector Gateway"), "{}", listed.stderr);
}

#[test]
fn a_webhook_whose_body_is_no_longer_kept_is_not_sent_once_more() {
    let world = world(&Store::Sqlite, "keep_h = 0");
    begin(&world, "acme", "/");
    let ended = wait_for_status(&world.operator, "delivered", 1);
    assert!(ended["url"].is_null() && ended["kept_until"].is_null(), "{ended}");
    let resend = format!("/admin/webhooks/{}/resend", ended["id"].as_str().unwrap());
    world.operator.post(&resend, json!({})).problem(410, "webhook-not-kept");
    assert_eq!(world.receiver.seen().len(), 1);
}
