//! Accounts that bring the credentials for their access tokens: client credentials, the key of a
//! service account, and installations of an application.

use serde_json::{Value, json};
use support::oauth::own_credentials::{APP_ID, SERVICE_ACCOUNT, key_file, private_key};
use support::{Client, Dialect, Endpoint, Gate, Gateway, OAuthProvider, Reply, Setup, Store, module};

use super::{on_each_store, started, who};

on_each_store!(
    a_service_account_acts_for_a_user_and_its_token_is_renewed_by_signing_again,
    client_credentials_give_tokens_that_are_renewed_and_revoked,
    an_installation_of_the_operators_application_gives_tokens,
    credentials_that_the_service_refuses_are_told_and_the_account_expires,
);

const SECRET: &str = "secret-of-the-account/+==";

/// The declarations of the guest.
fn additions() -> Value {
    json!([
        {"is": "client_credentials"},
        {"is": "service_account", "subject": "required"},
        {"is": "app_installation", "upstream": "api", "path": "/app/installations/{installation_id}/access_tokens"},
    ])
}

fn gateway(store: &Store, provider: &OAuthProvider) -> Gateway {
    started(setup(store, provider), provider)
}

/// All log lines are written, so that a line with a secret is found.
fn setup(store: &Store, provider: &OAuthProvider) -> Setup {
    let setup = Setup::new().on(store).general("log = \"trace\"");
    setup.account_with("account", provider, &json!({"additions": additions()}))
}

/// As [`setup`], with the application in the configuration.
fn with_app(store: &Store, provider: &OAuthProvider) -> Setup {
    let described = json!({"identifier": "account", "auth": "oauth2", "scopes": ["read"], "additions": additions()});
    let setup = Setup::new().on(store).general("log = \"trace\"");
    let key = private_key(0).replace('\n', "\\n");
    setup
        .module("account", module::account(&described))
        .config(&format!("[oauth_clients.account]\napp_id = \"{APP_ID}\"\nprivate_key = \"{key}\""))
        .endpoints("account", provider, &[("api", ""), ("other", "")])
}

fn service_account(provider: &OAuthProvider, subject: &str) -> Value {
    let credentials = json!({"key_file": key_file(&provider.token_url()), "subject": subject});
    json!({"auth_type": "oauth2_service_account", "credentials": credentials})
}

fn client_credentials(id: &str) -> Value {
    json!({"auth_type": "oauth2_client_credentials", "credentials": {"client_id": id, "client_secret": SECRET}})
}

fn installation(id: &str) -> Value {
    json!({"auth_type": "oauth2_app_installation", "credentials": {"installation_id": id}})
}

fn post(client: &Client, init: Value) -> support::Answer {
    client.post("/connectors/account/integrations", init)
}

/// No answer and no log line has a secret of the account.
#[track_caller]
fn assert_clean(gateway: &Gateway, answers: &[&support::Answer]) {
    let key = private_key(0);
    let part_of_key = key.lines().nth(2).unwrap();
    for answer in answers {
        assert!(!answer.text().contains(part_of_key) && !answer.text().contains(SECRET), "{}", answer.text());
    }
    for line in gateway.lines() {
        assert!(!line.contains(part_of_key) && !line.contains(SECRET), "{line}");
    }
}

fn a_service_account_acts_for_a_user_and_its_token_is_renewed_by_signing_again(store: &Store) {
    let provider = OAuthProvider::start(Dialect::google());
    provider.delegate("ada@example.com");
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let connected = post(&client, service_account(&provider, "ada@example.com"));
    let record = connected.ok();
    assert_eq!(record["auth_type"], "oauth2_service_account");
    assert_eq!((&record["user_identifier"], &record["status"]), (&json!("ada@example.com"), &json!("active")));
    assert_eq!(record["scopes"], json!(["read", "write"]));
    assert!(record["expires_at"].is_string() && record["next_refresh_at"].is_string(), "{record}");
    let claims = &provider.accepted_claims()[0];
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!(SERVICE_ACCOUNT), &json!("ada@example.com")));
    assert_eq!((&claims["aud"], &claims["scope"]), (&json!(provider.token_url()), &json!("read write")));

    assert_eq!(who(&client).ok()["id"], "ada@example.com");
    provider.expire();
    assert_eq!(who(&client).ok()["id"], "ada@example.com");
    assert_eq!((provider.accepted_claims().len(), provider.count(Endpoint::Direct)), (2, 2));
    let listed = client.get("/integrations");
    assert!(listed.ok()["integrations"][0]["last_refreshed_at"].is_string(), "{}", listed.text());

    let deleted = client.delete("/connectors/account/integrations/ada%40example.com").ok();
    assert_eq!(deleted, json!({"deleted": true, "revoked": false}));
    assert_clean(&gateway, &[&connected, &listed]);
}

fn client_credentials_give_tokens_that_are_renewed_and_revoked(store: &Store) {
    for dialect in [Dialect::strict(), Dialect::basic()] {
        // An operator must accept a module that sends the secret in another way than the one before.
        let store = &store.another();
        let provider = OAuthProvider::start(dialect);
        provider.add_client("robot:1", SECRET);
        let gateway = gateway(store, &provider);
        let client = gateway.client();
        let mut init = client_credentials("robot:1");
        init["credentials"]["scopes"] = json!(["read"]);
        init["user_identifier"] = json!("robot");
        init["labels"] = json!({"team": "blue"});
        let connected = post(&client, init);
        let record = connected.ok();
        assert_eq!(
            (&record["auth_type"], &record["user_identifier"]),
            (&json!("oauth2_client_credentials"), &json!("robot"))
        );
        assert_eq!((&record["scopes"], &record["account"]["id"]), (&json!(["read"]), &json!("robot:1")));
        assert_eq!(record["labels"], json!({"team": "blue"}));
        provider.expire();
        assert_eq!(who(&client).ok()["id"], "robot:1");
        assert_eq!(provider.count(Endpoint::Direct), 2);
        let deleted = client.delete("/connectors/account/integrations/robot").ok();
        assert_eq!(deleted, json!({"deleted": true, "revoked": true}));
        assert_eq!((provider.count(Endpoint::Revoke), provider.refusals(Endpoint::Revoke).len()), (1, 0));
        assert_clean(&gateway, &[&connected]);
    }
}

fn an_installation_of_the_operators_application_gives_tokens(store: &Store) {
    let provider = OAuthProvider::start(Dialect::github());
    provider.install("99");
    let gateway = with_app(store, &provider).start();
    let client = gateway.client();
    let connected = post(&client, installation("99"));
    let record = connected.ok();
    assert_eq!((&record["auth_type"], &record["user_identifier"]), (&json!("oauth2_app_installation"), &json!("99")));
    assert!(record["expires_at"].is_string(), "{record}");
    assert_eq!(who(&client).ok()["id"], "99");
    provider.expire();
    assert_eq!(who(&client).ok()["id"], "99");
    assert_eq!((provider.count(Endpoint::Installation), provider.accepted_claims().len()), (2, 2));
    assert_clean(&gateway, &[&connected]);
}

fn credentials_that_the_service_refuses_are_told_and_the_account_expires(store: &Store) {
    let provider = OAuthProvider::start(Dialect::strict());
    provider.add_client("robot", SECRET);
    let gateway = gateway(store, &provider);
    let client = gateway.client();
    let refused = post(&client, client_credentials("other"));
    let (pointer, detail) = refused.violations()[0].clone();
    assert_eq!(pointer, "/credentials");
    assert!(detail.contains("invalid_client") && detail.contains("no such client"), "{detail}");
    // The account has the name of its client, which the store must be able to look for.
    for name in ["x".repeat(257), "robot ".to_owned()] {
        let (pointer, _) = post(&client, client_credentials(&name)).violations()[0].clone();
        assert_eq!(pointer, "/credentials/client_id");
    }
    assert_eq!(client.get("/integrations").ok()["integrations"], json!([]), "nothing was stored");

    post(&client, client_credentials("robot")).ok();
    provider.end_credentials();
    provider.expire();
    let problem = who(&client).problem(424, "reauthorization-required");
    assert_eq!(
        problem["action"]["body"],
        json!({"auth_type": "oauth2_client_credentials", "user_identifier": "robot"})
    );
    assert!(problem["detail"].as_str().unwrap().contains("credentials"), "{problem}");
    let record = client.get("/connectors/account/integrations/robot").ok();
    assert_eq!((&record["status"], &record["reason"]["owner"]), (&json!("expired"), &json!("user")));

    // The same credentials work again once the service accepts them.
    provider.add_client("robot", SECRET);
    post(&client, client_credentials("robot")).ok();
    assert_eq!(who(&client).ok()["id"], "robot");
}

#[test]
fn the_service_is_asked_once_for_all_gateways() {
    let store = Store::postgres();
    let provider = OAuthProvider::start(Dialect::strict());
    provider.add_client("robot", SECRET);
    let one = gateway(&store, &provider);
    let key = format!("master_key_file = {:?}", one.home().data().join("master.key"));
    let other = setup(&store, &provider).general(&key).start();
    let clients = [one.client(), other.client()];
    post(&clients[0], client_credentials("robot")).ok();
    for round in 2..=4 {
        let gate = Gate::default();
        provider.hold_tokens(&gate);
        provider.expire();
        let call = |number: usize| clients[number % 2].begin("/connectors/account/forward", json!({"path": "/me"}));
        let calls: Vec<_> = (0..40).map(call).collect();
        provider.wait_for(Endpoint::Direct, round);
        gate.open();
        for call in calls {
            assert_eq!(call.wait().ok()["id"], "robot");
        }
        assert_eq!(provider.count(Endpoint::Direct), round);
    }
}

#[test]
fn tokens_are_renewed_before_they_expire() {
    let provider = OAuthProvider::start(Dialect::strict().living(10));
    provider.add_client("robot", SECRET);
    let gateway = gateway(&Store::Sqlite, &provider);
    post(&gateway.client(), client_credentials("robot")).ok();
    provider.wait_for(Endpoint::Direct, 2);
}

#[test]
fn a_service_that_does_not_answer_costs_no_account() {
    let provider = OAuthProvider::start(Dialect::strict());
    provider.add_client("robot", SECRET);
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    provider.break_tokens(Reply::empty(503).header("retry-after", "1"));
    let problem = post(&client, client_credentials("robot")).problem(502, "upstream-failed");
    assert_eq!(problem["retryable"], true);
    provider.repair();
    post(&client, client_credentials("robot")).ok();
    provider.break_tokens(Reply::empty(503));
    provider.expire();
    who(&client).problem(502, "token-refresh-failed");
    assert_eq!(client.get("/connectors/account/integrations/robot").ok()["status"], "active");
}

#[test]
fn an_account_brings_an_application_of_its_own() {
    let provider = OAuthProvider::start(Dialect::github());
    provider.install("99");
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    let missing = post(&client, installation("99")).problem(503, "integration-not-configured");
    assert_eq!(missing["missing"], json!(["oauth_clients.account.app_id", "oauth_clients.account.private_key"]));
    assert_eq!(missing["variables"][0], "GATEWAY__OAUTH_CLIENTS__ACCOUNT__APP_ID");

    let mut own = installation("99");
    own["credentials"]["app_id"] = json!(APP_ID);
    let half = post(&client, own.clone());
    assert!(half.violations()[0].1.contains("private_key"), "{}", half.text());
    own["credentials"]["private_key"] = json!(private_key(0));
    let connected = post(&client, own.clone());
    assert_eq!(connected.ok()["account"]["id"], "99");
    assert_eq!(who(&client).ok()["id"], "99");

    own["credentials"]["private_key"] = json!(private_key(1));
    let refused = post(&client, own.clone());
    assert!(refused.violations()[0].1.contains("Invalid JWT Signature"), "{}", refused.text());
    own["credentials"]["private_key"] = json!(private_key(0));
    own["credentials"]["installation_id"] = json!("100");
    assert!(post(&client, own.clone()).violations()[0].1.contains("Not Found"));
    own["credentials"]["installation_id"] = json!("../../user");
    assert_eq!(post(&client, own).violations()[0].0, "/credentials/installation_id");
    assert_clean(&gateway, &[&connected, &refused]);
}

#[test]
fn an_application_that_is_removed_ends_the_account_and_a_wrong_key_is_the_operators() {
    let provider = OAuthProvider::start(Dialect::github());
    provider.install("99");
    provider.install("100");
    let gateway = with_app(&Store::Sqlite, &provider).start();
    let client = gateway.client();
    post(&client, installation("99")).ok();
    post(&client, installation("100")).ok();
    let who = |installation: &str| {
        let call = client.request("POST", "/connectors/account/forward").header("x-user-identifier", installation);
        call.json(&json!({"path": "/me"})).send()
    };
    provider.break_tokens(Reply::json(json!({"message": "Bad credentials"})).status(401));
    provider.expire();
    let problem = who("99").problem(503, "integration-not-configured");
    assert!(problem["detail"].as_str().unwrap().contains("Bad credentials"), "{problem}");
    provider.repair();
    provider.end_credentials();
    let problem = who("100").problem(424, "reauthorization-required");
    assert!(problem["detail"].as_str().unwrap().contains("Not Found"), "{problem}");
    assert_eq!(problem["action"]["body"]["auth_type"], "oauth2_app_installation");
}

#[test]
fn a_key_that_cannot_be_used_is_refused_before_anything_is_sent() {
    let provider = OAuthProvider::start(Dialect::google());
    provider.delegate("ada@example.com");
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut init = service_account(&provider, "ada@example.com");
        change(&mut init["credentials"]);
        post(&client, init).violations()[0].clone()
    };
    let (pointer, detail) = refused(&|credentials| credentials["key_file"]["private_key"] = json!("hunter2"));
    assert_eq!(pointer, "/credentials/key_file/private_key");
    assert!(detail.contains("RSA") && !detail.contains("hunter2"), "{detail}");
    let (pointer, detail) =
        refused(&|credentials| credentials["key_file"]["token_uri"] = json!("https://thief.example/token"));
    assert_eq!(pointer, "/credentials/key_file/token_uri");
    assert!(detail.contains(&provider.token_url()) && !detail.contains("thief"), "{detail}");
    let (_, detail) = refused(&|credentials| drop(credentials.as_object_mut().unwrap().remove("subject")));
    assert!(detail.contains("subject"), "{detail}");
    assert_eq!(provider.events().len(), 0);

    let (_, detail) = refused(&|credentials| credentials["subject"] = json!("eve@example.com"));
    assert!(detail.contains("unauthorized_client") && detail.contains("Client is unauthorized"), "{detail}");
    let (_, detail) = refused(&|credentials| credentials["key_file"]["private_key"] = json!(private_key(1)));
    assert!(detail.contains("Invalid JWT Signature"), "{detail}");
    // A file without a token URL is good too.
    let mut init = service_account(&provider, "ada@example.com");
    init["credentials"]["key_file"].as_object_mut().unwrap().remove("token_uri");
    post(&client, init).ok();
    assert_clean(&gateway, &[]);
}

#[test]
fn every_way_is_described_and_an_unknown_one_is_refused_with_their_names() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    let names = ["oauth2", "oauth2_client_credentials", "oauth2_service_account", "oauth2_app_installation"];
    let described = client.get("/connectors/account/auth-schema").ok();
    let ways = described["auth_types"].as_array().unwrap();
    assert_eq!(ways.iter().map(|way| way["auth_type"].as_str().unwrap()).collect::<Vec<_>>(), names);
    assert_eq!(ways[2]["schema"]["properties"]["credentials"]["required"], json!(["key_file", "subject"]));
    let violations = post(&client, json!({"auth_type": "oauth2_client_credential", "credentials": {}})).violations();
    assert_eq!((violations.len(), violations[0].0.as_str()), (1, "/auth_type"), "{violations:?}");
    assert!(violations[0].1.contains("did you mean `oauth2_client_credentials`?"), "{violations:?}");
    assert!(names.iter().all(|name| violations[0].1.contains(name)), "{violations:?}");
    let mut init = client_credentials("robot");
    init["credentials"]["client_secret"] = json!("short");
    assert_eq!(post(&client, init).violations()[0].0, "/credentials/client_secret");
}

#[test]
fn a_connector_without_a_page_for_users_has_only_the_other_ways() {
    let provider = OAuthProvider::start(Dialect::strict());
    provider.add_client("robot", SECRET);
    let additions = json!([{"is": "client_credentials"}]);
    let described = json!({
        "identifier": "account", "auth": "oauth2", "authorization_url": "", "scopes": ["read"], "additions": additions,
    });
    let section = format!(
        "[connectors.account]\nallow_private_network = true\noauth.token_url = \"{}\"\nupstreams.api = \"{}\"\n\
         upstreams.other = \"{}\"",
        provider.token_url(),
        provider.api(),
        provider.api()
    );
    let gateway = Setup::new().module("account", module::account(&described)).config(&section).start();
    let client = gateway.client();
    let ways = client.get("/connectors/account/auth-schema").ok()["auth_types"].clone();
    assert_eq!(ways.as_array().unwrap().len(), 1);
    assert_eq!(ways[0]["auth_type"], "oauth2_client_credentials");
    post(&client, client_credentials("robot")).ok();
    assert_eq!(who(&client).ok()["id"], "robot");
}

#[test]
fn secrets_go_only_where_the_operator_trusts_the_site() {
    let provider = OAuthProvider::start(Dialect::strict());
    provider.add_client("robot", SECRET);
    let described = json!({
        "identifier": "account", "auth": "oauth2", "authorization_url": "", "token_url": provider.token_url(), "scopes": ["read"],
        "additions": [{"is": "client_credentials"}],
    });
    let gateway = Setup::new().module("account", module::account(&described)).start();
    let problem = post(&gateway.client(), client_credentials("robot")).problem(503, "integration-not-configured");
    assert!(problem["detail"].as_str().unwrap().contains("127.0.0.1"), "{problem}");
    assert_eq!(provider.events().len(), 0);
}

#[test]
fn only_describe_declares_ways_to_authorize() {
    let provider = OAuthProvider::start(Dialect::strict());
    provider.add_client("robot", SECRET);
    let gateway = gateway(&Store::Sqlite, &provider);
    let client = gateway.client();
    post(&client, client_credentials("robot")).ok();
    client.call("account/declare", json!({})).problem(500, "connector-failed");
    gateway.wait_for_log("the trap", |line| {
        line.to_string().contains("`auth-additions.client-credentials` in an operation; only `describe` declares")
    });
}

#[test]
fn declarations_that_break_a_rule_are_refused() {
    let refusal = |auth: &str, additions: Value| {
        let described = json!({"identifier": "account", "auth": auth, "additions": additions});
        let gateway = Setup::new().start();
        gateway.home().put("account", &module::account(&described));
        gateway.wait_for_refusal("account.wasm")
    };
    let client = || json!({"is": "client_credentials"});
    let reason = refusal("api_key", json!([client()]));
    assert!(reason.contains("`client-credentials`: it needs the auth scheme `oauth2`"), "{reason}");
    let reason = refusal("oauth2", json!([client(), client()]));
    assert!(reason.contains("it called `auth-additions.client-credentials` twice"), "{reason}");
    let codes = |codes: &[&str]| json!({"is": "ended_codes", "codes": codes});
    let reason = refusal("oauth2", json!([codes(&["token consumed"])]));
    assert!(
        reason.contains("`ended-codes`, `token consumed`: a code has 1 to 64 visible ASCII characters"),
        "{reason}"
    );
    let reason = refusal("oauth2", json!([codes(&["gone"]), codes(&["consumed"])]));
    assert!(reason.contains("it called `auth-additions.ended-codes` twice"), "{reason}");
    let reason = refusal("oauth2", json!([{"is": "app", "upstream": "none", "path": "/x"}]));
    assert!(reason.contains("there is no upstream `none`"), "{reason}");
    assert!(reason.contains("contains `{installation_id}` once"), "{reason}");
}
