//! Calls with an idempotency key: the key makes sure that a call runs once, and keeps its first answer.
//!
//! - [`types`]: a key, and the state of its call
//! - [`queries`]: beginning and ending a call

mod queries;
mod types;

pub use self::types::{IdempotentCall, KeyState};

#[cfg(test)]
mod tests;
