//! The tokens of one account.

use std::time::Duration;

use secrecy::{SecretSlice, SecretString};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::account_grant::{AccountGrant, GrantJson};
use super::secret_text::{SealedText, are_equal};
use store::vault::json_of;

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
pub struct TokensJson<'a> {
    access_token: SealedText<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh_token: Option<SealedText<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grant: Option<GrantJson>,
}

impl Tokens {
    /// The secrets, in the form to seal.
    pub fn to_json(&self) -> TokensJson<'_> {
        TokensJson {
            access_token: (&self.access_token).into(),
            refresh_token: self.refresh_token.as_ref().map(SealedText::from),
            grant: self.grant.as_ref().map(AccountGrant::to_sealed),
        }
    }

    /// The JSON text of the secrets, to seal.
    pub fn to_bytes(&self) -> SecretSlice<u8> {
        // Strings and optional strings can always be written as JSON.
        serde_json::to_vec(&self.to_json()).unwrap_or_default().into()
    }

    /// Reads the tokens that [`Tokens::to_bytes`] wrote. Lifetime and scopes are stored elsewhere,
    /// so they are `None`.
    ///
    /// # Errors
    /// If the bytes have another form.
    pub fn from_bytes(bytes: &SecretSlice<u8>) -> Result<Self, NoTokens> {
        Self::from_json(json_of(bytes).map_err(|_| NoTokens)?)
    }

    /// As [`Tokens::from_bytes`], for the form that [`Tokens::to_json`] returned.
    ///
    /// # Errors
    /// If the grant has another form.
    pub fn from_json(json: TokensJson<'_>) -> Result<Self, NoTokens> {
        Ok(Self {
            access_token: json.access_token.into(),
            refresh_token: json.refresh_token.map(SecretString::from),
            expires_in: None,
            scopes: None,
            grant: json.grant.map(AccountGrant::from_sealed).transpose().map_err(|_| NoTokens)?,
        })
    }

    /// Returns `true` if both have the same access token or the same refresh token. Not
    /// constant-time: the gateway holds both.
    pub fn share_one_with(&self, other: &Self) -> bool {
        are_equal(&self.access_token, &other.access_token)
            || match (&self.refresh_token, &other.refresh_token) {
                (Some(own), Some(other)) => are_equal(own, other),
                _ => false,
            }
    }

    /// Returns `true` if the gateway can get the next access token without the user.
    pub fn are_renewable(&self) -> bool {
        self.refresh_token.is_some() || self.grant.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(access_token: &str, refresh_token: Option<&str>) -> Tokens {
        Tokens {
            access_token: access_token.into(),
            refresh_token: refresh_token.map(Into::into),
            expires_in: None,
            scopes: None,
            grant: None,
        }
    }

    #[test]
    fn tokens_that_share_one_are_not_told_apart() {
        let previous = tokens("a", Some("r"));
        assert!(previous.share_one_with(&tokens("a", None)));
        assert!(previous.share_one_with(&tokens("b", Some("r"))));
        assert!(!previous.share_one_with(&tokens("b", Some("s"))));
        assert!(!tokens("a", None).share_one_with(&tokens("b", None)));
    }
}
