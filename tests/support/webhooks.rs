//! Webhooks, as a receiver verifies them: with the reference library of Standard Webhooks.

use serde_json::{Value, json};
use standardwebhooks::Webhook;

use crate::{Client, Seen};

/// Makes a secret of the client's tenant, and returns its id and the secret.
///
/// # Panics
/// When the gateway makes none.
#[track_caller]
pub fn make_secret(client: &Client) -> (String, String) {
    let made = client.post("/webhooks/secrets", json!({})).ok();
    let text = |name: &str| made[name].as_str().expect("a text").to_owned();
    (text("id"), text("secret"))
}

/// Returns `true` if one of the signatures of a request was made with this secret, a moment ago.
///
/// # Panics
/// When the text is no secret.
pub fn is_signed_with(seen: &Seen, secret: &str) -> bool {
    Webhook::new(secret).unwrap().verify(&seen.body, &seen.headers).is_ok()
}

/// The body of a webhook, which is signed with this secret.
///
/// # Panics
/// When it is not a webhook, or not signed with the secret.
#[track_caller]
pub fn verified(seen: &Seen, secret: &str) -> Value {
    assert_eq!((seen.method.as_str(), seen.header("content-type")), ("POST", "application/json"));
    assert!(is_signed_with(seen, secret), "{:?}", seen.headers);
    serde_json::from_slice(&seen.body).unwrap()
}
