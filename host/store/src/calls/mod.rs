//! Records of calls, for people who look for the reason of a failure.
//!
//! They are not a part of the gateway's state: a power loss may take the last ones, and the oldest
//! ones make room for new ones.
//!
//! - [`types`]: records and filters
//! - [`queries`]: adding, listing and deleting records

mod queries;
mod types;

pub use self::types::{CallFilter, CallPlace, RecordedCall};

#[cfg(test)]
mod tests;
