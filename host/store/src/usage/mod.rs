//! Usage: what each tenant has called on each day.
//!
//! Counts only grow: gateways add batches to the same rows, and the database itself counts the
//! events of triggers. There are two tables, by operation and by user. One table with both would
//! have a row for each operation of each user.
//!
//! - [`types`]: counts, rows and filters
//! - [`queries`]: adding, listing and deleting counts

mod queries;
mod types;

pub use self::types::{
    NewUsageBatch, UsageBy, UsageCounts, UsageFilter, UsageKey, UsagePlace, UsageRow, new_usage_batch_id,
};

#[cfg(test)]
mod tests;
