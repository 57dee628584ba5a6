//! Counts of usage, and filters of their lists.

use std::ops::AddAssign;

use crate::records::{named, new_id, record};

record! {
    /// The counts of a row.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct UsageCounts {
        /// Calls of operations, and requests around them.
        pub calls: u64,
        /// Those of them that have failed, and jobs that have.
        pub failed: u64,
        /// Attempts to send a request to a service.
        pub upstream_requests: u64,
        /// Bytes of the bodies of calls.
        pub bytes_in: u64,
        /// Bytes of the bodies of answers.
        pub bytes_out: u64,
        /// Jobs that have ended.
        pub jobs: u64,
        /// Events that were stored.
        pub events: u64,
    }
}

impl AddAssign for UsageCounts {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.upstream_requests += other.upstream_requests;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.jobs += other.jobs;
        self.events += other.events;
    }
}

/// The operation or the user that a count belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsageKey {
    /// An operation.
    Operation {
        /// Its connector. Empty if there was no such connector or operation.
        connector: String,
        /// Its path.
        operation: String,
    },
    /// A user. Empty for the tenant itself.
    Subject(String),
}

new_id! {
    /// Makes the id of a batch.
    new_usage_batch_id = "usg_"
}

/// Counts to add in one transaction.
#[derive(Clone, Debug, Default)]
pub struct NewUsageBatch {
    /// The store adds the batch with an id once.
    pub id: String,
    /// The counts with their day, which is a number of days since 1970, and their tenant. In
    /// ascending order, so that gateways never wait for each other's rows.
    pub counts: Vec<(u32, String, UsageKey, UsageCounts)>,
}

named! {
    /// The members by which a list has rows.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum UsageBy {
        /// A row for each tenant.
        #[default]
        Tenant = "tenant",
        /// A row for each connector of a tenant.
        Connector = "connector",
        /// A row for each operation of a tenant.
        Operation = "operation",
        /// A row for each user of a tenant.
        Subject = "subject",
    }
}

impl UsageBy {
    /// The columns by which rows are added up, after the day.
    pub(super) const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Tenant => &["tenant"],
            Self::Connector => &["tenant", "connector"],
            Self::Operation => &["tenant", "connector", "operation"],
            Self::Subject => &["tenant", "subject"],
        }
    }

    /// Returns `true` if a row of such a list can be at this place: it has a name for each member.
    pub fn has_place(self, (_, names): &UsagePlace) -> bool {
        names.len() == self.columns().len()
    }

    pub(super) const fn table(self) -> &'static str {
        match self {
            Self::Subject => SUBJECTS,
            _ => OPERATIONS,
        }
    }
}

pub(super) const OPERATIONS: &str = "usage_of_operations";
pub(super) const SUBJECTS: &str = "usage_of_subjects";

/// The place of a row in a list: its day and its names.
pub type UsagePlace = (u32, Vec<String>);

/// Selects a page of usage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageFilter {
    /// The members of rows.
    pub by: UsageBy,
    /// Only this day and later ones.
    pub since: Option<u32>,
    /// Only days before this one.
    pub until: Option<u32>,
    /// Only rows after this place in the list.
    pub after: Option<UsagePlace>,
    /// Maximum number of rows.
    pub limit: u32,
}

/// A row of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageRow {
    /// Days since 1970.
    pub day: u32,
    /// The names by which rows are added up: the tenant, then the connector and the operation, or
    /// the user.
    pub names: Vec<String>,
    /// The sums.
    pub counts: UsageCounts,
}

impl UsageRow {
    /// The place of the row in the list.
    pub fn place(&self) -> UsagePlace {
        (self.day, self.names.clone())
    }
}
