//! A provider's response, and the meaning of its error codes.

use std::borrow::Cow;
use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::error::TokenError;
use super::error_text::ErrorText;

/// The code or token is not valid or no longer valid. Only the user can give another one.
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
    "invalid_code_verifier",
    "invalid_grant",
    "invalid_rapt",
    "invalid_refresh_token",
    "invalid_token",
    "login_required",
    "token_expired",
    "token_revoked",
    "unverified_user_email",
    "user_email_unverified",
];

/// The gateway's registration with the provider, or the request, is not what the provider expects.
const MISCONFIGURED: &[&str] = &[
    "admin_policy_enforced",
    "application_suspended",
    "bad_client_secret",
    "bad_redirect_uri",
    "cannot_install_an_org_installed_app",
    "deleted_client",
    "disabled_client",
    "incorrect_client_credentials",
    "invalid_client",
    "invalid_client_id",
    "invalid_grant_type",
    "invalid_resource",
    "invalid_scope",
    "no_scopes",
    "oauth_authorization_url_mismatch",
    "org_internal",
    "pkce_not_allowed",
    "redirect_uri_mismatch",
    "unauthorized_client",
    "unsupported_grant_type",
];

/// The same request may succeed later.
const UNAVAILABLE: &[&str] = &[
    "fatal_error",
    "internal_error",
    "rate_limit_exceeded",
    "ratelimited",
    "request_timeout",
    "server_error",
    "service_unavailable",
    "slow_down",
    "temporarily_unavailable",
];

/// Members with an error code, in the order of preference. Some providers have them in an object.
const CODES: &[&str] = &["error", "code", "type", "error_code", "errorCode", "status", "reason"];

/// Members with a text about an error, in the order of preference.
const TEXTS: &[&str] = &["error_description", "message"];

/// A response of a provider.
pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    /// `None` if the body is neither JSON nor a form.
    pub(super) body: Option<Value>,
}

impl Response {
    pub(super) fn new(status: StatusCode, retry_after: Option<Duration>, body: &[u8]) -> Self {
        Self { status, retry_after, body: serde_json::from_slice(body).ok().or_else(|| form(body)) }
    }

    /// The body of a successful response. Some providers report errors with a status of success,
    /// so the body is checked too. `ended_codes` are the codes that the connector declares, of which
    /// each means that the grant has ended.
    ///
    /// # Errors
    /// The provider's error, by who can fix it.
    pub(super) fn accepted(self, error_text: &ErrorText, ended_codes: &[String]) -> Result<Option<Value>, TokenError> {
        let status = self.status.as_u16();
        if self.status.is_server_error() || matches!(status, 408 | 429) {
            return Err(TokenError::Unavailable {
                detail: format!("it answered with status {status}"),
                retry_after: self.retry_after,
            });
        }
        if self.reports_error() {
            return Err(self.classified(error_text, ended_codes));
        }
        if !self.status.is_success() {
            let detail = format!("it has status {status} and no error code");
            return Err(TokenError::NotUnderstood { detail, is_refusal: matches!(status, 400 | 401) });
        }
        Ok(self.body)
    }

    /// Returns `true` if the response reports an error of this code.
    pub(super) fn has_error(&self, code: &str) -> bool {
        self.reports_error() && self.texts(CODES).any(|text| letters(&text) == letters(code))
    }

    /// Returns `true` if the response has an error code, or says that it reports an error.
    fn reports_error(&self) -> bool {
        let member = |name: &str| self.body.as_ref().and_then(|body| body.get(name));
        let is_there = |value: &Value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
            Value::Bool(true) | Value::Number(_) => true,
        };
        [member("error"), member("errors")].into_iter().flatten().any(is_there)
            || member("ok") == Some(&Value::Bool(false))
            || (!self.status.is_success() && self.texts(CODES).next().is_some())
    }

    /// The texts of these members: of the body, of its object `error`, and of the first of its
    /// `errors`.
    fn texts<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = Cow<'a, str>> {
        let body = self.body.as_ref();
        let nested = [body.and_then(|body| body.get("error")), body.and_then(|body| body.pointer("/errors/0"))];
        let objects = [body].into_iter().chain(nested).flatten();
        objects.flat_map(move |object| names.iter().filter_map(|name| text(object.get(name)?)))
    }

    fn description(&self) -> Option<String> {
        let subtype = self.body.as_ref().and_then(|body| text(body.get("error_subtype")?));
        match (self.texts(TEXTS).next(), subtype) {
            (Some(text), Some(subtype)) => Some(format!("{subtype}: {text}")),
            (text, subtype) => text.or(subtype).map(Cow::into_owned),
        }
    }

    /// The error that the response reports. A code counts in any spelling, such as `INVALID_GRANT`,
    /// and also if it is in the place of a text. A declared code counts first, because it is about this
    /// provider.
    fn classified(&self, error_text: &ErrorText, ended_codes: &[String]) -> TokenError {
        let description = self.description().map(|text| error_text.description(&text));
        for text in self.texts(CODES).chain(self.texts(TEXTS)) {
            if let Some(code) = ended_codes.iter().find(|code| letters(code) == letters(&text)) {
                return TokenError::Refused { error: code.clone(), description };
            }
        }
        let known =
            |codes: &[&'static str], text: &str| codes.iter().find(|code| letters(code) == letters(text)).copied();
        for text in self.texts(CODES).chain(self.texts(TEXTS)) {
            if let Some(code) = known(REFUSED, &text) {
                return TokenError::Refused { error: code.to_owned(), description };
            }
            if let Some(code) = known(MISCONFIGURED, &text) {
                return TokenError::Misconfigured { error: code.to_owned(), description };
            }
            if let Some(code) = known(UNAVAILABLE, &text) {
                return TokenError::Unavailable {
                    detail: self.detail(code, description),
                    retry_after: self.retry_after,
                };
            }
        }
        let code = self.texts(CODES).next().unwrap_or(Cow::Borrowed("unknown_error"));
        let is_refusal = self.status.is_success() || matches!(self.status.as_u16(), 400 | 401 | 403);
        TokenError::NotUnderstood { detail: self.detail(&error_text.code(&code), description), is_refusal }
    }

    fn detail(&self, code: &str, description: Option<String>) -> String {
        let description = description.map(|text| format!(" ({text})")).unwrap_or_default();
        format!("status {} with the error {code}{description}", self.status.as_u16())
    }
}

/// A text, or a number as a text. `None` for an empty text.
fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) if !text.is_empty() => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}

/// The letters and digits of a code, without the marks between them.
fn letters(code: &str) -> String {
    code.chars()
        .filter(|character| character.is_ascii_alphanumeric())
        .map(|character| character.to_ascii_lowercase())
        .collect()
}

/// The fields of a form with tokens or an error. Some providers send one in place of JSON.
fn form(body: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(body).ok()?.trim();
    // A page is no form.
    if text.contains(['<', '{', ' ', '\n']) {
        return None;
    }
    let fields: Map<_, _> = form_urlencoded::parse(text.as_bytes())
        .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
        .collect();
    ["access_token", "error"].iter().any(|name| fields.contains_key(*name)).then_some(Value::Object(fields))
}
