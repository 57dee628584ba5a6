//! Access tokens for the credentials that accounts bring: client credentials (RFC 6749,
//! section 4.4), assertions of service accounts (RFC 7523) and installations of applications.

use std::time::Duration;

use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use super::account_grant::{AccountGrant, ServiceAccountKey};
use super::assertion::{Claims, sign};
use super::endpoint::{Endpoint, EndpointPolicy};
use super::error::{DENIED, NotConfigured, TokenError};
use super::error_text::ErrorText;
use super::provider::{additional, manifest_url};
use super::recipients::Recipients;
use super::response::Response;
use super::revoke::{Revocation, Revoker};
use super::token_response::{TokenLocation, standard_tokens};
use super::tokens::Tokens;
use config::{self, BadKey, Config, OauthApp, OauthClient, rsa_key};
use contract::{AuthAdditions, ClientAuthentication, Oauth2};
use egress::{Body, Credential, Egress, Headers, secret_field};

/// The grant type of an assertion (RFC 7523, section 2.1).
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The connector whose accounts need tokens.
#[derive(Clone, Copy)]
pub struct AccountProvider<'a> {
    /// Identifier of the connector.
    pub connector: &'a str,
    /// The auth scheme of its manifest.
    pub scheme: &'a Oauth2,
    /// The ways to authorize that it declares in addition.
    pub additions: &'a AuthAdditions,
    /// The operator's settings, which take precedence.
    pub config: &'a Config,
    /// The sites that may receive the accounts' secrets.
    pub recipients: &'a Recipients,
    /// Sends the requests.
    pub egress: &'a Egress,
    /// The base URL of the upstream that `app-installation` names. `None` if only the operator knows
    /// it and has not set it.
    pub upstream: Option<&'a Url>,
}

/// Credentials that the gateway cannot use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableGrant {
    /// JSON Pointer into the credentials.
    pub pointer: &'static str,
    /// A sentence that says what to do.
    pub detail: String,
}

/// The place from which the tokens of one account come.
pub struct TokenSource<'a> {
    provider: AccountProvider<'a>,
    settings: &'a config::Connector,
    scheme: Oauth2,
    scopes: Vec<String>,
    url: Url,
    endpoint: Endpoint,
    request: TokenRequest<'a>,
}

/// The credentials with which a token is requested.
enum TokenRequest<'a> {
    ClientCredentials(&'a OauthClient),
    ServiceAccount { key: &'a ServiceAccountKey, subject: Option<&'a str> },
    AppInstallation { app: &'a OauthApp, is_operators: bool },
}

impl<'a> AccountProvider<'a> {
    /// The place from which the tokens of an account with these credentials come.
    ///
    /// # Errors
    /// If settings are missing that only the operator can set, or if the connector no longer takes
    /// such credentials.
    pub fn source(self, grant: &'a AccountGrant) -> Result<TokenSource<'a>, NotConfigured> {
        let settings = self.config.connector(self.connector);
        let scheme = settings.oauth.adjusted(self.scheme);
        let policy = EndpointPolicy { recipients: self.recipients, private_network: settings.allow_private_network };
        let missing = |missing: Vec<String>| NotConfigured::missing(self.connector, missing);
        let no_token_url = || missing(vec![format!("connectors.{}.oauth.token_url", self.connector)]);
        let token_url = settings.oauth.token_url.clone().or_else(|| manifest_url(&scheme.token_url));
        let (name, url, request) = match grant {
            AccountGrant::ClientCredentials { client, .. } => {
                ("token endpoint", token_url.ok_or_else(no_token_url)?, TokenRequest::ClientCredentials(client))
            }
            AccountGrant::ServiceAccount { key, subject, .. } => {
                let request = TokenRequest::ServiceAccount { key, subject: subject.as_deref() };
                ("token endpoint", token_url.ok_or_else(no_token_url)?, request)
            }
            AccountGrant::AppInstallation { installation_id, app } => {
                let operators = self.config.oauth_app(self.connector, &scheme.provider);
                let app_is_missing = || {
                    let name = if scheme.provider.is_empty() { self.connector } else { &scheme.provider };
                    missing(["app_id", "private_key"].map(|key| format!("oauth_clients.{name}.{key}")).to_vec())
                };
                let found = app.as_ref().or(operators).ok_or_else(app_is_missing)?;
                let request = TokenRequest::AppInstallation { app: found, is_operators: app.is_none() };
                let url = self.installation_url(installation_id);
                let upstream = self.additions.app_installation.as_ref().map_or("", |app| app.upstream.as_str());
                let no_url = || missing(vec![format!("connectors.{}.upstreams.{upstream}", self.connector)]);
                ("installation endpoint", url.ok_or_else(no_url)?, request)
            }
        };
        let endpoint = Endpoint::new(name, &url, policy).map_err(|_| no_token_url())?;
        let scopes = grant.scopes().map(<[String]>::to_vec).or_else(|| settings.oauth.scopes.clone());
        let scopes = scopes.unwrap_or_else(|| scheme.scopes.clone());
        Ok(TokenSource { provider: self, settings, scheme, scopes, url, endpoint, request })
    }

    /// The URL that answers with the tokens of an installation.
    fn installation_url(&self, installation_id: &str) -> Option<Url> {
        let installation = self.additions.app_installation.as_ref()?;
        let mut url = self.upstream?.clone();
        let path = format!("{}{}", url.path().trim_end_matches('/'), installation.path_of(installation_id));
        url.set_path(&path);
        Some(url)
    }
}

impl TokenSource<'_> {
    /// The scopes that are requested.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Checks the credentials as far as this is possible without the provider.
    ///
    /// # Errors
    /// The part that cannot be used.
    pub fn check(&self) -> Result<(), UnusableGrant> {
        let bad_key =
            |pointer| move |error: BadKey| UnusableGrant { pointer, detail: format!("Cannot be used: {error}.") };
        match &self.request {
            TokenRequest::ClientCredentials(_) | TokenRequest::AppInstallation { is_operators: true, .. } => Ok(()),
            TokenRequest::AppInstallation { app, .. } => {
                rsa_key(&app.private_key).map(drop).map_err(bad_key("/private_key"))
            }
            TokenRequest::ServiceAccount { key, .. } => {
                rsa_key(&key.private_key).map_err(bad_key("/key_file/private_key"))?;
                let named = key.token_uri.as_deref();
                if named.is_none_or(|named| named == self.url.as_str() || named == self.provider.scheme.token_url) {
                    return Ok(());
                }
                let detail = format!(
                    "Must be {}, the token URL of this connector, or be left out. The gateway sends assertions to no other URL.",
                    self.url
                );
                Err(UnusableGrant { pointer: "/key_file/token_uri", detail })
            }
        }
    }

    /// Fetches an access token.
    ///
    /// # Errors
    /// See [`TokenError`]. `Refused` means that the account's credentials are not accepted.
    pub async fn fetch(&self) -> Result<Tokens, TokenError> {
        let json = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        match &self.request {
            TokenRequest::ClientCredentials(client) => {
                let mut form = vec![("grant_type".to_owned(), "client_credentials".to_owned())];
                if !self.scopes.is_empty() {
                    let scopes = self.scopes.join(&self.scheme.scope_separator);
                    form.push((self.scheme.scope_parameter.clone(), scopes));
                }
                let secret = client.client_secret.as_ref();
                let credential = match self.scheme.client_authentication {
                    ClientAuthentication::Basic => Some(Credential::client(&client.client_id, secret)?),
                    ClientAuthentication::Body => {
                        form.push(("client_id".to_owned(), client.client_id.clone()));
                        form.extend(secret.map(|secret| secret_field("client_secret", secret)));
                        None
                    }
                };
                self.exchange(json, form, credential, secret.into_iter().collect()).await.map_err(of_account)
            }
            TokenRequest::ServiceAccount { key, subject } => {
                let scopes = self.scopes.join(" ");
                let declared = self.provider.additions.service_account.as_ref();
                let claims = Claims {
                    iss: &key.client_email,
                    sub: *subject,
                    aud: Some(declared.and_then(|declared| declared.audience.as_deref()).unwrap_or(self.url.as_str())),
                    scope: Some(scopes.as_str()).filter(|scopes| !scopes.is_empty()),
                };
                let key_id = key.private_key_id.as_deref();
                let assertion = sign(&key.private_key, key_id, &claims, clock::now()).await.map_err(unusable_key)?;
                let form =
                    vec![("grant_type".to_owned(), JWT_BEARER.to_owned()), secret_field("assertion", &assertion)];
                self.exchange(json, form, None, vec![&assertion]).await.map_err(of_account)
            }
            TokenRequest::AppInstallation { app, is_operators } => {
                let claims = Claims { iss: &app.id, sub: None, aud: None, scope: None };
                let of_owner = |error| if *is_operators { error } else { of_account(error) };
                let jwt = sign(&app.private_key, None, &claims, clock::now()).await;
                let jwt = jwt.map_err(|error| of_owner(misconfigured_key(error)))?;
                let credential = Credential::bearer(jwt.clone())?;
                let sent = self.endpoint.send(
                    self.provider.egress,
                    Method::POST,
                    Headers::trusted(json),
                    Body::Empty,
                    Some(credential),
                );
                installation_tokens(sent.await?, &ErrorText::without(&[&jwt]), self.ended_codes()).map_err(of_owner)
            }
        }
    }

    /// The codes with which the provider says that the account's credentials are no longer valid.
    fn ended_codes(&self) -> &[String] {
        &self.provider.additions.ended_codes
    }

    /// Posts a form to the token URL, and reads the tokens in the response.
    async fn exchange(
        &self,
        headers: HeaderMap,
        mut form: Vec<(String, String)>,
        credential: Option<Credential>,
        secrets: Vec<&SecretString>,
    ) -> Result<Tokens, TokenError> {
        let parameters = additional(&self.scheme.token_parameters);
        form.extend(parameters.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let (egress, headers) = (self.provider.egress, Headers::trusted(headers));
        let response = self.endpoint.send(egress, Method::POST, headers, Body::Form(form), credential).await?;
        let body = response.accepted(&ErrorText::without(&secrets), self.ended_codes())?;
        let location = TokenLocation { pointer: &self.scheme.token_pointer, or_top: true };
        let standard = standard_tokens(body.as_ref(), &location)?;
        let text = |name: &str| standard.get(name).and_then(Value::as_str);
        let default_lifetime = self.scheme.default_lifetime_seconds.map(|seconds| Duration::from_secs(seconds.into()));
        Ok(Tokens {
            access_token: text("access_token").unwrap_or_default().into(),
            // RFC 6749, section 4.4.3: the credentials take the place of a refresh token.
            refresh_token: None,
            expires_in: standard
                .get("expires_in")
                .and_then(Value::as_u64)
                .map(Duration::from_secs)
                .or(default_lifetime),
            scopes: text("scope").map(|scopes| scopes.split_whitespace().map(str::to_owned).collect()),
            grant: None,
        })
    }

    /// Revokes an access token, if the provider offers it in a way that these credentials can take.
    ///
    /// # Errors
    /// See [`TokenError`]. The provider did not confirm that the token is revoked.
    pub async fn revoke(&self, tokens: &Tokens) -> Result<Revocation, TokenError> {
        let TokenRequest::ClientCredentials(client) = &self.request else { return Ok(Revocation::NotOffered) };
        let recipients = self.provider.recipients;
        let policy = EndpointPolicy { recipients, private_network: self.settings.allow_private_network };
        match Revoker::new(&self.scheme, self.settings, client, policy) {
            None => Ok(Revocation::NotOffered),
            Some(revoker) => revoker.revoke(self.provider.egress, tokens).await,
        }
    }
}

/// The tokens of an installation: `token` and `expires_at`.
fn installation_tokens(
    response: Response,
    error_text: &ErrorText,
    ended_codes: &[String],
) -> Result<Tokens, TokenError> {
    let Response { status, retry_after, body } = &response;
    let description = body.as_ref().and_then(|body| body.get("message")).and_then(Value::as_str);
    let description = description.map(|text| error_text.description(text));
    let error = format!("status {}", status.as_u16());
    match *status {
        // The limit of requests, which some services report with this status.
        StatusCode::FORBIDDEN if retry_after.is_some() => {
            return Err(TokenError::Unavailable {
                detail: format!("it answered with {error}"),
                retry_after: *retry_after,
            });
        }
        StatusCode::UNAUTHORIZED => return Err(TokenError::Misconfigured { error, description }),
        StatusCode::FORBIDDEN | StatusCode::NOT_FOUND | StatusCode::GONE | StatusCode::UNPROCESSABLE_ENTITY => {
            return Err(TokenError::Refused { error, description });
        }
        _ => {}
    }
    let body =
        response.accepted(error_text, ended_codes)?.ok_or_else(|| TokenError::not_understood("it is not JSON"))?;
    let standard = serde_json::json!({"access_token": body.get("token")});
    let standard = standard_tokens(Some(&standard), &TokenLocation { pointer: "", or_top: true })
        .map_err(|_| TokenError::not_understood("it has no `token` that a header can carry"))?;
    let expires_at = body.get("expires_at").and_then(Value::as_str).and_then(|at| humantime::parse_rfc3339(at).ok());
    let expires_at = expires_at.ok_or_else(|| TokenError::not_understood("its `expires_at` is not a time in UTC"))?;
    Ok(Tokens {
        access_token: standard.get("access_token").and_then(Value::as_str).unwrap_or_default().into(),
        refresh_token: None,
        expires_in: Some(expires_at.duration_since(clock::now()).unwrap_or_default()),
        scopes: None,
        grant: None,
    })
}

/// The provider's errors about a client concern the account, because the client is the account's.
fn of_account(error: TokenError) -> TokenError {
    match error {
        TokenError::Misconfigured { error, description } if error != DENIED => {
            TokenError::Refused { error, description }
        }
        error => error,
    }
}

fn unusable_key(error: BadKey) -> TokenError {
    of_account(misconfigured_key(error))
}

fn misconfigured_key(error: BadKey) -> TokenError {
    TokenError::Misconfigured {
        error: "bad-key".to_owned(),
        description: Some(format!("the private key cannot be used: {error}")),
    }
}
