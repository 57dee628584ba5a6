//! The audit: every change by a person, a key or a file.
//!
//! An entry is written in the transaction of its change, so that no change is without its entry and
//! no entry without its change. Entries are never changed, also not by the program itself: triggers
//! of both databases refuse it. The only deletion is the one of entries that are too old.
//!
//! - [`mod@acting`]: who acts, for the writes of one task
//! - [`types`]: entries and filters
//! - [`queries`]: adding, listing and deleting entries

mod acting;
mod queries;
mod types;

pub use self::acting::{Acting, acting, inherit};
pub use self::types::{AuditAction, AuditEntry, AuditFilter, AuditPlace};

pub(crate) use self::queries::note;

#[cfg(test)]
mod tests;
