//! Callers' JWTs: `Authorization: Bearer eyJ…`, signed by an issuer that the operator trusts (RFC 7519, RFC 8725).
//!
//! Everything a token says is decided by the operator's settings, but who the user is (`sub`), and, if the settings say so, the
//! tenant. Which algorithm a signature is checked by is decided by the issuer's key, never by the token alone.
//!
//! - [`source`]: where an issuer's keys come from
//! - [`keys`]: which of them can be used, and for what
//! - [`signature`]: the cryptography
//! - [`error`]: why a token is not accepted

mod error;
mod keys;
mod signature;
mod source;

use std::collections::BTreeMap;

use futures_util::future::join_all;
use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};

pub use self::error::JwtError;
use self::keys::KeySet;
use self::source::KeySource;
use super::caller::Caller;
use crate::config::{JwtIssuer, TenantOf};
use egress::{Egress, EgressError};

/// By how much the clocks of issuer and gateway may differ, in seconds.
const CLOCK_SKEW_S: u64 = 60;

/// Most characters of a subject (OpenID Connect Core, section 2) and of a tenant.
const MAX_NAME_CHARACTERS: usize = 255;

/// Longest token that is looked at. Those in use have some kilobytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

type Claims = Map<String, Value>;

/// Whose JWTs are accepted.
pub struct JwtIssuers {
    issuers: Vec<Issuer>,
}

struct Issuer {
    settings: JwtIssuer,
    source: KeySource,
}

impl JwtIssuers {
    /// Knows the issuers, and none of their keys yet.
    ///
    /// # Errors
    /// When the URL of an issuer's keys is none that may be called.
    pub fn new(settings: &BTreeMap<String, JwtIssuer>, egress: &Egress) -> Result<Self, EgressError> {
        signature::install();
        let issuer = |(name, settings): (&String, &JwtIssuer)| {
            let source = KeySource::new(name, &settings.jwks_url, settings.allow_private_network, egress.clone())?;
            Ok(Issuer { settings: settings.clone(), source })
        };
        Ok(Self { issuers: settings.iter().map(issuer).collect::<Result<_, EgressError>>()? })
    }

    /// Nobody's.
    pub fn none() -> Self {
        Self { issuers: Vec::new() }
    }

    /// Whether a token may be a JWT of somebody's.
    pub(super) fn may_know(&self, token: &str) -> bool {
        !self.issuers.is_empty() && token.bytes().filter(|byte| *byte == b'.').count() == 2
    }

    /// Who a token speaks for.
    ///
    /// # Errors
    /// When it is not to be trusted.
    pub(super) async fn verify(&self, token: &str) -> Result<Caller, JwtError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(JwtError::Unreadable);
        }
        let header = decode_header(token).map_err(|_| JwtError::Unreadable)?;
        if header.crit.is_some() {
            return Err(JwtError::Critical);
        }
        if !matches!(header.alg, Algorithm::RS256 | Algorithm::PS256 | Algorithm::ES256 | Algorithm::EdDSA) {
            return Err(JwtError::Unreadable);
        }
        // Only to find out whom to ask; they are held to it below.
        let claims: Claims = insecure_decode_claims(token).map_err(|_| JwtError::Unreadable)?;
        self.issuer_of(&claims)?.verify(token, &header).await
    }

    /// Keeps all issuers' keys up to date. Runs until it is dropped.
    pub(super) async fn follow(&self) {
        join_all(self.issuers.iter().map(|issuer| issuer.source.follow())).await;
    }

    fn issuer_of(&self, claims: &Claims) -> Result<&Issuer, JwtError> {
        let name = claims.get("iss").and_then(Value::as_str).ok_or(JwtError::Claim("iss"))?;
        let mut theirs = self.issuers.iter().filter(|issuer| issuer.settings.issuer == name).peekable();
        theirs.peek().ok_or(JwtError::UnknownIssuer)?;
        let audience = claims.get("aud").ok_or(JwtError::Claim("aud"))?;
        theirs.find(|issuer| names(audience, &issuer.settings.audience)).ok_or(JwtError::WrongAudience)
    }
}

impl Issuer {
    async fn verify(&self, token: &str, header: &Header) -> Result<Caller, JwtError> {
        let keys = self.source.current();
        let claims = match self.check(keys.as_deref(), token, header) {
            Err(JwtError::UnknownKey | JwtError::KeysUnavailable) => {
                let newer = self.source.newer_than(keys.as_ref()).await;
                self.check(newer.as_deref(), token, header)?
            }
            result => result?,
        };
        self.caller(&claims)
    }

    /// Checks signature, times, issuer and audience with the key that the token names. A token that names none may be signed
    /// with any, so if it is with none of them, the right one is not known.
    fn check(&self, keys: Option<&KeySet>, token: &str, header: &Header) -> Result<Claims, JwtError> {
        let keys = keys.ok_or(JwtError::KeysUnavailable)?;
        let mut failure = JwtError::UnknownKey;
        for key in keys.named(header.kid.as_deref()) {
            if !key.is_for(header.alg) {
                failure = JwtError::WrongAlgorithm;
                continue;
            }
            match decode(token, &key.decoding, &self.validation(header.alg)) {
                Ok(decoded) => return Ok(decoded.claims),
                Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => failure = JwtError::WrongSignature,
                Err(error) => return Err(translated(error.kind())),
            }
        }
        Err(if header.kid.is_none() { JwtError::UnknownKey } else { failure })
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = CLOCK_SKEW_S;
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_audience(&[&self.settings.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation
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
        })
    }
}

/// Whether `aud`, one text or a list of them, names an audience.
fn names(audience: &Value, wanted: &str) -> bool {
    match audience {
        Value::String(name) => name == wanted,
        Value::Array(list) => list.iter().any(|name| name == wanted),
        _ => false,
    }
}

/// The empty text is the tenant itself, and so no user's name.
fn name_in(value: &Value) -> Option<&str> {
    let name = value.as_str()?;
    let is_name = (1..=MAX_NAME_CHARACTERS).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    is_name.then_some(name)
}

fn translated(error: &ErrorKind) -> JwtError {
    match error {
        ErrorKind::ExpiredSignature => JwtError::Expired,
        ErrorKind::ImmatureSignature => JwtError::NotYetValid,
        ErrorKind::InvalidIssuer => JwtError::UnknownIssuer,
        ErrorKind::InvalidAudience => JwtError::WrongAudience,
        ErrorKind::InvalidAlgorithm => JwtError::WrongAlgorithm,
        ErrorKind::MissingRequiredClaim(name) | ErrorKind::InvalidClaimFormat(name) => JwtError::Claim(
            ["exp", "nbf", "iss", "aud", "sub"].into_iter().find(|known| known == name).unwrap_or("exp"),
        ),
        _ => JwtError::Unreadable,
    }
}

#[cfg(test)]
mod tests;
