//! The verification of a JWT against the settings and the keys of its issuer.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::error::JwtError;
use super::key_set::KeySet;
use super::key_source::KeySource;
use super::settings::{JwtIssuer, TenantOf};
use super::signature;
use crate::caller::Caller;
use contract_rules::text::is_hidden;
use egress::{Egress, EgressError};

/// Largest difference between the clocks of issuer and gateway, in seconds.
const CLOCK_SKEW_S: u64 = 60;

/// Longest subject (OpenID Connect Core, section 2) and longest tenant, in characters.
const MAX_NAME_CHARACTERS: usize = 255;

/// Longest accepted token. Tokens in use have some kilobytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// The claims of a token that is verified.
pub(crate) type Claims = Map<String, Value>;

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
        signature::install();
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
        let header = header_of(token)?;
        // Unverified claims, only to find the issuer. The issuer verifies them below.
        let claims: Claims = insecure_decode_claims(token).map_err(|_| JwtError::Unreadable)?;
        let issuer = self.issuer_of(&claims)?;
        issuer.caller(&issuer.verify(token, &header).await?)
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

/// The header of a token, if its algorithm is one that this gateway supports.
pub(super) fn header_of(token: &str) -> Result<Header, JwtError> {
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
    Ok(header)
}

impl Issuer {
    /// Verifies a token, and fetches newer keys if none of the known ones fits.
    pub(super) async fn verify(&self, token: &str, header: &Header) -> Result<Claims, JwtError> {
        let keys = self.keys.current();
        match self.check(keys.as_deref(), token, header) {
            Err(JwtError::UnknownKey | JwtError::KeysUnavailable) => {
                let newer = self.keys.newer_than(keys.as_ref()).await;
                self.check(newer.as_deref(), token, header)
            }
            result => result,
        }
    }

    /// Checks signature, times, issuer and audience with the key that the token names. A token that
    /// names no key is tried with each key. If no key verifies it, its key counts as unknown, so
    /// that newer keys are fetched.
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
            limits: None,
            confirms: false,
            person: None,
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

/// Converts the library's error.
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
