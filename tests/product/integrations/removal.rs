//! Accounts are disconnected: given back to the provider as it takes them, and forgotten in any case.

use serde_json::json;
use support::{Dialect, Endpoint, Gate, OAuthProvider, Reply, Store};

use super::{connect, gateway, me, on_each_store, path, record, who};

on_each_store!(an_account_is_given_back_and_forgotten, what_a_connector_kept_goes_with_the_account);

fn an_account_is_given_back_and_forgotten(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    connect(&client, "account", "bob");
    assert_eq!(client.delete(&path("account", "ada")).ok(), json!({"deleted": true, "revoked": true}));
    assert_eq!(provider.live_grants(), 1);
    client.get(&path("account", "ada")).problem(404, "unknown-integration");
    client.delete(&path("account", "ada")).problem(404, "unknown-integration");
    assert_eq!(who(&client).ok(), me("bob"), "the other one is untouched");
    client.delete(&path("account", "bob")).ok();
    who(&client).problem(424, "integration-required");
    assert_eq!(provider.live_grants(), 0);
    let text = store.dump();
    for secret in provider.secrets() {
        assert!(!text.contains(&secret));
    }
}

fn what_a_connector_kept_goes_with_the_account(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let remember = |value| client.call("account/remember", value).ok()["before"].clone();
    connect(&client, "account", "ada");
    remember(json!({"value": "of ada"}));
    assert_eq!(remember(json!({})), "of ada");
    connect(&client, "account", "ada");
    assert_eq!(remember(json!({})), "of ada", "it stays while the account is connected anew");
    client.delete(&path("account", "ada")).ok();
    connect(&client, "account", "ada");
    assert_eq!(remember(json!({})), json!(null));
}

#[test]
fn grants_are_given_back_in_each_providers_way() {
    for dialect in [Dialect::strict(), Dialect::google(), Dialect::basic(), Dialect::slack(), Dialect::github()] {
        let provider = OAuthProvider::start(dialect);
        let gateway = gateway(&Store::Sqlite, &provider);
        let client = gateway.client();
        connect(&client, "account", "ada");
        let revocation = provider.dialect().revocation;
        assert_eq!(
            client.delete(&path("account", "ada")).ok(),
            json!({"deleted": true, "revoked": true}),
            "{revocation:?}"
        );
        assert_eq!(provider.live_grants(), 0, "{revocation:?}");
        assert_eq!(provider.refusals(Endpoint::Revoke), Vec::<String>::new(), "{revocation:?}");
    }
}

#[test]
fn where_nothing_is_taken_back_the_account_is_forgotten_all_the_same() {
    let provider = OAuthProvider::start(Dialect { revocation: None, ..Dialect::strict() });
    let gateway = gateway(&Store::Sqlite, &provider);
    connect(&gateway.client(), "account", "ada");
    assert_eq!(gateway.client().delete(&path("account", "ada")).ok(), json!({"deleted": true, "revoked": false}));
    assert_eq!(provider.live_grants(), 1);
    who(&gateway.client()).problem(424, "integration-required");
}

#[test]
fn a_provider_that_is_down_keeps_nobody_from_disconnecting() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    for reply in [Reply::empty(503), Reply::hang_up(), Reply::typed("text/html", "<html>").status(400)] {
        connect(&client, "account", "ada");
        provider.break_revocation(reply);
        assert_eq!(client.delete(&path("account", "ada")).ok(), json!({"deleted": true, "revoked": false}));
        provider.repair();
        who(&client).problem(424, "integration-required");
    }
}

#[test]
fn a_grant_that_was_withdrawn_already_can_be_given_back() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    connect(&gateway.client(), "account", "ada");
    provider.withdraw();
    who(&gateway.client()).problem(424, "reauthorization-required");
    assert_eq!(record(&gateway.client(), "ada")["status"], "expired");
    assert_eq!(gateway.client().delete(&path("account", "ada")).ok()["deleted"], true);
}

#[test]
fn an_account_that_is_connected_anew_while_it_is_given_back_stays() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    let gate = Gate::default();
    provider.break_revocation(Reply::empty(200).behind(&gate));
    let deletion = client.request("DELETE", &path("account", "ada")).begin();
    provider.wait_for(Endpoint::Revoke, 1);
    connect(&client, "account", "ada");
    gate.open();
    assert_eq!(deletion.wait().ok(), json!({"deleted": true, "revoked": true}));
    assert_eq!(who(&client).ok(), me("ada"));
    provider.repair();
    provider.expire();
    assert_eq!(who(&client).ok(), me("ada"), "and it is renewed as any other");
}

#[test]
fn a_token_that_is_renewed_while_its_account_is_removed_does_not_live_on() {
    // This provider takes back one token, not what else came of the grant.
    let provider = OAuthProvider::start(Dialect::github());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    let gate = Gate::default();
    provider.hold_tokens(&gate);
    provider.expire();
    let call = client.begin("/connectors/account/forward", json!({"path": "/me"}));
    provider.wait_for(Endpoint::Refresh, 1);
    let deletion = client.request("DELETE", &path("account", "ada")).begin();
    gate.open();
    assert_eq!(deletion.wait().ok(), json!({"deleted": true, "revoked": true}));
    call.wait();
    assert_eq!(provider.live_grants(), 0);
}
