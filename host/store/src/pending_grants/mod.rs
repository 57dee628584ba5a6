//! Grants that users gave and that the caller has not confirmed yet, and grants that newer ones
//! have replaced and that are still to be revoked.
//!
//! - [`types`]: a grant, and the result of looking one up
//! - [`queries`]: storing, confirming and deleting grants

mod queries;
mod types;

pub(crate) use self::queries::insert_grant;
pub use self::types::{FoundGrant, PendingGrant};

#[cfg(test)]
mod tests;
