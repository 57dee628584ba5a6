//! Inboxes and requests to them, as they are stored.

use std::time::{Duration, SystemTime};

use crate::Sealed;
use crate::records::{new_id, record};
use crate::triggers::NewEvent;

/// An inbox to be stored.
#[derive(Clone, Debug)]
pub struct NewInbox {
    /// The connector that declares it.
    pub connector: String,
    /// The name that the connector declares.
    pub inbox: String,
    /// Empty if it serves all tenants.
    pub tenant: String,
    /// The last segment of its public address.
    pub address: String,
}

record! {
    row =>
    /// An inbox of an application.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Inbox {
        /// Its id.
        pub id: String,
        /// The connector that declares it.
        pub connector: String,
        /// The name that the connector declares.
        pub inbox: String,
        /// Empty if it serves all tenants.
        pub tenant: String,
        /// The last segment of its public address.
        pub address: String,
        /// Time of its creation.
        pub created_at: SystemTime,
        /// Time of the last request that passed the checks.
        pub last_accepted_at: Option<SystemTime>,
        /// Time and reason of the last request that did not.
        pub last_rejection: Option<(SystemTime, String)> = {
            let (at, reason): (Option<_>, Option<_>) = (row.read()?, row.read()?);
            at.zip(reason)
        },
        /// The secrets, the oldest first.
        pub secrets: Vec<InboxSecret> = Vec::new(),
    }
}

record! {
    /// A secret of an inbox, which the operator has given.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct InboxSecret {
        /// Names the secret in the API.
        pub id: String,
        /// Time of its creation.
        pub created_at: SystemTime,
        /// The secret, sealed with [`InboxSecret::context`].
        pub secret: Sealed,
    }
}

impl InboxSecret {
    new_id! {
        /// Makes the id of a new secret.
        new_id = "ibs_"
    }

    /// The context in which a secret is sealed.
    pub fn context(id: &str) -> [&str; 2] {
        ["inbox_secret", id]
    }
}

/// The outcome of adding a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretAdded {
    /// It is valid from now on.
    Added,
    /// The inbox has two secrets, and one of them must be deleted first.
    Full,
    /// There is no such inbox.
    Unknown,
}

/// A request of a service to an address, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRequest {
    /// The name of the gateway that has answered it.
    pub gateway: String,
    /// The id of the inbox or of the subscription. Empty if no one has the address.
    pub address: String,
    /// The connector. Empty if no one has the address.
    pub connector: String,
    /// Its outcome, such as `stored`.
    pub outcome: &'static str,
    /// Why it was rejected or ignored.
    pub reason: Option<String>,
    /// The kind of its first notification.
    pub kind: Option<String>,
    /// Events that were new.
    pub events: u64,
    /// Time until the answer, in milliseconds.
    pub ms: u64,
    /// Size of the body.
    pub bytes: u64,
    /// The address of the sender.
    pub remote: String,
}

record! {
    /// A request of a service that is stored.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "see `HookRequest`")]
    pub struct RecordedHookRequest {
        /// Grows with each request.
        pub number: i64,
        pub at: SystemTime,
        pub gateway: String,
        pub address: String,
        pub connector: String,
        pub outcome: String,
        pub reason: Option<String>,
        pub kind: Option<String>,
        pub events: u64,
        pub ms: u64,
        pub bytes: u64,
        pub remote: String,
    }
}

/// Selects a page of the requests of services, the newest first.
#[derive(Clone, Debug, Default)]
pub struct HookRequestFilter {
    /// Only requests to this inbox or subscription, by its id.
    pub address: Option<String>,
    /// Only requests for this connector.
    pub connector: Option<String>,
    /// Only requests with this outcome.
    pub outcome: Option<String>,
    /// Only requests from this time on.
    pub since: Option<SystemTime>,
    /// Only requests before this time.
    pub until: Option<SystemTime>,
    /// Only requests before the last one of the previous page, by time and number.
    pub before: Option<(SystemTime, i64)>,
    /// Maximum number of requests.
    pub limit: u32,
}

/// A notification to be kept until its accounts were found: one that other accounts may see too, or
/// one about lost events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewShared {
    /// Its id, which is the same when the service sends it again.
    pub id: String,
    /// The inbox that it came to.
    pub inbox: String,
    /// Its body, sealed with [`SharedNotification::context`].
    pub body: Sealed,
    /// The id and the sealed body of the notification that takes its place if too many wait. It is
    /// about lost events. `None` if this one is, and is kept in any case.
    pub instead: Option<(String, Sealed)>,
}

record! {
    row =>
    /// A notification that is kept until its accounts were found.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SharedNotification {
        /// Its id.
        pub id: String,
        /// The inbox that it came to.
        pub inbox: String,
        /// Its body, sealed with [`SharedNotification::context`].
        pub body: Sealed,
        /// The number of times that the service was asked and did not answer.
        pub attempts: u32 = u32::try_from(row.read::<i64>()?).unwrap_or(u32::MAX),
        /// Time at which it came.
        pub created_at: SystemTime,
        /// Time since then, by the clock of the database.
        pub age: Duration = Duration::from_millis(u64::try_from(row.read::<i64>()?).unwrap_or_default()),
    }
}

/// The end of a notification that was kept.
#[derive(Clone, Debug, Default)]
pub struct EndedShared {
    /// Events for the accounts that see it.
    pub events: Vec<NewEvent>,
    /// See [`PushedEvents::max_pending`](crate::PushedEvents::max_pending).
    pub max_pending: u64,
    /// The notification that tells accounts of its lost events, and the one for all accounts, which
    /// takes its place if many wait. `None` if no event is lost.
    pub lost: Option<NewShared>,
}

impl SharedNotification {
    /// The context in which a body is sealed.
    pub fn context(id: &str) -> [&str; 2] {
        ["shared_notification", id]
    }
}
