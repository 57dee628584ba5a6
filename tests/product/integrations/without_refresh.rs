//! Accounts without a refresh token. Their access token ends when the service refuses it, or with
//! its lifetime.

use serde_json::{Value, json};
use support::{Client, Dialect, Endpoint, Gateway, OAuthProvider, Store};

use super::{connect, email, gateway, me, on_each_store, record, who};

on_each_store!(a_refused_token_without_a_refresh_token_must_be_replaced_by_the_user);

/// A gateway with the account of ada.
fn with_ada(store: &Store, dialect: Dialect) -> (OAuthProvider, Gateway, Client) {
    let provider = OAuthProvider::start(dialect);
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    (provider, gateway, client)
}

fn a_refused_token_without_a_refresh_token_must_be_replaced_by_the_user(store: &Store) {
    let (provider, _gateway, client) = with_ada(store, Dialect::github().without_refresh());
    let found = record(&client, "ada");
    assert_eq!((&found["status"], &found["expires_at"]), (&json!("active"), &Value::Null));
    assert_eq!((&found["next_refresh_at"], &found["reason"]), (&Value::Null, &Value::Null));
    assert_eq!(who(&client).ok(), me("ada"));

    provider.expire();
    let before = provider.api_calls().len();
    for _ in 0..3 {
        let problem = who(&client).problem(424, "reauthorization-required");
        assert_eq!(problem["owner"], "user");
        assert_eq!(problem["user_identifier"], email("ada"));
        assert_eq!(problem["action"]["body"], json!({"auth_type": "oauth2", "user_identifier": email("ada")}));
    }
    client.call("account/composed", json!({"path": "/me"})).problem(424, "reauthorization-required");
    assert_eq!(provider.api_calls().len(), before + 1, "the service is not called again");
    assert_eq!(provider.count(Endpoint::Refresh), 0);
    let found = record(&client, "ada");
    assert_eq!((&found["status"], &found["reason"]["owner"]), (&json!("revoked"), &json!("user")));

    connect(&client, "account", "ada");
    assert_eq!(who(&client).ok(), me("ada"));
    let found = record(&client, "ada");
    assert_eq!((&found["status"], &found["reason"]), (&json!("active"), &Value::Null));
}

#[test]
fn a_refused_token_must_be_replaced_in_every_dialect_and_kind_of_operation() {
    for dialect in [Dialect::slack(), Dialect::strict(), Dialect::google(), Dialect::basic()] {
        for operation in ["account/forward", "account/whoami"] {
            let (provider, _gateway, client) = with_ada(&Store::Sqlite, dialect.clone().without_refresh());
            assert_eq!(record(&client, "ada")["expires_at"], Value::Null, "{dialect:?}");
            provider.expire();
            client.call(operation, json!({"path": "/me"})).problem(424, "reauthorization-required");
            assert_eq!(record(&client, "ada")["status"], "revoked", "{dialect:?} {operation}");
        }
    }
}

#[test]
fn a_token_ends_with_its_lifetime() {
    let (provider, _gateway, client) = with_ada(&Store::Sqlite, Dialect::strict().without_refresh().living(1));
    support::wait_for("the token to expire", || (record(&client, "ada")["status"] == "expired").then_some(()));
    assert_eq!(record(&client, "ada")["reason"]["owner"], "user");
    who(&client).problem(424, "reauthorization-required");
    assert_eq!(provider.count(Endpoint::Refresh), 0);
}
