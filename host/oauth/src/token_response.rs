//! The tokens in a provider's response, in the form of RFC 6749.

use std::time::Duration;

use serde_json::{Map, Value};

use super::error::TokenError;

/// Longest lifetime of an access token. Longer ones are cut to it, because not every system can
/// represent later times.
const LONGEST_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The place of the tokens in a response.
pub(super) struct TokenLocation<'a> {
    /// JSON Pointer to the object that contains them.
    pub(super) pointer: &'a str,
    /// `true` if the tokens may also be members of the response itself. The response to a refresh
    /// contains the tokens of one account only, so there is no other token to confuse them with.
    pub(super) or_top: bool,
}

/// The tokens of a response, in the form of RFC 6749, section 5.1.
///
/// # Errors
/// If there is no access token at its place, or if a token contains characters that a header cannot
/// carry.
pub(super) fn standard_tokens(body: Option<&Value>, location: &TokenLocation<'_>) -> Result<Value, TokenError> {
    let body = body.ok_or_else(|| TokenError::not_understood("it is not JSON"))?;
    let nested = body.pointer(location.pointer);
    let tokens = [nested, location.or_top.then_some(body)]
        .into_iter()
        .flatten()
        .find(|object| text(object, "access_token").is_some())
        .and_then(Value::as_object)
        .ok_or_else(|| TokenError::not_understood(no_token(location.pointer)))?;
    let mut standard = Map::new();
    standard.insert("token_type".to_owned(), "bearer".into());
    for name in ["access_token", "refresh_token"] {
        let Some(token) = tokens.get(name).and_then(Value::as_str).filter(|token| !token.is_empty()) else { continue };
        // RFC 6749, appendix A.12. Other characters do not survive in a header.
        if !token.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(TokenError::not_understood(format!(
                "its {name} contains characters that a token must not contain"
            )));
        }
        standard.insert(name.to_owned(), token.into());
    }
    if let Some(seconds) = tokens.get("expires_in").and_then(lifetime) {
        standard.insert("expires_in".to_owned(), seconds.as_secs().into());
    }
    if let Some(scopes) = tokens.get("scope").and_then(scopes) {
        standard.insert("scope".to_owned(), scopes.into());
    }
    Ok(standard.into())
}

fn text<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn no_token(pointer: &str) -> String {
    if pointer.is_empty() {
        "it has no access token".to_owned()
    } else {
        format!("it has no access token at {pointer}")
    }
}

/// A lifetime in seconds, given as a number or as text. `None` if the value is not a number or
/// not positive.
fn lifetime(value: &Value) -> Option<Duration> {
    let seconds: f64 = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    if seconds.is_nan() || seconds < 1.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).min(LONGEST_LIFETIME))
}

/// Scopes joined by spaces. Providers join them by spaces or commas, or send a list.
fn scopes(value: &Value) -> Option<String> {
    let joined = match value {
        Value::String(text) => text.replace(',', " "),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => return None,
    };
    Some(joined.split_whitespace().collect::<Vec<_>>().join(" "))
}
