//! JWTs of callers: `Authorization: Bearer eyJ…`, signed by an issuer that the operator trusts (RFC
//! 7519, RFC 8725).
//!
//! A token decides only who the user is (`sub`) and, if the operator allows it, the tenant. The
//! operator's settings decide everything else. The issuer's key decides the algorithm of a
//! signature, never the token alone.
//!
//! - [`settings`]: the operator's settings for an issuer
//! - [`issuers`]: the verification of a token
//! - [`id_tokens`]: the verification of an ID token, for signing in to the console
//! - [`key_source`]: fetches an issuer's keys
//! - [`key_set`]: the keys that can be used, and their algorithms
//! - [`signature`]: the cryptography
//! - [`error`]: why a token is not accepted

mod error;
mod id_tokens;
mod issuers;
mod key_set;
mod key_source;
mod settings;
mod signature;

pub use self::error::JwtError;
pub(crate) use self::id_tokens::IdTokens;
pub(crate) use self::issuers::Claims;
pub use self::issuers::JwtIssuers;
pub use self::settings::{JwtIssuer, TenantOf};

#[cfg(test)]
mod tests;
