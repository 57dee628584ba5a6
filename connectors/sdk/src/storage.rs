//! A small key-value store, apart for each connector and, where users have integrations, for each integration.
//! It holds at most 1,024 keys of 1 to 256 bytes, and values of up to 64 KiB.

use crate::host;

pub use crate::bindings::gateway::connector::storage::Error;

/// The value of a key, if it is there.
///
/// # Errors
/// [`Error`] when the key is too long or the store does not answer.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    host::storage::get(key)
}

/// Sets a value; with `time_to_live_seconds` it is gone after that time.
///
/// # Errors
/// [`Error`] when key or value are too long, or the store is full or does not answer.
pub fn set(key: &str, value: &[u8], time_to_live_seconds: Option<u32>) -> Result<(), Error> {
    host::storage::set(key, value, time_to_live_seconds)
}

/// Removes a value; a key that is not there is no error.
///
/// # Errors
/// [`Error`] when the key is too long or the store does not answer.
pub fn delete(key: &str) -> Result<(), Error> {
    host::storage::delete(key)
}
