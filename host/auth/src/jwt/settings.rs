//! The operator's settings for an issuer of JWTs.

use url::Url;

use crate::scope::Scopes;

/// An issuer whose JWTs are accepted from callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtIssuer {
    /// The required claim `iss`.
    pub issuer: String,
    /// The required claim `aud`, which names this gateway.
    pub audience: String,
    /// The URL of the issuer's public keys.
    pub jwks_url: Url,
    /// The tenant of callers with these tokens.
    pub tenant: TenantOf,
    /// The scopes of callers with these tokens. The tokens cannot change them.
    pub scopes: Scopes,
    /// `true` if `jwks_url` may be at a loopback or private address.
    pub allow_private_network: bool,
}

/// The source of a token's tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantOf {
    /// Every token of the issuer has this tenant.
    Issuer(String),
    /// The claim of this name contains the tenant.
    Claim(String),
}
