//! A small key-value store. Each connector has its own store in each tenant. If users connect
//! accounts, each integration has its own store. A store has at most 1,024 keys of 1 to 256 bytes,
//! and values of at most 64 KiB.

use crate::host;

pub use crate::bindings::gateway::connector::storage::Error;

/// The value of a key. `None` for an unknown key.
///
/// # Errors
/// [`Error`] if the key is too long or the store does not answer.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    host::storage::get(key)
}

/// Sets a value. With `time_to_live_seconds` the gateway deletes it after that time.
///
/// # Errors
/// [`Error`] if the key or the value is too long, the store is full, or it does not answer.
pub fn set(key: &str, value: &[u8], time_to_live_seconds: Option<u32>) -> Result<(), Error> {
    host::storage::set(key, value, time_to_live_seconds)
}

/// Deletes a value. An unknown key is not an error.
///
/// # Errors
/// [`Error`] if the key is too long or the store does not answer.
pub fn delete(key: &str) -> Result<(), Error> {
    host::storage::delete(key)
}
