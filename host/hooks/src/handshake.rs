//! Requests by which a service proves that the address is the gateway's.

use contract::Inbox;
use contract::trigger_types::{EchoMember, Handshake, HmacQuery};
use ring::hmac;
use secrecy::SecretString;
use serde_json::json;

use crate::document::{Document, text_at};
use crate::notification::Notification;
use crate::secret::{encoded, hmac_key};
use crate::verify::Verified;

/// The longest text that is signed.
const MAX_SIGNED: usize = 512;

/// The longest text that is repeated. The ones in use have some hundred bytes.
const MAX_ECHO: usize = 4 << 10;

/// The answer to a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeAnswer {
    /// A text, which no browser may take for anything else.
    Text(String),
    /// A JSON object.
    Json(String),
}

/// The answer to a handshake that comes without a separate proof. `waiting` is `true` while a
/// subscription with this address is being made or renewed: at any other time, an echo would show
/// the text of anyone under the name of the gateway. The last secret is the newest one.
pub fn answer_before_verification(
    inbox: &Inbox,
    notification: &Notification<'_>,
    secrets: &[SecretString],
    waiting: bool,
) -> Option<HandshakeAnswer> {
    inbox.handshakes.iter().find_map(|handshake| match handshake {
        Handshake::EchoQuery(parameter) => {
            let value = notification.parameter(parameter).filter(|_| waiting)?;
            (1..=MAX_ECHO).contains(&value.len()).then(|| HandshakeAnswer::Text(value.into_owned()))
        }
        Handshake::HmacQuery(signed) => signature(signed, notification, secrets),
        Handshake::EchoMember(_) => None,
    })
}

/// The answer to a handshake that has passed the checks.
pub fn answer_after_verification(
    inbox: &Inbox,
    notification: &Notification<'_>,
    _verified: &Verified,
) -> Option<HandshakeAnswer> {
    let mut echoes = inbox.handshakes.iter().filter_map(|handshake| match handshake {
        Handshake::EchoMember(echo) => Some(echo),
        Handshake::EchoQuery(_) | Handshake::HmacQuery(_) => None,
    });
    let first = echoes.next()?;
    let document = Document::read(inbox, notification.body).ok()?;
    std::iter::once(first).chain(echoes).find_map(|EchoMember { when: (pointer, text), member }| {
        if text_at(document.text(), pointer)? != *text {
            return None;
        }
        text_at(document.text(), member).filter(|value| value.len() <= MAX_ECHO).map(HandshakeAnswer::Text)
    })
}

/// The HMAC of a query parameter. It is made with the secret that notifications are signed with, so
/// the text must not be able to be the body of one: a JSON object has braces.
fn signature(
    declared: &HmacQuery,
    notification: &Notification<'_>,
    secrets: &[SecretString],
) -> Option<HandshakeAnswer> {
    let HmacQuery { parameter, hash, secret, encoding, member, prefix } = declared;
    let value = notification.parameter(parameter)?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"_+/=-".contains(&byte);
    if !(1..=MAX_SIGNED).contains(&value.len()) || !value.bytes().all(is_token) {
        return None;
    }
    let key = secrets.iter().rev().find_map(|one| hmac_key(one, *secret, *hash))?;
    let tag = hmac::sign(&key, value.as_bytes());
    let text = format!("{prefix}{}", encoded(tag.as_ref(), *encoding));
    Some(HandshakeAnswer::Json(json!({ member: text }).to_string()))
}
