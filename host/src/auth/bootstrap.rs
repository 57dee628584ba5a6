//! The first key, without which nobody could make one through the gateway.

use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use super::Scopes;
use super::key::{self, NoRandomness};
use store::{KeyAdoption, KeyId, Store, StoreError};

/// The tenant of the first key.
pub const DEFAULT_TENANT: &str = "default";

/// A chosen key that is shorter is too easily guessed, whatever it is made of.
const MIN_CHARACTERS: usize = 16;

/// Why there is no first key. The texts say what to do.
#[derive(Debug, Error)]
pub enum BootstrapError {
    /// The chosen key is too short.
    #[error("GATEWAY_BOOTSTRAP_KEY has fewer than {MIN_CHARACTERS} characters; choose a longer, random value")]
    TooShort,
    /// The chosen key does not fit into a header.
    #[error("GATEWAY_BOOTSTRAP_KEY has blanks or characters other than ASCII; choose letters and digits")]
    NotPrintable,
    /// A person revoked the chosen key.
    #[error("the key in GATEWAY_BOOTSTRAP_KEY was revoked; choose another value, or unset it")]
    Revoked,
    /// The chosen key was made by a command, for less.
    #[error(
        "GATEWAY_BOOTSTRAP_KEY is the key {0}, which was made with other rights; choose another value, or unset it"
    )]
    Narrower(KeyId),
    /// No key can be made.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Sees to it that there is a key with every scope in the tenant `default`.
///
/// With `chosen`, that is the key; one chosen before and no longer is revoked. Without, a key is made if there never was any,
/// and given back, to be shown this once.
///
/// # Errors
/// When the chosen key is not acceptable, or the store does not answer.
pub async fn bootstrap(store: &Store, chosen: Option<&SecretString>) -> Result<Option<SecretString>, BootstrapError> {
    let Some(chosen) = chosen else {
        let (stored, key) = key::make_key("first start", DEFAULT_TENANT, None, Scopes::all())?;
        return Ok(store.create_first_key(stored).await?.then_some(key));
    };
    let chosen = chosen.expose_secret();
    if chosen.len() < MIN_CHARACTERS {
        return Err(BootstrapError::TooShort);
    }
    if !chosen.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(BootstrapError::NotPrintable);
    }
    let stored = key::stored(chosen, "GATEWAY_BOOTSTRAP_KEY", DEFAULT_TENANT, Scopes::all())?;
    match store.adopt_key(stored).await? {
        KeyAdoption::Accepted => Ok(None),
        KeyAdoption::Revoked => Err(BootstrapError::Revoked),
        KeyAdoption::OtherRights(id) => Err(BootstrapError::Narrower(id)),
    }
}
