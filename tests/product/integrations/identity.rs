//! The identity of an account. The gateway asks the service for it when the user has consented.

use serde_json::{Value, json};
use support::oauth::browser;
use support::{Dialect, Endpoint, OAuthProvider, Person, Reply, Store};

use super::{DONE, begin, connect, ended, error_of, gateway, me, success, who};

/// Answers of a service that contain no identity.
fn no_identity() -> [Reply; 6] {
    [
        Reply::json(json!({"error": "broken"})).status(500),
        Reply::json(json!({"error": "forbidden"})).status(403),
        Reply::hang_up(),
        Reply::typed("text/html", "<html>"),
        Reply::json(json!({"name": "ADA"})),
        // No caller could name such an account, and PostgreSQL could not look for it.
        Reply::json(json!({"id": "7".repeat(257), "email": "ada\n@example.com"})),
    ]
}

#[test]
fn no_account_is_connected_while_the_service_tells_no_identity() {
    for reply in no_identity() {
        let provider = OAuthProvider::start(Dialect::strict());
        let gateway = gateway(&Store::Sqlite, &provider);
        let client = gateway.client();
        provider.on_api(move |_, _| reply.clone());
        let callback = Person::named("ada").consents(&begin(&client, "account"));
        assert_eq!(error_of(&browser::open(&callback)), "identity_unavailable");
        assert_eq!(provider.count(Endpoint::Exchange), 1);
        assert_eq!(provider.live_grants(), 0, "the tokens that are not kept are revoked");
        assert_eq!(client.get("/integrations").ok(), json!({"integrations": [], "next_cursor": null}));
        who(&client).problem(424, "integration-required");

        provider
            .on_api(|_, account| Reply::json(json!({"id": account.id, "email": account.email, "name": account.name})));
        connect(&client, "account", "ada");
        assert_eq!(who(&client).ok(), me("ada"));
    }
}

#[test]
fn the_log_names_pointers_that_find_nothing_and_the_members_that_are_there() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    provider.on_api(|_, _| Reply::json(json!({"sub": "secret-17", "profile": {"mail": "ada@example.com"}})));
    let callback = Person::named("ada").consents(&begin(&client, "account"));
    assert_eq!(error_of(&browser::open(&callback)), "identity_unavailable");
    let said =
        "the pointer `/id` of identity.id finds nothing in the answer of `whoami`: it has the members `sub`, `profile`";
    let line = gateway.wait_for_log("the pointer", |line| line.to_string().contains(said));
    let line = line.to_string();
    assert!(line.contains("`/email` of identity.email") && !line.contains("secret-17"), "{line}");

    provider.on_api(|_, account| Reply::json(json!({"id": account.id, "email": account.email})));
    connect(&client, "account", "ada");
    let said = "the pointer `/name` of identity.name finds nothing in the answer of `whoami`: it has the members `id`, `email`";
    gateway.wait_for_log("the pointer to the name", |line| line.to_string().contains(said));
}

#[test]
fn an_account_is_connected_without_an_identity_if_the_caller_names_it() {
    for reply in no_identity() {
        let provider = OAuthProvider::start(Dialect::strict());
        let gateway = gateway(&Store::Sqlite, &provider);
        let client = gateway.client();
        provider.on_api(move |_, _| reply.clone());
        let body = json!({"auth_type": "oauth2", "callback_url": DONE, "user_identifier": "work"});
        let begun = client.post("/connectors/account/integrations", body).ok();
        let callback = Person::named("ada").consents(begun["authorization_url"].as_str().unwrap());
        assert_eq!(ended(&browser::open(&callback)), success("account", "work"));
        let record = client.get("/connectors/account/integrations/work").ok();
        assert_eq!(record["status"], "active");
        let account = &record["account"];
        assert_eq!((&account["id"], &account["email"], &account["name"]), (&Value::Null, &Value::Null, &Value::Null));
    }
}
