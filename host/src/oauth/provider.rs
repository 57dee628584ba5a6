//! One connector's provider: what its manifest says, and what the operator puts in its place.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use oauth2::basic::{BasicClient, BasicTokenResponse};
use oauth2::{
    AsyncHttpClient, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet,
    EndpointSet, HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RefreshToken, RequestTokenError,
    TokenResponse, TokenUrl,
};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::answer::{self, TokenLocation};
use super::endpoint::{Endpoint, EndpointPolicy};
use super::error::{NotConfigured, TokenError};
use super::recipients::Recipients;
use super::remark::Remarks;
use super::revoke::Revoker;
use super::tokens::Tokens;
use crate::config::{self, Config, OauthClient};
use contract::{ClientAuthentication, Oauth2};
use egress::Egress;

/// Set by the protocol itself. A manifest that names them would have the provider see them twice, and take either.
const OWN_PARAMETERS: [&str; 13] = [
    "client_id",
    "client_secret",
    "code",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "grant_type",
    "redirect_uri",
    "refresh_token",
    "response_type",
    "state",
    "token",
    "token_type_hint",
];

type Library = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// The OAuth side of one connector. Cheap to make: nothing is called, and nothing kept from one call to the next.
pub struct Provider {
    pub(super) egress: Egress,
    pub(super) client: OauthClient,
    pub(super) client_in_body: bool,
    pub(super) revoker: Option<Revoker>,
    scheme: Oauth2,
    scopes: Vec<String>,
    authorization_url: Url,
    token: Called,
    /// As a rule where tokens are got.
    refresh: Option<Called>,
}

/// A URL as the library wants it, and as egress does.
struct Called {
    url: Url,
    endpoint: Endpoint,
}

impl Provider {
    /// Puts the operator's settings over the manifest's scheme. To a URL that is none of the `recipients`' nothing is sent.
    ///
    /// # Errors
    /// When the gateway has no registration with the provider, or a URL is known to the operator only and not set.
    pub fn new(
        connector: &str,
        scheme: &Oauth2,
        config: &Config,
        recipients: &Recipients,
        egress: Egress,
    ) -> Result<Self, NotConfigured> {
        let settings = config.connector(connector);
        let mut missing = Vec::new();
        let client = config.oauth_client(connector, &scheme.provider).cloned();
        if client.is_none() {
            let name = if scheme.provider.is_empty() { connector } else { &scheme.provider };
            missing.extend(["client_id", "client_secret"].map(|key| format!("oauth_clients.{name}.{key}")));
        }
        let policy = EndpointPolicy { recipients, private_network: settings.allow_private_network };
        let authorization_url = settings.oauth.authorization_url.clone().or_else(|| url(&scheme.authorization_url));
        if authorization_url.is_none() {
            missing.push(format!("connectors.{connector}.oauth.authorization_url"));
        }
        let token_url = settings.oauth.token_url.clone().or_else(|| url(&scheme.token_url));
        let token = token_url.and_then(|url| Called::new("token endpoint", url, policy));
        if token.is_none() {
            missing.push(format!("connectors.{connector}.oauth.token_url"));
        }
        let (Some(client), Some(authorization_url), Some(token)) = (client, authorization_url, token) else {
            return Err(NotConfigured { connector: connector.to_owned(), missing, ungranted: Vec::new() });
        };
        Ok(Self {
            egress,
            client_in_body: scheme.client_authentication == ClientAuthentication::Body,
            revoker: Revoker::new(scheme.revocation.as_ref(), settings, &client.client_id, policy),
            scopes: settings.oauth.scopes.clone().unwrap_or_else(|| scheme.scopes.clone()),
            authorization_url,
            token,
            refresh: refresh_url(scheme, settings).and_then(|url| Called::new("refresh endpoint", url, policy)),
            scheme: scheme.clone(),
            client,
        })
    }

    /// What users are asked to policy.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Where a user is sent to, and the secret that proves later who sent them, where the provider takes one (PKCE, S256).
    pub fn authorization_url(&self, redirect_uri: &str, state: &str) -> (Url, Option<SecretString>) {
        let library = self.library(&self.token.url);
        let mut request = library
            .authorize_url(|| CsrfToken::new(state.to_owned()))
            // As it is: a provider compares it with what was registered, letter by letter.
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
        for (name, value) in not_own(&self.scheme.authorization_parameters) {
            request = request.add_extra_param(name, value);
        }
        (request.url().0, verifier)
    }

    /// Exchanges the code that the provider sent the user back with.
    ///
    /// # Errors
    /// See [`TokenError`]. The code is used up, whatever happens.
    pub async fn exchange(
        &self,
        code: SecretString,
        verifier: Option<SecretString>,
        redirect_uri: &str,
    ) -> Result<Tokens, TokenError> {
        let secrets = [Some(&code), verifier.as_ref(), self.client.client_secret.as_ref()];
        let http = self.http(&self.token, secrets, false);
        let library = self.library(&self.token.url);
        let mut request = library
            .exchange_code(AuthorizationCode::new(code.expose_secret().to_owned()))
            .add_extra_param("redirect_uri", redirect_uri);
        if let Some(verifier) = &verifier {
            request = request.set_pkce_verifier(PkceCodeVerifier::new(verifier.expose_secret().to_owned()));
        }
        for (name, value) in not_own(&self.scheme.token_parameters) {
            request = request.add_extra_param(name, value);
        }
        self.tokens(request.request_async(&http).await)
    }

    /// Gets the next access token. Where the provider gives no other refresh token, the result holds the former one.
    ///
    /// # Errors
    /// See [`TokenError`]. After anything but `Refused`, the refresh token may be good still.
    pub async fn refresh(&self, refresh_token: &SecretString) -> Result<Tokens, TokenError> {
        let called = self.refresh.as_ref().unwrap_or(&self.token);
        let http = self.http(called, [Some(refresh_token), self.client.client_secret.as_ref(), None], true);
        let library = self.library(&called.url);
        let former = RefreshToken::new(refresh_token.expose_secret().to_owned());
        let mut request = library.exchange_refresh_token(&former);
        for (name, value) in not_own(&self.scheme.token_parameters) {
            request = request.add_extra_param(name, value);
        }
        let tokens = self.tokens(request.request_async(&http).await)?;
        Ok(Tokens { refresh_token: tokens.refresh_token.or_else(|| Some(refresh_token.clone())), ..tokens })
    }

    fn library(&self, token_url: &Url) -> Library {
        let auth_type = if self.client_in_body { AuthType::RequestBody } else { AuthType::BasicAuth };
        let mut library = BasicClient::new(ClientId::new(self.client.client_id.clone())).set_auth_type(auth_type);
        if let Some(secret) = &self.client.client_secret {
            library = library.set_client_secret(ClientSecret::new(secret.expose_secret().to_owned()));
        }
        library
            .set_auth_uri(AuthUrl::from_url(self.authorization_url.clone()))
            .set_token_uri(TokenUrl::from_url(token_url.clone()))
    }

    fn http<'a>(&'a self, called: &'a Called, secrets: [Option<&SecretString>; 3], or_top: bool) -> Http<'a> {
        let secrets: Vec<_> = secrets.into_iter().flatten().collect();
        Http {
            egress: &self.egress,
            endpoint: &called.endpoint,
            location: TokenLocation { pointer: &self.scheme.token_pointer, or_top },
            remarks: Remarks::without(&secrets),
        }
    }

    fn tokens(&self, result: Result<BasicTokenResponse, LibraryError>) -> Result<Tokens, TokenError> {
        let response = result.map_err(|error| match error {
            RequestTokenError::Request(error) => error,
            // The library's own words quote the answer.
            _ => TokenError::not_understood("it does not hold tokens in the form of RFC 6749"),
        })?;
        let default_life = self.scheme.default_lifetime_seconds.map(|seconds| Duration::from_secs(seconds.into()));
        let scopes = response.scopes().map(|scopes| {
            scopes.iter().map(|scope| scope.as_str().to_owned()).filter(|scope| !scope.is_empty()).collect()
        });
        Ok(Tokens {
            access_token: response.access_token().secret().as_str().into(),
            refresh_token: response.refresh_token().map(|token| token.secret().as_str().into()),
            expires_in: response.expires_in().or(default_life),
            scopes,
        })
    }
}

impl Called {
    fn new(name: &str, url: Url, policy: EndpointPolicy<'_>) -> Option<Self> {
        let endpoint = Endpoint::new(name, &url, policy).ok()?;
        Some(Self { url, endpoint })
    }
}

type LibraryError = RequestTokenError<TokenError, oauth2::basic::BasicErrorResponse>;

/// The library's way to the provider. What comes back is in the form of RFC 6749, or an error of ours.
struct Http<'a> {
    egress: &'a Egress,
    endpoint: &'a Endpoint,
    location: TokenLocation<'a>,
    remarks: Remarks,
}

impl<'c> AsyncHttpClient<'c> for Http<'_> {
    type Error = TokenError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, TokenError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let answer = self.endpoint.forward(self.egress, request).await?;
            let body = answer.accepted(&self.remarks)?;
            let standard = answer::standard(body.as_ref(), &self.location)?;
            Ok(HttpResponse::new(standard.to_string().into_bytes()))
        })
    }
}

/// A URL of the manifest, which may be empty.
fn url(text: &str) -> Option<Url> {
    Url::parse(text).ok()
}

/// The operator's token URL stands for both: a refresh token is not sent to a location the operator has replaced.
fn refresh_url(scheme: &Oauth2, settings: &config::Connector) -> Option<Url> {
    if settings.oauth.token_url.is_some() {
        return None;
    }
    scheme.refresh_url.as_deref().and_then(url)
}

/// The parameters that the protocol does not set itself.
fn not_own(parameters: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    parameters
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| !OWN_PARAMETERS.contains(name))
}
