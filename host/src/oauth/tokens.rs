//! What a provider gave.

use std::borrow::Cow;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The tokens of one grant, and what the provider said about them.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// Goes with every request to the service.
    pub access_token: SecretString,
    /// Gets the next access token. After a refresh, the former one where the provider gave no other.
    pub refresh_token: Option<SecretString>,
    /// How long the access token is good, from now on; none when it does not expire.
    pub expires_in: Option<Duration>,
    /// What the user permitted; none where the provider does not say, which means all that was asked for.
    pub scopes: Option<Vec<String>>,
}

/// The bytes hold no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("what was stored holds no tokens")]
pub struct NoTokens;

/// What is sealed: the secrets alone. Names stay as they are, since they stand in every database.
#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    #[serde(borrow)]
    access_token: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    refresh_token: Option<Cow<'a, str>>,
}

impl Tokens {
    /// Both tokens as JSON text, to be sealed.
    pub fn to_bytes(&self) -> SecretSlice<u8> {
        let stored = Stored {
            access_token: self.access_token.expose_secret().into(),
            refresh_token: self.refresh_token.as_ref().map(|token| token.expose_secret().into()),
        };
        // Strings and options of strings are always JSON.
        serde_json::to_vec(&stored).unwrap_or_default().into()
    }

    /// The tokens that [`Tokens::to_bytes`] wrote. What the provider said about them is stored elsewhere.
    ///
    /// # Errors
    /// When the bytes are something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NoTokens> {
        let stored: Stored<'_> = serde_json::from_slice(bytes).map_err(|_| NoTokens)?;
        Ok(Self {
            access_token: stored.access_token.into_owned().into(),
            refresh_token: stored.refresh_token.map(|token| token.into_owned().into()),
            expires_in: None,
            scopes: None,
        })
    }
}
