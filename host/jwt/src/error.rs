//! Why a JWT is not accepted.

use thiserror::Error;

/// Why a JWT is not accepted. The messages repeat nothing of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum JwtError {
    /// It cannot be parsed, or its algorithm is not supported.
    #[error("the token is no JWT that is signed with RS256, PS256, ES256 or EdDSA")]
    Unreadable,
    /// It requires extensions (RFC 7515, section 4.1.11).
    #[error("the JWT has critical header parameters (`crit`), which this gateway does not support")]
    Critical,
    /// The operator does not trust its issuer.
    #[error("the JWT's issuer (`iss`) is not one that this gateway is set to trust")]
    UnknownIssuer,
    /// It was issued for another service.
    #[error("the JWT is not for this gateway: its audience (`aud`) is another")]
    WrongAudience,
    /// The issuer has no such key.
    #[error("the JWT is signed with a key (`kid`) that its issuer does not publish")]
    UnknownKey,
    /// The issuer has such a key, but for another algorithm.
    #[error("the JWT is signed with another algorithm (`alg`) than its key is for")]
    WrongAlgorithm,
    /// The signature is not the issuer's, or the token was changed.
    #[error("the JWT's signature is wrong")]
    WrongSignature,
    /// It is no longer valid.
    #[error("the JWT has expired (`exp`)")]
    Expired,
    /// It is not valid yet.
    #[error("the JWT is not valid yet (`nbf`)")]
    NotYetValid,
    /// A required claim is missing or has the wrong form.
    #[error("the JWT's claim `{0}` is missing, or not of the form it must have")]
    Claim(&'static str),
    /// The claim that contains the tenant is missing or has the wrong form.
    #[error("the JWT does not say for which tenant it is")]
    NoTenant,
    /// The issuer's keys could not be fetched since the gateway started.
    #[error("the keys of the JWT's issuer cannot be fetched")]
    KeysUnavailable,
}
