//! The user comes back from the provider.

use std::time::SystemTime;

use ring::digest::{SHA256, digest};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{AccountSecret, IntegrationError, Integrations};
use crate::oauth::TokenError;
use crate::registry::Connector;
use contract::Oauth2;
use store::{Account, Authorization, Holder, Integration, StateHash, Taken};

/// What an integration is called where neither the caller nor the service gives it a name.
const UNNAMED: &str = "default";

/// Why a `state` leads to no authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAuthorization {
    /// It was never given out, or a long time ago.
    Unknown,
    /// It was used before.
    Used,
    /// Its time is over.
    Expired,
    /// It was given out for another connector.
    OtherConnector,
}

/// How an authorization ended, for the page that the user is sent to. A code never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The account is connected.
    Connected {
        /// The integration's identifier.
        user_identifier: String,
    },
    /// It is not; a code of the provider's or of ours.
    Failed(String),
}

impl Finish {
    /// A code of ours.
    pub fn failed(code: &str) -> Self {
        Self::Failed(code.to_owned())
    }

    /// What the provider says about an error: a code after RFC 6749, section 4.1.2.1, or else ours.
    pub fn of_provider(error: &str) -> Self {
        let is_code = (1..=64).contains(&error.len())
            && error.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        Self::failed(if is_code { error } else { "authorization_failed" })
    }

    /// Where the user is sent to. What the URL's query holds is kept.
    ///
    /// # Errors
    /// When the stored URL is none.
    pub fn location(&self, authorization: &Authorization) -> Result<Url, url::ParseError> {
        let mut url = Url::parse(&authorization.callback_url)?;
        let mut query = url.query_pairs_mut();
        match self {
            Self::Connected { user_identifier } => query
                .append_pair("status", "success")
                .append_pair("connector", &authorization.holder.connector)
                .append_pair("user_identifier", user_identifier),
            Self::Failed(error) => query
                .append_pair("status", "error")
                .append_pair("error", error)
                .append_pair("connector", &authorization.holder.connector),
        };
        drop(query);
        Ok(url)
    }
}

impl From<&TokenError> for Finish {
    fn from(error: &TokenError) -> Self {
        Self::failed(match error {
            TokenError::Refused { .. } => "exchange_refused",
            TokenError::Misconfigured { .. } => "not_configured",
            TokenError::Unavailable { .. } => "provider_unavailable",
            TokenError::NotUnderstood { .. } => "answer_not_understood",
        })
    }
}

/// What is stored of a `state`. Whoever could choose the hash of what they send could guess the state as well, so that the time a
/// look-up by it takes tells nothing.
pub(super) fn hash(state: &str) -> StateHash {
    let mut hash = StateHash::default();
    hash.copy_from_slice(digest(&SHA256, state.as_bytes()).as_ref());
    hash
}

impl Integrations {
    /// Takes the authorization that a `state` was given out for. It can be taken once.
    ///
    /// # Errors
    /// When the store does not answer; inside, when there is no such authorization.
    pub async fn take(
        &self,
        connector: &str,
        state: &str,
    ) -> Result<Result<Authorization, NoAuthorization>, IntegrationError> {
        Ok(match self.store.take_authorization(&hash(state)).await? {
            Taken::Fresh(authorization) if authorization.holder.connector == connector => Ok(*authorization),
            Taken::Fresh(_) => Err(NoAuthorization::OtherConnector),
            Taken::Used => Err(NoAuthorization::Used),
            Taken::Expired => Err(NoAuthorization::Expired),
            Taken::Unknown => Err(NoAuthorization::Unknown),
        })
    }

    /// Exchanges the code for tokens.
    ///
    /// # Errors
    /// How the authorization ends in place of success.
    pub async fn exchange(
        &self,
        authorization: &Authorization,
        connector: &Connector,
        scheme: &Oauth2,
        code: SecretString,
    ) -> Result<AccountSecret, Finish> {
        let Authorization { holder, user_identifier, redirect_uri, .. } = authorization;
        let provider = self.provider(connector, scheme);
        let connector = holder.connector.as_str();
        let provider = provider.map_err(|error| {
            tracing::warn!(connector, %error, "a code is not exchanged");
            Finish::failed("not_configured")
        })?;
        let verifier = match &authorization.verifier {
            None => None,
            Some(sealed) => {
                let context = holder.verifier_context(user_identifier.as_deref());
                Some(self.open_text(&context, sealed).await.map_err(|error| {
                    tracing::error!(connector, %error, "the verifier of an authorization cannot be opened");
                    Finish::failed("internal_error")
                })?)
            }
        };
        let since = SystemTime::now();
        let tokens = provider.exchange(code, verifier, redirect_uri).await.map_err(|error| {
            tracing::warn!(connector, %error, "a code is not exchanged");
            Finish::from(&error)
        })?;
        Ok(AccountSecret::OAuth2 { tokens, scopes: provider.scopes().to_vec(), since })
    }

    /// Stores what a user gave, in place of what they gave before.
    ///
    /// # Errors
    /// When it cannot be sealed or stored.
    pub async fn connect(
        &self,
        holder: &Holder,
        user_identifier: Option<&str>,
        account: Account,
        account_secret: &AccountSecret,
    ) -> Result<Integration, IntegrationError> {
        let own = account.email.as_ref().or(account.id.as_ref()).map(String::as_str);
        let user_identifier = user_identifier.or(own).unwrap_or(UNNAMED).to_owned();
        let secret = match account_secret.to_bytes() {
            None => None,
            Some(bytes) => {
                Some(self.vault.seal(&holder.secret_context(&user_identifier), bytes.expose_secret()).await?)
            }
        };
        let details = account_secret.details(account, secret);
        let integration =
            self.store.connect_integration(holder, &user_identifier, account_secret.auth_type(), details).await?;
        self.cache.changed(holder).await;
        tracing::info!(
            integration = integration.id,
            connector = holder.connector,
            tenant = holder.tenant,
            "account connected"
        );
        Ok(integration)
    }

    async fn open_text(&self, context: &[&str], sealed: &store::Sealed) -> Result<SecretString, IntegrationError> {
        let bytes = self.vault.unseal(context, sealed).await?;
        let text = std::str::from_utf8(bytes.expose_secret())
            .map_err(|_| IntegrationError::Secret("it is no text".to_owned()))?;
        Ok(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authorization(callback_url: &str) -> Authorization {
        Authorization {
            hash: hash("state"),
            holder: Holder { tenant: "t".to_owned(), subject: "s".to_owned(), connector: "calendar".to_owned() },
            user_identifier: None,
            callback_url: callback_url.to_owned(),
            redirect_uri: String::new(),
            verifier: None,
            expires_at: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn the_query_of_the_callback_url_is_kept() {
        let connected = Finish::Connected { user_identifier: "a+b@example.com".to_owned() };
        let url = connected.location(&authorization("https://app.example/done?x=%20y&x=2")).unwrap();
        assert_eq!(
            url.as_str(),
            "https://app.example/done?x=%20y&x=2&status=success&connector=calendar&user_identifier=a%2Bb%40example.com"
        );
    }

    #[test]
    fn what_a_provider_says_is_carried_on_if_it_is_a_code() {
        let failed = Finish::of_provider("access_denied").location(&authorization("http://localhost/")).unwrap();
        assert_eq!(failed.as_str(), "http://localhost/?status=error&error=access_denied&connector=calendar");
        for odd in ["", "a b", "<script>", &"x".repeat(65)] {
            assert_eq!(Finish::of_provider(odd), Finish::failed("authorization_failed"));
        }
    }
}
