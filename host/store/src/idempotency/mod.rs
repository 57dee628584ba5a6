//! Calls with an idempotency key. Such a call runs once, and its first answer is kept.
//!
//! - [`types`]: a key, and the state of its call
//! - [`queries`]: beginning and ending a call

mod queries;
mod types;

pub use self::types::{IdempotentCall, KeyState, TakenKey};

#[cfg(test)]
mod tests;
