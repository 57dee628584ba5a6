//! Grants that users gave and that the caller has not confirmed yet.
//!
//! - [`types`]: a grant, and the result of looking one up
//! - [`queries`]: storing, confirming and deleting grants

mod queries;
mod types;

pub use self::types::{FoundGrant, PendingGrant};

#[cfg(test)]
mod tests;
