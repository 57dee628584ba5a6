//! Rules of the contract that a connector could break, and what the gateway then does. This file
//! has the helpers that the tests share, each other file one subject.

mod answers;
mod credentials;
mod faults;
mod links;
mod manifests;
mod pagination;
mod replaced_grants;
mod settings;
mod triggers;

use serde_json::{Value, json};
use support::{Client, Dialect, Gateway, OAuthProvider, Seen, Setup};

use crate::integrations::{connect, started};

/// The guest `account` with the connected account of ada.
struct Connected {
    provider: OAuthProvider,
    /// The process ends when this is dropped.
    _gateway: Gateway,
    client: Client,
}

impl Connected {
    /// `config` is added to the connector's section.
    fn with(service: &Value, config: &str) -> Self {
        let provider = OAuthProvider::start(Dialect::strict());
        let setup = Setup::new().account_with("account", &provider, service).config(config);
        let gateway = started(setup, &provider);
        let client = gateway.client();
        connect(&client, "account", "ada");
        Self { provider, _gateway: gateway, client }
    }

    fn start() -> Self {
        Self::with(&json!({}), "")
    }

    /// The access token of the account.
    fn token(&self) -> String {
        self.provider.access_tokens().pop().expect("a token was issued")
    }

    /// The requests to the API that `call` causes.
    fn api_calls_of(&self, call: impl FnOnce()) -> Vec<Seen> {
        let before = self.provider.api_calls().len();
        call();
        self.provider.api_calls().split_off(before)
    }
}

/// Checks that a request contains none of the secrets in any place.
#[track_caller]
fn assert_without(secrets: &[String], seen: &Seen) {
    let shown = format!("{} {} {:?} {}", seen.path, seen.query, seen.headers, String::from_utf8_lossy(&seen.body));
    let decoded: String =
        seen.form().into_iter().chain(seen.parameters()).map(|(name, value)| format!("{name}={value} ")).collect();
    for secret in secrets {
        assert!(!shown.contains(secret) && !decoded.contains(secret), "{secret} in {shown}");
    }
}
