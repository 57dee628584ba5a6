//! The first key. Without it, no one could call the gateway.

use secrecy::SecretString;
use thiserror::Error;

use super::key::{self, NoRandomness};
use super::scope::Scopes;
use egress::{bearer_header, is_shorter};
use store::digest::sha256_of_secret;
use store::{KeyAdoption, KeyHash, KeyId, ShownOnce, Store, StoreError};

/// The tenant of the first key.
pub(crate) const DEFAULT_TENANT: &str = "default";

/// Shortest chosen key. A shorter one is too easy to guess.
const MIN_CHARACTERS: usize = 16;

/// Why the chosen key is not accepted, or no key can be made. The messages say what to do.
#[derive(Debug, Error)]
pub enum BootstrapError {
    /// The chosen key is too short.
    #[error("GATEWAY_BOOTSTRAP_KEY has fewer than {MIN_CHARACTERS} characters; choose a longer, random value")]
    TooShort,
    /// A header cannot carry the chosen key.
    #[error("GATEWAY_BOOTSTRAP_KEY contains blanks or characters that are not ASCII; choose letters and digits")]
    NotPrintable,
    /// The chosen key was revoked by a command.
    #[error("the key in GATEWAY_BOOTSTRAP_KEY was revoked; choose another value, or unset it")]
    Revoked,
    /// The chosen key exists, but was made by a command with fewer rights.
    #[error(
        "GATEWAY_BOOTSTRAP_KEY is the key {0}, which was made with other rights; choose another value, or unset it"
    )]
    Narrower(KeyId),
    /// There are no random numbers for a key.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Ensures that a key with every scope but `proxy` in the tenant `default` exists.
///
/// With `chosen`, this key is accepted, and a key that was chosen at an earlier start is revoked.
/// Without it, a key is made if the store never had one. Returns a key that was made, to show it
/// once.
///
/// # Errors
/// If the chosen key is not acceptable, or the store fails.
pub async fn bootstrap(store: &Store, chosen: Option<&SecretString>) -> Result<Option<ShownOnce>, BootstrapError> {
    let Some(chosen) = chosen else {
        let (stored, key) = key::make_key("first start", DEFAULT_TENANT, None, Scopes::of_first_key())?;
        return Ok(store.keys().create_first(stored).await?.then_some(key));
    };
    check(chosen)?;
    let stored = key::stored(hash_of(chosen), "GATEWAY_BOOTSTRAP_KEY", DEFAULT_TENANT, Scopes::of_first_key())?;
    match store.keys().adopt(stored).await? {
        KeyAdoption::Accepted => Ok(None),
        KeyAdoption::Revoked => Err(BootstrapError::Revoked),
        KeyAdoption::OtherRights(id) => Err(BootstrapError::Narrower(id)),
    }
}

/// The hash by which a chosen key is recognised.
pub(super) fn hash_of(chosen: &SecretString) -> KeyHash {
    sha256_of_secret(chosen)
}

/// Checks the form of a chosen key.
///
/// # Errors
/// If it is too short, or a header cannot carry it.
pub fn check(chosen: &SecretString) -> Result<(), BootstrapError> {
    if is_shorter(chosen, MIN_CHARACTERS) {
        return Err(BootstrapError::TooShort);
    }
    bearer_header(chosen).map(drop).map_err(|_| BootstrapError::NotPrintable)
}
