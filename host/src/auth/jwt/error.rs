//! Why a JWT is not accepted.

use thiserror::Error;

/// Why a JWT is not accepted. The texts tell a caller what is wrong, and repeat nothing of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum JwtError {
    /// It cannot be read, or is signed in a way that nobody can check.
    #[error("the token is no JWT that is signed with RS256, PS256, ES256 or EdDSA")]
    Unreadable,
    /// It asks for extensions (RFC 7515, section 4.1.11).
    #[error("the JWT has critical header parameters (`crit`), and none is known here")]
    Critical,
    /// Nobody we know issued it.
    #[error("the JWT's issuer (`iss`) is none that this gateway is set to trust")]
    UnknownIssuer,
    /// It was issued for somebody else.
    #[error("the JWT is not for this gateway: its audience (`aud`) is another")]
    WrongAudience,
    /// The issuer has no such key.
    #[error("the JWT is signed with a key (`kid`) that its issuer does not publish")]
    UnknownKey,
    /// The issuer has such a key, for another algorithm.
    #[error("the JWT is signed with another algorithm (`alg`) than its key is for")]
    WrongAlgorithm,
    /// The signature is somebody else's, or the token was changed.
    #[error("the JWT's signature does not fit")]
    WrongSignature,
    /// It was good once.
    #[error("the JWT has expired (`exp`)")]
    Expired,
    /// It will be good later.
    #[error("the JWT is not valid yet (`nbf`)")]
    NotYetValid,
    /// A claim is not there, or is of no use.
    #[error("the JWT's claim `{0}` is missing, or not of the form it must have")]
    Claim(&'static str),
    /// The claim that says whose data it is about.
    #[error("the JWT does not say for which tenant it is")]
    NoTenant,
    /// The issuer's keys were never to be had.
    #[error("the keys of the JWT's issuer cannot be fetched")]
    KeysUnavailable,
}
