//! Disconnecting an account revokes its grant in the provider's way, and always deletes the
//! account.

use serde_json::json;
use support::{Dialect, Endpoint, Gate, OAuthProvider, Reply, Store};

use super::{connect, gateway, me, on_each_store, path, record, who};

on_each_store!(
    disconnecting_revokes_the_grant_and_deletes_the_account,
    the_storage_of_a_connector_is_deleted_with_the_account
);

fn disconnecting_revokes_the_grant_and_deletes_the_account(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    connect(&client, "account", "bob");
    assert_eq!(client.delete(&path("account", "ada")).ok(), json!({"deleted": true, "revoked": true}));
    assert_eq!(provider.live_grants(), 1);
    client.get(&path("account", "ada")).problem(404, "unknown-integration");
    client.delete(&path("account", "ada")).problem(404, "unknown-integration");
    assert_eq!(who(&client).ok(), me("bob"), "the other account is unchanged");
    client.delete(&path("account", "bob")).ok();
    who(&client).problem(424, "integration-required");
    assert_eq!(provider.live_grants(), 0);
    let text = store.dump();
    for secret in provider.secrets() {
        assert!(!text.contains(&secret));
    }
}

fn the_storage_of_a_connector_is_deleted_with_the_account(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let remember = |value| client.call("account/remember", value).ok()["before"].clone();
    connect(&client, "account", "ada");
    remember(json!({"value": "of ada"}));
    assert_eq!(remember(json!({})), "of ada");
    connect(&client, "account", "ada");
    assert_eq!(remember(json!({})), "of ada", "storage stays when the account is connected again");
    client.delete(&path("account", "ada")).ok();
    connect(&client, "account", "ada");
    assert_eq!(remember(json!({})), json!(null));
}

#[test]
fn grants_are_revoked_in_each_providers_way() {
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
fn an_account_is_deleted_although_its_provider_cannot_revoke() {
    let provider = OAuthProvider::start(Dialect { revocation: None, ..Dialect::strict() });
    let gateway = gateway(&Store::Sqlite, &provider);
    connect(&gateway.client(), "account", "ada");
    assert_eq!(gateway.client().delete(&path("account", "ada")).ok(), json!({"deleted": true, "revoked": false}));
    assert_eq!(provider.live_grants(), 1);
    who(&gateway.client()).problem(424, "integration-required");
}

#[test]
fn an_account_can_be_disconnected_while_its_provider_is_down() {
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
fn a_grant_that_was_revoked_already_can_be_disconnected() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    connect(&gateway.client(), "account", "ada");
    provider.withdraw();
    who(&gateway.client()).problem(424, "reauthorization-required");
    assert_eq!(record(&gateway.client(), "ada")["status"], "expired");
    assert_eq!(gateway.client().delete(&path("account", "ada")).ok()["deleted"], true);
}

#[test]
fn an_account_that_is_connected_again_during_its_revocation_stays() {
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
    assert_eq!(who(&client).ok(), me("ada"), "its token is refreshed as usual");
}

#[test]
fn a_token_that_is_refreshed_while_its_account_is_removed_is_revoked() {
    // This provider revokes one token, but not the other tokens of the grant.
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
