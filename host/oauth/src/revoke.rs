//! The revocation of tokens at the provider.

use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::endpoint::{Endpoint, EndpointPolicy};
use super::error::TokenError;
use super::error_text::ErrorText;
use super::tokens::Tokens;
use config::{self, OauthClient};
use contract::{ClientAuthentication, Oauth2};
use egress::{Body, Credential, Egress, EgressError, Headers, secret_document, secret_field};

/// The placeholder in a manifest's URL, as it is written there and as a URL parser encodes it.
const CLIENT_ID: [&str; 2] = ["{client_id}", "%7Bclient_id%7D"];

/// The result of a revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// The provider has revoked the tokens, now or earlier.
    Revoked,
    /// The provider has no revocation endpoint.
    NotOffered,
}

/// Revokes tokens at one provider.
pub(super) struct Revoker {
    method: RevocationMethod,
    endpoint: Endpoint,
    client: OauthClient,
    /// `true` if the provider takes the client's id and secret in the body, `false` if in the
    /// `Authorization` header.
    client_in_body: bool,
}

/// The ways of `contract::Revocation`, without their URLs.
#[derive(Clone, Copy)]
enum RevocationMethod {
    Form,
    Bearer,
    Delete,
}

impl Revoker {
    /// Returns `None` if neither the manifest nor the operator names a URL. A URL that only the
    /// operator names takes a form, as in RFC 7009.
    ///
    /// The manifest's URL is not used if the operator replaced another URL of the provider. The
    /// tokens then belong to another provider, and the manifest's host must not see them.
    pub(super) fn new(
        scheme: &Oauth2,
        settings: &config::Connector,
        client: &OauthClient,
        policy: EndpointPolicy<'_>,
    ) -> Option<Self> {
        let (method, url) = match &scheme.revocation {
            None => (RevocationMethod::Form, ""),
            Some(contract::Revocation::Form(url)) => (RevocationMethod::Form, url.as_str()),
            Some(contract::Revocation::Bearer(url)) => (RevocationMethod::Bearer, url.as_str()),
            Some(contract::Revocation::Delete(url)) => (RevocationMethod::Delete, url.as_str()),
        };
        let url = if settings.oauth.replaces_provider() { "" } else { url };
        let mut url = settings.oauth.revocation_url.as_ref().map_or(url, Url::as_str).to_owned();
        let client_id: String = form_urlencoded::byte_serialize(client.client_id.as_bytes()).collect();
        for placeholder in CLIENT_ID {
            url = url.replace(placeholder, &client_id);
        }
        let url = Url::parse(&url).ok()?;
        let endpoint = Endpoint::new("revocation endpoint", &url, policy).ok()?;
        let client_in_body = scheme.client_authentication == ClientAuthentication::Body;
        Some(Self { method, endpoint, client: client.clone(), client_in_body })
    }

    /// Returns `true` if the access token authenticates the revocation, so that it must not have
    /// expired.
    pub(super) fn needs_access_token(&self) -> bool {
        !matches!(self.method, RevocationMethod::Form)
    }

    /// # Errors
    /// If the provider did not confirm that the tokens are revoked.
    pub(super) async fn revoke(&self, egress: &Egress, tokens: &Tokens) -> Result<Revocation, TokenError> {
        let (method, body, credential) = self.request(tokens)?;
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        let secrets: Vec<_> =
            [Some(&tokens.access_token), tokens.refresh_token.as_ref(), self.client.client_secret.as_ref()]
                .into_iter()
                .flatten()
                .collect();
        let response = self.endpoint.send(egress, method, Headers::trusted(headers), body, credential).await?;
        // The provider no longer has the token that should be deleted.
        if matches!(self.method, RevocationMethod::Delete) && response.status == StatusCode::NOT_FOUND {
            return Ok(Revocation::Revoked);
        }
        match response.accepted(&ErrorText::without(&secrets), &[]) {
            Ok(Some(body)) if body.get("revoked") == Some(&Value::Bool(false)) => {
                Err(TokenError::not_understood("it says that the token is not revoked"))
            }
            Ok(_) => Ok(Revocation::Revoked),
            Err(TokenError::Refused { error, .. }) if is_gone(&error) => Ok(Revocation::Revoked),
            Err(error) => Err(error),
        }
    }

    fn request(&self, tokens: &Tokens) -> Result<(Method, Body, Option<Credential>), EgressError> {
        let access_token = &tokens.access_token;
        let secret = self.client.client_secret.as_ref();
        let basic = || Credential::client(&self.client.client_id, secret);
        Ok(match self.method {
            RevocationMethod::Bearer => (Method::POST, Body::Empty, Some(Credential::bearer(access_token.clone())?)),
            RevocationMethod::Delete => (Method::DELETE, secret_document("access_token", access_token), Some(basic()?)),
            RevocationMethod::Form => {
                let (token, hint) = match &tokens.refresh_token {
                    Some(token) => (token, "refresh_token"),
                    None => (access_token, "access_token"),
                };
                let mut form = vec![secret_field("token", token), ("token_type_hint".to_owned(), hint.to_owned())];
                if !self.client_in_body && secret.is_some() {
                    return Ok((Method::POST, Body::Form(form), Some(basic()?)));
                }
                form.push(("client_id".to_owned(), self.client.client_id.clone()));
                form.extend(secret.map(|secret| secret_field("client_secret", secret)));
                (Method::POST, Body::Form(form), None)
            }
        })
    }
}

/// Returns `true` if an error says that the provider no longer accepts the token. The aim of the
/// revocation is then reached.
fn is_gone(error: &str) -> bool {
    matches!(error, "account_inactive" | "invalid_token" | "token_revoked")
}
