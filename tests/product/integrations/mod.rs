//! Integrations: the accounts that users connect. This file has the helpers that the tests share,
//! each other file one subject.

mod addresses;
mod callback;
mod clients;
mod closing;
mod consent;
mod crash;
mod device_codes;
mod failed_connections;
mod failover;
mod full_disk;
mod identity;
mod keys;
mod leaks;
mod lifecycle;
mod limits;
mod many_accounts;
mod outage;
mod own_credentials;
mod processes;
mod providers;
mod read_only;
mod refresh;
mod removal;
mod scale;
mod selection;
mod signatures;
mod sites;
mod tenant_isolation;
mod vault;
mod without_refresh;

use serde_json::{Value, json};
pub(crate) use support::accounts::{DONE, begin, callback_url, connect, email, ended, init, me, registered, success};
use support::{Answer, Client, Gateway, OAuthProvider, Setup, Store};

/// Declares each test once for SQLite and once for PostgreSQL. A test takes the store that it runs
/// on.
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

/// The error code of a failed authorization in the application's callback.
#[track_caller]
pub(crate) fn error_of(answer: &Answer) -> String {
    let pairs = ended(answer);
    let value = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    assert_eq!(value("status").as_deref(), Some("error"), "{pairs:?}");
    value("error").expect("an error is named")
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

/// A client with a new key of this tenant, subject and scopes.
pub(crate) fn client(gateway: &Gateway, tenant: &str, subject: Option<&str>, scopes: &str) -> Client {
    let mut arguments = vec!["keys", "create", "--name", "test", "--tenant", tenant];
    arguments.extend(scopes.split(',').flat_map(|scope| ["--scope", scope]));
    arguments.extend(subject.into_iter().flat_map(|subject| ["--subject", subject]));
    let key = gateway.home().run_ok(&arguments);
    gateway.anonymous().with_key(key.trim_end())
}
