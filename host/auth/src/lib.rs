//! Authentication of callers, and their permissions.
//!
//! A caller sends an API key (`Authorization: Bearer cgw_…`) or a JWT of an issuer that the
//! operator trusts.
//!
//! - [`authenticator`]: finds the caller of a request
//! - [`caller`]: the tenant, the user and the scopes of a caller
//! - [`scope`]: the permissions
//! - [`limits`]: the operations that a key may call
//! - [`sessions`]: the sessions of agents
//! - [`key`]: the form of API keys, and how a key is made
//! - [`mod@bootstrap`]: the first key
//! - [`jwt`]: JWTs of trusted issuers
//! - [`oidc`]: the sign-in of operators at an OpenID provider
//! - [`error`]: why a caller is not recognised

mod authenticator;
mod bootstrap;
mod caller;
mod error;
mod jwt;
mod key;
mod limits;
mod oidc;
mod scope;
mod sessions;

pub use ::jwt::JwtError;

pub use self::authenticator::{Authenticator, is_jwt};
pub use self::bootstrap::{BootstrapError, bootstrap, check as check_first_key};
pub use self::caller::{Caller, SessionBounds};
pub use self::error::AuthError;
pub use self::jwt::{JwtIssuer, JwtIssuers, KeyRing, TenantOf};
pub use self::key::{NoRandomness, make_key, make_session_token};
pub use self::limits::{KeyRefusal, Limits, MakerError, check_maker};
pub use self::oidc::{Oidc, OidcError, OidcSettings, Person, SignInSecret, error_code as oidc_error_code};
pub use self::scope::{Scope, Scopes};

#[cfg(test)]
mod tests;
