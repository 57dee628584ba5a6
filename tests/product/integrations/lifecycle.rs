//! The lifecycle routes, with their exact answers.

use std::time::SystemTime;

use serde_json::{Value, json};
use support::oauth::browser;
use support::{Dialect, Endpoint, OAuthProvider, Person, Setup, Store, module};

use super::{
    DONE, begin, callback_url, client, connect, email, ended, gateway, init, me, on_each_store, path, record, started,
    success, who,
};

on_each_store!(
    an_account_is_connected_and_operations_run_as_the_user,
    the_record_shows_everything_but_secrets,
    the_caller_may_choose_the_identifier,
    an_account_that_is_connected_again_is_the_same_integration,
    existence_is_answered_for_the_caller_and_for_a_name,
    integrations_survive_a_restart,
    a_connector_without_accounts_refuses_to_connect_one,
);

fn an_account_is_connected_and_operations_run_as_the_user(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    who(&client).problem(424, "integration-required");
    let callback = Person::named("ada").consents(&begin(&client, "account"));
    assert!(callback.starts_with(&callback_url(&gateway, "account")), "{callback}");
    let answer = browser::open(&callback);
    assert_eq!(ended(&answer), success("account", "ada@example.com"));
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(who(&client).ok(), me("ada"));
    assert_eq!(client.call("account/composed", json!({"path": "/me"})).ok()["status"], 200);
    assert_eq!((provider.count(Endpoint::Exchange), provider.count(Endpoint::Refresh)), (1, 0));
}

fn the_record_shows_everything_but_secrets(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    let answer = client.get(&path("account", "ada"));
    let mut record = answer.ok();
    let times = ["created_at", "updated_at", "expires_at", "next_refresh_at"];
    let [created, updated, expires, next] = times.map(|name| record[name].take().as_str().unwrap().to_owned());
    assert!(created <= updated && updated < next && next < expires, "{created} {updated} {next} {expires}");
    let expected = json!({
        "connector": "account",
        "user_identifier": "ada@example.com",
        "auth_type": "oauth2",
        "status": "active",
        "selected": false,
        "account": me("ada"),
        "address": {},
        "labels": {},
        "scopes": ["read", "write"],
        "created_at": null,
        "updated_at": null,
        "expires_at": null,
        "last_refreshed_at": null,
        "next_refresh_at": null,
        "refresh_failing_since": null,
        "reason": null,
    });
    assert_eq!(record, expected);
    for secret in provider.secrets() {
        assert!(!answer.text().contains(&secret));
    }
    let listed = client.get("/integrations").ok();
    assert_eq!(listed, json!({"integrations": [client.get(&path("account", "ada")).ok()], "next_cursor": null}));
}

fn the_caller_may_choose_the_identifier(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let body = json!({"auth_type": "oauth2", "callback_url": DONE, "user_identifier": "work / 100% émile"});
    let begun = client.post("/connectors/account/integrations", body).ok();
    let callback = Person::named("ada").consents(begun["authorization_url"].as_str().unwrap());
    assert_eq!(ended(&browser::open(&callback)), success("account", "work / 100% émile"));
    let record = client.get("/connectors/account/integrations/work%20%2F%20100%25%20%C3%A9mile").ok();
    assert_eq!(
        (&record["user_identifier"], &record["account"]["email"]),
        (&json!("work / 100% émile"), &json!(email("ada")))
    );
    let named = client.request("POST", "/connectors/account/forward").json(&json!({"path": "/me"}));
    assert_eq!(named.header("x-user-identifier", "work / 100% émile").send().ok(), me("ada"));
}

fn an_account_that_is_connected_again_is_the_same_integration(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    let before = record(&client, "ada");
    provider.withdraw();
    connect(&client, "account", "ada");
    let after = record(&client, "ada");
    assert_eq!(client.get("/integrations").ok()["integrations"].as_array().unwrap().len(), 1);
    assert_eq!(before["created_at"], after["created_at"]);
    assert!(after["updated_at"].as_str() > before["updated_at"].as_str());
    assert_eq!(who(&client).ok(), me("ada"));
}

fn existence_is_answered_for_the_caller_and_for_a_name(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let exists = || client.get("/connectors/account/integration-exists").ok();
    let named = |name: &str| {
        let request = client.request("GET", "/connectors/account/integration-exists");
        request.header("x-user-identifier", &email(name)).send().ok()
    };
    assert_eq!(exists(), json!({"exists": false, "required": true, "user_identifier": null}));
    connect(&client, "account", "ada");
    assert_eq!(exists(), json!({"exists": true, "required": true, "user_identifier": email("ada")}));
    assert_eq!(named("ada"), json!({"exists": true, "required": true, "user_identifier": email("ada")}));
    assert_eq!(named("bob")["exists"], false);
    connect(&client, "account", "bob");
    assert_eq!(exists(), json!({"exists": true, "required": true, "user_identifier": null}));
}

fn integrations_survive_a_restart(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    connect(&gateway.client(), "account", "ada");
    let before = record(&gateway.client(), "ada");
    let gateway = gateway.start_again();
    assert_eq!(record(&gateway.client(), "ada"), before);
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
}

fn a_connector_without_accounts_refuses_to_connect_one(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().on(store).account_with("account", &provider, &json!({"auth": "none"}));
    let gateway = started(setup, &provider);
    let client = gateway.client();
    let exists = client.get("/connectors/account/integration-exists").ok();
    assert_eq!(exists, json!({"exists": false, "required": false, "user_identifier": null}));
    let answer = client.call("account/composed", json!({"path": "/me"})).ok();
    assert_eq!(answer["status"], 401, "the request had no token");
    let record =
        client.post("/connectors/account/integrations", json!({"auth_type": "none", "user_identifier": "me"})).ok();
    assert_eq!((&record["auth_type"], &record["status"]), (&json!("none"), &json!("active")));
    assert_eq!(client.delete("/connectors/account/integrations/me").ok(), json!({"deleted": true, "revoked": false}));
}

#[test]
fn init_returns_the_authorization_url_and_its_expiry() {
    let provider = OAuthProvider::start(Dialect::google());
    let gateway = gateway(&Store::Sqlite, &provider);
    let begun = gateway.client().post("/connectors/account/integrations", init()).ok();
    let members: Vec<&String> = begun.as_object().unwrap().keys().collect();
    assert_eq!(members, ["auth_type", "authorization_url", "state", "expires_at"]);
    assert_eq!(begun["auth_type"], "oauth2");
    let expires_at = humantime::parse_rfc3339(begun["expires_at"].as_str().unwrap()).unwrap();
    let left = expires_at.duration_since(SystemTime::now()).unwrap().as_secs();
    // A minute of tolerance, because the machine may be slow.
    assert!((540..=600).contains(&left), "{left}");
    let url = url::Url::parse(begun["authorization_url"].as_str().unwrap()).unwrap();
    let parameter = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    assert_eq!(parameter("state").as_deref(), begun["state"].as_str());
    assert_eq!(parameter("redirect_uri"), Some(callback_url(&gateway, "account")));
    assert_eq!(parameter("scope").as_deref(), Some("read write"));
    assert_eq!(parameter("access_type").as_deref(), Some("offline"));
    assert_eq!(parameter("code_challenge_method").as_deref(), Some("S256"));
    assert!(parameter("client_secret").is_none() && parameter("code_verifier").is_none(), "{url}");
    let other = gateway.client().post("/connectors/account/integrations", init()).ok();
    assert_ne!(begun["state"], other["state"]);
}

#[test]
fn init_reports_all_unknown_and_wrong_members_at_once() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let post = |body: Value| gateway.client().post("/connectors/account/integrations", body).violations();
    let pointers = |body: Value| {
        let mut pointers: Vec<String> = post(body).into_iter().map(|(pointer, _)| pointer).collect();
        pointers.dedup();
        pointers
    };
    assert_eq!(pointers(json!({"auth_type": "api_key", "callback_url": DONE})), ["/auth_type"]);
    // Clients take the last two out of a path, so that no route would find the account.
    for name in ["", " ", ".", ".."] {
        let body = json!({"auth_type": "oauth2", "callback_url": DONE, "user_identifier": name});
        assert_eq!(pointers(body), ["/user_identifier"], "{name:?}");
    }
    assert_eq!(pointers(json!({"auth_type": "oauth2", "callback_url": DONE, "scope": "x"})).len(), 1);
    for (pointer, _) in post(json!({})) {
        assert!(["", "/auth_type", "/callback_url"].contains(&pointer.as_str()), "{pointer}");
    }
    gateway
        .client()
        .request("POST", "/connectors/account/integrations")
        .body("{")
        .header("content-type", "application/json")
        .send()
        .problem(400, "not-json");
    assert_eq!(provider.events().len(), 0);
}

#[test]
fn the_auth_schema_describes_how_to_authorize() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let schema = gateway.client().get("/connectors/account/auth-schema").ok();
    assert_eq!((&schema["connector"], &schema["required"]), (&json!("account"), &json!(true)));
    let [way] = schema["auth_types"].as_array().unwrap().as_slice() else { panic!("one auth type: {schema}") };
    assert_eq!(way["auth_type"], "oauth2");
    assert_eq!(way["authorization_url"], format!("{}/authorize", provider.url()));
    assert_eq!(way["token_url"], format!("{}/token", provider.url()));
    assert_eq!((&way["scopes"], &way["pkce"]), (&json!(["read", "write"]), &json!("S256")));
    assert_eq!(way["redirect_uri"], callback_url(&gateway, "account"));
    assert_eq!(way["schema"]["properties"]["auth_type"]["enum"], json!(["oauth2"]));
    assert!(!schema.to_string().contains(&provider.dialect().client_secret));
}

#[test]
fn without_client_credentials_the_operator_is_told_what_to_set_and_what_to_register() {
    let module = module::account(&json!({"identifier": "account", "auth": "oauth2"}));
    let gateway = Setup::new().module("account", module).start();
    let answer = gateway.client().post("/connectors/account/integrations", init());
    let problem = answer.problem(503, "integration-not-configured");
    assert_eq!(problem["owner"], "operator");
    let detail = problem["detail"].as_str().unwrap();
    assert_eq!(problem["missing"], json!(["oauth_clients.account.client_id", "oauth_clients.account.client_secret"]));
    assert_eq!(problem["redirect_uri"], callback_url(&gateway, "account"));
    for words in
        ["oauth_clients.account.client_id", "oauth_clients.account.client_secret", &callback_url(&gateway, "account")]
    {
        assert!(detail.contains(words), "{words} in {detail}");
    }
}

#[test]
fn an_unknown_integration_is_404_and_a_wrong_method_is_405() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    for method in ["GET", "POST", "DELETE"] {
        let problem = client.request(method, &path("account", "nobody")).send().problem(404, "unknown-integration");
        assert!(problem["detail"].as_str().unwrap().contains("nobody@example.com"), "{problem}");
    }
    client.post("/connectors/acount/integrations", init()).problem(404, "unknown-connector");
    for (method, route) in [
        ("PUT", "/connectors/account/integrations"),
        ("GET", "/connectors/account/integrations"),
        ("POST", "/connectors/account/integration-exists"),
        ("POST", "/connectors/account/auth-schema"),
        ("POST", "/connectors/account/success-authorize-callback"),
        ("HEAD", "/connectors/account/success-authorize-callback"),
        ("PUT", "/connectors/account/integrations/x"),
        ("POST", "/integrations"),
    ] {
        let answer = client.request(method, route).send();
        assert_eq!(answer.status, 405, "{method} {route}");
        assert!(!answer.header("allow").is_empty(), "{method} {route}");
    }
}

#[test]
fn connecting_needs_one_scope_and_calling_another() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let (integrates, operates) =
        (client(&gateway, "default", None, "integrate"), client(&gateway, "default", None, "operate"));
    operates.post("/connectors/account/integrations", init()).problem(403, "missing-scope");
    operates.get("/integrations").problem(403, "missing-scope");
    operates.delete(&path("account", "ada")).problem(403, "missing-scope");
    connect(&integrates, "account", "ada");
    who(&integrates).problem(403, "missing-scope");
    assert_eq!(who(&operates).ok(), me("ada"));
    for route in [
        "/integrations",
        "/connectors/account/auth-schema",
        "/connectors/account/integration-exists",
        &path("account", "ada"),
    ] {
        gateway.anonymous().get(route).problem(401, "unauthenticated");
    }
}
