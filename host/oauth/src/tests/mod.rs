//! Tests with a stub on loopback, which answers like the providers of the shipped connectors.

mod account_grants;
mod authorization;
mod device;
mod errors;
mod exchange;
mod recipients;
mod refresh;
mod revocation;
mod settings;

use std::collections::HashMap;

use secrecy::ExposeSecret;
use url::{Url, form_urlencoded};

use super::{Provider, Recipients, Revocation, TokenError, Tokens};
use config::{Config, Connector, Oauth, OauthClient};
use contract::sample::scheme;
use contract::{AuthAdditions, ClientAuthentication, Oauth2};
use egress::Egress;
use stub::{Answer, Seen, Stub, answer};

const REDIRECT_URI: &str = "https://gateway.example/connectors/demo/success-authorize-callback";
const CODE: &str = "code-4/0AeaYSHB";
const VERIFIER: &str = "verifier-dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const SECRET: &str = "s3cret/with+signs:and=more";
const REFRESH_TOKEN: &str = "refresh-token-1";

/// A configuration with a registration that may call loopback.
fn config() -> Config {
    let client = OauthClient { client_id: "client:1".to_owned(), client_secret: Some(SECRET.into()) };
    let connector = Connector { allow_private_network: true, ..Connector::default() };
    Config {
        oauth_clients: [("acme".to_owned(), client.into())].into(),
        connectors: [("demo".to_owned(), connector)].into(),
        ..Config::default()
    }
}

fn provider(scheme: &Oauth2) -> Provider {
    Provider::new("demo", scheme, &AuthAdditions::default(), &config(), &Recipients::OfManifest, egress(), None)
        .unwrap()
}

/// A provider whose token endpoint is the stub.
fn provider_at(stub: &Stub, scheme: Oauth2) -> Provider {
    provider(&Oauth2 { token_url: format!("{}/token", stub.url()), ..scheme })
}

async fn exchange(provider: &Provider) -> Result<Tokens, TokenError> {
    provider.exchange(CODE.into(), Some(VERIFIER.into()), REDIRECT_URI).await
}

async fn refresh(provider: &Provider) -> Result<Tokens, TokenError> {
    provider.refresh(&REFRESH_TOKEN.into()).await
}

/// Exchanges a code at a token endpoint that gives this answer.
async fn exchanged(scheme: Oauth2, status: u16, body: &'static str) -> Result<Tokens, TokenError> {
    let stub = Stub::start(move |_, _| json(status, body)).await;
    exchange(&provider_at(&stub, scheme)).await
}

/// Refreshes at a token endpoint that gives this answer.
async fn refreshed(scheme: Oauth2, status: u16, body: &'static str) -> Result<Tokens, TokenError> {
    let stub = Stub::start(move |_, _| json(status, body)).await;
    refresh(&provider_at(&stub, scheme)).await
}

fn json(status: u16, body: &'static str) -> Answer {
    answer(status, &[("content-type", "application/json; charset=utf-8")], body)
}

fn form(seen: &Seen) -> HashMap<String, String> {
    assert_eq!(seen.header("content-type"), Some("application/x-www-form-urlencoded"));
    let pairs: Vec<_> = form_urlencoded::parse(&seen.body).into_owned().collect();
    let form: HashMap<_, _> = pairs.iter().cloned().collect();
    assert_eq!(form.len(), pairs.len(), "a parameter is there twice: {pairs:?}");
    form
}

/// All fields as sorted text, so that a test sees each of them.
fn fields(form: &HashMap<String, String>) -> Vec<String> {
    let mut fields: Vec<_> = form.iter().map(|(name, value)| format!("{name}={value}")).collect();
    fields.sort();
    fields
}

fn query(url: &Url) -> HashMap<String, String> {
    let pairs: Vec<_> = url.query_pairs().into_owned().collect();
    let query: HashMap<_, _> = pairs.iter().cloned().collect();
    assert_eq!(query.len(), pairs.len(), "a parameter is there twice: {url}");
    query
}

fn access(tokens: &Tokens) -> &str {
    tokens.access_token.expose_secret()
}

fn refresh_token(tokens: &Tokens) -> Option<&str> {
    tokens.refresh_token.as_ref().map(ExposeSecret::expose_secret)
}

/// An HTTP client with the system's resolver.
fn egress() -> Egress {
    Egress::new(&egress::Settings::default()).unwrap()
}
