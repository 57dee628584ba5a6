//! Tests with inboxes as providers need them.

mod batches;
mod conditions;
mod handshakes;
mod hostile;
mod items;
mod signatures;
mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contract::Inbox;
use contract::trigger_types::{Check, CheckEncoding, CheckHash, CheckPart, CheckSecret, HmacCheck, InboxScope, Place};
use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use ring::hmac;
use secrecy::SecretString;

use crate::secret::hex;
use crate::{Context, KeySet, Notification, Rejection, Verified};

/// The time of the tests, in seconds.
const NOW: u64 = 1_769_860_800;

/// The secret of the example that a provider publishes.
const SECRET: &str = include_str!("published_secret.txt");

/// A request that a test changes.
struct Request {
    method: Method,
    headers: HeaderMap,
    query: String,
    body: Vec<u8>,
}

impl Request {
    fn post(body: impl Into<Vec<u8>>) -> Self {
        Self { method: Method::POST, headers: HeaderMap::new(), query: String::new(), body: body.into() }
    }

    fn get(query: &str) -> Self {
        Self { method: Method::GET, query: query.to_owned(), ..Self::post("") }
    }

    fn header(mut self, name: &str, value: impl AsRef<str>) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers.append(name, HeaderValue::from_str(value.as_ref()).unwrap());
        self
    }

    fn query(mut self, query: &str) -> Self {
        query.clone_into(&mut self.query);
        self
    }

    fn notification(&self) -> Notification<'_> {
        Notification { method: &self.method, headers: &self.headers, query: &self.query, body: &self.body }
    }

    fn verify(&self, inbox: &Inbox, secrets: &[&str]) -> Result<Verified, Rejection> {
        self.verify_at(inbox, secrets, NOW)
    }

    fn verify_at(&self, inbox: &Inbox, secrets: &[&str], seconds: u64) -> Result<Verified, Rejection> {
        let (settings, keys) = (BTreeMap::new(), BTreeMap::new());
        let context = Context { url: "https://gateway.example/hooks/a", settings: &settings, keys: &keys };
        crate::verify(inbox, &self.notification(), &secrets_of(secrets), &context, at(seconds))
    }
}

fn secrets_of(secrets: &[&str]) -> Vec<SecretString> {
    secrets.iter().map(|secret| SecretString::from(*secret)).collect()
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn pointer(pointer: &str) -> Place {
    Place::Pointer(pointer.to_owned())
}

fn header(name: &str) -> Place {
    Place::Header(name.to_owned())
}

/// An inbox of a subscription whose body is one notification.
fn inbox(check: Check) -> Inbox {
    Inbox {
        name: "events".to_owned(),
        scope: InboxScope::Subscription,
        checks: vec![check],
        handshakes: Vec::new(),
        decode: None,
        items: None,
        id: vec![pointer("/id")],
        kind: vec![pointer("/type")],
        data: String::new(),
        time: None,
        accounts: Vec::new(),
        visibility: None,
        ignored: Vec::new(),
        lifecycle: Vec::new(),
        max_body: 1 << 20,
    }
}

/// A signature of the body alone.
fn signed_body() -> HmacCheck {
    HmacCheck {
        hash: CheckHash::Sha256,
        secret: CheckSecret::Text,
        encoding: CheckEncoding::Hex,
        text: vec![CheckPart::Body],
        separator: String::new(),
        signature: header("x-hub-signature-256"),
        prefix: "sha256=".to_owned(),
        list_separator: None,
        timestamp: None,
        tolerance_seconds: 300,
    }
}

fn hmac_hex(secret: &str, text: &[u8]) -> String {
    hex(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), text).as_ref())
}

/// A request whose body is signed as [`signed_body`] says.
fn signed(body: &str) -> Request {
    Request::post(body).header("x-hub-signature-256", format!("sha256={}", hmac_hex(SECRET, body.as_bytes())))
}

/// A whole notification that has passed the checks.
fn verified(inbox: &Inbox, request: &Request) -> Verified {
    request.verify(inbox, &[SECRET]).unwrap()
}

/// The keys of an issuer.
fn keys(url: &str, document: &str) -> BTreeMap<String, Arc<KeySet>> {
    [(url.to_owned(), Arc::new(KeySet::parse(document.as_bytes()).unwrap()))].into()
}
