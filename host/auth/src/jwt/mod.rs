//! JWTs of callers: `Authorization: Bearer eyJ…`, signed by an issuer that the operator trusts (RFC
//! 7519, RFC 8725).
//!
//! A token decides only who the user is (`sub`) and, if the operator allows it, the tenant. The
//! operator's settings decide everything else. The crate `jwt` verifies the tokens.
//!
//! - [`settings`]: the operator's settings for an issuer
//! - [`issuers`]: finds the issuer of a token, and the caller in its claims
//! - [`id_tokens`]: the verification of an ID token, for signing in to the console
//! - [`key_ring`]: keys for tokens that come with notifications of services
//! - [`key_source`]: fetches an issuer's keys

mod id_tokens;
mod issuers;
mod key_ring;
mod key_source;
mod settings;

pub(crate) use self::id_tokens::IdTokens;
pub use self::issuers::JwtIssuers;
pub use self::key_ring::KeyRing;
pub use self::settings::{JwtIssuer, TenantOf};

#[cfg(test)]
mod tests;
