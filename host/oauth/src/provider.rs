//! The OAuth provider of one connector, as the manifest describes it and the operator's settings
//! replace it.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use oauth2::basic::{BasicClient, BasicErrorResponse, BasicTokenResponse};
use oauth2::{
    AsyncHttpClient, AuthType, AuthUrl, ClientId, CsrfToken, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse,
    PkceCodeChallenge, RequestTokenError, TokenResponse, TokenUrl,
};
use secrecy::SecretString;
use url::Url;

use super::endpoint::{Endpoint, EndpointPolicy};
use super::error::{NotConfigured, TokenError};
use super::error_text::ErrorText;
use super::recipients::{Recipients, site};
use super::revoke::{Revocation, Revoker};
use super::secret_text;
use super::token_response::{TokenLocation, standard_tokens};
use super::tokens::Tokens;
use config::{self, Config, OauthClient, PROTOCOL_PARAMETERS};
use contract::{AuthAdditions, ClientAuthentication, DeviceCode, Oauth2};
use egress::Egress;

/// The OAuth library's client, with the URL that every request needs.
type Library = BasicClient<EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

pub(super) type LibraryError = RequestTokenError<TokenError, BasicErrorResponse>;

/// The registration of a tenant with a provider. It takes the place of the configuration's.
#[derive(Clone, Debug)]
pub struct TenantClient {
    /// The id in the store, which authorizations and integrations remember.
    pub id: String,
    /// The registration.
    pub client: OauthClient,
    /// The scopes that users are asked to permit. `None` for the scopes of the connector.
    pub scopes: Option<Vec<String>>,
    /// The URL that the provider sends users back to. `None` for the gateway's.
    pub redirect_url: Option<String>,
}

/// The OAuth provider of one connector. Building it is cheap and calls nothing, so each use builds
/// one.
pub struct Provider {
    pub(super) egress: Egress,
    pub(super) client: OauthClient,
    /// The id of the tenant's client. `None` if the client is the configuration's.
    client_of_tenant: Option<String>,
    pub(super) scheme: Oauth2,
    pub(super) scopes: Vec<String>,
    /// `None` if the connector's users authorize with device codes only.
    authorization_url: Option<Url>,
    pub(super) token: TokenEndpoint,
    /// Set if users can authorize with device codes.
    pub(super) device: Option<Endpoint>,
    /// Set if refresh tokens are sent to another URL than codes.
    refresh: Option<TokenEndpoint>,
    /// Set if the provider offers revocation.
    revoker: Option<Revoker>,
    /// The provider's own error codes for a grant that has ended.
    pub(super) ended_codes: Vec<String>,
}

/// A URL, for the library and for egress.
pub(super) struct TokenEndpoint {
    url: Url,
    pub(super) endpoint: Endpoint,
}

impl TokenEndpoint {
    fn new(name: &str, url: Url, policy: EndpointPolicy<'_>) -> Option<Self> {
        let endpoint = Endpoint::new(name, &url, policy).ok()?;
        Some(Self { url, endpoint })
    }
}

impl Provider {
    /// Combines the manifest's scheme with the operator's settings, which take precedence.
    /// Requests go only to URLs that `recipients` includes. The registration of a tenant takes the
    /// place of the configuration's. A connector that declares the device authorization grant among its
    /// `additions` needs no authorization URL.
    ///
    /// # Errors
    /// If the gateway is not registered with the provider, or if a URL is neither in the manifest
    /// nor in the settings.
    pub fn new(
        connector: &str,
        scheme: &Oauth2,
        additions: &AuthAdditions,
        config: &Config,
        recipients: &Recipients,
        egress: Egress,
        tenant: Option<TenantClient>,
    ) -> Result<Self, NotConfigured> {
        let settings = config.connector(connector);
        let scheme = settings.oauth.adjusted(scheme);
        let device = additions.device_code.as_ref();
        let mut missing = Vec::new();
        let (client_of_tenant, client, scopes) = match tenant {
            Some(tenant) => (Some(tenant.id), Some(tenant.client), tenant.scopes),
            None => (None, config.oauth_client(connector, &scheme.provider).cloned(), None),
        };
        if client.is_none() {
            let name = if scheme.provider.is_empty() { connector } else { &scheme.provider };
            missing.extend(["client_id", "client_secret"].map(|key| format!("oauth_clients.{name}.{key}")));
        }
        let policy = EndpointPolicy { recipients, private_network: settings.allow_private_network };
        let authorization_url =
            settings.oauth.authorization_url.clone().or_else(|| manifest_url(&scheme.authorization_url));
        if authorization_url.is_none() && device.is_none() {
            missing.push(format!("connectors.{connector}.oauth.authorization_url"));
        }
        let token_url = settings.oauth.token_url.clone().or_else(|| manifest_url(&scheme.token_url));
        let token = token_url.and_then(|url| TokenEndpoint::new("token endpoint", url, policy));
        if token.is_none() {
            missing.push(format!("connectors.{connector}.oauth.token_url"));
        }
        let (Some(client), Some(token), true) = (client, token, missing.is_empty()) else {
            return Err(NotConfigured::missing(connector, missing));
        };
        Ok(Self {
            egress,
            revoker: Revoker::new(&scheme, settings, &client, policy),
            scopes: scopes.or_else(|| settings.oauth.scopes.clone()).unwrap_or_else(|| scheme.scopes.clone()),
            authorization_url,
            token,
            device: device
                .and_then(|device| device_url(device, settings))
                .and_then(|url| Endpoint::new("device authorization endpoint", &url, policy).ok()),
            refresh: refresh_url(&scheme, settings).and_then(|url| TokenEndpoint::new("refresh endpoint", url, policy)),
            ended_codes: additions.ended_codes.clone(),
            scheme,
            client,
            client_of_tenant,
        })
    }

    /// The id of the tenant's client. `None` if the client is the configuration's.
    pub fn client_of_tenant(&self) -> Option<&str> {
        self.client_of_tenant.as_deref()
    }

    /// The scopes that users are asked to permit.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// The provider's page for the user, and the PKCE verifier (S256) if the provider supports
    /// PKCE. `None` if neither the manifest nor the operator has the URL.
    pub fn authorization_url(&self, redirect_uri: &str, state: &str) -> Option<(Url, Option<SecretString>)> {
        let url = AuthUrl::from_url(self.authorization_url.clone()?);
        let library = self.library(&self.token.url).set_auth_uri(url);
        let mut request = library
            .authorize_url(|| CsrfToken::new(state.to_owned()))
            // Sent as text, not as a parsed URL: a provider compares it letter by letter with the
            // registered one.
            .add_extra_param("redirect_uri", redirect_uri);
        let mut verifier = None;
        if self.scheme.pkce {
            let (challenge, secret) = PkceCodeChallenge::new_random_sha256();
            request = request.set_pkce_challenge(challenge);
            verifier = Some(secret.into_secret().into());
        }
        if !self.scopes.is_empty() {
            let scopes = self.scopes.join(&self.scheme.scope_separator);
            request = request.add_extra_param(self.scheme.scope_parameter.as_str(), scopes);
        }
        // Scopes have a separate setting.
        let is_other = |(name, _): &(&str, &str)| *name != self.scheme.scope_parameter;
        for (name, value) in additional(&self.scheme.authorization_parameters).filter(is_other) {
            request = request.add_extra_param(name, value);
        }
        Some((request.url().0, verifier))
    }

    /// Returns `true` if an issuer (RFC 9207) can be the one of the authorization URL: it has the same
    /// origin, or both use HTTPS and are of one site.
    pub fn is_issuer(&self, issuer: &str) -> bool {
        let (Ok(issuer), Some(page)) = (Url::parse(issuer), &self.authorization_url) else { return false };
        let is_https = |url: &Url| url.scheme() == "https";
        issuer.origin() == page.origin() || (is_https(&issuer) && is_https(page) && site(&issuer) == site(page))
    }

    /// Exchanges the code that the user came back with.
    ///
    /// # Errors
    /// See [`TokenError`]. The code cannot be used again after any error.
    pub async fn exchange(
        &self,
        code: SecretString,
        verifier: Option<SecretString>,
        redirect_uri: &str,
    ) -> Result<Tokens, TokenError> {
        let secrets = [Some(&code), verifier.as_ref(), self.client.client_secret.as_ref()];
        let http = self.http(&self.token, secrets, false);
        let library = self.library(&self.token.url);
        let mut request =
            library.exchange_code(secret_text::authorization_code(&code)).add_extra_param("redirect_uri", redirect_uri);
        if let Some(verifier) = &verifier {
            request = request.set_pkce_verifier(secret_text::pkce_verifier(verifier));
        }
        for (name, value) in additional(&self.scheme.token_parameters) {
            request = request.add_extra_param(name, value);
        }
        self.tokens(request.request_async(&http).await)
    }

    /// Fetches the next access token. If the provider gives no new refresh token, the result
    /// contains the previous one.
    ///
    /// # Errors
    /// See [`TokenError`]. After any error but `Refused`, the refresh token may still be valid.
    pub async fn refresh(&self, refresh_token: &SecretString) -> Result<Tokens, TokenError> {
        let endpoint = self.refresh.as_ref().unwrap_or(&self.token);
        let http = self.http(endpoint, [Some(refresh_token), self.client.client_secret.as_ref(), None], true);
        let library = self.library(&endpoint.url);
        let previous = secret_text::refresh_token(refresh_token);
        let mut request = library.exchange_refresh_token(&previous);
        for (name, value) in additional(&self.scheme.token_parameters) {
            request = request.add_extra_param(name, value);
        }
        let tokens = self.tokens(request.request_async(&http).await)?;
        Ok(Tokens { refresh_token: tokens.refresh_token.or_else(|| Some(refresh_token.clone())), ..tokens })
    }

    /// Returns `true` if a grant that a newer one has replaced may be revoked, because this ends no
    /// other access.
    pub fn revokes_replaced_grants(&self) -> bool {
        self.scheme.revokes_replaced_grants
    }

    /// Returns `true` if [`Provider::revoke`] calls the provider.
    pub fn offers_revocation(&self) -> bool {
        self.revoker.is_some()
    }

    /// Returns whether [`Provider::revoke`] needs an access token that has not expired.
    pub fn revokes_by_access_token(&self) -> bool {
        self.revoker.as_ref().is_some_and(Revoker::needs_access_token)
    }

    /// Revokes the tokens, if the provider offers it. Revoking a refresh token also ends its access
    /// tokens.
    ///
    /// # Errors
    /// See [`TokenError`]. The provider did not confirm that the tokens are revoked.
    pub async fn revoke(&self, tokens: &Tokens) -> Result<Revocation, TokenError> {
        match &self.revoker {
            None => Ok(Revocation::NotOffered),
            Some(revoker) => revoker.revoke(&self.egress, tokens).await,
        }
    }

    fn library(&self, token_url: &Url) -> Library {
        let auth_type = match self.scheme.client_authentication {
            ClientAuthentication::Body => AuthType::RequestBody,
            ClientAuthentication::Basic => AuthType::BasicAuth,
        };
        let mut library = BasicClient::new(ClientId::new(self.client.client_id.clone())).set_auth_type(auth_type);
        if let Some(secret) = &self.client.client_secret {
            library = library.set_client_secret(secret_text::client_secret(secret));
        }
        library.set_token_uri(TokenUrl::from_url(token_url.clone()))
    }

    fn http<'a>(&'a self, token: &'a TokenEndpoint, secrets: [Option<&SecretString>; 3], or_top: bool) -> Http<'a> {
        let secrets: Vec<_> = secrets.into_iter().flatten().collect();
        Http {
            egress: &self.egress,
            endpoint: &token.endpoint,
            location: TokenLocation { pointer: &self.scheme.token_pointer, or_top },
            error_text: ErrorText::without(&secrets),
            ended_codes: &self.ended_codes,
        }
    }

    pub(super) fn tokens(&self, result: Result<BasicTokenResponse, LibraryError>) -> Result<Tokens, TokenError> {
        let response = result.map_err(|error| match error {
            RequestTokenError::Request(error) => error,
            // The library's own message is not used, because it quotes the response.
            _ => TokenError::not_understood("it does not contain tokens in the form of RFC 6749"),
        })?;
        let default_lifetime = self.scheme.default_lifetime_seconds.map(|seconds| Duration::from_secs(seconds.into()));
        let scopes = response.scopes().map(|scopes| {
            scopes.iter().map(|scope| scope.as_str().to_owned()).filter(|scope| !scope.is_empty()).collect()
        });
        Ok(Tokens {
            access_token: response.access_token().secret().as_str().into(),
            refresh_token: response.refresh_token().map(|token| token.secret().as_str().into()),
            expires_in: response.expires_in().or(default_lifetime),
            scopes,
            grant: None,
        })
    }
}

/// The HTTP client that the library uses. It returns responses in the form of RFC 6749, or a
/// [`TokenError`].
struct Http<'a> {
    egress: &'a Egress,
    endpoint: &'a Endpoint,
    location: TokenLocation<'a>,
    error_text: ErrorText,
    ended_codes: &'a [String],
}

impl<'c> AsyncHttpClient<'c> for Http<'_> {
    type Error = TokenError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, TokenError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let response = self.endpoint.forward(self.egress, request).await?;
            let body = response.accepted(&self.error_text, self.ended_codes)?;
            let tokens = standard_tokens(body.as_ref(), &self.location)?;
            Ok(HttpResponse::new(tokens.to_string().into_bytes()))
        })
    }
}

/// The error about an authorization URL that only the operator can set.
pub fn no_authorization_url(connector: &str) -> NotConfigured {
    NotConfigured::missing(connector, vec![format!("connectors.{connector}.oauth.authorization_url")])
}

/// The URL that gives device codes. The manifest's is not used if the operator replaced another URL
/// of the provider, because the client secret would go to a host that the operator has replaced.
pub(super) fn device_url(device: &DeviceCode, settings: &config::Connector) -> Option<Url> {
    let of_manifest = manifest_url(&device.device_authorization_url).filter(|_| !settings.oauth.replaces_provider());
    settings.oauth.device_authorization_url.clone().or(of_manifest)
}

/// A URL of the manifest, or `None` if the manifest leaves it empty.
pub(super) fn manifest_url(text: &str) -> Option<Url> {
    Url::parse(text).ok()
}

/// The URLs that codes and refresh tokens are sent to.
pub fn token_urls(scheme: &Oauth2, settings: &config::Connector) -> Vec<Url> {
    let token = settings.oauth.token_url.clone().or_else(|| manifest_url(&scheme.token_url));
    token.into_iter().chain(refresh_url(scheme, settings)).collect()
}

/// The manifest's refresh URL. It is not used if the operator replaced the token URL: refresh
/// tokens then go to that URL too, and not to a host that the operator has replaced.
fn refresh_url(scheme: &Oauth2, settings: &config::Connector) -> Option<Url> {
    if settings.oauth.token_url.is_some() {
        return None;
    }
    scheme.refresh_url.as_deref().and_then(manifest_url)
}

/// The additional parameters, without the parameters that the protocol sets.
pub(super) fn additional(parameters: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    parameters
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| !PROTOCOL_PARAMETERS.contains(name))
}
