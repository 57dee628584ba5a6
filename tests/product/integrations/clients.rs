//! Client credentials of connectors. A connector uses its own credentials. A shipped connector
//! without its own uses its provider's credentials.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::oauth::ClientAuthentication;
use support::{Client, Dialect, OAuthProvider, Setup, module};
use url::Url;

use super::{begin, callback_url, client, connect, init, me, started, who, who_as};
use crate::connectors::google_claims;

/// The two connectors of Google, and the paths of their upstreams.
const GOOGLES: [(&str, &[(&str, &str)]); 2] = [
    ("workspace_calendar", &[("api", "/calendar/v3"), ("oauth2", "/oauth2/v2")]),
    ("workspace_identity", &[("oauth2", "/oauth2/v2")]),
];

fn client_id(client: &Client, connector: &str) -> String {
    let url = Url::parse(&begin(client, connector)).unwrap();
    let mut ids = url.query_pairs().filter(|(name, _)| name == "client_id");
    ids.next().unwrap().1.into_owned()
}

/// The keys that the operator must set before an account can be connected.
#[track_caller]
fn missing(client: &Client, connector: &str) -> Value {
    let answer = client.post(&format!("/connectors/{connector}/integrations"), init());
    answer.problem(503, "integration-not-configured")["missing"].clone()
}

#[test]
fn a_call_without_an_account_is_the_operators_problem_while_no_client_is_set() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = started(Setup::new().account_without_client("account", &provider), &provider);
    let (operator, acme) = (gateway.client(), client(&gateway, "acme", None, "operate,integrate,proxy"));
    let keys = ["oauth_clients.account.client_id", "oauth_clients.account.client_secret"];
    for answer in [who(&acme), who_as(&acme, "ada"), acme.get("/proxy/account/api/me")] {
        let problem = answer.problem(503, "integration-not-configured");
        assert_eq!((&problem["owner"], &problem["missing"]), (&json!("operator"), &json!(keys)), "{problem}");
        assert_eq!(problem["redirect_uri"], callback_url(&gateway, "account"), "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(keys[0]) && detail.contains("redirect URL"), "{detail}");
    }
    // From now on, a user of the tenant can connect an account, and one of another tenant cannot.
    let Dialect { client_id, client_secret, .. } = provider.dialect();
    let own = json!({"client_id": client_id, "client_secret": client_secret});
    operator.request("PUT", "/admin/tenants/acme/oauth_clients/account").json(&own).send().ok();
    who(&acme).problem(424, "integration-required");
    who(&operator).problem(503, "integration-not-configured");
    connect(&acme, "account", "ada");
    assert_eq!(who(&acme).ok(), me("ada"));
}

#[test]
fn the_credentials_of_a_provider_serve_all_its_shipped_connectors() {
    let provider = OAuthProvider::start(Dialect::google());
    provider.on_api(google_claims);
    let mut setup = Setup::new().oauth_client("google", provider.dialect());
    for (connector, upstreams) in GOOGLES {
        setup = setup.shipped(connector).endpoints(connector, &provider, upstreams);
    }
    let gateway = started(setup, &provider);
    for (connector, _) in GOOGLES {
        assert_eq!(gateway.connector(connector).unwrap()["shipped"], true);
        // The provider refuses the exchange to any other client.
        connect(&gateway.client(), connector, "ada");
    }
}

#[test]
fn the_credentials_of_a_connector_take_precedence_over_its_providers() {
    let (google, own) = (OAuthProvider::start(Dialect::google()), OAuthProvider::start(Dialect::google()));
    let [(first, of_first), (second, of_second)] = GOOGLES;
    let setup = Setup::new().oauth_client("google", google.dialect()).shipped(first).shipped(second);
    let gateway = setup.provider(first, &own, of_first).endpoints(second, &google, of_second).start();
    assert_eq!(client_id(&gateway.client(), first), own.dialect().client_id);
    assert_eq!(client_id(&gateway.client(), second), google.dialect().client_id);
}

#[test]
fn a_foreign_connector_that_names_a_provider_gets_none_of_its_credentials() {
    let google = Dialect::google();
    let described = json!({"identifier": "account", "auth": "oauth2", "provider": "google"});
    let gateway = Setup::new()
        .shipped("workspace_identity")
        .module("account", module::account(&described))
        .oauth_client("google", &google)
        .start();
    let client = gateway.client();
    assert_eq!(client_id(&client, "workspace_identity"), google.client_id);
    assert_eq!(
        missing(&client, "account"),
        json!(["oauth_clients.account.client_id", "oauth_clients.account.client_secret"])
    );
    let answer = client.post("/connectors/account/integrations", init());
    assert!(!answer.text().contains(&google.client_id), "{}", answer.text());
    assert_eq!(answer.json()["redirect_uri"], callback_url(&gateway, "account"));
}

#[test]
fn a_foreign_connector_authorizes_with_its_own_credentials() {
    let (google, own) = (Dialect::google(), OAuthProvider::start(Dialect::strict()));
    let setup = Setup::new().oauth_client("google", &google);
    let gateway = started(setup.account_with("account", &own, &json!({"provider": "google"})), &own);
    connect(&gateway.client(), "account", "ada");
}

#[test]
fn a_connector_in_the_modules_folder_is_a_foreign_one_whatever_it_contains() {
    let gateway = Setup::new()
        .shipped("dex_market_data")
        .module("code_hosting", module::shipped("code_hosting"))
        .oauth_client("github", &Dialect::github())
        .start();
    assert_eq!(gateway.connector("code_hosting").unwrap()["shipped"], false);
    assert_eq!(
        missing(&gateway.client(), "code_hosting"),
        json!(["oauth_clients.code_hosting.client_id", "oauth_clients.code_hosting.client_secret"])
    );
    let warning = gateway.wait_for_log("the unused section", |line| line["section"] == "[oauth_clients.github]");
    assert_eq!(warning["nearest"], "[oauth_clients.code_hosting]");
    assert!(warning["message"].as_str().unwrap().contains("only connectors that came with the gateway"), "{warning}");
}

#[test]
fn no_foreign_connector_takes_the_name_of_a_provider_of_a_live_connector() {
    let gateway = Setup::new().every_shipped().start();
    let client = gateway.client();
    let live = client.get("/connectors").ok()["connectors"].as_array().unwrap().clone();
    let authorizing = live.iter().filter(|connector| connector["auth_type"] == "oauth2");
    let providers = authorizing.map(|connector| {
        let key = missing(&client, connector["connector"].as_str().unwrap())[0].as_str().unwrap().to_owned();
        key.split('.').nth(1).unwrap().to_owned()
    });
    let providers: BTreeSet<String> = providers.collect();
    assert!(providers.contains("google") && providers.len() >= 4, "{providers:?}");
    for provider in providers {
        gateway.home().put(&provider, &module::account(&json!({"identifier": provider, "auth": "oauth2"})));
        let reason = gateway.wait_for_refusal(&format!("{provider}.wasm"));
        for words in ["a provider's name", &format!("`oauth_clients.{provider}`"), "another identifier"] {
            assert!(reason.contains(words), "{words} in {reason}");
        }
        assert_eq!(gateway.connector(&provider), None);
    }
}

#[test]
fn the_operator_sets_client_authentication_and_parameters_that_the_manifest_lacks() {
    let dialect = Dialect { client_authentication: ClientAuthentication::Basic, ..Dialect::google() };
    let provider = OAuthProvider::start(dialect);
    let lacking =
        json!({"client_authentication": "body", "authorization_parameters": [["prompt", "login"], ["hd", "x"]]});
    let own = "oauth.client_authentication = \"basic\"\n\
               oauth.authorization_parameters = { access_type = \"offline\", prompt = \"consent\", hd = \"\" }";
    let setup = Setup::new().account_with("account", &provider, &lacking).config(own);
    let gateway = started(setup, &provider);
    let url = Url::parse(&begin(&gateway.client(), "account")).unwrap();
    let count = |name: &str| url.query_pairs().filter(|(parameter, _)| parameter == name).count();
    assert_eq!((count("prompt"), count("access_type"), count("hd")), (1, 1, 0), "{url}");
    // The provider refuses clients in the body, and authorizations without both parameters.
    connect(&gateway.client(), "account", "ada");
    provider.expire();
    assert_eq!(who(&gateway.client()).ok(), me("ada"));
}

#[test]
fn a_section_that_no_connector_uses_is_logged_with_the_nearest_name() {
    let provider = OAuthProvider::start(Dialect::strict());
    let setup = Setup::new().account("account", &provider).config("[connectors.acount]\nlimits.timeout_s = 5");
    let gateway = started(setup, &provider);
    let line = gateway.wait_for_log("the warning", |line| line["section"] == "[connectors.acount]");
    assert_eq!(
        (&line["level"], &line["nearest"]),
        (&serde_json::json!("WARN"), &serde_json::json!("[connectors.account]"))
    );
}
