//! The proofs that a notification comes from the service. All checks of an inbox must hold.
//!
//! - here: the checks of an inbox, and which items of a batch pass them
//! - `hmac`: signatures
//! - `token`: secrets that a notification repeats
//! - `jwt`: tokens of an issuer

mod hmac;
mod jwt;
mod token;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use ::jwt::KeySet;
use contract::Inbox;
use contract::trigger_types::{Check, CheckEncoding, CheckHash, CheckPart, CheckSecret, HmacCheck, Place};
use hyper::Method;
use secrecy::SecretString;

use crate::document::Document;
use crate::notification::Notification;
use crate::rejection::Rejection;

/// The facts about an inbox that its JWTs are compared with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The address of the inbox, as the service knows it.
    pub url: &'a str,
    /// The operator's settings of the connector.
    pub settings: &'a BTreeMap<String, String>,
    /// The keys of issuers, by their URL in the declaration.
    pub keys: &'a BTreeMap<String, Arc<KeySet>>,
}

/// The proof that [`verify`] has accepted a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// `None` if the checks are about the whole notification. Else says for each item if its token
    /// is right.
    items: Option<Vec<bool>>,
}

impl Verified {
    /// Returns `true` if the item with this number is verified.
    pub(crate) fn has(&self, item: usize) -> bool {
        self.items.as_ref().is_none_or(|items| items.get(item).copied().unwrap_or(false))
    }
}

/// Verifies a notification. Each of the secrets may be the right one.
///
/// # Errors
/// If a check fails, or no item of a batch passes all checks.
pub fn verify(
    inbox: &Inbox,
    notification: &Notification<'_>,
    secrets: &[SecretString],
    context: &Context<'_>,
    now: SystemTime,
) -> Result<Verified, Rejection> {
    if notification.method != Method::POST {
        return Err(Rejection::NotPost);
    }
    if inbox.checks.is_empty() {
        return Err(Rejection::NoCheck);
    }
    let mut pointers = Vec::new();
    for check in &inbox.checks {
        match check {
            Check::Hmac(check) => hmac::check(check, notification, secrets, now)?,
            Check::Token(Place::Pointer(pointer)) => pointers.push(pointer.as_str()),
            Check::Token(place) => token::check(place, notification, secrets)?,
            Check::Jwt(check) => jwt::check(check, notification, context, now)?,
        }
    }
    if pointers.is_empty() {
        return Ok(Verified { items: None });
    }
    if secrets.is_empty() {
        return Err(Rejection::NoSecret);
    }
    let document = Document::read(inbox, notification.body).map_err(|_| Rejection::NoToken)?;
    let items = document.items(inbox).map_err(|_| Rejection::NoToken)?;
    let verified = items.iter().map(|item| token::check_item(document.part(item), &pointers, secrets));
    let verified: Vec<Result<(), Rejection>> = verified.collect();
    if verified.iter().any(Result::is_ok) {
        return Ok(Verified { items: Some(verified.iter().map(Result::is_ok).collect()) });
    }
    let wrong = verified.contains(&Err(Rejection::WrongToken));
    Err(if wrong { Rejection::WrongToken } else { Rejection::NoToken })
}

/// Does the work of [`verify`] for an address that does not exist, so that the time of an answer
/// does not say if it does.
pub fn verify_nothing(notification: &Notification<'_>, now: SystemTime) {
    let check = HmacCheck {
        hash: CheckHash::Sha256,
        secret: CheckSecret::Text,
        encoding: CheckEncoding::Hex,
        text: vec![CheckPart::Body],
        separator: String::new(),
        signature: Place::Header("authorization".to_owned()),
        prefix: String::new(),
        list_separator: None,
        timestamp: None,
        tolerance_seconds: 0,
    };
    let secret = [SecretString::from("no inbox has this secret")];
    let _ = hmac::compare(&check, notification, &secret, &[String::new()], now);
}

/// The value of a setting as text, for [`Context::settings`]. A JSON string loses its quotes, and
/// other JSON stays as it is.
#[must_use]
pub fn setting_text(json: &str) -> String {
    serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned())
}
