//! Random ids, which never repeat.

use ring::rand::{SystemRandom, generate};

use crate::StoreError;

/// Makes an id from a prefix and 128 random bits in hexadecimal digits.
///
/// # Errors
/// If the operating system provides no random numbers.
pub fn random_id(prefix: &str) -> Result<String, StoreError> {
    let random = generate::<[u8; 16]>(&SystemRandom::new()).map_err(|_| StoreError::NoRandomness)?;
    Ok(format!("{prefix}{:032x}", u128::from_be_bytes(random.expose())))
}
