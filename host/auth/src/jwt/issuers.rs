//! The verification of a JWT against the settings and the keys of its issuer.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::Value;

use super::key_source::KeySource;
use super::settings::{JwtIssuer, TenantOf};
use crate::caller::Caller;
use contract_rules::text::is_hidden;
use egress::{Egress, EgressError};
use jwt::{Claims, Expected, JwtError, KeySet, Token};

/// Longest subject (OpenID Connect Core, section 2) and longest tenant, in characters.
const MAX_NAME_CHARACTERS: usize = 255;

/// The issuers whose JWTs are accepted.
pub struct JwtIssuers {
    pub(super) issuers: Vec<Issuer>,
}

pub(super) struct Issuer {
    pub(super) settings: JwtIssuer,
    pub(super) keys: KeySource,
}

impl JwtIssuers {
    /// Creates the issuers without their keys, which [`JwtIssuers::follow`] fetches.
    ///
    /// # Errors
    /// If egress cannot call the URL of an issuer's keys.
    pub fn new(settings: &BTreeMap<String, JwtIssuer>, egress: &Egress) -> Result<Self, EgressError> {
        let issuer = |(name, settings): (&String, &JwtIssuer)| {
            let keys = KeySource::new(name, &settings.jwks_url, settings.allow_private_network, egress.clone())?;
            Ok(Issuer { settings: settings.clone(), keys })
        };
        Ok(Self { issuers: settings.iter().map(issuer).collect::<Result<_, EgressError>>()? })
    }

    /// Trusts no issuer, so every JWT is refused.
    pub fn none() -> Self {
        Self { issuers: Vec::new() }
    }

    /// Returns `true` if a token has the form of a JWT and at least one issuer is trusted.
    pub(crate) fn may_know(&self, token: &str) -> bool {
        !self.issuers.is_empty() && token.bytes().filter(|byte| *byte == b'.').count() == 2
    }

    /// The caller that a token describes.
    ///
    /// # Errors
    /// If the token is not accepted.
    pub(crate) async fn verify(&self, token: &str) -> Result<Caller, JwtError> {
        let token = Token::read(token)?;
        // The issuer verifies the token below.
        let issuer = self.issuer_of(&token.unverified_claims()?)?;
        issuer.caller(&issuer.verify(&token).await?)
    }

    /// Keeps the keys of all issuers up to date. Runs until it is dropped.
    pub(crate) async fn follow(&self) {
        join_all(self.issuers.iter().map(|issuer| issuer.keys.follow())).await;
    }

    fn issuer_of(&self, claims: &Claims) -> Result<&Issuer, JwtError> {
        let name = claims.get("iss").and_then(Value::as_str).ok_or(JwtError::Claim("iss"))?;
        let mut same_issuer = self.issuers.iter().filter(|issuer| issuer.settings.issuer == name).peekable();
        same_issuer.peek().ok_or(JwtError::UnknownIssuer)?;
        let audience = claims.get("aud").ok_or(JwtError::Claim("aud"))?;
        same_issuer.find(|issuer| names(audience, &issuer.settings.audience)).ok_or(JwtError::WrongAudience)
    }
}

impl Issuer {
    /// Verifies a token, and fetches newer keys if none of the known ones fits.
    pub(super) async fn verify(&self, token: &Token<'_>) -> Result<Claims, JwtError> {
        let keys = self.keys.current();
        match self.check(keys.as_deref(), token) {
            // An issuer may publish a new key under the id of the previous one.
            Err(
                error @ (JwtError::UnknownKey
                | JwtError::WrongSignature
                | JwtError::WrongAlgorithm
                | JwtError::KeysUnavailable),
            ) => {
                let newer = self.keys.newer_than(keys.as_ref()).await;
                let are_same = newer.as_ref().zip(keys.as_ref()).is_some_and(|(newer, keys)| Arc::ptr_eq(newer, keys));
                if are_same { Err(error) } else { self.check(newer.as_deref(), token) }
            }
            result => result,
        }
    }

    fn check(&self, keys: Option<&KeySet>, token: &Token<'_>) -> Result<Claims, JwtError> {
        let keys = keys.ok_or(JwtError::KeysUnavailable)?;
        let JwtIssuer { issuer, audience, .. } = &self.settings;
        token.verify(keys, &Expected { issuers: &[issuer], audience, has_subject: true }, clock::now())
    }

    fn caller(&self, claims: &Claims) -> Result<Caller, JwtError> {
        let tenant = match &self.settings.tenant {
            TenantOf::Issuer(tenant) => tenant,
            TenantOf::Claim(name) => claims.get(name).and_then(name_in).ok_or(JwtError::NoTenant)?,
        };
        let subject = claims.get("sub").and_then(name_in).ok_or(JwtError::Claim("sub"))?;
        Ok(Caller {
            tenant: tenant.to_owned(),
            subject: Some(subject.to_owned()),
            key_id: None,
            scopes: self.settings.scopes,
            limits: None,
            confirms: false,
            person: None,
            session: None,
            token_ends_at: ::jwt::expiry(claims),
        })
    }
}

/// Returns `true` if `aud`, a string or a list of strings, contains an audience.
fn names(audience: &Value, wanted: &str) -> bool {
    match audience {
        Value::String(name) => name == wanted,
        Value::Array(list) => list.iter().any(|name| name == wanted),
        _ => false,
    }
}

/// The subject or tenant in a claim. An empty string is refused: as a subject it would mean the
/// tenant itself.
pub(super) fn name_in(value: &Value) -> Option<&str> {
    let name = value.as_str()?;
    let is_name = (1..=MAX_NAME_CHARACTERS).contains(&name.chars().count()) && !name.contains(is_hidden);
    is_name.then_some(name)
}
