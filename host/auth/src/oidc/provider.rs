//! The OpenID provider, as it describes itself (OpenID Connect Discovery), and requests to it.

use std::time::Duration;

use hyper::Method;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use serde::Deserialize;
use tokio::time::Instant;
use url::Url;

use super::error::OidcError;
use super::secret::SignInSecret;
use super::settings::OidcSettings;
use crate::jwt::IdTokens;
use egress::{Body, Credential, Egress, EgressError, Headers, Request, Target, Upstream, secret_field};

/// The path of the description below the issuer.
const DESCRIPTION: &str = "/.well-known/openid-configuration";

/// The longest time of one request, because a person waits for it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The largest answer. Descriptions and tokens have some kilobytes.
const MAX_ANSWER_BYTES: u64 = 256 << 10;

/// The ways in which a client may prove itself at the token endpoint.
const BASIC: &str = "client_secret_basic";
const IN_BODY: &str = "client_secret_post";

/// The members of the description that the gateway needs.
#[derive(Deserialize)]
struct Description {
    issuer: String,
    authorization_endpoint: Url,
    token_endpoint: Url,
    jwks_uri: Url,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// The answer of the token endpoint.
#[derive(Deserialize)]
struct TokenAnswer {
    id_token: Option<String>,
    error: Option<String>,
}

/// A provider that has described itself.
pub(super) struct Provider {
    authorization_endpoint: Url,
    token_endpoint: Upstream,
    token_path: String,
    /// `true` if the client sends its secret in the body.
    proves_in_body: bool,
    pub(super) id_tokens: IdTokens,
}

impl Provider {
    /// Asks the provider for its description.
    pub(super) async fn discover(settings: &OidcSettings, egress: &Egress) -> Result<Self, OidcError> {
        let url = format!("{}{DESCRIPTION}", settings.issuer.trim_end_matches('/'));
        let url = Url::parse(&url).map_err(|_| not_understood("`issuer` is not a URL"))?;
        let (upstream, path) = Upstream::of_url("OpenID provider", &url, settings.allow_private_network)?;
        let request = request(Method::GET, path, HeaderMap::new(), Body::Empty);
        let (status, body) = send(egress, &upstream.without_redirects(), &request).await?;
        if status != 200 {
            return Err(unavailable(format!("its description at {DESCRIPTION} has status {status}")));
        }
        let description: Description = serde_json::from_slice(json_text::without_mark(&body))
            .map_err(|_| not_understood("its description lacks an endpoint, or is no JSON object"))?;
        Self::described(settings, egress, description)
    }

    fn described(settings: &OidcSettings, egress: &Egress, description: Description) -> Result<Self, OidcError> {
        let Description {
            issuer,
            authorization_endpoint,
            token_endpoint,
            jwks_uri,
            token_endpoint_auth_methods_supported: methods,
        } = description;
        // Otherwise another provider could give tokens in the name of this one.
        if issuer != settings.issuer {
            return Err(not_understood("its description is of another issuer than `console.oidc.issuer`"));
        }
        for url in [&authorization_endpoint, &token_endpoint, &jwks_uri] {
            let is_allowed = url.scheme() == "https" || url.scheme() == "http" && settings.allow_private_network;
            if !is_allowed {
                return Err(not_understood("its description has an endpoint without https"));
            }
        }
        let private = settings.allow_private_network;
        let (upstream, token_path) = Upstream::of_url("token endpoint", &token_endpoint, private)?;
        let methods = methods.unwrap_or_default();
        let offers = |method: &str| methods.iter().any(|offered| offered == method);
        Ok(Self {
            authorization_endpoint,
            token_endpoint: upstream.without_redirects(),
            token_path,
            proves_in_body: offers(IN_BODY) && !offers(BASIC),
            id_tokens: IdTokens::new(&settings.issuer, &settings.client_id, &jwks_uri, private, egress)?,
        })
    }

    /// The page on which a person signs in.
    pub(super) fn authorization_url(&self, settings: &OidcSettings, secret: &SignInSecret, redirect_uri: &str) -> Url {
        let mut url = self.authorization_endpoint.clone();
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &settings.client_id),
            ("redirect_uri", redirect_uri),
            ("scope", &settings.scopes.join(" ")),
            ("state", &secret.state()),
            ("nonce", &secret.nonce()),
            ("code_challenge", &secret.challenge()),
            ("code_challenge_method", "S256"),
        ]);
        url
    }

    /// Exchanges a code for an ID token.
    pub(super) async fn redeem(
        &self,
        settings: &OidcSettings,
        egress: &Egress,
        secret: &SignInSecret,
        code: &str,
        redirect_uri: &str,
    ) -> Result<String, OidcError> {
        let mut fields = vec![
            ("grant_type".to_owned(), "authorization_code".to_owned()),
            ("code".to_owned(), code.to_owned()),
            ("redirect_uri".to_owned(), redirect_uri.to_owned()),
            ("code_verifier".to_owned(), secret.verifier()),
        ];
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        match &settings.client_secret {
            Some(client_secret) if !self.proves_in_body => {
                let client = Credential::client(&settings.client_id, Some(client_secret));
                client.map_err(|_| not_understood("the client cannot be sent to it"))?.apply_header(&mut headers);
            }
            client_secret => {
                fields.push(("client_id".to_owned(), settings.client_id.clone()));
                fields.extend(client_secret.as_ref().map(|secret| secret_field("client_secret", secret)));
            }
        }
        let request = request(Method::POST, self.token_path.clone(), headers, Body::Form(fields));
        let (status, body) = send(egress, &self.token_endpoint, &request).await?;
        if status >= 500 || status == 429 {
            return Err(unavailable(format!("its token endpoint answers with status {status}")));
        }
        let answer: TokenAnswer = serde_json::from_slice(json_text::without_mark(&body))
            .map_err(|_| not_understood("its token endpoint sends no JSON object"))?;
        match answer {
            TokenAnswer { error: Some(error), .. } => Err(OidcError::Refused(error_code(&error))),
            TokenAnswer { id_token: Some(id_token), .. } if status == 200 => Ok(id_token),
            _ => Err(not_understood("its token endpoint sends no ID token")),
        }
    }
}

/// An error code of a provider (RFC 6749, section 5.2), without characters that such a code has
/// not.
pub fn error_code(text: &str) -> String {
    let is_usual = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.');
    text.chars().filter(is_usual).take(64).collect()
}

fn request(method: Method, path: String, headers: HeaderMap, body: Body) -> Request {
    Request {
        headers: Headers::trusted(headers),
        body,
        // A code can be redeemed once, so the request must not meet a connection that has ended.
        on_new_connection: true,
        ..Request::new(method, Target::Path(path), Instant::now() + TIMEOUT, MAX_ANSWER_BYTES)
    }
}

async fn send(egress: &Egress, upstream: &Upstream, request: &Request) -> Result<(u16, bytes::Bytes), OidcError> {
    let response = egress.send(upstream, request).await?;
    let status = response.status.as_u16();
    Ok((status, response.body.collect(MAX_ANSWER_BYTES).await?))
}

fn unavailable(detail: impl Into<String>) -> OidcError {
    OidcError::Unavailable(detail.into())
}

fn not_understood(detail: &str) -> OidcError {
    OidcError::NotUnderstood(detail.to_owned())
}

impl From<EgressError> for OidcError {
    fn from(error: EgressError) -> Self {
        Self::Unavailable(error.to_string())
    }
}
