//! The tokens of one account.

use std::borrow::Cow;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::account_grant::{AccountGrant, GrantJson};

/// An access token, the secret that fetches the next one, and their lifetime and scopes.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// Authenticates requests to the service.
    pub access_token: SecretString,
    /// Fetches the next access token. After a refresh without a new one, this is the previous
    /// refresh token.
    pub refresh_token: Option<SecretString>,
    /// Lifetime of the access token from now on, or `None` if it does not expire.
    pub expires_in: Option<Duration>,
    /// The scopes that the user permitted, or `None` if the provider gave all requested ones
    /// without naming them.
    pub scopes: Option<Vec<String>>,
    /// The account's credentials from which the access token was made, and the next one will be.
    /// `None` if the user authorized.
    pub grant: Option<AccountGrant>,
}

/// The bytes contain no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the stored bytes contain no tokens")]
pub struct NoTokens;

/// The sealed form, which contains only the secrets. The names never change, because every database
/// contains them.
#[derive(Serialize, Deserialize)]
struct TokensJson<'a> {
    #[serde(borrow)]
    access_token: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    refresh_token: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grant: Option<GrantJson>,
}

impl Tokens {
    /// The JSON text of the secrets, to seal.
    pub fn to_bytes(&self) -> SecretSlice<u8> {
        let json = TokensJson {
            access_token: self.access_token.expose_secret().into(),
            refresh_token: self.refresh_token.as_ref().map(|token| token.expose_secret().into()),
            grant: self.grant.as_ref().map(AccountGrant::to_sealed),
        };
        // Strings and optional strings can always be written as JSON.
        serde_json::to_vec(&json).unwrap_or_default().into()
    }

    /// Reads the tokens that [`Tokens::to_bytes`] wrote. Lifetime and scopes are stored elsewhere,
    /// so they are `None`.
    ///
    /// # Errors
    /// If the bytes have another form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NoTokens> {
        let json: TokensJson<'_> = serde_json::from_slice(bytes).map_err(|_| NoTokens)?;
        Ok(Self {
            access_token: json.access_token.into_owned().into(),
            refresh_token: json.refresh_token.map(|token| token.into_owned().into()),
            expires_in: None,
            scopes: None,
            grant: json.grant.map(AccountGrant::from_sealed).transpose().map_err(|_| NoTokens)?,
        })
    }

    /// Returns `true` if the gateway can get the next access token without the user.
    pub fn are_renewable(&self) -> bool {
        self.refresh_token.is_some() || self.grant.is_some()
    }
}
