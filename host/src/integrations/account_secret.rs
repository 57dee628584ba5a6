//! What a user gave to connect an account: tokens, a key, or nothing. And from it, the credential that requests carry.

use std::time::SystemTime;

use secrecy::SecretSlice;

use super::freshness::due_at;
use super::key::Key;
use crate::oauth::Tokens;
use contract::{AuthScheme, KeyPlacement};
use egress::{Credential, EgressError};
use store::{Account, AuthType, Details, Sealed, Status};

/// What a user gave.
pub enum AccountSecret {
    /// By OAuth 2.
    OAuth2 {
        /// What the provider gave for the code.
        tokens: Tokens,
        /// What they permit.
        scopes: Vec<String>,
        /// When they were asked for: their life is counted from here, on the safe side.
        since: SystemTime,
    },
    /// A key, and where the service wants it.
    ApiKey(Key, KeyPlacement),
    /// Nothing, where nothing is needed.
    None,
}

impl AccountSecret {
    /// How the user authenticated.
    pub fn auth_type(&self) -> AuthType {
        match self {
            Self::OAuth2 { .. } => AuthType::OAuth2,
            Self::ApiKey(..) => AuthType::ApiKey,
            Self::None => AuthType::None,
        }
    }

    /// What requests carry.
    ///
    /// # Errors
    /// When the secret cannot stand in a request.
    pub fn credential(&self) -> Result<Option<Credential>, EgressError> {
        Ok(match self {
            Self::OAuth2 { tokens, .. } => Some(Credential::bearer(tokens.access_token.clone())?),
            Self::ApiKey(key, placement) => Some(key.credential(placement)?),
            Self::None => None,
        })
    }

    pub(super) fn to_bytes(&self) -> Option<SecretSlice<u8>> {
        match self {
            Self::OAuth2 { tokens, .. } => Some(tokens.to_bytes()),
            Self::ApiKey(key, _) => Some(key.to_bytes()),
            Self::None => None,
        }
    }

    /// What is stored of a grant that was just given, beside the account it is for.
    pub(super) fn details(&self, account: Account, secret: Option<Sealed>) -> Details {
        let details = Details {
            status: Status::Active,
            reason: None,
            account,
            scopes: Vec::new(),
            expires_at: None,
            last_refreshed_at: None,
            next_refresh_at: None,
            secret,
        };
        match self {
            Self::OAuth2 { tokens, scopes, since } => Details {
                scopes: tokens.scopes.clone().unwrap_or_else(|| scopes.clone()),
                expires_at: tokens.expires_in.and_then(|life| since.checked_add(life)),
                next_refresh_at: tokens.refresh_token.as_ref().and_then(|_| due_at(*since, tokens.expires_in)),
                ..details
            },
            Self::ApiKey(..) | Self::None => details,
        }
    }
}

/// How a connector's scheme is called.
pub fn auth_type(scheme: &AuthScheme) -> AuthType {
    match scheme {
        AuthScheme::Oauth2(_) => AuthType::OAuth2,
        AuthScheme::ApiKey(_) => AuthType::ApiKey,
        AuthScheme::None => AuthType::None,
    }
}
