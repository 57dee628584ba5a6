//! Names of providers, which foreign connectors must not have as identifiers.
//!
//! `oauth_clients` holds client credentials by provider and by connector. The credentials of a
//! provider are for the shipped connectors that name it. A foreign connector with the provider's
//! name as identifier would receive them.

use super::{Connector, Live};
use contract::AuthScheme;

/// The provider whose client credentials a connector may use. `None` for foreign connectors and for
/// other auth schemes.
pub(super) fn provider_of(connector: &Connector) -> Option<&str> {
    match &connector.manifest().auth {
        AuthScheme::Oauth2(scheme) if connector.is_shipped() => Some(&scheme.provider),
        _ => None,
    }
}

/// Checks the identifier of a foreign connector against the providers of the live connectors.
///
/// # Errors
/// A sentence without a full stop that says what to do.
pub(super) fn check(identifier: &str, live: &Live) -> Result<(), String> {
    if live.values().any(|connector| provider_of(connector) == Some(identifier)) {
        return Err(refusal(identifier));
    }
    Ok(())
}

/// The reason why a foreign connector must not have this identifier.
pub(super) fn refusal(identifier: &str) -> String {
    format!(
        "its identifier `{identifier}` is a provider's name, and the client credentials in `oauth_clients.{identifier}` are \
         for the connectors that came with the gateway; give it another identifier, such as `{identifier}_connector`"
    )
}
