//! OAuth authorizations in progress.
//!
//! - [`types`]: an authorization, and the result of taking one
//! - [`queries`]: storing and taking authorizations

mod queries;
mod types;

pub use self::types::{Authorization, StateHash, TakenAuthorization};

#[cfg(test)]
mod tests;
