//! Subscriptions, as they are stored.

use std::time::{Duration, SystemTime};

use database::digest::sha256_hex;
use database::id::random_id;
use database::value::{FromRow, Row};

use crate::integrations::read_sealed;
use crate::records::named;
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
    /// Its parameters and its secret, sealed with [`Subscription::context`].
    pub secret: Sealed,
}

/// The hash of an account's values in notifications at an inbox of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route(pub(super) String);

impl Route {
    /// The route of these values. Their case does not matter.
    pub fn of(values: &[String]) -> Self {
        Self(sha256_hex(values.join("\0").to_lowercase().as_bytes()))
    }

    /// As its column has it.
    pub(crate) fn text(self) -> String {
        self.0
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
    pub secret: Sealed,
    pub cursor: Option<Sealed>,
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
    pub failed_renewals: u32,
    pub failed_reads: u32,
    pub empty_reads: u32,
    pub reason: Option<String>,
    pub blocked: Option<Blocked>,
    pub rung: i64,
    /// `true` while the service may prove that the address is the gateway's.
    pub shakes_hands: bool,
    /// `false` once another account is connected under the name, until the service has said whose it
    /// is.
    pub is_identified: bool,
    /// Number of the last lease.
    pub fence: i64,
    /// The time of the database when it was read.
    pub now: SystemTime,
    /// Its triggers, the oldest first. Only a subscription that was just taken has them: they are for
    /// the step of work that begins.
    pub triggers: Vec<Trigger>,
}

impl Subscription {
    /// Makes the id of a new subscription.
    ///
    /// # Errors
    /// Fails if the operating system provides no random numbers.
    pub fn new_id() -> Stored<String> {
        random_id("sub_")
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
    /// The URL of this gateway that the service was told, up to the address.
    pub base: Option<String>,
    /// Set if the service was asked whose account it is: the account in notifications at an inbox of an
    /// application.
    pub identified: Option<Option<Route>>,
    /// Set if the service was asked to begin or renew it: `true` if it did.
    pub renewed: Option<bool>,
    /// Set if it was read: `true` if that succeeded.
    pub read: Option<bool>,
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
    /// A notification that other accounts may see too: its id, its inbox and its sealed body.
    pub shared: Option<(String, String, Sealed)>,
    /// The inbox of an application that has accepted it.
    pub inbox: Option<String>,
}

/// The events of a request that were stored, and those that were not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredPush {
    /// The number of events that were new.
    pub stored: u64,
    /// The triggers that lack an event because their tenant stores too much.
    pub dropped: Vec<String>,
}

impl FromRow for Subscription {
    fn from_row(row: &mut Row) -> Stored<Self> {
        let number = |row: &mut Row| -> Stored<u32> { Ok(u32::try_from(row.read::<i64>()?).unwrap_or(u32::MAX)) };
        Ok(Self {
            id: row.read()?,
            tenant: row.read()?,
            subject: row.read()?,
            connector: row.read()?,
            user_identifier: row.read()?,
            inbox: row.read()?,
            address: row.read()?,
            secret: Sealed { key_id: row.read()?, bytes: row.read()? },
            cursor: read_sealed(row)?,
            standing: row.read()?,
            kinds: row.read()?,
            base: row.read()?,
            expires_at: row.read()?,
            renewed_at: row.read()?,
            renew_at: row.read()?,
            last_push_at: row.read()?,
            last_read_at: row.read()?,
            read_at: row.read()?,
            failed_renewals: number(row)?,
            failed_reads: number(row)?,
            empty_reads: number(row)?,
            reason: row.read()?,
            blocked: row
                .read::<Option<String>>()?
                .and_then(|name| Blocked::ALL.into_iter().find(|blocked| blocked.name() == name)),
            rung: row.read()?,
            shakes_hands: row.read()?,
            is_identified: row.read()?,
            fence: row.read()?,
            now: row.read()?,
            triggers: Vec::new(),
        })
    }
}

impl Blocked {
    pub(super) fn column(blocked: Option<Self>) -> Option<&'static str> {
        blocked.map(Self::name)
    }
}
