//! Signatures: an HMAC over parts of the notification.

use std::time::{SystemTime, UNIX_EPOCH};

use contract::trigger_types::{CheckPart, HmacCheck};
use ring::hmac::{Context, Key, Tag};
use secrecy::SecretString;

use crate::notification::Notification;
use crate::rejection::Rejection;
use crate::secret::{are_equal, decoded, hmac_key};

/// The most signatures of one notification that are compared. A service sends one for each secret
/// that is valid at its side.
const MAX_SIGNATURES: usize = 8;

/// Checks that one of the signatures was made with one of the secrets, and that the signed time is
/// near.
pub(super) fn check(
    check: &HmacCheck,
    notification: &Notification<'_>,
    secrets: &[SecretString],
    now: SystemTime,
) -> Result<(), Rejection> {
    let signatures = signatures(check, notification);
    if signatures.is_empty() && !secrets.is_empty() {
        return Err(Rejection::NoSignature);
    }
    compare(check, notification, secrets, &signatures, now)
}

/// As [`check`], with signatures that are known already.
pub(super) fn compare(
    check: &HmacCheck,
    notification: &Notification<'_>,
    secrets: &[SecretString],
    signatures: &[String],
    now: SystemTime,
) -> Result<(), Rejection> {
    if secrets.is_empty() {
        return Err(Rejection::NoSecret);
    }
    let keys: Vec<Key> = secrets.iter().filter_map(|secret| hmac_key(secret, check.secret, check.hash)).collect();
    if keys.is_empty() {
        return Err(Rejection::UnusableSecret);
    }
    let timestamp = match &check.timestamp {
        Some(place) => {
            let timestamp = notification.value(place).ok_or(Rejection::NoTimestamp)?;
            check_time(&timestamp, check.tolerance_seconds, now)?;
            Some(timestamp)
        }
        None => None,
    };
    let signatures: Vec<Vec<u8>> =
        signatures.iter().filter_map(|signature| decoded(signature, check.encoding)).collect();
    for key in &keys {
        let tag = sign(check, notification, timestamp.as_deref(), key)?;
        if signatures.iter().any(|signature| are_equal(tag.as_ref(), signature)) {
            return Ok(());
        }
    }
    Err(Rejection::WrongSignature)
}

/// The signatures that have the declared prefix, without it.
fn signatures(check: &HmacCheck, notification: &Notification<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for value in notification.values(&check.signature) {
        let parts: Vec<&str> = match check.list_separator.as_deref() {
            Some(separator) if !separator.is_empty() => value.split(separator).collect(),
            _ => vec![&value],
        };
        let signatures = parts.into_iter().filter_map(|part| part.trim().strip_prefix(check.prefix.as_str()));
        found.extend(signatures.filter(|signature| !signature.is_empty()).map(str::to_owned));
    }
    found.truncate(MAX_SIGNATURES);
    found
}

/// Checks that a time in seconds is at most so many seconds from now.
fn check_time(timestamp: &str, tolerance: u32, now: SystemTime) -> Result<(), Rejection> {
    let is_number = (1..=12).contains(&timestamp.len()) && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let sent: u64 = timestamp.parse().ok().filter(|_| is_number).ok_or(Rejection::NoTimestamp)?;
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if now.saturating_sub(sent) > u64::from(tolerance) {
        return Err(Rejection::TooOld);
    }
    if sent.saturating_sub(now) > u64::from(tolerance) {
        return Err(Rejection::TooNew);
    }
    Ok(())
}

/// The HMAC over the parts of the text.
fn sign(
    check: &HmacCheck,
    notification: &Notification<'_>,
    timestamp: Option<&str>,
    key: &Key,
) -> Result<Tag, Rejection> {
    let mut context = Context::with_key(key);
    for (index, part) in check.text.iter().enumerate() {
        if index > 0 {
            context.update(check.separator.as_bytes());
        }
        match part {
            CheckPart::Body => context.update(notification.body),
            CheckPart::Timestamp => context.update(timestamp.ok_or(Rejection::NoTimestamp)?.as_bytes()),
            CheckPart::Header(name) => {
                context.update(notification.header(name).ok_or(Rejection::NoHeader)?.as_bytes());
            }
            CheckPart::Literal(text) => context.update(text.as_bytes()),
        }
    }
    Ok(context.sign())
}
