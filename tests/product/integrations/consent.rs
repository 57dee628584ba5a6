//! Whose consent it was: grants that the caller confirms, and the account behind an identifier.

use std::collections::HashMap;

use serde_json::{Value, json};
use support::oauth::browser;
use support::{Answer, Client, Dialect, Endpoint, OAuthProvider, Person, Reply, Store};

use super::{client, connect, email, ended, error_of, gateway, init, me, on_each_store, path, success, who, who_as};

on_each_store!(
    a_grant_is_used_once_the_caller_has_confirmed_it,
    only_the_caller_that_began_confirms_a_grant,
    a_token_that_another_account_of_the_user_has_is_not_revoked,
    another_account_replaces_the_one_behind_an_identifier_only_if_the_caller_wants_it,
    a_confirmed_grant_replaces_another_account_only_if_the_caller_wants_it,
    the_action_of_a_problem_renews_this_very_integration,
);

/// Begins an authorization with further members of the body, and lets a person consent to it.
#[track_caller]
fn consent(client: &Client, name: &str, members: &Value) -> Answer {
    let mut body = init();
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let begun = client.post("/connectors/account/integrations", body).ok();
    browser::open(&Person::named(name).consents(begun["authorization_url"].as_str().unwrap()))
}

/// The completion in the query of the application's callback.
#[track_caller]
fn completion(answer: &Answer, user_identifier: &str) -> Value {
    let pairs: HashMap<_, _> = ended(answer).into_iter().collect();
    assert_eq!((pairs["status"].as_str(), pairs["connector"].as_str()), ("pending", "account"));
    assert_eq!(pairs["user_identifier"], user_identifier);
    json!({"completion": pairs["completion"]})
}

fn confirm(client: &Client, completion: &Value) -> Answer {
    client.post(&format!("{}/confirm", path("account", "ada")), completion.clone())
}

fn a_grant_is_used_once_the_caller_has_confirmed_it(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let completion = completion(&consent(&client, "ada", &json!({"confirm": true})), &email("ada"));
    assert_eq!(client.get("/integrations").ok()["integrations"], json!([]));
    who(&client).problem(424, "integration-required");
    let dump = store.dump();
    assert!(provider.access_tokens().iter().all(|token| !dump.contains(token)));
    confirm(&client, &json!({"completion": "invented"})).problem(404, "unknown-completion");
    confirm(&client, &json!({})).problem(422, "validation");
    client.post("/connectors/account/integrations/bob/confirm", completion.clone()).problem(404, "unknown-completion");
    let record = confirm(&client, &completion).ok();
    assert_eq!((&record["status"], &record["account"]), (&json!("active"), &me("ada")));
    assert_eq!(who(&client).ok(), me("ada"));
    confirm(&client, &completion).problem(404, "unknown-completion");
    // The refresh token was kept too.
    provider.expire();
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!((provider.live_grants(), provider.reuses()), (1, 0));
}

fn only_the_caller_that_began_confirms_a_grant(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let eve = client(&gateway, "acme", Some("eve"), "integrate,operate");
    let ada = client(&gateway, "acme", Some("ada"), "integrate,operate");
    let elsewhere = client(&gateway, "other", Some("eve"), "integrate,operate");
    // Eve sends the address of her own authorization to Ada, who consents. The completion reaches
    // Ada's application.
    let completion = completion(&consent(&eve, "ada", &json!({"confirm": true})), &email("ada"));
    confirm(&ada, &completion).problem(409, "completion-of-other-subject");
    confirm(&elsewhere, &completion).problem(404, "unknown-completion");
    for client in [&eve, &ada] {
        who(client).problem(424, "integration-required");
    }
    confirm(&eve, &completion).ok();
    assert_eq!(who(&eve).ok(), me("ada"));
}

#[test]
fn a_grant_that_nobody_confirms_in_time_is_revoked() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&store, &provider);
    let client = gateway.client();
    let completion = completion(&consent(&client, "ada", &json!({"confirm": true})), &email("ada"));
    assert_eq!(provider.live_grants(), 1);
    store.database().sql("UPDATE pending_grants SET expires_at = expires_at - 600000");
    confirm(&client, &completion).problem(404, "unknown-completion");
    support::wait_for("the revocation", || (provider.live_grants() == 0).then_some(()));
    assert_eq!(client.get("/integrations").ok()["integrations"], json!([]));
}

#[test]
fn the_end_of_a_grant_that_nobody_confirms_ends_no_other_access_of_the_account() {
    // Revoking one token would end all grants of the account.
    let provider = OAuthProvider::start(Dialect::google());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    completion(&consent(&client, "ada", &json!({"confirm": true})), &email("ada"));
    gateway.home().sqlite("UPDATE pending_grants SET expires_at = expires_at - 600000");
    gateway
        .wait_for_log("the end of the grant", |line| line.to_string().contains("a grant that is not used was deleted"));
    assert_eq!(provider.count(Endpoint::Revoke), 0);
    assert_eq!(who(&client).ok(), me("ada"));
    provider.expire();
    assert_eq!(who(&client).ok(), me("ada"));
}

fn a_token_that_another_account_of_the_user_has_is_not_revoked(store: &Store) {
    let provider = OAuthProvider::start(Dialect::slack().without_refresh());
    provider.give_one_token();
    let mut gateway = gateway(store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    // Without an identity, the token is not kept.
    provider.on_api(|_, _| Reply::json(json!({"error": "broken"})).status(500));
    assert_eq!(error_of(&consent(&client, "ada", &json!({}))), "identity_unavailable");
    provider.on_api(|_, account| Reply::json(json!({"id": account.id, "email": account.email, "name": account.name})));
    assert_eq!(who_as(&client, "ada").ok(), me("ada"));

    let work = json!({"user_identifier": "work"});
    assert_eq!(ended(&consent(&client, "ada", &work)), success("account", "work"));
    let replace = json!({"user_identifier": "work", "replace": true});
    assert_eq!(ended(&consent(&client, "bob", &replace)), success("account", "work"), "the token is replaced");
    assert_eq!(consent(&client, "ada", &work).status, 409, "the token is refused");
    assert_eq!(who_as(&client, "ada").ok(), me("ada"));
    // The gateway ends its background work before it stops.
    assert!(gateway.stop().success());
    assert_eq!((provider.live_grants(), provider.count(Endpoint::Revoke)), (2, 0));
}

fn another_account_replaces_the_one_behind_an_identifier_only_if_the_caller_wants_it(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let work = json!({"user_identifier": "work"});
    assert_eq!(ended(&consent(&client, "ada", &work)), success("account", "work"));
    let refused = consent(&client, "bob", &work);
    assert_eq!(refused.status, 409);
    let page = refused.text();
    assert!(page.contains(&email("ada")) && page.contains(&email("bob")), "{page}");
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!(ended(&consent(&client, "ada", &work)), success("account", "work"), "the same account again");
    let replace = json!({"user_identifier": "work", "replace": true});
    assert_eq!(ended(&consent(&client, "bob", &replace)), success("account", "work"));
    assert_eq!(who(&client).ok(), me("bob"));
}

fn a_confirmed_grant_replaces_another_account_only_if_the_caller_wants_it(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let begin = |name: &str, replace: bool| {
        let members = json!({"user_identifier": "work", "confirm": true, "replace": replace});
        completion(&consent(&client, name, &members), "work")
    };
    let confirm = |completion: &Value| client.post("/connectors/account/integrations/work/confirm", completion.clone());
    // No account has the name while they consent.
    let (of_ada, of_bob, instead) = (begin("ada", false), begin("bob", false), begin("bob", true));
    confirm(&of_ada).ok();
    let refused = confirm(&of_bob).problem(409, "other-account");
    assert!(refused["detail"].as_str().unwrap().contains(&email("ada")), "{refused}");
    assert_eq!(who(&client).ok(), me("ada"));
    confirm(&instead).ok();
    assert_eq!(who(&client).ok(), me("bob"));
    confirm(&of_bob).ok();
}

fn the_action_of_a_problem_renews_this_very_integration(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    ended(&consent(&client, "ada", &json!({"user_identifier": "work"})));
    provider.withdraw();
    let action = who(&client).problem(424, "reauthorization-required")["action"].clone();
    assert_eq!((&action["method"], &action["path"]), (&json!("POST"), &json!("/connectors/account/integrations")));
    assert_eq!(ended(&consent(&client, "ada", &action["body"])), success("account", "work"));
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!(client.get("/integrations").ok()["integrations"].as_array().unwrap().len(), 1);
}
