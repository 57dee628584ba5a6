//! The user has a key of the service, a name and a password, or a key that signs requests.
//!
//! `key` has the forms of keys, and `key_form` what a connector takes and how requests use it. If
//! the manifest names an operation that checks the key, the key is tried before it is stored.

use super::request::{ConnectRequest, Obtained};
use crate::{AccountSecret, BeginError, Key, KeyUse};
use contract::ApiKey;
use egress::SHORTEST_SECRET;
use registry::Connector;

/// Reads the key of a request.
///
/// # Errors
/// If it is too short to be masked, or requests cannot carry it.
pub(super) fn read(
    connector: &Connector,
    scheme: &ApiKey,
    request: &ConnectRequest,
    credentials: &[u8],
) -> Result<Obtained, BeginError> {
    let refused = |pointer: String, detail: String| BeginError::Credentials { pointer, detail };
    let key = Key::from_bytes(credentials)
        .map_err(|_| refused(String::new(), "Must hold the key that the schema names.".to_owned()))?;
    if let Some(member) = key.too_short() {
        let detail = format!(
            "Must have at least {SHORTEST_SECRET} bytes. The gateway cannot mask a shorter secret in responses."
        );
        return Err(refused(format!("/{member}"), detail));
    }
    let usage = KeyUse::of(scheme, connector.auth_additions().signature.as_ref(), &request.address);
    key.credential(&usage)
        .map_err(|error| refused(String::new(), format!("Cannot be sent to the service: {error}.")))?;
    Ok((AccountSecret::ApiKey(key, usage), None))
}
