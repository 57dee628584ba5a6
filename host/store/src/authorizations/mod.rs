//! OAuth authorizations in progress.
//!
//! - [`types`]: an authorization, and the result of taking one
//! - [`queries`]: storing and taking authorizations
//! - [`devices`]: those that end without a browser, by a device code

mod devices;
mod queries;
mod types;

pub use self::types::{Authorization, DevicePoll, DeviceProgress, StateHash, TakenAuthorization};

#[cfg(test)]
mod tests;
