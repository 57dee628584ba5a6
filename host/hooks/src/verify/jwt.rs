//! Tokens of an issuer (RFC 7519).

use std::time::SystemTime;

use contract::trigger_types::{Claim, JwtAudience, JwtCheck};
use jwt::{Algorithm, Claims, Expected, Token};
use serde_json::Value;

use super::Context;
use crate::notification::Notification;
use crate::rejection::Rejection;

/// The scheme of the header `Authorization` that is removed.
const BEARER: &str = "Bearer ";

/// Checks the token of a notification with the issuer's keys.
pub(super) fn check(
    check: &JwtCheck,
    notification: &Notification<'_>,
    context: &Context<'_>,
    now: SystemTime,
) -> Result<(), Rejection> {
    let value = notification.value(&check.place).ok_or(Rejection::NoToken)?;
    let token = Token::read(without_scheme(&value))?;
    if !matches!(token.algorithm(), Algorithm::RS256 | Algorithm::ES256) {
        return Err(Rejection::UnreadableToken);
    }
    let keys = context.keys.get(&check.jwks_url).ok_or(Rejection::NoKeys)?;
    let issuers: Vec<&str> = check.issuers.iter().map(String::as_str).collect();
    let set = |name: &String| context.settings.get(name).map(String::as_str);
    let audience = match &check.audience {
        JwtAudience::Address => context.url,
        JwtAudience::Setting(name) => set(name).unwrap_or(context.url),
    };
    let expected = Expected { issuers: &issuers, audience, has_subject: false };
    let claims = token.verify(keys, &expected, now)?;
    for (name, claim) in &check.claims {
        let wanted = match claim {
            Claim::Literal(text) => text,
            Claim::Setting(name) => set(name).ok_or(Rejection::NoSetting)?,
        };
        if !has_claim(&claims, name, wanted) {
            return Err(Rejection::WrongClaim);
        }
    }
    Ok(())
}

/// The token after the scheme, whose case does not matter (RFC 9110, section 11.1).
fn without_scheme(value: &str) -> &str {
    match value.split_at_checked(BEARER.len()) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(BEARER) => token.trim(),
        _ => value.trim(),
    }
}

fn has_claim(claims: &Claims, name: &str, wanted: &str) -> bool {
    match claims.get(name) {
        Some(Value::String(text)) => text == wanted,
        Some(Value::Bool(true)) => wanted == "true",
        Some(Value::Bool(false)) => wanted == "false",
        _ => false,
    }
}
