//! Secrets that a notification repeats.

use contract::trigger_types::Place;
use secrecy::SecretString;

use crate::document::text_at;
use crate::notification::Notification;
use crate::rejection::Rejection;
use crate::secret::is_secret;

/// Checks that the value at a place outside of the body is one of the secrets.
pub(super) fn check(place: &Place, notification: &Notification<'_>, secrets: &[SecretString]) -> Result<(), Rejection> {
    if secrets.is_empty() {
        return Err(Rejection::NoSecret);
    }
    let token = notification.value(place).ok_or(Rejection::NoToken)?;
    compare(&token, secrets)
}

/// Checks that an item of a batch has one of the secrets at each of the pointers.
pub(super) fn check_item(item: &str, pointers: &[&str], secrets: &[SecretString]) -> Result<(), Rejection> {
    pointers.iter().try_for_each(|pointer| compare(&text_at(item, pointer).ok_or(Rejection::NoToken)?, secrets))
}

fn compare(token: &str, secrets: &[SecretString]) -> Result<(), Rejection> {
    if secrets.iter().any(|secret| is_secret(token, secret)) { Ok(()) } else { Err(Rejection::WrongToken) }
}
