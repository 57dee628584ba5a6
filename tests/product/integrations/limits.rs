//! Limits of the data that a tenant or a user may store, and the data that is deleted with an
//! account.

use serde_json::{Value, json};
use support::oauth::browser;
use support::{Answer, Client, Dialect, OAuthProvider, Person, Setup, Store};

use super::{DONE, begin, client, ended, gateway, init, on_each_store, started, success};

on_each_store!(
    a_user_may_have_a_hundred_pending_authorizations,
    a_user_may_have_a_thousand_accounts,
    a_new_account_with_the_name_of_a_removed_one_gets_none_of_its_data,
);

fn a_user_may_have_a_hundred_pending_authorizations(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let ada = client(&gateway, "default", Some("ada"), "integrate");
    let first = begin(&ada, "account");
    for _ in 1..100 {
        begin(&ada, "account");
    }
    let over = ada.post("/connectors/account/integrations", init());
    let problem = over.problem(429, "too-many-authorizations");
    assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("caller"), &json!(true)));
    assert!(problem["detail"].as_str().unwrap().contains("ten minutes"), "{problem}");
    assert_eq!(over.header("retry-after"), "600");
    // The limit of other users is not affected.
    begin(&client(&gateway, "default", Some("bob"), "integrate"), "account");
    begin(&gateway.client(), "account");
    assert_eq!(
        ended(&browser::open(&Person::named("ada").consents(&first))),
        success("account", "ada@example.com"),
        "pending authorizations can be completed"
    );
    begin(&ada, "account");
}

fn a_user_may_have_a_thousand_accounts(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().on(store).account_with("account", &provider, &json!({"auth": "none"}));
    let gateway = started(setup, &provider);
    let ada = client(&gateway, "default", Some("ada"), "integrate");
    let connect = |client: &Client, name: &str| -> Answer {
        client.post("/connectors/account/integrations", json!({"auth_type": "none", "user_identifier": name}))
    };
    for number in 0..1000 {
        connect(&ada, &number.to_string()).ok();
    }
    let problem = connect(&ada, "over").problem(429, "too-many-integrations");
    assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("user"), &json!(false)));
    assert!(problem["detail"].as_str().unwrap().contains("DELETE"), "{problem}");
    connect(&ada, "7").ok();
    connect(&client(&gateway, "default", Some("bob"), "integrate"), "over").ok();
    ada.delete("/connectors/account/integrations/7").ok();
    connect(&ada, "over").ok();
}

fn a_new_account_with_the_name_of_a_removed_one_gets_none_of_its_data(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let connect = |name: &str| {
        let body = json!({"auth_type": "oauth2", "callback_url": DONE, "user_identifier": "work", "replace": true});
        let begun = client.post("/connectors/account/integrations", body).ok();
        let callback = Person::named(name).consents(begun["authorization_url"].as_str().unwrap());
        assert_eq!(ended(&browser::open(&callback)), success("account", "work"));
    };
    let remember = |value: &str| client.call("account/remember", json!({"value": value})).ok()["before"].clone();
    connect("ada");
    assert_eq!(remember("of ada"), Value::Null);
    connect("ada");
    assert_eq!(remember("of ada"), "of ada");
    connect("bob");
    assert_eq!(remember("of bob"), Value::Null);
    connect("bob");
    assert_eq!(remember("of bob"), "of bob");
}
