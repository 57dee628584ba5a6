//! The user signs in at the provider, which sends the browser back with a code (RFC 6749, section
//! 4.1, with RFC 7636).

use std::time::{Duration, SystemTime};

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use super::request::{ConnectRequest, Member, replace};
use crate::authorization::{NewAuthorization, random_secret, secret_of_user, state_hash};
use crate::destination::MAX_URL_CHARACTERS;
use crate::provider::redirect_uri;
use crate::{AccountSecret, AuthorizationResult, BeginError, IntegrationError, Integrations};
use config::Config;
use contract::Oauth2;
use oauth::no_authorization_url;
use registry::Connector;
use store::{Authorization, TakenAuthorization};

/// Time that a user has to come back from the provider.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// An authorization that was started.
pub struct StartedAuthorization {
    /// The provider's page that the user must open.
    pub authorization_url: Url,
    /// The provider returns it with the user. It completes the authorization once, for any
    /// browser that shows it.
    pub state: String,
    /// After this time the authorization cannot be completed.
    pub expires_at: SystemTime,
}

/// Why a `state` leads to no authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAuthorization {
    /// The gateway never issued it, or so long ago that it was forgotten.
    Unknown,
    /// It was used before.
    Used,
    /// Its ten minutes have passed.
    Expired,
    /// It was issued for another connector, whose callback can still use it.
    OtherConnector,
}

/// Returns `false` if no user can authorize: neither the manifest nor the operator has a page for
/// it, and there are other ways.
pub(super) fn is_offered(connector: &Connector, scheme: &Oauth2, config: &Config) -> bool {
    let set = config.connector(connector.name()).oauth.authorization_url.is_some();
    set || !scheme.authorization_url.is_empty() || !connector.auth_additions().has_way()
}

/// The members of the request.
pub(super) fn members() -> Vec<Member> {
    let destination = json!({
        "type": "string", "format": "uri", "minLength": 1, "maxLength": MAX_URL_CHARACTERS,
        "description": "The page that the user is sent to at the end, with `status` in the query.",
    });
    let confirm = json!({
        "type": ["boolean", "null"],
        "description": "true if the account is used only after POST …/integrations/{user_identifier}/confirm, with the \
            `completion` that `callback_url` gets.",
    });
    vec![
        Member { name: "callback_url", schema: destination, is_required: true },
        replace(),
        Member { name: "confirm", schema: confirm, is_required: false },
    ]
}

impl Integrations {
    /// Starts an authorization, and returns the provider's page for the user.
    ///
    /// # Errors
    /// If the operator has not registered the gateway with the provider, or if the store or the
    /// vault fails.
    pub(super) async fn begin_authorization(
        &self,
        connector: &Connector,
        scheme: &Oauth2,
        request: &ConnectRequest,
    ) -> Result<StartedAuthorization, BeginError> {
        let client = self.client_for_new(&request.holder.tenant, connector, scheme).await?;
        let redirect_url = client.as_ref().and_then(|client| client.redirect_url.clone());
        let redirect_uri = redirect_url.unwrap_or_else(|| redirect_uri(&self.config, connector.name()));
        let provider = self.configured_provider(connector, scheme, client, &request.address)?;
        let state = random_secret()?;
        let page = provider.authorization_url(&redirect_uri, &state);
        let (authorization_url, verifier) =
            page.ok_or_else(|| self.with_redirect_uri(no_authorization_url(connector.name())))?;
        let new = NewAuthorization {
            id: &state,
            verifier: verifier.as_ref(),
            redirect_uri,
            life: LIFETIME,
            poll_interval: None,
        };
        let expires_at = self.save_authorization(request, &provider, new).await?.into();
        Ok(StartedAuthorization { authorization_url, state, expires_at })
    }

    /// Takes the authorization that belongs to a `state`. Each can be taken once.
    ///
    /// # Errors
    /// The outer error says that the store failed, the inner one that there is no such
    /// authorization.
    pub async fn take_authorization(
        &self,
        connector: &str,
        state: &str,
    ) -> Result<Result<Authorization, NoAuthorization>, IntegrationError> {
        Ok(match self.store.authorizations().take(connector, &state_hash(state)).await? {
            TakenAuthorization::Fresh(authorization) => Ok(*authorization),
            TakenAuthorization::OtherConnector => Err(NoAuthorization::OtherConnector),
            TakenAuthorization::Used => Err(NoAuthorization::Used),
            TakenAuthorization::Expired => Err(NoAuthorization::Expired),
            TakenAuthorization::Unknown => Err(NoAuthorization::Unknown),
        })
    }

    /// Checks that a user comes back from the provider of the authorization, if the provider says its
    /// name `issuer` (RFC 9207). Otherwise a code of one provider could be sent to another one.
    ///
    /// # Errors
    /// The failed result of the authorization.
    pub async fn check_issuer(&self, authorization: &Authorization, issuer: &str) -> Result<(), AuthorizationResult> {
        if self.provider_of(authorization).await?.is_issuer(issuer) {
            return Ok(());
        }
        tracing::warn!(
            connector = authorization.holder.connector,
            "the user came back from another provider than the one of the authorization URL, as its `iss` says"
        );
        Err(AuthorizationResult::failed("other_issuer"))
    }

    /// Exchanges the code for tokens.
    ///
    /// # Errors
    /// The failed result of the authorization.
    pub async fn exchange_code(
        &self,
        authorization: &Authorization,
        code: SecretString,
    ) -> Result<AccountSecret, AuthorizationResult> {
        let provider = self.provider_of(authorization).await?;
        let verifier = self.verifier_of(authorization).await?;
        let since = clock::now();
        let tokens = provider.exchange(code, verifier, &authorization.redirect_uri).await.map_err(|error| {
            tracing::warn!(connector = authorization.holder.connector, %error, "an authorization code cannot be exchanged");
            AuthorizationResult::from(&error)
        })?;
        Ok(secret_of_user(&provider, tokens, since))
    }
}
