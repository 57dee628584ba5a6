//! The verification of a token against the keys of its issuer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::error::JwtError;
use super::key_set::KeySet;
use super::signature;

/// Largest difference between the clocks of issuer and gateway, in seconds.
const CLOCK_SKEW_S: u64 = 60;

/// Longest accepted token. Tokens in use have some kilobytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// The claims of a token.
pub type Claims = Map<String, Value>;

/// A token whose header is read, and that is not verified.
pub struct Token<'a> {
    text: &'a str,
    header: Header,
}

/// The claims that a token must have.
pub struct Expected<'a> {
    /// One of them is the claim `iss`.
    pub issuers: &'a [&'a str],
    /// The claim `aud` is this text, or a list with it.
    pub audience: &'a str,
    /// `true` if the claim `sub` must be there.
    pub has_subject: bool,
}

impl<'a> Token<'a> {
    /// Reads the header of a token.
    ///
    /// # Errors
    /// If it is no token, or if its algorithm is not one that this gateway supports.
    pub fn read(text: &'a str) -> Result<Self, JwtError> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(JwtError::Unreadable);
        }
        let header = decode_header(text).map_err(|_| JwtError::Unreadable)?;
        if header.crit.is_some() {
            return Err(JwtError::Critical);
        }
        if !matches!(header.alg, Algorithm::RS256 | Algorithm::PS256 | Algorithm::ES256 | Algorithm::EdDSA) {
            return Err(JwtError::Unreadable);
        }
        Ok(Self { text, header })
    }

    /// The algorithm that the token names.
    pub fn algorithm(&self) -> Algorithm {
        self.header.alg
    }

    /// The claims, which are not verified. Use them only to find the issuer.
    ///
    /// # Errors
    /// `Unreadable` if they are no JSON object.
    pub fn unverified_claims(&self) -> Result<Claims, JwtError> {
        insecure_decode_claims(self.text).map_err(|_| JwtError::Unreadable)
    }

    /// Checks signature, times, issuer and audience with the key that the token names, and returns
    /// the claims. A token that names no key is tried with each key. If no key verifies it, its key
    /// counts as unknown, so that newer keys are fetched.
    ///
    /// # Errors
    /// If the token is not accepted at the time `now`.
    pub fn verify(&self, keys: &KeySet, expected: &Expected<'_>, now: SystemTime) -> Result<Claims, JwtError> {
        signature::install();
        let mut failure = JwtError::UnknownKey;
        for key in keys.named(self.header.kid.as_deref()) {
            if !key.is_for(self.header.alg) {
                failure = JwtError::WrongAlgorithm;
                continue;
            }
            match decode::<Claims>(self.text, &key.decoding, &expected.validation(self.header.alg)) {
                Ok(decoded) => return check_times(&decoded.claims, now).map(|()| decoded.claims),
                Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => failure = JwtError::WrongSignature,
                Err(error) => return Err(translated(error.kind())),
            }
        }
        Err(if self.header.kid.is_none() { JwtError::UnknownKey } else { failure })
    }
}

impl Expected<'_> {
    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        // The library asks the clock of the machine. `check_times` checks the times.
        validation.validate_exp = false;
        validation.set_issuer(self.issuers);
        validation.set_audience(&[self.audience]);
        let required: &[&str] = if self.has_subject { &["exp", "iss", "aud", "sub"] } else { &["exp", "iss", "aud"] };
        validation.set_required_spec_claims(required);
        validation
    }
}

/// Checks that a token is valid at a time: `exp` has not passed, and `nbf` has, if it is there.
fn check_times(claims: &Claims, now: SystemTime) -> Result<(), JwtError> {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let expires = claims.get("exp").and_then(seconds).ok_or(JwtError::Claim("exp"))?;
    if expires.saturating_add(CLOCK_SKEW_S) < now {
        return Err(JwtError::Expired);
    }
    match claims.get("nbf").map(|value| seconds(value).ok_or(JwtError::Claim("nbf"))).transpose()? {
        Some(begins) if begins > now.saturating_add(CLOCK_SKEW_S) => Err(JwtError::NotYetValid),
        _ => Ok(()),
    }
}

/// The end of a token with these claims. `None` if the claim `exp` is not a time.
pub fn expiry(claims: &Claims) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_secs(claims.get("exp").and_then(seconds)?))
}

/// A number of seconds since 1970, which may have a fraction (RFC 7519, section 2).
fn seconds(value: &Value) -> Option<u64> {
    let fraction = || value.as_f64().filter(|number| (0.0..u64::MAX as f64).contains(number));
    value.as_u64().or_else(|| fraction().map(|number| number.round() as u64))
}

/// Converts the library's error.
fn translated(error: &ErrorKind) -> JwtError {
    match error {
        ErrorKind::InvalidIssuer => JwtError::UnknownIssuer,
        ErrorKind::InvalidAudience => JwtError::WrongAudience,
        ErrorKind::InvalidAlgorithm => JwtError::WrongAlgorithm,
        ErrorKind::MissingRequiredClaim(name) | ErrorKind::InvalidClaimFormat(name) => {
            JwtError::Claim(["exp", "iss", "aud", "sub"].into_iter().find(|known| known == name).unwrap_or("exp"))
        }
        _ => JwtError::Unreadable,
    }
}
