//! The sign-in of operators at an OpenID provider: the authorization code flow with PKCE (OpenID
//! Connect Core, section 3.1; RFC 9700).
//!
//! The gateway keeps nothing of a sign-in that has begun. Its browser keeps a secret in a cookie,
//! and `state`, `nonce` and the verifier of PKCE are derived from the secret. So only this browser
//! can end the sign-in, at any gateway of the service.
//!
//! - here: the two steps of a sign-in
//! - [`settings`]: the operator's settings
//! - [`secret`]: the secret of one sign-in
//! - [`provider`]: the provider, as it describes itself, and requests to it
//! - [`error`]: why no one has signed in

mod error;
mod provider;
mod secret;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

pub use self::error::OidcError;
pub use self::provider::error_code;
pub use self::secret::SignInSecret;
pub use self::settings::OidcSettings;

use self::provider::Provider;
use contract_rules::text::is_hidden;
use egress::Egress;
use jwt::Claims;

/// Time for which the description of the provider and its keys are used. With a longer one, a key
/// that the provider has withdrawn would stay in use.
const DESCRIBED: Duration = Duration::from_secs(3600);

/// Time after a failed request for the description in which no other one is sent, because anyone
/// can begin a sign-in.
const BACKOFF: Duration = Duration::from_secs(5);

/// The longest name of a person that is kept, in characters.
const MAX_NAME: usize = 100;

/// The OpenID provider of the console.
pub struct Oidc {
    settings: OidcSettings,
    egress: Egress,
    described: Mutex<Option<Described>>,
}

/// The last description of the provider.
struct Described {
    at: Instant,
    provider: Result<Arc<Provider>, OidcError>,
}

/// A person who has signed in, and who has the right to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The provider's id of the person (`sub`).
    pub subject: String,
    /// A name for people: an address or a name, as the provider gives it. May be empty.
    pub name: String,
}

impl Oidc {
    /// Calls nothing yet.
    pub fn new(settings: OidcSettings, egress: Egress) -> Self {
        Self { settings, egress, described: Mutex::new(None) }
    }

    /// The operator's settings.
    pub fn settings(&self) -> &OidcSettings {
        &self.settings
    }

    /// The page of the provider to which a sign-in with this secret leads.
    ///
    /// # Errors
    /// If the provider does not describe itself.
    pub async fn begin(&self, secret: &SignInSecret, redirect_uri: &str) -> Result<Url, OidcError> {
        Ok(self.provider().await?.authorization_url(&self.settings, secret, redirect_uri))
    }

    /// The person with whose code the browser has come back.
    ///
    /// # Errors
    /// See [`OidcError`]. The code cannot be used again.
    pub async fn finish(&self, secret: &SignInSecret, code: &str, redirect_uri: &str) -> Result<Person, OidcError> {
        let provider = self.provider().await?;
        let id_token = provider.redeem(&self.settings, &self.egress, secret, code, redirect_uri).await?;
        let (subject, claims) = provider.id_tokens.verify(&id_token, &secret.nonce()).await?;
        if !self.admits(&claims) {
            return Err(OidcError::NotAdmitted { claim: self.settings.claim.clone() });
        }
        Ok(Person { subject, name: name_in(&claims) })
    }

    /// Returns `true` if the claim that gives the right is the operator's value, or a list with it.
    fn admits(&self, claims: &Claims) -> bool {
        let is_wanted = |value: &Value| value.as_str() == Some(self.settings.value.as_str());
        match claims.get(&self.settings.claim) {
            Some(Value::Array(values)) => values.iter().any(is_wanted),
            Some(value) => is_wanted(value),
            None => false,
        }
    }

    async fn provider(&self) -> Result<Arc<Provider>, OidcError> {
        let mut described = self.described.lock().await;
        if let Some(Described { at, provider }) = &*described {
            let lifetime = if provider.is_ok() { DESCRIBED } else { BACKOFF };
            if at.elapsed() < lifetime {
                return provider.clone();
            }
        }
        let provider = Provider::discover(&self.settings, &self.egress).await.map(Arc::new);
        if let Err(error) = &provider {
            tracing::warn!(%error, "the OpenID provider of the console does not describe itself");
        }
        *described = Some(Described { at: Instant::now(), provider: provider.clone() });
        provider
    }
}

/// The name of a person in the claims, in one short line.
fn name_in(claims: &Claims) -> String {
    let text = |name: &&str| claims.get(*name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let name = ["email", "preferred_username", "name"].iter().find_map(text).unwrap_or_default();
    name.chars().filter(|character| !is_hidden(*character)).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests;
