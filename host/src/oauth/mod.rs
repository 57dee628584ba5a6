//! OAuth 2.0 as a client (RFC 6749, 6750, 7009, 7636): where a user is sent to, what a code or a refresh token is exchanged
//! for, and how a grant is given back.
//!
//! What differs between providers is data of the connector's manifest, and what the operator puts in its place; no provider
//! is known here by name. Nothing here keeps anything: whoever calls decides when, and stores what comes of it.
//!
//! # Layout
//! - [`provider`]: one connector's provider; authorization, exchange, refresh
//! - [`revoke`]: giving a grant back
//! - [`recipients`]: who may be sent secrets
//! - `endpoint`: one URL of the provider, called through egress
//! - `answer`: from what a provider answers to the form of RFC 6749, or to an error
//! - [`error`]: why there are no tokens, and who can mend it
//! - `remark`: what a provider says about an error, made safe to show
//! - [`tokens`]: what a provider gave
//!
//! Secrets go to the provider's own hosts only, as far as the operator vouches for them, and into no error text and no log, whatever a provider echoes.

mod answer;
mod endpoint;
mod error;
mod provider;
mod recipients;
mod remark;
mod revoke;
mod tokens;

pub use self::endpoint::CALL_TIMEOUT;
pub use self::error::{NotConfigured, TokenError};
pub use self::provider::Provider;
pub use self::recipients::{Recipients, site};
pub use self::revoke::Revocation;
pub use self::tokens::{NoTokens, Tokens};

#[cfg(test)]
pub(crate) mod tests;
