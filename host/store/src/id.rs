//! Names that are given once and never again.

use ring::rand::{SystemRandom, generate};

use super::StoreError;

/// A prefix and 128 random bits, as hexadecimal digits.
pub(super) fn random_id(prefix: &str) -> Result<String, StoreError> {
    let random = generate::<[u8; 16]>(&SystemRandom::new()).map_err(|_| StoreError::NoRandomness)?;
    Ok(format!("{prefix}{:032x}", u128::from_be_bytes(random.expose())))
}
