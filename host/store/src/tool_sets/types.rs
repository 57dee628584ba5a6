//! A tool set, as it is stored.

use std::time::SystemTime;

use crate::records::record;

/// A tool set to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToolSet {
    /// The tenant whose agents use it.
    pub tenant: String,
    /// Unique in the tenant.
    pub name: String,
    /// The definition, as JSON. The store does not interpret it.
    pub definition: String,
}

record! {
    /// A tool set.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct StoredToolSet {
        /// Unique in the tenant.
        pub name: String,
        /// The definition, as JSON.
        pub definition: String,
        /// The actor who made it, as the audit names actors.
        pub created_by: String,
        /// Time at which it was made.
        pub created_at: SystemTime,
    }
}
