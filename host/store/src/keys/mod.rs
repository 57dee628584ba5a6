//! API keys of callers.
//!
//! - [`types`]: a key as it is stored, and the results of revoking and adopting one
//! - [`queries`]: storing, listing and revoking keys

mod queries;
mod types;

pub use self::types::{ApiKey, KeyAdoption, KeyHash, KeyId, KeyRevocation, NewApiKey};

#[cfg(test)]
mod tests;
