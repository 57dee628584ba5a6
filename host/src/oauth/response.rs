//! A provider's response, and the meaning of its error codes.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::Value;

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
    "invalid_grant",
    "invalid_rapt",
    "invalid_refresh_token",
    "invalid_token",
    "login_required",
    "token_expired",
    "token_revoked",
    "unverified_user_email",
];

/// The gateway's registration with the provider, or the request, is not what the provider expects.
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

/// A response of a provider.
pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    /// `None` if the body is not JSON.
    pub(super) body: Option<Value>,
}

impl Response {
    /// The body of a successful response. Some providers report errors with a status of success,
    /// so the body is checked too.
    ///
    /// # Errors
    /// The provider's error, by who can fix it.
    pub(super) fn accepted(self, error_text: &ErrorText) -> Result<Option<Value>, TokenError> {
        let status = self.status.as_u16();
        if self.status.is_server_error() || matches!(status, 408 | 429) {
            return Err(TokenError::Unavailable {
                detail: format!("it answered with status {status}"),
                retry_after: self.retry_after,
            });
        }
        if let Some(error) = self.error() {
            let error = error_text.code(error);
            let description = self.description().map(|text| error_text.description(&text));
            return Err(self.classified(error, description));
        }
        if !self.status.is_success() {
            return Err(TokenError::not_understood(format!("it has status {status} and no error code")));
        }
        Ok(self.body)
    }

    /// The error code, if the response reports an error.
    pub(super) fn error(&self) -> Option<&str> {
        let without_code = || (self.body.as_ref()?.get("ok")? == &Value::Bool(false)).then_some("unknown_error");
        self.member("error").or_else(without_code)
    }

    fn description(&self) -> Option<String> {
        match (self.member("error_description").or_else(|| self.member("message")), self.member("error_subtype")) {
            (Some(text), Some(subtype)) => Some(format!("{subtype}: {text}")),
            (text, subtype) => text.or(subtype).map(str::to_owned),
        }
    }

    fn member(&self, name: &str) -> Option<&str> {
        self.body.as_ref()?.get(name)?.as_str().filter(|text| !text.is_empty())
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
