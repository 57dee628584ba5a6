//! A grant that a user gave and that the gateway does not use.

use crate::records::record;
use crate::{DatabaseTime, Holder, Sealed, StateHash};

record! {
    /// A grant that waits for the caller's confirmation, or for its revocation.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PendingGrant {
        /// SHA-256 of the completion. The completion itself is not stored, so that a reader of the
        /// database cannot confirm the grant. No one has the completion of a replaced grant.
        pub hash: StateHash,
        /// The holder that began the authorization.
        pub holder: Holder,
        /// The identifier that the integration has or will have.
        pub user_identifier: String,
        /// Account and tokens, sealed with [`Holder::grant_context`].
        pub sealed: Sealed,
        /// The time from which the grant can no longer be confirmed, and is to be revoked.
        pub expires_at: DatabaseTime,
    }
}

/// The result of looking up the grant of a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundGrant {
    /// This one.
    Pending(Box<PendingGrant>),
    /// The grant belongs to another user of the tenant.
    OfOtherSubject,
    /// There is no such grant: it never existed, was confirmed before, or has expired.
    Unknown,
}
