//! Data keys, which the vault seals secrets under.
//!
//! The store never sees a data key in the clear: each is stored sealed under a master key.
//!
//! - [`types`]: data keys and sealed bytes
//! - [`queries`]: storing, replacing and deleting data keys
//! - [`sealed_rows`]: finding secrets that are sealed under a previous data key, and replacing them

mod queries;
mod sealed_rows;
mod types;

pub use self::types::Sealed;
pub(crate) use self::types::{DataKey, Wrap};

#[cfg(test)]
mod tests;
