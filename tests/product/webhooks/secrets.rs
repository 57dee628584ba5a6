//! The secrets of a tenant: made, listed and deleted by its callers, and sealed in the store.

use std::fs;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use serde_json::{Value, json};
use support::webhooks::make_secret;
use support::{Client, Gateway, Store, Upstream};

use super::{connect, setup, telling, wait};
use crate::integrations::{client, on_each_store};

on_each_store!(
    a_secret_is_shown_once_and_at_most_two_are_valid,
    a_deleted_secret_is_gone,
    tenants_do_not_see_each_others_secrets,
    no_secret_and_no_body_is_written_in_plain_text,
    a_repeated_call_gets_the_same_secret,
);

fn gateway(store: &Store) -> (Gateway, Upstream) {
    let receiver = Upstream::start();
    (setup(store, &receiver).start(), receiver)
}

#[track_caller]
fn listed(client: &Client) -> Vec<Value> {
    client.get("/webhooks/secrets").ok()["secrets"].as_array().unwrap().clone()
}

fn ids(client: &Client) -> Vec<String> {
    listed(client).iter().map(|secret| secret["id"].as_str().unwrap().to_owned()).collect()
}

fn a_secret_is_shown_once_and_at_most_two_are_valid(store: &Store) {
    let (gateway, _receiver) = gateway(store);
    let client = gateway.client();
    assert!(listed(&client).is_empty());
    let answer = client.post("/webhooks/secrets", json!({}));
    let made = answer.ok();
    assert_eq!(answer.header("cache-control"), "no-store");
    let members: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["id", "secret", "created_at"]);
    let key = made["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap();
    assert!((24..=64).contains(&STANDARD.decode(key).unwrap().len()), "{key}");
    let current = json!({"id": made["id"], "created_at": made["created_at"], "expires_at": null});
    assert_eq!(listed(&client), [current]);

    let (second, secret) = make_secret(&client);
    assert_ne!(secret, made["secret"].as_str().unwrap());
    assert_eq!(ids(&client), [second.as_str(), made["id"].as_str().unwrap()]);
    let previous = listed(&client).pop().unwrap();
    let ends = humantime::parse_rfc3339(previous["expires_at"].as_str().unwrap()).unwrap();
    let left = ends.duration_since(SystemTime::now()).unwrap();
    let day = Duration::from_secs(24 * 3600);
    assert!((day - Duration::from_secs(600)..=day).contains(&left), "{left:?}");

    let (third, _) = make_secret(&client);
    assert_eq!(ids(&client), [third, second]);
}

fn a_deleted_secret_is_gone(store: &Store) {
    let (gateway, _receiver) = gateway(store);
    let client = gateway.client();
    let (first, _) = make_secret(&client);
    let (second, _) = make_secret(&client);
    let path = format!("/webhooks/secrets/{second}");
    assert_eq!(client.delete(&path).ok(), json!({"deleted": true}));
    client.delete(&path).problem(404, "unknown-webhook-secret");
    client.delete("/webhooks/secrets/whs_x").problem(404, "unknown-webhook-secret");
    assert_eq!(ids(&client), [first]);
}

fn tenants_do_not_see_each_others_secrets(store: &Store) {
    let (gateway, _receiver) = gateway(store);
    let (acme, other) = (client(&gateway, "acme", None, "integrate"), client(&gateway, "other", None, "integrate"));
    let (id, _) = make_secret(&acme);
    assert!(listed(&other).is_empty());
    other.delete(&format!("/webhooks/secrets/{id}")).problem(404, "unknown-webhook-secret");
    make_secret(&other);
    assert_eq!(ids(&acme), [id]);
}

#[test]
fn secrets_need_the_scope_integrate_and_a_token_that_is_not_bound_to_a_user() {
    let (gateway, _receiver) = gateway(&Store::Sqlite);
    let calls = [("POST", "/webhooks/secrets"), ("GET", "/webhooks/secrets"), ("DELETE", "/webhooks/secrets/whs_x")];
    let without_scope = client(&gateway, "acme", None, "operate,admin");
    let of_a_user = client(&gateway, "acme", Some("ann"), "operate,integrate,admin");
    for (method, path) in calls {
        gateway.anonymous().request(method, path).send().problem(401, "unauthenticated");
        without_scope.request(method, path).send().problem(403, "missing-scope");
        of_a_user.request(method, path).send().problem(403, "tenant-token-required");
    }
}

fn no_secret_and_no_body_is_written_in_plain_text(store: &Store) {
    let receiver = Upstream::start();
    receiver.reply("*", support::Reply::empty(503));
    // All log lines, so that a line with a secret is found.
    let events_url = format!("{}/secret-of-the-url", receiver.url());
    let gateway = telling(store, &events_url, true).general("log = \"trace\"").start();
    let client = gateway.client();
    let (_, first) = make_secret(&client);
    let (_, second) = make_secret(&client);
    // The content of this webhook stays in the store, because it is tried again.
    connect(&client, "a-user-of-the-body");
    client.delete("/connectors/account/integrations/a-user-of-the-body").ok();
    let signature = wait(&receiver, 1)[0].header("webhook-signature").to_owned();
    let mut written: Vec<_> = ["gateway.db", "gateway.db-wal"]
        .map(|name| (name, fs::read(gateway.home().data().join(name)).unwrap_or_default()))
        .into();
    written.push(("the database", store.dump().into_bytes()));
    let data = written.clone();
    written.push(("the log", gateway.lines().join("\n").into_bytes()));
    written.push(("the list", client.get("/webhooks/secrets").body.to_vec()));
    written.push(("the metrics", gateway.client().get("/metrics").body.to_vec()));
    for secret in [&first, &second] {
        let base64 = secret.strip_prefix("whsec_").unwrap();
        let key = STANDARD.decode(base64).unwrap();
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        for (name, bytes) in &written {
            for needle in [base64.as_bytes(), &key, hex.as_bytes()] {
                assert!(!holds(bytes, needle), "{name} has {secret}");
            }
        }
    }
    for (name, bytes) in &written {
        assert!(!holds(bytes, signature.as_bytes()), "{name} has a signature");
    }
    for (name, bytes) in &data {
        // The audit has the same word, outside of a body.
        assert!(!holds(bytes, br#""type":"integration.connected""#), "{name} has a body");
        assert!(!holds(bytes, b"secret-of-the-url"), "{name} has a URL");
    }
    // Without this the test could not fail.
    assert!(data.iter().any(|(_, bytes)| holds(bytes, b"webhook_deliveries")));
}

fn holds(haystack: &[u8], needle: &[u8]) -> bool {
    memmem::find(haystack, needle).is_some()
}

fn a_repeated_call_gets_the_same_secret(store: &Store) {
    let (gateway, _receiver) = gateway(store);
    let client = gateway.client();
    let make = |key: &str| {
        let call = client.request("POST", "/webhooks/secrets").header("idempotency-key", key);
        call.json(&json!({})).send()
    };
    let (first, second) = (make("one"), make("one"));
    assert_eq!(first.ok(), second.ok());
    assert_eq!((first.header("idempotent-replayed"), second.header("idempotent-replayed")), ("", "true"));
    assert_eq!(ids(&client), [first.json()["id"].as_str().unwrap()]);
    let entries = client.get("/admin/audit?action=webhook_secret.created").ok()["entries"].clone();
    assert_eq!(entries.as_array().unwrap().len(), 1, "{entries}");
    assert!(entries[0]["actor"].as_str().unwrap().starts_with("key_"), "{entries}");
    assert_ne!(make("two").ok()["id"], first.json()["id"]);
    assert!(!store.dump().contains(first.json()["secret"].as_str().unwrap()));
}
