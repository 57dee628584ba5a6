//! From what a provider answers to the form of RFC 6749, or to an error.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Map, Value};

use super::error::TokenError;
use super::remark::Remarks;

/// The code or token was good once, or never was: another one is needed, and only the user can give it.
const REFUSED: &[&str] = &[
    "access_denied",
    "account_inactive",
    "bad_refresh_token",
    "bad_verification_code",
    "code_already_used",
    "code_expired",
    "consent_required",
    "expired_token",
    "interaction_required",
    "invalid_auth",
    "invalid_code",
    "invalid_grant",
    "invalid_rapt",
    "invalid_refresh_token",
    "invalid_token",
    "login_required",
    "token_expired",
    "token_revoked",
    "unverified_user_email",
];

/// The gateway's registration with the provider, or what is asked for, is not what the provider expects.
const MISCONFIGURED: &[&str] = &[
    "application_suspended",
    "bad_client_secret",
    "bad_redirect_uri",
    "deleted_client",
    "disabled_client",
    "incorrect_client_credentials",
    "invalid_client",
    "invalid_client_id",
    "invalid_grant_type",
    "invalid_scope",
    "redirect_uri_mismatch",
    "unauthorized_client",
    "unsupported_grant_type",
];

/// The same request may succeed later.
const UNAVAILABLE: &[&str] = &[
    "fatal_error",
    "internal_error",
    "ratelimited",
    "request_timeout",
    "server_error",
    "service_unavailable",
    "slow_down",
    "temporarily_unavailable",
];

/// An access token that claims to live longer is taken to live this long: what is later cannot be reckoned with everywhere.
const LONGEST_LIFE: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// An answer of a provider.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    /// None where it is no JSON.
    pub(super) body: Option<Value>,
}

impl Answer {
    /// The body of an answer that is no error. Some providers answer errors with a status of success.
    ///
    /// # Errors
    /// What went wrong, by who can mend it.
    pub(super) fn accepted(self, remarks: &Remarks) -> Result<Option<Value>, TokenError> {
        let status = self.status.as_u16();
        if self.status.is_server_error() || matches!(status, 408 | 429) {
            return Err(TokenError::Unavailable {
                detail: format!("it answered with status {status}"),
                retry_after: self.retry_after,
            });
        }
        if let Some(error) = self.error() {
            let error = remarks.code(error);
            let description = self.description().map(|text| remarks.description(&text));
            return Err(self.classified(error, description));
        }
        if !self.status.is_success() {
            return Err(TokenError::not_understood(format!("it has status {status} and no error code")));
        }
        Ok(self.body)
    }

    fn member(&self, name: &str) -> Option<&str> {
        self.body.as_ref()?.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    fn error(&self) -> Option<&str> {
        let says_no = || (self.body.as_ref()?.get("ok")? == &Value::Bool(false)).then_some("unknown_error");
        self.member("error").or_else(says_no)
    }

    fn description(&self) -> Option<String> {
        match (self.member("error_description").or_else(|| self.member("message")), self.member("error_subtype")) {
            (Some(text), Some(subtype)) => Some(format!("{subtype}: {text}")),
            (text, subtype) => text.or(subtype).map(str::to_owned),
        }
    }

    fn classified(&self, error: String, description: Option<String>) -> TokenError {
        if REFUSED.contains(&error.as_str()) {
            return TokenError::Refused { error, description };
        }
        if MISCONFIGURED.contains(&error.as_str()) {
            return TokenError::Misconfigured { error, description };
        }
        let description = description.map(|text| format!(" ({text})")).unwrap_or_default();
        let detail = format!("status {} with the error {error}{description}", self.status.as_u16());
        if UNAVAILABLE.contains(&error.as_str()) {
            return TokenError::Unavailable { detail, retry_after: self.retry_after };
        }
        TokenError::NotUnderstood { detail }
    }
}

/// Where in an answer the tokens are.
pub(super) struct TokenLocation<'a> {
    /// JSON Pointer to the object that holds them.
    pub(super) pointer: &'a str,
    /// Whether the answer itself may hold them instead: where one token was refreshed there is only one to be found.
    pub(super) or_top: bool,
}

/// The tokens of an answer, in the form of RFC 6749, section 5.1.
///
/// # Errors
/// When there is no access token in its place, or none that fits into a header.
pub(super) fn standard(body: Option<&Value>, location: &TokenLocation<'_>) -> Result<Value, TokenError> {
    let body = body.ok_or_else(|| TokenError::not_understood("it is no JSON"))?;
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
        // RFC 6749, appendix A.12: whatever else it is would not survive its way through a header.
        if !token.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(TokenError::not_understood(format!("its {name} holds characters that no token may hold")));
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

/// Seconds as a number or as text. What is no time, or none that lies ahead, says nothing.
fn lifetime(value: &Value) -> Option<Duration> {
    let seconds: f64 = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    if seconds.is_nan() || seconds < 1.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).min(LONGEST_LIFE))
}

/// Scopes joined by blanks, whether they come so, joined by commas, or as a list.
fn scopes(value: &Value) -> Option<String> {
    let joined = match value {
        Value::String(text) => text.replace(',', " "),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => return None,
    };
    Some(joined.split_whitespace().collect::<Vec<_>>().join(" "))
}
