//! Giving a grant back.

use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use super::endpoint::{Endpoint, EndpointPolicy};
use super::error::TokenError;
use super::provider::Provider;
use super::remark::Remarks;
use super::tokens::Tokens;
use crate::config::{self, OauthClient};
use egress::{Body, Credential, EgressError, Headers};

/// In a manifest's URL, and as a URL spells it that was parsed before.
const CLIENT_ID: [&str; 2] = ["{client_id}", "%7Bclient_id%7D"];

/// What became of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// The provider has taken it back, or had done so before.
    Revoked,
    /// The provider offers no way.
    NotOffered,
}

/// How, and where.
pub(super) struct Revoker {
    manner: Manner,
    endpoint: Endpoint,
}

#[derive(Clone, Copy)]
enum Manner {
    Form,
    Bearer,
    Delete,
}

impl Revoker {
    /// None where neither manifest nor operator know of a way. What the operator alone knows of is a form after RFC 7009.
    pub(super) fn new(
        revocation: Option<&contract::Revocation>,
        settings: &config::Connector,
        client_id: &str,
        policy: EndpointPolicy<'_>,
    ) -> Option<Self> {
        let (manner, url) = match revocation {
            None => (Manner::Form, ""),
            Some(contract::Revocation::Form(url)) => (Manner::Form, url.as_str()),
            Some(contract::Revocation::Bearer(url)) => (Manner::Bearer, url.as_str()),
            Some(contract::Revocation::Delete(url)) => (Manner::Delete, url.as_str()),
        };
        let mut url = settings.oauth.revocation_url.as_ref().map_or(url, Url::as_str).to_owned();
        let client_id: String = form_urlencoded::byte_serialize(client_id.as_bytes()).collect();
        for placeholder in CLIENT_ID {
            url = url.replace(placeholder, &client_id);
        }
        let url = Url::parse(&url).ok()?;
        let endpoint = Endpoint::new("revocation endpoint", &url, policy).ok()?;
        Some(Self { manner, endpoint })
    }
}

impl Provider {
    /// Whether a grant is given back by its access token, which therefore must not have expired.
    pub fn revokes_by_access_token(&self) -> bool {
        self.revoker.as_ref().is_some_and(|revoker| !matches!(revoker.manner, Manner::Form))
    }

    /// Gives the grant back, as far as the provider lets it: with the refresh token, where there is one, goes all that came
    /// of it.
    ///
    /// # Errors
    /// See [`TokenError`]: the provider did not say that the grant is gone.
    pub async fn revoke(&self, tokens: &Tokens) -> Result<Revocation, TokenError> {
        let Some(revoker) = &self.revoker else { return Ok(Revocation::NotOffered) };
        let (method, body, credential) = self.composed(revoker.manner, tokens)?;
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        let secrets: Vec<_> =
            [Some(&tokens.access_token), tokens.refresh_token.as_ref(), self.client.client_secret.as_ref()]
                .into_iter()
                .flatten()
                .collect();
        let answer = revoker.endpoint.send(&self.egress, method, Headers::trusted(headers), body, credential).await?;
        // What there is no longer cannot be deleted.
        if matches!(revoker.manner, Manner::Delete) && answer.status == StatusCode::NOT_FOUND {
            return Ok(Revocation::Revoked);
        }
        match answer.accepted(&Remarks::without(&secrets)) {
            Ok(Some(body)) if body.get("revoked") == Some(&Value::Bool(false)) => {
                Err(TokenError::not_understood("it says that the token is not revoked"))
            }
            Ok(_) => Ok(Revocation::Revoked),
            Err(TokenError::Refused { error, .. }) if is_gone(&error) => Ok(Revocation::Revoked),
            Err(error) => Err(error),
        }
    }

    fn composed(&self, manner: Manner, tokens: &Tokens) -> Result<(Method, Body, Option<Credential>), EgressError> {
        let access_token = &tokens.access_token;
        Ok(match manner {
            Manner::Bearer => (Method::POST, Body::Empty, Some(Credential::bearer(access_token.clone())?)),
            Manner::Delete => {
                let body = json!({ "access_token": access_token.expose_secret() });
                (Method::DELETE, Body::Json(body.to_string().into()), Some(basic(&self.client)?))
            }
            Manner::Form => {
                let (token, hint) = match &tokens.refresh_token {
                    Some(token) => (token, "refresh_token"),
                    None => (access_token, "access_token"),
                };
                let mut form = vec![field("token", token), ("token_type_hint".to_owned(), hint.to_owned())];
                let secret = self.client.client_secret.as_ref();
                if !self.client_in_body && secret.is_some() {
                    return Ok((Method::POST, Body::Form(form), Some(basic(&self.client)?)));
                }
                form.push(("client_id".to_owned(), self.client.client_id.clone()));
                form.extend(secret.map(|secret| field("client_secret", secret)));
                (Method::POST, Body::Form(form), None)
            }
        })
    }
}

/// The provider knows the token no longer: what was wanted is so.
fn is_gone(error: &str) -> bool {
    matches!(error, "account_inactive" | "invalid_token" | "token_revoked")
}

fn field(name: &str, secret: &SecretString) -> (String, String) {
    (name.to_owned(), secret.expose_secret().to_owned())
}

/// RFC 6749, section 2.3.1: both parts are encoded as in a form before they are joined.
fn basic(client: &OauthClient) -> Result<Credential, EgressError> {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let secret = client.client_secret.as_ref().map(|secret| encode(secret.expose_secret())).unwrap_or_default();
    Credential::basic(&encode(&client.client_id), secret.into())
}
