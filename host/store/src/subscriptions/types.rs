//! Subscriptions, as they are stored.

use std::time::{Duration, SystemTime};

use database::digest::sha256_hex;
use database::value::Row;

use crate::inboxes::NewShared;
use crate::integrations::read_sealed;
use crate::records::{named, new_id, record};
use crate::triggers::{NewEvent, Trigger, TriggerState};
use crate::{Sealed, Stored};

/// A subscription to be stored with its first trigger.
#[derive(Clone, Debug)]
pub struct NewSubscription {
    /// Its id, which its secrets are bound to.
    pub id: String,
    /// The covered part of the service: a text that is the same for triggers that share it. The
    /// store keeps its hash.
    pub covers: String,
    /// The inbox that the service notifies. `None` if it notifies none.
    pub inbox: Option<String>,
    /// The last segment of its public address. `None` for an inbox of an application.
    pub address: Option<String>,
    /// The account in notifications at an inbox of an application.
    pub route: Option<Route>,
    /// `false` if the service has not said yet whose account it is.
    pub is_identified: bool,
    /// Its parameters and its secret, sealed with [`Subscription::context`].
    pub secret: Sealed,
}

/// The hash of an account's values in notifications at an inbox of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route(pub(crate) String);

impl Route {
    /// The route of these values. Their case does not matter.
    pub fn of(values: &[String]) -> Self {
        Self(sha256_hex(values.join("\0").to_lowercase().as_bytes()))
    }
}

named! {
    /// The state of a subscription at the service.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Standing {
        /// The service was not asked yet.
        New = "new",
        /// The service notifies the gateway.
        Active = "active",
        /// The service does not notify the gateway. It reads at intervals.
        None = "none",
        /// The service has notified the gateway, and no longer does. It reads at intervals.
        Lost = "lost",
    }
}

impl Standing {
    /// Returns `true` if the gateway reads at intervals because the service does not notify it.
    pub const fn is_polled(self) -> bool {
        matches!(self, Self::None | Self::Lost)
    }
}

named! {
    /// The reason why nothing can be done for a subscription.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Blocked {
        /// The user must connect the account again.
        User = "user",
        /// The service has refused for good.
        Final = "final",
    }
}

record! {
    row =>
    /// A subscription.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "the columns of the table have the same names and are explained there")]
    pub struct Subscription {
        pub id: String,
        pub tenant: String,
        pub subject: String,
        pub connector: String,
        pub user_identifier: String,
        pub inbox: Option<String>,
        pub address: Option<String>,
        /// The address of the subscription that was replaced, until that one has ended.
        pub former_address: Option<String>,
        pub secret: Sealed,
        pub cursor: Option<Sealed> = read_sealed(row)?,
        pub standing: Standing,
        /// A JSON list.
        pub kinds: String,
        pub base: Option<String>,
        pub expires_at: Option<SystemTime>,
        pub renewed_at: Option<SystemTime>,
        pub renew_at: Option<SystemTime>,
        pub last_push_at: Option<SystemTime>,
        pub last_read_at: Option<SystemTime>,
        pub read_at: Option<SystemTime>,
        pub failed_renewals: u32 = number(row)?,
        pub failed_reads: u32 = number(row)?,
        pub empty_reads: u32 = number(row)?,
        pub reason: Option<String>,
        pub blocked: Option<Blocked> = read_blocked(row)?,
        pub rung: i64,
        /// `true` while the service may prove that the address is the gateway's.
        pub shakes_hands: bool,
        /// `false` once another account is connected under the name, until the service has said whose
        /// it is.
        pub is_identified: bool,
        /// `true` if the access of the account has ended.
        pub is_ended: bool,
        /// Number of the last lease.
        pub fence: i64,
        /// The time of the database when it was read.
        pub now: SystemTime,
        /// Its triggers, the oldest first, without the number of their webhooks that wait. Only a
        /// subscription that was just taken has them, for the step of work that begins, and one
        /// that was found by its address or its route.
        pub triggers: Vec<Trigger> = Vec::new(),
    }
}

impl Subscription {
    new_id! {
        /// Makes the id of a new subscription.
        new_id = "sub_"
    }

    /// The context in which parameters and secret are sealed.
    pub fn context(id: &str) -> [&str; 2] {
        ["subscription", id]
    }

    /// The context in which the cursor is sealed.
    pub fn cursor_context(id: &str) -> [&str; 2] {
        ["subscription_cursor", id]
    }
}

/// The result of a step of work on a subscription. What is `None` does not change.
#[derive(Clone, Debug, Default)]
pub struct SubscriptionStep {
    /// The parameters, the secret and the answers of the service.
    pub secret: Option<Sealed>,
    /// Its state at the service, the kinds that the service was asked for, and its life from now
    /// on. `Some(None)` if it does not end.
    pub standing: Option<(Standing, String, Option<Duration>)>,
    /// The cursor behind reads that have found nothing, and the number of these reads.
    pub cursor: Option<(Sealed, u32)>,
    /// `true` if the cursor is forgotten. `cursor` is `None` then.
    pub forgets_cursor: bool,
    /// The last segments of the public addresses of the subscription, and of the subscription that
    /// it has replaced.
    pub addresses: Option<(Option<String>, Option<String>)>,
    /// The URL of this gateway that the service was told, up to the address.
    pub base: Option<String>,
    /// Set if the service was asked whose account it is: the account in notifications at an inbox
    /// of an application.
    pub identified: Option<Option<Route>>,
    /// Set if the service was asked to begin or renew it: `true` if it did.
    pub renewed: Option<bool>,
    /// Set if it was read: `true` if that succeeded.
    pub read: Option<bool>,
    /// `true` if it was not read because the last read has failed, and the time of the next attempt
    /// has not come.
    pub is_held: bool,
    /// `true` if a read has failed, whatever that means for the next one.
    pub has_tried: bool,
    /// The time for which the service wants no read, as it has said.
    pub limited: Option<Duration>,
    /// The reason of a failure. A step without a failure removes it.
    pub reason: Option<String>,
    /// Set if nothing can be done.
    pub blocked: Option<Blocked>,
    /// The state of its triggers from now on, and the reason.
    pub settled: Option<(TriggerState, Option<String>)>,
    /// The times from now on until the next renewal and the next read. `None` if there is none.
    pub renew_in: Option<Duration>,
    /// See `renew_in`.
    pub read_in: Option<Duration>,
    /// The longest time until the next step, if nothing else is due.
    pub look_in: Duration,
}

/// Events that were read, with the cursor behind them.
#[derive(Clone, Debug)]
pub struct ReadEvents {
    /// The sealed cursor.
    pub cursor: Sealed,
    /// The events.
    pub events: Vec<NewEvent>,
}

/// The changes of one request of a service.
#[derive(Clone, Debug, Default)]
pub struct PushedEvents {
    /// The events that it carries.
    pub events: Vec<NewEvent>,
    /// The number of webhooks of a tenant about events that may wait for their delivery.
    pub max_pending: u64,
    /// The subscriptions that it is about, with `true` for those that are read now.
    pub about: Vec<(String, bool)>,
    /// Subscriptions that are renewed or made anew now.
    pub renewed_now: Vec<String>,
    /// Notifications whose accounts are found later.
    pub shared: Vec<NewShared>,
    /// The number of these that may wait at an inbox.
    pub max_shared: u32,
    /// The inbox of an application that has accepted it.
    pub inbox: Option<String>,
    /// `true` if it came to the address of a subscription that was replaced.
    pub is_former: bool,
}

/// The events of a request that were stored, and those that were not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredPush {
    /// The number of events that were new.
    pub stored: u64,
    /// The triggers that lack an event because their tenant stores too much.
    pub dropped: Vec<String>,
}

fn number(row: &mut Row) -> Stored<u32> {
    Ok(u32::try_from(row.read::<i64>()?).unwrap_or(u32::MAX))
}

fn read_blocked(row: &mut Row) -> Stored<Option<Blocked>> {
    let name: Option<String> = row.read()?;
    Ok(name.and_then(|name| Blocked::ALL.into_iter().find(|blocked| blocked.name() == name)))
}
