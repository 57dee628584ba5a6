//! Accounts that users connect with a code, which they enter on another device (RFC 8628).

use serde_json::{Value, json};
use support::oauth::Account;
use support::{Answer, Client, Dialect, Endpoint, Gateway, OAuthProvider, Reply, Setup, Store, module, wait_for};

use super::{client, on_each_store, path, started, who};

on_each_store!(
    a_user_who_enters_the_code_connects_the_account,
    a_gateway_that_starts_again_asks_about_the_codes_of_before,
    an_authorization_without_consent_ends_with_the_reason,
);

const INTEGRATIONS: &str = "/connectors/account/integrations";

/// All log lines are written, so that a line with a secret is found.
fn setup(store: &Store, provider: &OAuthProvider) -> Setup {
    let url = provider.device_url();
    let setup = Setup::new().on(store).general("log = \"trace\"");
    let setup = setup.account_with("account", provider, &json!({"additions": [{"is": "device_code", "url": ""}]}));
    setup.config(&format!("oauth.device_authorization_url = \"{url}\""))
}

fn gateway(store: &Store, provider: &OAuthProvider) -> Gateway {
    started(setup(store, provider), provider)
}

/// Begins an authorization.
#[track_caller]
fn begin(client: &Client) -> Value {
    client.post(INTEGRATIONS, json!({"auth_type": "oauth2_device_code"})).ok()
}

fn text<'a>(begun: &'a Value, name: &str) -> &'a str {
    begun[name].as_str().unwrap()
}

/// The progress of an authorization.
fn progress(client: &Client, begun: &Value) -> Answer {
    client.get(&format!("/connectors/account/authorizations/{}", text(begun, "authorization_id")))
}

/// Waits until an authorization is no longer pending.
#[track_caller]
fn result(client: &Client, begun: &Value) -> Value {
    wait_for("the result", || Some(progress(client, begun).ok()).filter(|progress| progress["status"] != "pending"))
}

/// No answer and no log line has a secret of the provider.
#[track_caller]
fn assert_clean(gateway: &Gateway, provider: &OAuthProvider, answers: &[&Value]) {
    for secret in provider.secrets() {
        for answer in answers {
            assert!(!answer.to_string().contains(&secret), "{answer}");
        }
        for line in gateway.lines() {
            assert!(!line.contains(&secret), "{line}");
        }
    }
}

fn a_user_who_enters_the_code_connects_the_account(store: &Store) {
    for dialect in [Dialect::strict(), Dialect::basic()] {
        // An operator must accept a module that sends the secret in another way than the one before.
        let store = &store.another();
        let provider = OAuthProvider::start(dialect);
        let gateway = gateway(store, &provider);
        let client = gateway.client();
        let begun = begin(&client);
        assert_eq!(begun["auth_type"], "oauth2_device_code");
        let (code, page) = (text(&begun, "user_code"), text(&begun, "verification_uri"));
        assert_eq!(page, provider.url() + "/activate");
        assert_eq!(begun["verification_uri_complete"], format!("{page}?user_code={code}"));
        assert!(begun["expires_in"] == 600 && begun["expires_at"].is_string(), "{begun}");
        let pending = progress(&client, &begun).ok();
        assert_eq!((&pending["status"], &pending["error"]), (&json!("pending"), &Value::Null));

        provider.wait_for(Endpoint::Poll, 2);
        assert!(provider.refusals(Endpoint::Poll).iter().all(|why| why.contains("authorization_pending")));
        provider.enter_code(code, &Account::named("ada"));
        let connected = result(&client, &begun);
        assert_eq!(
            (&connected["status"], &connected["user_identifier"]),
            (&json!("connected"), &json!("ada@example.com"))
        );
        assert_eq!(provider.early_requests(), 0);
        let record = client.get(&path("account", "ada")).ok();
        assert_eq!((&record["auth_type"], &record["status"]), (&json!("oauth2"), &json!("active")));
        assert_eq!(record["account"]["id"], "id-of-ada");
        assert_eq!(record["scopes"], json!(["read", "write"]));

        // The tokens are renewed as after an authorization in a browser.
        assert_eq!(who(&client).ok()["id"], "id-of-ada");
        provider.expire();
        assert_eq!(who(&client).ok()["id"], "id-of-ada");
        assert_eq!(provider.count(Endpoint::Refresh), 1);
        assert_clean(&gateway, &provider, &[&begun, &connected, &record]);
        let asked = provider.count(Endpoint::Poll);
        client.delete(&path("account", "ada")).ok();
        assert_eq!(provider.count(Endpoint::Poll), asked, "nothing asks after the end");
    }
}

fn a_gateway_that_starts_again_asks_about_the_codes_of_before(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let begun = begin(&gateway.client());
    let gateway = gateway.start_again();
    provider.enter_code(text(&begun, "user_code"), &Account::named("ada"));
    let client = gateway.client();
    assert_eq!(result(&client, &begun)["user_identifier"], "ada@example.com");
    assert_eq!(who(&client).ok()["id"], "id-of-ada");
    assert_clean(&gateway, &provider, &[&begun]);
}

fn an_authorization_without_consent_ends_with_the_reason(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let failure = |begun: &Value| {
        let result = result(&client, begun);
        assert_eq!((&result["status"], &result["user_identifier"]), (&json!("failed"), &Value::Null));
        text(&result, "error").to_owned()
    };
    let declined = begin(&client);
    provider.decline_code(text(&declined, "user_code"));
    assert_eq!(failure(&declined), "access_denied");
    let expired = begin(&client);
    provider.expire_codes();
    assert_eq!(failure(&expired), "expired_token");

    // The gateway ends an authorization itself if the provider cannot answer until its expiry.
    provider.set_code_lifetime(2);
    let unanswered = begin(&client);
    provider.break_tokens(Reply::empty(503));
    assert_eq!(failure(&unanswered), "expired_token");
    provider.repair();
    provider.set_code_lifetime(600);

    // Another account than the one that is connected.
    let init = || json!({"auth_type": "oauth2_device_code", "user_identifier": "work"});
    let first = client.post(INTEGRATIONS, init()).ok();
    provider.enter_code(text(&first, "user_code"), &Account::named("ada"));
    assert_eq!(result(&client, &first)["user_identifier"], "work");
    let other = client.post(INTEGRATIONS, init()).ok();
    provider.enter_code(text(&other, "user_code"), &Account::named("eve"));
    assert_eq!(failure(&other), "other_account");
    assert_eq!(who(&client).ok()["id"], "id-of-ada");
    let mut replacing = init();
    replacing["replace"] = json!(true);
    let replacing = client.post(INTEGRATIONS, replacing).ok();
    provider.enter_code(text(&replacing, "user_code"), &Account::named("eve"));
    assert_eq!(result(&client, &replacing)["user_identifier"], "work");
    assert_eq!(who(&client).ok()["id"], "id-of-eve");
}

#[test]
fn a_provider_that_asks_for_it_is_asked_less_often() {
    let provider = OAuthProvider::start(Dialect::github());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    provider.slow_down(1);
    let begun = begin(&client);
    provider.wait_for(Endpoint::Poll, 1);
    provider.enter_code(text(&begun, "user_code"), &Account::named("ada"));
    assert_eq!(result(&client, &begun)["status"], "connected");
    // The stand-in counts requests that come before the longer interval is over.
    assert_eq!((provider.count(Endpoint::Poll), provider.early_requests()), (2, 0));
}

#[test]
fn one_gateway_at_a_time_asks_about_a_code() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    let one = gateway(&store, &provider);
    let key = format!("master_key_file = {:?}", one.home().data().join("master.key"));
    let other = setup(&store, &provider).general(&key).start();
    let begun = begin(&one.client());
    provider.wait_for(Endpoint::Poll, 4);
    provider.enter_code(text(&begun, "user_code"), &Account::named("ada"));
    let connected = result(&other.client(), &begun);
    assert_eq!(connected["status"], "connected", "{connected}");
    assert_eq!(provider.early_requests(), 0, "two gateways would ask twice in an interval");
    assert_eq!(who(&other.client()).ok()["id"], "id-of-ada");
    assert_clean(&other, &provider, &[&begun, &connected]);
}

#[test]
fn only_the_user_who_has_begun_an_authorization_sees_its_progress() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let ann = client(&gateway, "acme", Some("ann"), "integrate");
    let begun = begin(&ann);
    progress(&ann, &begun).ok();
    let eve = client(&gateway, "acme", Some("eve"), "integrate");
    progress(&eve, &begun).problem(404, "unknown-authorization");
    progress(&gateway.client(), &begun).problem(404, "unknown-authorization");
    ann.get("/connectors/account/authorizations/unknown").problem(404, "unknown-authorization");
    // No browser can end it, although the id has the form of a `state`.
    let id = text(&begun, "authorization_id");
    let callback = format!("/connectors/account/success-authorize-callback?state={id}&code=a");
    assert_eq!(gateway.anonymous().get(&callback).status, 400);
    assert_eq!(progress(&ann, &begun).ok()["status"], "pending");
}

#[test]
fn a_provider_that_gives_no_code_is_explained() {
    let provider = OAuthProvider::start(Dialect::strict());
    let wrong =
        setup(&Store::Sqlite, &provider).variable("GATEWAY__OAUTH_CLIENTS__ACCOUNT__CLIENT_SECRET", "wrong-secret");
    let gateway = wrong.start();
    let answer = gateway.client().post(INTEGRATIONS, json!({"auth_type": "oauth2_device_code"}));
    let problem = answer.problem(503, "integration-not-configured");
    assert!(problem["detail"].as_str().unwrap().contains("invalid_client"), "{problem}");
}

#[test]
fn a_connector_without_a_page_for_users_has_only_the_code() {
    let provider = OAuthProvider::start(Dialect::strict());
    let described = json!({
        "identifier": "account", "auth": "oauth2", "authorization_url": "", "scopes": ["read"],
        "additions": [{"is": "device_code", "url": ""}],
    });
    let section = |device: &str| {
        format!(
            "[connectors.account]\nallow_private_network = true\noauth.token_url = \"{}/token\"\nupstreams.api = \"{}\"\n\
             upstreams.other = \"{}\"\noauth.device_authorization_url = \"{device}\"",
            provider.url(),
            provider.api(),
            provider.api()
        )
    };
    let start = |device: &str| {
        let setup = Setup::new().module("account", module::account(&described));
        setup.oauth_client("account", provider.dialect()).config(&section(device)).start()
    };
    let gateway = start(&provider.device_url());
    let client = gateway.client();
    let ways = client.get("/connectors/account/auth-schema").ok()["auth_types"].clone();
    assert_eq!(ways.as_array().unwrap().len(), 1);
    assert_eq!(ways[0]["auth_type"], "oauth2_device_code");
    let begun = begin(&client);
    provider.enter_code(text(&begun, "user_code"), &Account::named("ada"));
    assert_eq!(result(&client, &begun)["status"], "connected");
    provider.expire();
    assert_eq!(who(&client).ok()["id"], "id-of-ada");
    assert_eq!(provider.count(Endpoint::Refresh), 1);
    provider.withdraw();
    let action = who(&client).problem(424, "reauthorization-required")["action"].clone();
    assert_eq!(client.post(INTEGRATIONS, action["body"].clone()).ok()["auth_type"], "oauth2_device_code");

    let answer = start("").client().post(INTEGRATIONS, json!({"auth_type": "oauth2_device_code"}));
    let problem = answer.problem(503, "integration-not-configured");
    assert_eq!(problem["missing"], json!(["connectors.account.oauth.device_authorization_url"]));
}

#[test]
fn a_device_url_at_another_site_is_refused() {
    let refusal = |url: &str| {
        let described = json!({
            "identifier": "account", "auth": "oauth2", "authorization_url": "https://login.acme.example/authorize",
            "token_url": "https://acme.example/token", "additions": [{"is": "device_code", "url": url}],
        });
        let gateway = Setup::new().start();
        gateway.home().put("account", &module::account(&described));
        gateway.wait_for_refusal("account.wasm")
    };
    let reason = refusal("https://thief.example/device");
    assert!(reason.contains("device-authorization-url is at thief.example"), "{reason}");
    let reason = refusal("http://acme.example/device");
    assert!(reason.contains("the URL begins with `https://`"), "{reason}");
    let reason = refusal("https://{part}.acme.example/device");
    assert!(reason.contains("has neither a part of an account's address"), "{reason}");
}
