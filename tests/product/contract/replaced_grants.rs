//! Grants that a newer grant of the same account has replaced. The gateway revokes them at the
//! provider, unless the manifest says that this would end the new grant too.

use std::time::Duration;

use serde_json::{Value, json};
use support::{Dialect, Endpoint, Gateway, OAuthProvider, Reply, Setup, Store};

use crate::integrations::{DONE, connect, email, ended, me, on_each_store, started, who};

on_each_store!(
    a_replaced_grant_is_revoked,
    a_replaced_grant_stays_where_its_revocation_would_end_the_new_one,
    a_failed_revocation_is_tried_again_even_after_a_kill,
);

fn start(store: &Store, provider: &OAuthProvider) -> Gateway {
    started(Setup::new().on(store).account("account", provider), provider)
}

fn wait_for_one_grant(provider: &OAuthProvider) {
    support::wait_for("the old grant to be gone", || (provider.live_grants() == 1).then_some(()));
}

fn a_replaced_grant_is_revoked(store: &Store) {
    check_revoked(store, Dialect::strict());
}

#[test]
fn a_replaced_grant_is_revoked_in_each_providers_way() {
    for dialect in [Dialect::github(), Dialect::slack()] {
        check_revoked(&Store::Sqlite, dialect);
    }
}

fn check_revoked(store: &Store, dialect: Dialect) {
    let provider = OAuthProvider::start(dialect);
    let gateway = start(store, &provider);
    connect(&gateway.client(), "account", "ada");
    connect(&gateway.client(), "account", "ada");
    wait_for_one_grant(&provider);
    assert_eq!(who(&gateway.client()).ok(), me("ada"), "the new grant works");
    assert_eq!(provider.refusals(Endpoint::Revoke), Vec::<String>::new());
    assert_eq!((provider.count(Endpoint::Revoke), provider.count(Endpoint::Refresh)), (1, 0));
}

fn a_replaced_grant_stays_where_its_revocation_would_end_the_new_one(store: &Store) {
    let provider = OAuthProvider::start(Dialect::google());
    let mut gateway = start(store, &provider);
    connect(&gateway.client(), "account", "ada");
    connect(&gateway.client(), "account", "ada");
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
    // The gateway ends its background work before it stops.
    assert!(gateway.stop().success());
    assert_eq!((provider.live_grants(), provider.count(Endpoint::Revoke)), (2, 0));
}

/// Connects an account twice with the connector's manifest and this line of the operator. Returns
/// the number of revocations.
fn revocations(described: &Value, own: &str) -> usize {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().account_with("account", &provider, described).config(own);
    let mut gateway = started(setup, &provider);
    connect(&gateway.client(), "account", "ada");
    connect(&gateway.client(), "account", "ada");
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
    assert!(gateway.stop().success());
    assert_eq!(provider.live_grants(), 2 - provider.count(Endpoint::Revoke));
    provider.count(Endpoint::Revoke)
}

#[test]
fn the_operator_says_if_replaced_grants_are_revoked_at_another_provider() {
    let keeps = json!({"revokes_replaced_grants": false});
    assert_eq!(revocations(&json!({}), "oauth.revokes_replaced_grants = false"), 0);
    assert_eq!(revocations(&keeps, "oauth.revokes_replaced_grants = true"), 1);
    assert_eq!(revocations(&keeps, ""), 0);
}

#[test]
fn the_grant_of_an_account_whose_name_another_account_takes_is_revoked() {
    let provider = OAuthProvider::start(Dialect::strict());
    let mut gateway = start(&Store::Sqlite, &provider);
    let client = gateway.client();
    for name in ["ada", "bob"] {
        let body = json!({"auth_type": "oauth2", "callback_url": DONE, "user_identifier": "work", "replace": true});
        let begun = client.post("/connectors/account/integrations", body).ok();
        let callback = support::Person::named(name).consents(begun["authorization_url"].as_str().unwrap());
        ended(&support::oauth::browser::open(&callback));
    }
    assert_eq!(who(&client).ok(), me("bob"));
    // The gateway ends its background work before it stops.
    assert!(gateway.stop().success());
    assert_eq!((provider.live_grants(), provider.count(Endpoint::Revoke)), (1, 1));
}

fn a_failed_revocation_is_tried_again_even_after_a_kill(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let mut gateway = start(store, &provider);
    connect(&gateway.client(), "account", "ada");
    provider.break_revocation(Reply::empty(503));
    connect(&gateway.client(), "account", "ada");
    provider.wait_for(Endpoint::Revoke, 1);
    assert_eq!(who(&gateway.client()).ok(), me("ada"), "the user does not wait for the provider");
    let line = gateway.wait_for_log("the warning", |line| line["connector"] == "account" && line["level"] == "WARN");
    for secret in provider.secrets() {
        assert!(!line.to_string().contains(&secret), "{line}");
    }
    gateway.kill();
    gateway.wait();
    // A gateway repeats a failed revocation after a minute. The test makes that minute pass.
    let passes = "UPDATE pending_grants SET expires_at = expires_at - 60000";
    match store {
        Store::Sqlite => assert_eq!(gateway.home().sqlite(passes), 1),
        Store::Postgres(database) => database.sql(passes),
    }
    let gateway = gateway.start_again();
    provider.repair();
    wait_for_one_grant(&provider);
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
}

/// A gateway with an account whose access token has expired, at a provider that revokes by it.
fn with_an_expired_access_token() -> (OAuthProvider, Gateway) {
    let provider = OAuthProvider::start(Dialect::slack().living(2));
    let gateway = start(&Store::Sqlite, &provider);
    connect(&gateway.client(), "account", "ada");
    provider.break_tokens(Reply::empty(503));
    std::thread::sleep(Duration::from_secs(3));
    provider.expire();
    provider.set_lifetime(Some(3600));
    provider.repair();
    (provider, gateway)
}

#[test]
fn a_revocation_by_an_access_token_that_has_expired_refreshes_it_first() {
    let (provider, gateway) = with_an_expired_access_token();
    let client = gateway.client();
    connect(&client, "account", "ada");
    wait_for_one_grant(&provider);
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!(client.get("/integrations").ok()["integrations"][0]["user_identifier"], email("ada"));
}

#[test]
fn a_revocation_that_fails_after_its_token_was_refreshed_is_repeated_with_the_new_token() {
    let (provider, gateway) = with_an_expired_access_token();
    provider.break_revocation(Reply::empty(503));
    connect(&gateway.client(), "account", "ada");
    provider.wait_for(Endpoint::Revoke, 1);
    provider.repair();
    wait_for_one_grant(&provider);
    assert_eq!(provider.reuses(), 0);
}
