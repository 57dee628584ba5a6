//! Tool sets: the operations that agents get at one address.
//!
//! - [`types`]: a tool set as it is stored
//! - [`queries`]: adding, finding, listing and deleting tool sets

mod queries;
mod types;

pub use self::types::{NewToolSet, StoredToolSet};

#[cfg(test)]
mod tests;
