//! An authorization is started: the user is to be sent to the provider.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::ExposeSecret;
use url::Url;

use super::callback::hash;
use super::{BeginError, IntegrationError, Integrations};
use crate::config::Config;
use crate::oauth::{NotConfigured, Provider};
use crate::registry::Connector;
use contract::Oauth2;
use egress::is_loopback;
use store::{Authorization, Holder};

/// How long a user has to come back.
const LIFE: Duration = Duration::from_secs(10 * 60);

/// An authorization that was started.
pub struct StartedAuthorization {
    /// Where the user is to be sent.
    pub authorization_url: Url,
    /// What the provider hands back. Whoever shows it completes the authorization, once.
    pub state: String,
    /// When it is too late to come back.
    pub expires_at: SystemTime,
}

/// Where a user may be sent to in the end.
#[derive(Clone, Debug)]
pub struct Destination(Url);

impl Destination {
    /// Takes an absolute http or https URL at the gateway's own origin, at loopback, or at an origin that the operator allows.
    ///
    /// # Errors
    /// Says what is wrong with it, in a sentence.
    pub fn check(text: &str, config: &Config) -> Result<Self, String> {
        let url = Url::parse(text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or("Must be an absolute http or https URL, such as https://app.example.com/connected.")?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("Must hold no user and no password.".to_owned());
        }
        if url.fragment().is_some() {
            return Err("Must have no fragment (`#…`).".to_owned());
        }
        let origin = url.origin();
        if origin == config.public_url.origin()
            || is_loopback(&url)
            || config.allowed_callback_origins.contains(&origin)
        {
            return Ok(Self(url));
        }
        Err(format!(
            "Users may not be sent to {}; the operator can allow it with `allowed_callback_origins`.",
            origin.ascii_serialization()
        ))
    }
}

/// Where a provider sends users back to, exactly as it is to be registered there.
pub fn redirect_uri(config: &Config, connector: &str) -> String {
    format!("{}/connectors/{connector}/success-authorize-callback", config.public_url.as_str().trim_end_matches('/'))
}

impl Integrations {
    /// Starts an authorization: keeps what the callback will need, and says where to send the user.
    ///
    /// # Errors
    /// When the operator has not registered the gateway with the provider, or nothing can be kept.
    pub async fn begin(
        &self,
        holder: &Holder,
        connector: &Connector,
        scheme: &Oauth2,
        user_identifier: Option<String>,
        destination: Destination,
    ) -> Result<StartedAuthorization, BeginError> {
        let provider = self.configured(connector, scheme)?;
        let redirect_uri = redirect_uri(&self.config, &holder.connector);
        let state = random_state()?;
        let (authorization_url, verifier) = provider.authorization_url(&redirect_uri, &state);
        let context = holder.verifier_context(user_identifier.as_deref());
        let verifier = match verifier {
            None => None,
            Some(verifier) => Some(
                self.vault.seal(&context, verifier.expose_secret().as_bytes()).await.map_err(IntegrationError::from)?,
            ),
        };
        let expires_at = SystemTime::now() + LIFE;
        let authorization = Authorization {
            hash: hash(&state),
            holder: holder.clone(),
            user_identifier,
            callback_url: destination.0.into(),
            redirect_uri,
            verifier,
            expires_at,
        };
        self.store.save_authorization(authorization).await.map_err(IntegrationError::from)?;
        Ok(StartedAuthorization { authorization_url, state, expires_at })
    }

    /// The provider, if the operator has set and granted all that users will need.
    fn configured(&self, connector: &Connector, scheme: &Oauth2) -> Result<Provider, NotConfigured> {
        let name = connector.name();
        let set = &self.config.connector(&name).upstreams;
        let upstreams = &connector.manifest().upstreams;
        let unset: Vec<_> = upstreams
            .iter()
            .filter(|upstream| upstream.base_url.is_empty() && !set.contains_key(&upstream.name))
            .map(|upstream| format!("connectors.{name}.upstreams.{}", upstream.name))
            .collect();
        let ungranted = connector.missing_token_hosts();
        match self.provider(connector, scheme) {
            Ok(provider) if unset.is_empty() && ungranted.is_empty() => Ok(provider),
            Ok(_) => Err(NotConfigured { connector: name.to_string(), missing: unset, ungranted }),
            Err(mut error) => {
                error.missing.extend(unset);
                Err(NotConfigured { ungranted, ..error })
            }
        }
    }
}

/// 256 random bits, as letters that pass through any URL.
fn random_state() -> Result<String, IntegrationError> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| IntegrationError::NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            public_url: Url::parse("https://gateway.example/base/").unwrap(),
            allowed_callback_origins: vec![Url::parse("https://app.example").unwrap().origin()],
            ..Config::default()
        }
    }

    #[test]
    fn users_are_sent_to_allowed_origins_and_loopback_only() {
        for url in [
            "https://app.example/done?a=1",
            "https://gateway.example/console",
            "http://localhost:3000/",
            "http://app.localhost/",
            "http://127.0.0.1:1/x",
            "http://[::1]:8080/",
        ] {
            assert!(Destination::check(url, &config()).is_ok(), "{url}");
        }
        for url in [
            "https://evil.example/",
            "http://app.example/",
            "https://app.example:8443/",
            "https://app.example.evil.example/",
            "https://app.example@evil.example/",
            "https://user:secret@app.example/",
            "https://localhost.evil.example/",
            "https://app.example/#token",
            "//app.example/",
            "/relative",
            "javascript:alert(1)",
            "app.example",
            "",
        ] {
            assert!(Destination::check(url, &config()).is_err(), "{url}");
        }
    }

    #[test]
    fn the_redirect_uri_is_below_the_public_url() {
        let expected = "https://gateway.example/base/connectors/calendar/success-authorize-callback";
        assert_eq!(redirect_uri(&config(), "calendar"), expected);
    }

    #[test]
    fn states_are_256_bits_and_differ() {
        let (one, other) = (random_state().unwrap(), random_state().unwrap());
        assert_eq!(one.len(), 43);
        assert_ne!(one, other);
    }
}
