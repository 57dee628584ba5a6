//! The OAuth 2.0 client (RFC 6749, 6750, 7009, 7523, 7636, 8628): the authorization URL, the
//! exchange of a code, the refresh of tokens, and their revocation.
//!
//! Differences between providers are data of the connector's manifest, which the operator's
//! settings can replace. The code knows no provider by name. It keeps no state: callers decide when
//! to refresh, and store the tokens.
//!
//! # Layout
//! - [`provider`]: the provider of one connector; authorization, exchange and refresh
//! - [`device`]: the device authorization grant
//! - [`revoke`]: the revocation of tokens
//! - [`account_provider`]: access tokens for the credentials that accounts bring
//! - [`account_grant`]: these credentials
//! - `assertion`: JWTs that the gateway signs
//! - [`tokens`]: an access token and a refresh token
//! - [`recipients`]: the sites that may receive secrets
//! - `endpoint`: one URL of a provider, called through egress
//! - `response`: a provider's response, and the meaning of its error codes
//! - `token_response`: the tokens in a response
//! - `secret_text`: secrets in JSON that is sealed, and for the library
//! - `error_text`: makes a provider's error text safe to show
//! - [`error`]: why there are no tokens, and who can fix it
//!
//! # Invariants
//! - Secrets go only to hosts of [`recipients`].
//! - No error and no log line contains a secret, even if a provider echoes it.

mod account_grant;
mod account_provider;
mod assertion;
mod device;
mod endpoint;
mod error;
mod error_text;
mod provider;
mod recipients;
mod response;
mod revoke;
mod secret_text;
mod token_response;
mod tokens;

pub use self::account_grant::AccountGrant;
pub use self::account_provider::{AccountProvider, UnusableGrant};
pub use self::device::{DeviceAnswer, DeviceAuthorization, LONGEST_INTERVAL};
pub use self::endpoint::CALL_TIMEOUT;
pub use self::error::{NotConfigured, TokenError};
pub use self::provider::{Provider, TenantClient, no_authorization_url, token_urls};
pub use self::recipients::{Recipients, site};
pub use self::revoke::Revocation;
pub use self::tokens::{NoTokens, Tokens, TokensJson};

#[cfg(test)]
pub(crate) mod tests;
