//! Grants that a newer grant of the same account has replaced. The gateway revokes them at the
//! provider if the manifest says that this ends nothing else.

use serde_json::{Value, json};
use support::{Dialect, Endpoint, OAuthProvider, Setup, Store};

use crate::integrations::{DONE, connect, ended, me, on_each_store, started, who};

on_each_store!(
    a_replaced_grant_is_revoked_if_the_manifest_says_so,
    a_replaced_grant_stays_if_the_manifest_does_not_say_so,
);

fn start(store: &Store, provider: &OAuthProvider, service: &Value) -> support::Gateway {
    started(Setup::new().on(store).account_with("account", provider, service), provider)
}

fn revokes() -> Value {
    json!({"revokes_replaced_grants": true})
}

fn a_replaced_grant_is_revoked_if_the_manifest_says_so(store: &Store) {
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
    let gateway = start(store, &provider, &revokes());
    connect(&gateway.client(), "account", "ada");
    connect(&gateway.client(), "account", "ada");
    support::wait_for("the old grant to be gone", || (provider.live_grants() == 1).then_some(()));
    assert_eq!(who(&gateway.client()).ok(), me("ada"), "the new grant works");
    assert_eq!(provider.refusals(Endpoint::Revoke), Vec::<String>::new());
    assert_eq!((provider.count(Endpoint::Revoke), provider.count(Endpoint::Refresh)), (1, 0));
}

fn a_replaced_grant_stays_if_the_manifest_does_not_say_so(store: &Store) {
    let provider = OAuthProvider::start(Dialect::google());
    let mut gateway = start(store, &provider, &json!({}));
    connect(&gateway.client(), "account", "ada");
    connect(&gateway.client(), "account", "ada");
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
    // The gateway ends its background work before it stops.
    assert!(gateway.stop().success());
    assert_eq!((provider.live_grants(), provider.count(Endpoint::Revoke)), (2, 0));
}

#[test]
fn the_grant_of_an_account_whose_name_another_account_takes_is_revoked() {
    let provider = OAuthProvider::start(Dialect::strict());
    let mut gateway = start(&Store::Sqlite, &provider, &revokes());
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

#[test]
fn an_account_is_connected_again_although_the_old_grant_cannot_be_revoked() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = start(&Store::Sqlite, &provider, &revokes());
    connect(&gateway.client(), "account", "ada");
    provider.break_revocation(support::Reply::empty(503));
    connect(&gateway.client(), "account", "ada");
    provider.wait_for(Endpoint::Revoke, 1);
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
    let line = gateway.wait_for_log("the warning", |line| line["connector"] == "account" && line["level"] == "WARN");
    for secret in provider.secrets() {
        assert!(!line.to_string().contains(&secret), "{line}");
    }
}
