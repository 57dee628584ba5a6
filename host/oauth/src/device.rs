//! The device authorization grant (RFC 8628): the user opens a page of the provider on any device
//! and enters a code, and the gateway asks the token URL if the user has decided.

use std::time::Duration;

use hyper::Method;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use oauth2::basic::BasicTokenResponse;
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use super::endpoint::Endpoint;
use super::error::{NotConfigured, TokenError};
use super::error_text::ErrorText;
use super::provider::{Provider, additional};
use super::response::Response;
use super::token_response::{TokenLocation, standard_tokens};
use super::tokens::Tokens;
use contract::ClientAuthentication;
use contract_rules::text::is_hidden;
use egress::{Body, Credential, Headers, secret_field};

/// The grant type of a device code (RFC 8628, section 3.4).
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The time between two requests if the provider names none (RFC 8628, section 3.2).
const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);

/// The longest time between two requests. A longer one would be a mistake of the provider.
pub const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// The longest life of a device code. No user needs a day to enter a code.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 3600);

/// The longest texts that are accepted from a provider. User codes have some 8 characters.
const MAX_CODE_BYTES: usize = 2048;
const MAX_USER_CODE_CHARACTERS: usize = 64;
const MAX_URL_BYTES: usize = 2048;

/// A code for the user, and the code that the gateway asks with.
pub struct DeviceAuthorization {
    /// Identifies the authorization to the provider.
    pub device_code: SecretString,
    /// The code that the user enters.
    pub user_code: String,
    /// The page on which the user enters the code: an `https` or `http` URL.
    pub verification_uri: String,
    /// The same page with the code, if the provider has one.
    pub verification_uri_complete: Option<String>,
    /// The time in which the user can enter the code.
    pub expires_in: Duration,
    /// The time between two requests.
    pub interval: Duration,
}

/// A provider's answer about a device code.
pub enum DeviceAnswer {
    /// The user has not decided yet.
    Pending,
    /// The user has not decided yet, and the requests are too frequent.
    SlowDown,
    /// The user has consented.
    Granted(Box<Tokens>),
}

impl Provider {
    /// Asks the provider for a code for the user.
    ///
    /// # Errors
    /// The outer error says that the URL is not set, the inner one that the provider gave no code.
    pub async fn device_authorization(
        &self,
        connector: &str,
    ) -> Result<Result<DeviceAuthorization, TokenError>, NotConfigured> {
        let Some(endpoint) = &self.device else {
            let missing = vec![format!("connectors.{connector}.oauth.device_authorization_url")];
            return Err(NotConfigured::missing(connector, missing));
        };
        let mut form = Vec::new();
        if !self.scopes.is_empty() {
            form.push((self.scheme.scope_parameter.clone(), self.scopes.join(&self.scheme.scope_separator)));
        }
        // Scopes have a separate setting.
        let is_other = |(name, _): &(&str, &str)| *name != self.scheme.scope_parameter;
        let parameters = additional(&self.scheme.authorization_parameters).filter(is_other);
        form.extend(parameters.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Ok(async {
            let error_text = self.error_text(None);
            let body = self.post_as_client(endpoint, form).await?.accepted(&error_text, &[])?;
            device_authorization(body.as_ref())
        }
        .await)
    }

    /// Asks the provider if the user has decided about a device code.
    ///
    /// # Errors
    /// See [`TokenError`]. `Unavailable` means that the next request may succeed. `Refused` has the
    /// code `access_denied` if the user has declined, and `expired_token` if the code has expired.
    pub async fn poll_device(&self, device_code: &SecretString) -> Result<DeviceAnswer, TokenError> {
        let mut form =
            vec![("grant_type".to_owned(), DEVICE_CODE.to_owned()), secret_field("device_code", device_code)];
        let parameters = additional(&self.scheme.token_parameters);
        form.extend(parameters.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let response = self.post_as_client(&self.token.endpoint, form).await?;
        if response.has_error("authorization_pending") {
            return Ok(DeviceAnswer::Pending);
        }
        if response.has_error("slow_down") {
            return Ok(DeviceAnswer::SlowDown);
        }
        let body = response.accepted(&self.error_text(Some(device_code)), &self.ended_codes)?;
        let location = TokenLocation { pointer: &self.scheme.token_pointer, or_top: false };
        let standard = standard_tokens(body.as_ref(), &location)?;
        let tokens: BasicTokenResponse = serde_json::from_value(standard)
            .map_err(|_| TokenError::not_understood("it does not contain tokens in the form of RFC 6749"))?;
        self.tokens(Ok(tokens)).map(|tokens| DeviceAnswer::Granted(Box::new(tokens)))
    }

    /// Posts a form as the client of the gateway.
    async fn post_as_client(
        &self,
        endpoint: &Endpoint,
        mut form: Vec<(String, String)>,
    ) -> Result<Response, TokenError> {
        let secret = self.client.client_secret.as_ref();
        let credential = match self.scheme.client_authentication {
            ClientAuthentication::Basic if secret.is_some() => {
                Some(Credential::client(&self.client.client_id, secret)?)
            }
            ClientAuthentication::Basic | ClientAuthentication::Body => {
                form.push(("client_id".to_owned(), self.client.client_id.clone()));
                form.extend(secret.map(|secret| secret_field("client_secret", secret)));
                None
            }
        };
        let json = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        endpoint.send(&self.egress, Method::POST, Headers::trusted(json), Body::Form(form), credential).await
    }

    fn error_text(&self, device_code: Option<&SecretString>) -> ErrorText {
        let secrets: Vec<_> = self.client.client_secret.iter().chain(device_code).collect();
        ErrorText::without(&secrets)
    }
}

/// Reads the response of a device authorization endpoint (RFC 8628, section 3.2).
fn device_authorization(body: Option<&Value>) -> Result<DeviceAuthorization, TokenError> {
    let body = body.ok_or_else(|| TokenError::not_understood("it is not JSON"))?;
    let text = |name: &str, most: usize| {
        let text = body.get(name)?.as_str()?;
        let is_sound = (1..=most).contains(&text.len()) && !text.contains(is_hidden);
        is_sound.then(|| text.to_owned())
    };
    let url = |name: &str| {
        let is_page = |text: &String| Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "https" | "http"));
        text(name, MAX_URL_BYTES).filter(is_page)
    };
    let missing = |name: &str| TokenError::not_understood(format!("it has no `{name}` that can be used"));
    let device_code = text("device_code", MAX_CODE_BYTES).filter(|code| code.bytes().all(|byte| byte.is_ascii()));
    // Some providers have the name of a draft of RFC 8628.
    let verification_uri = url("verification_uri").or_else(|| url("verification_url"));
    let complete = url("verification_uri_complete").or_else(|| url("verification_url_complete"));
    let seconds = |name: &str| match body.get(name)? {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64().map(|seconds| seconds as u64),
    };
    let expires_in = seconds("expires_in").filter(|seconds| *seconds > 0).map(Duration::from_secs);
    let interval = seconds("interval").filter(|seconds| *seconds > 0).map(Duration::from_secs);
    Ok(DeviceAuthorization {
        device_code: device_code.ok_or_else(|| missing("device_code"))?.into(),
        user_code: text("user_code", MAX_USER_CODE_CHARACTERS).ok_or_else(|| missing("user_code"))?,
        verification_uri: verification_uri.ok_or_else(|| missing("verification_uri"))?,
        verification_uri_complete: complete,
        expires_in: expires_in.ok_or_else(|| missing("expires_in"))?.min(LONGEST_LIFE),
        interval: interval.unwrap_or(DEFAULT_INTERVAL).min(LONGEST_INTERVAL),
    })
}
