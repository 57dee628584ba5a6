//! A connector's codes, tokens and client secret go only to the site where users authorize, or to
//! hosts that the operator grants. Without either of them they go nowhere.

use std::fs;

use serde_json::{Value, json};
use support::oauth::browser;
use support::{Dialect, Gateway, OAuthProvider, Person, Setup, module};

use super::{begin, connect, error_of, init, me, path, record, registered, who};

/// The guest `account` with all of its OAuth URLs below one base URL.
fn authorizing_at(url: &str) -> Vec<u8> {
    let [authorize, token, revoke] = ["authorize", "token", "revoke"].map(|endpoint| format!("{url}/{endpoint}"));
    module::account(&json!({
        "identifier": "account",
        "auth": "oauth2",
        "scopes": ["read", "write"],
        "authorization_url": authorize,
        "token_url": token,
        "refresh_url": token,
        "revocation": "form",
        "revocation_url": revoke,
    }))
}

/// The URL of the same stand-in at another host name, which is another site, and that host.
fn elsewhere(provider: &OAuthProvider) -> (String, String) {
    let url = provider.url().replace("127.0.0.1", "localhost");
    let host = url.trim_start_matches("http://").to_owned();
    (url, host)
}

/// A gateway whose operator has configured the guest's API and client, and no OAuth URLs.
fn setup(provider: &OAuthProvider) -> Setup {
    Setup::new().oauth_client("account", provider.dialect()).upstream("account", "api", &provider.api())
}

/// Replaces the live version by another one, whatever it asks for.
fn swap(gateway: &Gateway, module: &[u8]) {
    let digest = |connector: Option<Value>| connector.map(|connector| connector["sha256"].clone());
    let before = digest(gateway.connector("account"));
    let file = gateway.home().config().with_file_name("next");
    fs::write(&file, module).unwrap();
    gateway.home().run_ok(&["connectors", "add", file.to_str().unwrap(), "--accept"]);
    support::wait_for("the next version", || (digest(gateway.connector("account")) != before).then_some(()));
}

#[test]
fn tokens_go_to_no_host_that_only_the_manifest_names() {
    let provider = OAuthProvider::start(Dialect::strict());
    let (url, host) = elsewhere(&provider);
    let module = authorizing_at(&url);
    let gateway = setup(&provider).module("account", module.clone()).start();
    let client = gateway.client();

    let missing = gateway.connector("account").unwrap()["hosts"]["missing"].clone();
    assert!(missing.as_array().unwrap().contains(&json!(host)), "{missing}");
    gateway.wait_for_log("the connector with what it lacks", |line| {
        line["missing_grants"].as_str().is_some_and(|missing| missing.contains(&host))
    });
    let file = gateway.home().config().with_file_name("module");
    fs::write(&file, &module).unwrap();
    let file = file.to_str().unwrap();
    assert!(gateway.home().run_ok(&["connectors", "check", file]).contains(&format!("asks for    {host}")));

    let problem = client.post("/connectors/account/integrations", init()).problem(503, "integration-not-configured");
    assert_eq!((&problem["owner"], &problem["missing_hosts"]), (&json!("operator"), &json!([host])));
    for words in [host.as_str(), "connector-gateway connectors grant account "] {
        assert!(problem["detail"].as_str().unwrap().contains(words), "{words} in {problem}");
    }
    assert!(provider.seen().is_empty());

    gateway.home().run_ok(&["connectors", "add", file, "--grant", &host]);
    support::wait_for("the grant", || {
        let missing = gateway.connector("account").unwrap()["hosts"]["missing"].clone();
        (!missing.as_array().unwrap().contains(&json!(host))).then_some(())
    });
    let gateway = registered(gateway, &provider);
    connect(&gateway.client(), "account", "ada");
}

#[test]
fn users_are_sent_to_no_site_that_only_the_manifest_names() {
    let provider = OAuthProvider::start(Dialect::strict());
    let (url, host) = elsewhere(&provider);
    // The operator has set all addresses except the one that users open.
    let own = provider.url();
    let gateway = Setup::new()
        .oauth_client("account", provider.dialect())
        .config(&format!(
            "[connectors.account]\nallow_private_network = true\nupstreams.api = \"{}\"\n\
             oauth.token_url = \"{own}/token\"\noauth.revocation_url = \"{own}/revoke\"",
            provider.api()
        ))
        .module("account", authorizing_at(&url))
        .start();
    let client = gateway.client();
    let problem = client.post("/connectors/account/integrations", init()).problem(503, "integration-not-configured");
    assert_eq!((&problem["owner"], &problem["missing_hosts"]), (&json!("operator"), &json!([host])));
    gateway.home().run_ok(&["connectors", "grant", "account", &host]);
    support::wait_for("the grant", || {
        let missing = gateway.connector("account").unwrap()["hosts"]["missing"].clone();
        (!missing.as_array().unwrap().contains(&json!(host))).then_some(())
    });
    let gateway = registered(gateway, &provider);
    connect(&gateway.client(), "account", "ada");
}

#[test]
fn the_next_version_of_a_connector_takes_no_tokens_to_another_host() {
    let (provider, thief) = (OAuthProvider::start(Dialect::strict()), OAuthProvider::start(Dialect::strict()));
    let gateway = registered(setup(&provider).module("account", authorizing_at(&provider.url())).start(), &provider);
    let client = gateway.client();
    connect(&client, "account", "ada");
    let consented = Person::named("bob").consents(&begin(&client, "account"));

    swap(&gateway, &authorizing_at(&elsewhere(&thief).0));
    provider.expire();
    let problem = who(&client).problem(503, "integration-not-configured");
    assert_eq!(problem["owner"], "operator");
    assert!(problem["detail"].as_str().unwrap().contains("localhost, which was not granted"), "{problem}");
    let found = record(&client, "ada");
    assert_eq!((&found["status"], &found["reason"]["owner"]), (&json!("active"), &json!("operator")));
    assert_eq!(error_of(&browser::open(&consented)), "not_configured");
    assert!(thief.seen().is_empty());

    assert_eq!(client.delete(&path("account", "ada")).ok(), json!({"deleted": true, "revoked": false}));
    assert!(thief.seen().is_empty());
}

#[test]
fn an_oauth_address_at_another_site_is_refused_until_its_host_is_granted() {
    for (member, endpoint, name) in [
        ("token_url", "/token", "oauth2.token-url"),
        ("refresh_url", "/token", "oauth2.refresh-url"),
        ("revocation_url", "/revoke", "oauth2.revocation"),
    ] {
        let provider = OAuthProvider::start(Dialect::strict());
        let home = provider.url();
        // The same stand-in at another host name, which is another site.
        let elsewhere = home.replace("127.0.0.1", "localhost");
        let mut service = json!({
            "identifier": "account",
            "auth": "oauth2",
            "scopes": ["read", "write"],
            "authorization_url": format!("{home}/authorize"),
            "token_url": format!("{home}/token"),
            "revocation": "form",
            "revocation_url": format!("{home}/revoke"),
        });
        service[member] = json!(format!("{elsewhere}{endpoint}"));
        let module = module::account(&service);
        let gateway = Setup::new()
            .oauth_client("account", provider.dialect())
            .upstream("account", "api", &provider.api())
            .start();

        gateway.home().put("account", &module);
        let reason = gateway.wait_for_refusal("account.wasm");
        for words in [name, "is at localhost", "127.0.0.1"] {
            assert!(reason.contains(words), "{words} in {reason}");
        }
        assert_eq!(gateway.connector("account"), None);
        assert!(provider.seen().is_empty());

        let file = gateway.home().config().with_file_name("module");
        fs::write(&file, module).unwrap();
        let add = ["connectors", "add", file.to_str().unwrap()];
        let refused = gateway.home().run(&add);
        assert_ne!(refused.code, Some(0));
        assert!(refused.stderr.contains(&reason), "{reason} in {}", refused.stderr);

        // The reason of the refusal names this command.
        let host = reason.split("--grant ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
        gateway.home().run_ok(&[&add[..], &["--grant", host]].concat());
        gateway.wait_for_version("account", "1.0.0");
        let gateway = registered(gateway, &provider);
        let client = gateway.client();
        connect(&client, "account", "ada");
        provider.expire();
        assert_eq!(who(&client).ok(), me("ada"));
        assert_eq!(client.delete(&path("account", "ada")).ok(), json!({"deleted": true, "revoked": true}));
        let called = provider.seen().into_iter().filter(|seen| seen.header("host").starts_with("localhost"));
        let mut paths: Vec<String> = called.map(|seen| seen.path).collect();
        paths.dedup();
        assert_eq!(paths, [endpoint], "{member}");
    }
}
