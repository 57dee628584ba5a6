//! API keys of callers.
//!
//! - [`types`]: a key as it is stored, the filter of a list, and the results of revoking and
//!   adopting one
//! - [`queries`]: storing, listing and revoking keys

mod queries;
mod types;

pub use self::types::{ApiKey, KeyAdoption, KeyFilter, KeyHash, KeyId, KeyRevocation, KeyStatus, NewApiKey};

#[cfg(test)]
mod tests;
