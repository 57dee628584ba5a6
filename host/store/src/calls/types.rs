//! Records of calls, and filters of their lists.

use std::time::SystemTime;

use crate::records::record;

record! {
    row =>
    /// The record of a call.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RecordedCall {
        /// Grows with each record. The store sets it.
        pub number: i64,
        /// The id of the request, or of the job.
        pub request_id: String,
        /// Time at which the call arrived. The store sets it.
        pub at: SystemTime,
        /// The name of the gateway.
        pub gateway: String,
        /// The caller's tenant.
        pub tenant: String,
        /// The user. Empty if the caller speaks for its tenant.
        pub subject: String,
        /// The API key. `None` if the caller sent a JWT.
        pub key_id: Option<String>,
        /// The connector, as the caller named it.
        pub connector: String,
        /// The operation, as the caller named it.
        pub operation: String,
        /// The version of the connector. `None` if there is no such connector.
        pub version: Option<String>,
        /// The status of the answer. `None` if the caller did not wait for it.
        pub status: Option<u16> = row.read::<Option<i64>>()?.and_then(|status| status.try_into().ok()),
        /// The name of the problem, if the answer is one.
        pub problem: Option<String>,
        /// The owner of the problem, who can solve it.
        pub owner: Option<String>,
        /// The detail of the problem.
        pub detail: Option<String>,
        /// The JSON Pointers to what is not valid, as a JSON list. `None` if the problem has none.
        pub pointers: Option<String>,
        /// The identifier of the account of the call. `None` if no account was chosen.
        pub user_identifier: Option<String>,
        /// Time to the head of the answer in microseconds.
        pub duration_us: i64,
        /// Time in each stage, as a JSON object.
        pub stages: String,
        /// The requests to upstreams, as a JSON list.
        pub upstream: String,
        /// How an idempotency key was used. `None` if there was no key.
        pub idempotency: Option<String>,
        /// The job that the call added, or that the record is about.
        pub job_id: Option<String>,
    }
}

/// The columns of a [`RecordedCall`] after its number, in the order in which they are read and
/// written.
pub(super) const COLUMNS: &str = "request_id, at, gateway, tenant, subject, key_id, connector, operation, version, status, \
     problem, owner, detail, pointers, user_identifier, duration_us, stages, upstream, idempotency, job_id";

/// The number of columns in [`COLUMNS`].
pub(super) const COLUMN_COUNT: usize = 20;

/// The records that a list shows.
#[derive(Clone, Debug, Default)]
pub struct CallFilter {
    /// Only calls with this status.
    pub status: Option<u16>,
    /// Only calls that ended with a problem.
    pub failed: bool,
    /// Only calls that ended with the problem of this name.
    pub problem: Option<String>,
    /// Only calls whose problem this owner can solve.
    pub owner: Option<String>,
    /// Only calls of this tenant.
    pub tenant: Option<String>,
    /// Only calls of this user. Empty for those without a user.
    pub subject: Option<String>,
    /// Only calls on accounts with this identifier.
    pub user_identifier: Option<String>,
    /// Only calls on the account with this id here or at the service, with this identifier, or with
    /// this email address.
    pub account: Option<String>,
    /// Only calls of this connector.
    pub connector: Option<String>,
    /// Only calls of operations with this path.
    pub operation: Option<String>,
    /// Only calls that arrived at this time or later.
    pub since: Option<SystemTime>,
    /// Only calls that arrived before this time.
    pub until: Option<SystemTime>,
    /// Only records after this place in the list.
    pub before: Option<CallPlace>,
    /// Maximum number of records.
    pub limit: u32,
}

/// The place of a record in a list: its time and its number.
pub type CallPlace = (SystemTime, i64);
