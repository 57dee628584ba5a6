//! The connecting of accounts: an application, a person at a browser, and the provider.

use serde_json::{Value, json};
use url::Url;

use crate::oauth::browser;
use crate::{Answer, Client, Gateway, OAuthProvider, Person};

/// The callback URL of the application. No server is there, and no test opens it.
pub const DONE: &str = "http://127.0.0.1:9/done?from=test";

/// Registers a gateway's redirect URIs with the provider, and returns the gateway.
///
/// # Panics
/// When the gateway does not list its connectors.
pub fn registered(gateway: Gateway, provider: &OAuthProvider) -> Gateway {
    for connector in gateway.client().get("/connectors").ok()["connectors"].as_array().unwrap() {
        provider.register(&callback_url(&gateway, connector["connector"].as_str().unwrap()));
    }
    gateway
}

/// The redirect URI of a connector.
pub fn callback_url(gateway: &Gateway, connector: &str) -> String {
    format!("{}/connectors/{connector}/success-authorize-callback", gateway.address())
}

/// The request body that begins an authorization.
pub fn init() -> Value {
    json!({"auth_type": "oauth2", "callback_url": DONE})
}

/// Begins an authorization and returns the authorization URL.
///
/// # Panics
/// When the gateway refuses it.
#[track_caller]
pub fn begin(client: &Client, connector: &str) -> String {
    let begun = client.post(&format!("/connectors/{connector}/integrations"), init()).ok();
    begun["authorization_url"].as_str().unwrap().to_owned()
}

/// Connects a person's account, from the authorization to the application's callback.
///
/// # Panics
/// When that fails.
#[track_caller]
pub fn connect(client: &Client, connector: &str, name: &str) {
    let callback = Person::named(name).consents(&begin(client, connector));
    let end = ended(&browser::open(&callback));
    assert_eq!(end, success(connector, &email(name)));
}

/// The parameters of the application's callback after a success.
pub fn success(connector: &str, user_identifier: &str) -> Vec<(String, String)> {
    let pairs =
        [("from", "test"), ("status", "success"), ("connector", connector), ("user_identifier", user_identifier)];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// The parameters of the redirect to [`DONE`].
///
/// # Panics
/// When the answer is no such redirect.
#[track_caller]
pub fn ended(answer: &Answer) -> Vec<(String, String)> {
    assert_eq!(answer.status, 302, "{}", answer.text());
    let location = Url::parse(answer.header("location")).unwrap();
    assert_eq!((location.origin(), location.path()), (Url::parse(DONE).unwrap().origin(), "/done"), "{location}");
    location.query_pairs().into_owned().collect()
}

/// The email address of a person's account, which is the identifier of the integration.
pub fn email(name: &str) -> String {
    format!("{name}@example.com")
}

/// The answer of the provider's API about the account of a person.
pub fn me(name: &str) -> Value {
    let account = Person::named(name).account().clone();
    json!({"id": account.id, "email": account.email, "name": account.name})
}
