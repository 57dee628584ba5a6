//! Notifications of services. Anyone who can reach the gateway can send them.
//!
//! - [`refused`]: notifications that are not verified, and what their senders learn
//! - [`handshakes`]: requests by which a service proves that the address is the gateway's
//! - [`tokens`]: notifications with a token of an issuer
//! - [`events`]: from a notification to an event
//! - [`requests`]: what operators see of requests
//! - [`floods`]: more requests than a service sends
//! - [`listener`]: the address for services alone
//! - [`store`]: the store behind notifications
//! - [`starting`]: a gateway that has not loaded all connectors yet

mod events;
mod floods;
mod handshakes;
mod listener;
mod refused;
mod requests;
mod starting;
mod store;
mod tokens;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::{Value, json};
use support::jwt::at;
use support::{Answer, Call, Client, Gateway, Setup, wait_for};

/// The secret that the operator has from the service.
const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

/// The URL under which services reach the gateway. Only its path matters to the tests.
pub(crate) const PUBLIC: &str = "https://hooks.example/in";

/// A gateway whose connector is notified, without accounts.
fn gateway(general: &str) -> Gateway {
    setup().general(general).start()
}

fn setup() -> Setup {
    Setup::new().guest("notified").general(&format!("hooks.public_url = \"{PUBLIC}\""))
}

/// An inbox of an application.
pub(crate) struct Inbox {
    id: String,
    path: String,
    url: String,
}

impl Inbox {
    /// Makes an inbox, and gives it a secret if it needs one.
    fn of(gateway: &Gateway, name: &str, secret: Option<&str>) -> Self {
        Self::made(gateway, json!({"connector": "notified", "inbox": name}), secret)
    }

    /// Makes an inbox for the accounts of a tenant.
    fn of_tenant(gateway: &Gateway, tenant: &str) -> Self {
        Self::made(gateway, json!({"connector": "notified", "inbox": "signed", "tenant": tenant}), Some(SECRET))
    }

    fn made(gateway: &Gateway, body: Value, secret: Option<&str>) -> Self {
        let made = gateway.client().post("/admin/inboxes", body);
        assert_eq!(made.status, 201, "{}", made.text());
        let record = made.json();
        let (id, url) = (record["id"].as_str().unwrap().to_owned(), record["url"].as_str().unwrap().to_owned());
        if let Some(secret) = secret {
            let added = gateway.client().post(&format!("/admin/inboxes/{id}/secrets"), json!({"secret": secret}));
            assert_eq!(added.status, 201, "{}", added.text());
        }
        let path = url.strip_prefix(PUBLIC).unwrap().to_owned();
        Self { id, path, url }
    }

    pub(crate) fn signed(gateway: &Gateway) -> Self {
        Self::of(gateway, "signed", Some(SECRET))
    }

    /// A notification as the service signs it, sent this many seconds from now.
    pub(crate) fn push(&self, client: &Client, body: &str, seconds: i64) -> Call {
        let time = at(seconds).to_string();
        let signature = hmac_hex(SECRET, format!("v0:{time}:{body}").as_bytes());
        let call = client.request("POST", &self.path).header("x-request-timestamp", &time);
        call.header("x-signature", &format!("v0={signature}")).body(body.to_owned())
    }

    /// A notification that anyone can send.
    fn forge(&self, client: &Client, body: &str) -> Call {
        let signature = format!("v0={}", "0".repeat(64));
        let call = client.request("POST", &self.path).header("x-request-timestamp", &at(0).to_string());
        call.header("x-signature", &signature).body(body.to_owned())
    }

    /// Waits for the records of this many requests to the inbox, and returns them, the oldest first.
    #[track_caller]
    pub(crate) fn records(&self, gateway: &Gateway, count: usize) -> Vec<Value> {
        records(gateway, &format!("inbox={}", self.id), count)
    }
}

/// Waits for the records of this many requests, and returns them, the oldest first.
#[track_caller]
pub(crate) fn records(gateway: &Gateway, query: &str, count: usize) -> Vec<Value> {
    let mut records = wait_for("the records of requests", || {
        let listed = gateway.client().get(&format!("/admin/hook-requests?limit=200&{query}")).ok();
        listed["hook_requests"].as_array().filter(|records| records.len() >= count).cloned()
    });
    assert_eq!(records.len(), count, "{records:?}");
    records.reverse();
    records
}

/// The outcomes of records with their reasons.
pub(crate) fn outcomes(records: &[Value]) -> Vec<(&str, &str)> {
    let texts =
        records.iter().map(|record| ["outcome", "reason"].map(|name| record[name].as_str().unwrap_or_default()));
    texts.map(|[outcome, reason]| (outcome, reason)).collect()
}

pub(crate) fn hmac_hex(secret: &str, text: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), text);
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hmac_base64(secret: &str, text: &[u8]) -> String {
    STANDARD.encode(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), text))
}

/// The status and everything that a sender could compare.
fn seen(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let headers = answer.headers.iter().filter(|(name, _)| *name != "date");
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    (answer.status, headers.collect(), answer.text())
}

/// A notification of a message for a user.
fn message(id: &str) -> String {
    json!({"event_id": id, "event_time": at(0), "user": "nobody", "event": {"type": "message", "text": id}}).to_string()
}
