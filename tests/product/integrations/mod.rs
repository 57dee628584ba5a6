//! Integrations: the accounts that users connect. This file has the helpers that the tests share, each other file one
//! subject.

mod apart;
mod callback;
mod clients;
mod consent;
mod crash;
mod identity;
mod keys;
mod leaks;
mod lifecycle;
mod limits;
mod many;
mod outage;
mod processes;
mod providers;
mod refresh;
mod removal;
mod scale;
mod selection;
mod sites;
mod vault;
mod without_refresh;

use serde_json::{Value, json};
use support::oauth::browser;
use support::{Answer, Client, Gateway, OAuthProvider, Person, Setup, Store};
use url::Url;

/// The callback URL of the application. No server is there, and no test opens it.
pub(crate) const DONE: &str = "http://127.0.0.1:9/done?from=test";

/// Declares each test once for SQLite and once for PostgreSQL. A test takes the store that it runs on.
macro_rules! on_each_store {
    ($($test:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $test() { super::$test(&support::Store::Sqlite); })+
        }
        mod postgres {
            $(#[test] fn $test() { super::$test(&support::Store::postgres()); })+
        }
    };
}
pub(crate) use on_each_store;

/// A gateway with the guest `account`, whose users have accounts at the provider.
pub(crate) fn gateway(store: &Store, provider: &OAuthProvider) -> Gateway {
    started(Setup::new().on(store).account("account", provider), provider)
}

/// Starts a gateway and registers its redirect URIs with the provider.
pub(crate) fn started(setup: Setup, provider: &OAuthProvider) -> Gateway {
    registered(setup.start(), provider)
}

/// Registers a gateway's redirect URIs with the provider, and returns the gateway.
pub(crate) fn registered(gateway: Gateway, provider: &OAuthProvider) -> Gateway {
    for connector in gateway.client().get("/connectors").ok()["connectors"].as_array().unwrap() {
        provider.register(&callback_url(&gateway, connector["connector"].as_str().unwrap()));
    }
    gateway
}

/// The redirect URI of a connector.
pub(crate) fn callback_url(gateway: &Gateway, connector: &str) -> String {
    format!("{}/connectors/{connector}/success-authorize-callback", gateway.address())
}

/// The request body that begins an authorization.
pub(crate) fn init() -> Value {
    json!({"auth_type": "oauth2", "callback_url": DONE})
}

/// Begins an authorization and returns the authorization URL.
#[track_caller]
pub(crate) fn begin(client: &Client, connector: &str) -> String {
    let begun = client.post(&format!("/connectors/{connector}/integrations"), init()).ok();
    begun["authorization_url"].as_str().unwrap().to_owned()
}

/// Connects a person's account, from the authorization to the application's callback.
#[track_caller]
pub(crate) fn connect(client: &Client, connector: &str, name: &str) {
    let callback = Person::named(name).consents(&begin(client, connector));
    let end = ended(&browser::open(&callback));
    assert_eq!(end, success(connector, &email(name)));
}

/// The parameters of the application's callback after a success.
pub(crate) fn success(connector: &str, user_identifier: &str) -> Vec<(String, String)> {
    let pairs =
        [("from", "test"), ("status", "success"), ("connector", connector), ("user_identifier", user_identifier)];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// The parameters of the redirect to [`DONE`].
#[track_caller]
pub(crate) fn ended(answer: &Answer) -> Vec<(String, String)> {
    assert_eq!(answer.status, 302, "{}", answer.text());
    let location = Url::parse(answer.header("location")).unwrap();
    assert_eq!((location.origin(), location.path()), (Url::parse(DONE).unwrap().origin(), "/done"), "{location}");
    location.query_pairs().into_owned().collect()
}

/// The error code of a failed authorization in the application's callback.
#[track_caller]
pub(crate) fn error_of(answer: &Answer) -> String {
    let pairs = ended(answer);
    let value = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    assert_eq!(value("status").as_deref(), Some("error"), "{pairs:?}");
    value("error").expect("an error is named")
}

/// The email address of a person's account, which is the identifier of the integration.
pub(crate) fn email(name: &str) -> String {
    format!("{name}@example.com")
}

/// The path of a person's integration.
pub(crate) fn path(connector: &str, name: &str) -> String {
    format!("/connectors/{connector}/integrations/{name}%40example.com")
}

/// The record of a person's integration.
#[track_caller]
pub(crate) fn record(client: &Client, name: &str) -> Value {
    client.get(&path("account", name)).ok()
}

/// Calls the operation that forwards a request for the user's identity to the service.
pub(crate) fn who(client: &Client) -> Answer {
    client.call("account/forward", json!({"path": "/me"}))
}

/// As [`who`], for the account of a person.
pub(crate) fn who_as(client: &Client, name: &str) -> Answer {
    client
        .request("POST", "/connectors/account/forward")
        .header("x-user-identifier", &email(name))
        .json(&json!({"path": "/me"}))
        .send()
}

/// The service's answer to [`who`] for the account of a person.
pub(crate) fn me(name: &str) -> Value {
    let account = Person::named(name).account().clone();
    json!({"id": account.id, "email": account.email, "name": account.name})
}

/// A client with a new key of this tenant, subject and scopes.
pub(crate) fn client(gateway: &Gateway, tenant: &str, subject: Option<&str>, scopes: &str) -> Client {
    let mut arguments = vec!["keys", "create", "--name", "test", "--tenant", tenant];
    arguments.extend(scopes.split(',').flat_map(|scope| ["--scope", scope]));
    arguments.extend(subject.into_iter().flat_map(|subject| ["--subject", subject]));
    let key = gateway.home().run_ok(&arguments);
    gateway.stranger().with_key(key.trim_end())
}
