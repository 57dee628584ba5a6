//! Grants that users gave and that the caller has not confirmed yet, and grants that newer ones
//! have replaced and that are still to be revoked.
//!
//! - [`types`]: a grant, and the result of looking one up
//! - [`insert`]: the row of a grant
//! - [`queries`]: storing, confirming, sealing again and deleting grants

mod insert;
mod queries;
mod types;

pub(crate) use self::insert::insert_grant;
pub use self::types::{FoundGrant, PendingGrant};

#[cfg(test)]
mod tests;
