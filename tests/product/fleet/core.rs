//! Changes by an operator at one gateway hold at the others, and calls, jobs and webhooks of one
//! gateway are seen at the others.

use serde_json::{Value, json};
use support::{Client, Dialect, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, module, wait_for};
use url::Url;

use super::{key_of, wait_for_ready};
use crate::integrations::{begin, client};

/// Two gateways with a connector whose users have accounts at the provider, and one that needs no
/// account.
fn two(store: &Store, provider: &OAuthProvider, service: &str) -> [Gateway; 2] {
    let free = module::account(&json!({"identifier": "free", "auth": "none"}));
    let setup = |name: &str| {
        let setup = Setup::new().on(store).config(&format!("[fleet]\nname = {name:?}\n[callbacks]"));
        let setup = setup.config("allow_private_network = true").account("account", provider);
        setup.module("free", free.clone()).upstream("free", "api", service)
    };
    let one = setup("one").start();
    let other = setup("other").general(&key_of(&one)).start();
    wait_for_ready(&one, 2);
    [one, other]
}

#[test]
fn keys_accounts_and_calls_are_the_same_at_every_gateway() {
    let (store, service) = (Store::postgres(), Upstream::start());
    service.reply("*", Reply::json(json!({})).status(503));
    let provider = OAuthProvider::start(Dialect::strict());
    let [one, other] = two(&store, &provider, &service.url());

    // A key that is made at one gateway is good at the other, with its limits, until it is revoked.
    let made = one
        .client()
        .post("/admin/keys", json!({"name": "x", "tenant": "acme", "scopes": ["operate"], "allow": ["free"]}));
    let made = made.json();
    let caller = other.anonymous().with_key(made["key"].as_str().unwrap());
    caller.call("account/forward", json!({"path": "/"})).problem(403, "not-allowed");
    let failed = caller.request("POST", "/connectors/free/forward").header("x-request-id", "failed-at-other");
    failed.json(&json!({"path": "/x"})).send().problem(502, "upstream-failed");

    // The record of the call is seen at the first one, with the name of the gateway.
    let record = wait_for("the record of the call", || {
        let answer = one.client().get("/admin/calls/failed-at-other");
        (answer.status == 200).then(|| answer.json())
    });
    assert_eq!((&record["gateway"], &record["key_id"]), (&json!("other"), &made["id"]));
    one.client().delete(&format!("/admin/keys/{}", made["id"].as_str().unwrap())).ok();
    wait_for("the key to be refused", || {
        (caller.call("free/forward", json!({"path": "/"})).status == 401).then_some(())
    });

    // An account that is imported at one gateway is shown and removed at the other.
    let line = json!({
        "tenant": "acme", "connector": "account", "user_identifier": "ada",
        "credentials": {"access_token": "a-good-token", "refresh_token": "a-refresh-token"},
    });
    let import =
        one.client().request("POST", "/admin/integrations/import").header("content-type", "application/x-ndjson");
    let imported: Value = serde_json::from_str(&import.body(line.to_string()).send().text()).unwrap();
    let id = imported["id"].as_str().unwrap();
    let found = other.client().get("/admin/integrations?tenant=acme&user_identifier=ada").ok();
    assert_eq!(found["integrations"][0]["id"], id);
    other.client().delete(&format!("/admin/integrations/{id}")).ok();
    one.client().get(&format!("/admin/integrations/{id}")).problem(404, "unknown-integration");

    // The audit is one.
    let actions = |gateway: &Gateway| {
        let entries = gateway.client().get("/admin/audit?tenant=acme").ok()["entries"].clone();
        entries.as_array().unwrap().iter().map(|entry| entry["action"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(actions(&one), actions(&other));
    assert_eq!(actions(&one)[..2], ["integration.deleted", "integration.imported"]);
}

#[test]
fn a_job_and_its_webhook_are_seen_at_every_gateway() {
    let (store, service) = (Store::postgres(), Upstream::start());
    service.reply("*", Reply::json(json!({})));
    let provider = OAuthProvider::start(Dialect::strict());
    let [one, other] = two(&store, &provider, &service.url());
    let caller = client(&one, "acme", None, "operate,integrate");
    caller.post("/webhooks/secrets", json!({})).ok();
    let urls = json!([format!("{}/hook", service.url())]);
    let begun = caller.call("free/collect", json!({"path": "/", "callback_urls": urls})).ok();
    let id = begun["job_id"].as_str().unwrap();
    let job = wait_for("the job to end", || {
        let job = other.client().get(&format!("/admin/jobs/{id}")).ok();
        (job["status"] == "succeeded").then_some(job)
    });
    assert!(["one", "other"].contains(&job["gateway"].as_str().unwrap()), "{job}");
    let delivered = wait_for("the webhook to be delivered", || {
        let webhook = other.client().get("/admin/webhooks?tenant=acme").ok()["webhooks"][0].clone();
        (webhook["status"] == "delivered").then_some(webhook)
    });
    // Either gateway sends it once more, under the same id.
    let path = format!("/admin/webhooks/{}/resend", delivered["id"].as_str().unwrap());
    assert_eq!(one.client().post(&path, json!({})).status, 202);
    wait_for("the second attempt", || {
        let hooks = service.seen().into_iter().filter(|seen| seen.path == "/hook").collect::<Vec<_>>();
        (hooks.len() == 2 && hooks[0].header("webhook-id") == hooks[1].header("webhook-id")).then_some(())
    });
    // The result of the attempt may be stored between the two.
    wait_for("the same tenants", || {
        let tenants = [&one, &other].map(|gateway| gateway.client().get("/admin/tenants").ok());
        (tenants[0] == tenants[1]).then_some(())
    });
}

/// The client in the URL to which a user is sent.
fn client_of_user(gateway: &Gateway, user: &Client) -> String {
    let url = begin(&gateway.anonymous().with_key(user.key()), "workspace_identity");
    let url = Url::parse(&url).unwrap();
    url.query_pairs().find(|(name, _)| name == "client_id").unwrap().1.into_owned()
}

#[test]
fn a_tenants_client_for_a_provider_wins_over_the_configuration_at_every_gateway() {
    let store = Store::postgres();
    // The configuration names the connector, which would win over the provider's name there.
    let configured = Dialect { client_id: "configured".to_owned(), ..Dialect::google() };
    let setup = || {
        let setup =
            Setup::new().on(&store).shipped("workspace_identity").oauth_client("workspace_identity", &configured);
        setup.oauth_client("google", &configured)
    };
    let one = setup().start();
    let other = setup().general(&key_of(&one)).start();
    wait_for_ready(&one, 2);
    let acme = client(&one, "acme", Some("ann"), "integrate");
    let another = client(&one, "another", Some("ann"), "integrate");
    let path = |name: &str| format!("/admin/tenants/acme/oauth_clients/{name}");
    let seen = |user: &Client| [&one, &other].map(|gateway| client_of_user(gateway, user));
    assert_eq!(seen(&acme), ["configured", "configured"]);

    one.client().request("PUT", &path("google")).json(&json!({"client_id": "by-provider"})).send().ok();
    assert_eq!(seen(&acme), ["by-provider", "by-provider"]);
    assert_eq!(seen(&another), ["configured", "configured"], "other tenants keep the configuration's");
    other.client().request("PUT", &path("workspace_identity")).json(&json!({"client_id": "by-name"})).send().ok();
    assert_eq!(seen(&acme), ["by-name", "by-name"], "the connector's name wins over the provider's");
    one.client().delete(&path("workspace_identity")).ok();
    assert_eq!(seen(&acme), ["by-provider", "by-provider"]);
    other.client().delete(&path("google")).ok();
    assert_eq!(seen(&acme), ["configured", "configured"]);
}
