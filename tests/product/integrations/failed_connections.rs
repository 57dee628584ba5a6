//! A connection that has failed leaves a record, from which an operator learns why.

use serde_json::{Value, json};
use support::oauth::browser;
use support::{Client, Dialect, OAuthProvider, Person, Reply, Setup, Store, wait_for};

use super::{begin, client, connect, email, gateway, started, who, who_as};

/// The last record of a connection.
fn last_connection(operator: &Client, known: usize) -> Value {
    wait_for("the record", || {
        let calls = operator.get("/admin/calls?operation=connect").ok()["calls"].as_array().unwrap().clone();
        (calls.len() > known).then(|| calls[0].clone())
    })
}

#[test]
fn a_connection_that_fails_leaves_a_record_with_what_the_provider_said() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let (operator, acme) = (gateway.client(), client(&gateway, "acme", Some("ann"), "integrate,operate"));
    let refused = json!({"error": "invalid_grant", "error_description": "The code is too old."});
    provider.break_tokens(Reply::json(refused).status(400));
    browser::open(&Person::named("ada").consents(&begin(&acme, "account")));
    let record = last_connection(&operator, 0);
    let found = ["tenant", "subject", "connector", "operation", "problem", "owner"].map(|name| record[name].clone());
    assert_eq!(json!(found), json!(["acme", "ann", "account", "connect", "exchange_refused", "user"]), "{record}");
    assert!(record["detail"].as_str().unwrap().contains("The code is too old."), "{record}");
    assert!(record["key_id"].is_string() && record["status"] == 302, "{record}");

    browser::open(&Person::named("ada").declines(&begin(&acme, "account")));
    let record = last_connection(&operator, 1);
    assert_eq!((&record["problem"], &record["owner"]), (&json!("access_denied"), &json!("user")), "{record}");

    // The application learns of this one itself.
    acme.post("/connectors/account/integrations", json!({"auth_type": "oauth2", "callback_url": 7})).violations();
    let record = last_connection(&operator, 2);
    assert_eq!((&record["status"], &record["pointers"]), (&json!(422), &json!(["/callback_url"])), "{record}");

    provider.repair();
    connect(&acme, "account", "ada");
    assert_eq!(operator.get("/admin/calls?operation=connect").ok()["calls"].as_array().unwrap().len(), 3);
    let text = operator.get("/admin/calls").text();
    assert!(provider.secrets().iter().all(|secret| !text.contains(secret)), "{text}");
}

#[test]
fn a_page_on_which_no_account_can_be_connected_leaves_a_record() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = started(Setup::new().account_without_client("account", &provider), &provider);
    let operator = gateway.client();
    let link = operator.post("/connect-links", json!({"connectors": ["account"]})).json();
    let token = link["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let page = gateway.anonymous().without_redirects().request("POST", &format!("/connect/{token}"));
    let sent = page.header("content-type", "application/x-www-form-urlencoded").body("connector=account").send();
    assert_eq!(sent.status, 303, "{}", sent.text());
    let record = last_connection(&operator, 0);
    let found = (&record["problem"], &record["owner"]);
    assert_eq!(found, (&json!("integration-not-configured"), &json!("operator")), "{record}");
    assert!(record["detail"].as_str().unwrap().contains("oauth_clients.account.client_id"), "{record}");
}

#[test]
fn a_record_explains_a_call_without_its_values_and_names_the_account() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let operator = gateway.client();
    connect(&operator, "account", "ada");
    let record = |answer: support::Answer| {
        let id = answer.header("x-request-id").to_owned();
        wait_for("the record", || {
            let found = operator.get(&format!("/admin/calls/{id}"));
            (found.status == 200).then(|| found.json())
        })
    };
    let invalid = record(operator.call("account/forward", json!({"path": "/me", "response_fields": 707_070})));
    assert_eq!(
        (&invalid["problem"], &invalid["pointers"]),
        (&json!("validation"), &json!(["/response_fields"])),
        "{invalid}"
    );
    assert!(invalid["detail"].as_str().unwrap().contains("violation"), "{invalid}");
    assert!(!invalid.to_string().contains("707070"), "{invalid}");
    let unknown = record(who_as(&operator, "bob"));
    assert_eq!(
        (&unknown["problem"], &unknown["user_identifier"]),
        (&json!("integration-required"), &json!(email("bob")))
    );
    provider.withdraw();
    let ended = record(who(&operator));
    assert_eq!(
        (&ended["problem"], &ended["user_identifier"]),
        (&json!("reauthorization-required"), &json!(email("ada")))
    );
    assert!(ended["detail"].as_str().unwrap().contains("invalid_grant"), "{ended}");
}
