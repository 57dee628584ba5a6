//! Secrets and deliveries of webhooks, as they are stored.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use database::digest::sha256_hex;
use database::time::{from_millis, to_millis};
use database::value::{FromValue, Row, Value};
use serde_json::{Value as Json, json};

use crate::integrations::read_sealed;
use crate::records::{named, new_id, record};
use crate::{Sealed, Stored};

record! {
    /// A secret that webhooks of a tenant are signed with.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct WebhookSecret {
        /// Names the secret in the API.
        pub id: String,
        /// Time of its creation.
        pub created_at: SystemTime,
        /// `None` for the current secret. A previous secret is no longer used from this time on.
        pub expires_at: Option<SystemTime>,
        /// The secret, sealed with [`WebhookSecret::context`].
        pub secret: Sealed,
    }
}

impl WebhookSecret {
    new_id! {
        /// Makes the id of a new secret.
        new_id = "whs_"
    }

    /// The context in which a secret is sealed.
    pub fn context<'a>(tenant: &'a str, id: &'a str) -> [&'a str; 3] {
        ["webhook_secret", tenant, id]
    }
}

/// The subject of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookSource {
    /// The end of a background job.
    Job(String),
    /// An event of the gateway.
    Event,
    /// An event of a trigger.
    Trigger {
        /// The id of the trigger.
        trigger: String,
        /// The id of the event, which is the `webhook-id` at every URL.
        event: String,
    },
    /// An event of a trigger that an agent has made.
    Agent {
        /// The id of the trigger.
        trigger: String,
        /// The id of the event.
        event: String,
    },
}

impl WebhookSource {
    /// The name of its kind, in the database, logs and metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Job(_) => "job",
            Self::Event => "event",
            Self::Trigger { .. } => "trigger",
            Self::Agent { .. } => AGENT,
        }
    }

    /// The job that it is about.
    pub fn job(&self) -> Option<&str> {
        match self {
            Self::Job(id) => Some(id),
            Self::Event | Self::Trigger { .. } | Self::Agent { .. } => None,
        }
    }

    /// The trigger and the event that it is about.
    pub fn event(&self) -> Option<(&str, &str)> {
        match self {
            Self::Trigger { trigger, event } | Self::Agent { trigger, event } => Some((trigger, event)),
            Self::Job(_) | Self::Event => None,
        }
    }

    /// Reads the columns [`SOURCE_COLUMNS`].
    pub(super) fn read(row: &mut Row) -> Stored<Self> {
        let kind: String = row.read()?;
        let (job, trigger, event): (Option<String>, Option<String>, Option<String>) =
            (row.read()?, row.read()?, row.read()?);
        Ok(match (job, trigger.zip(event)) {
            (Some(id), _) => Self::Job(id),
            (None, Some((trigger, event))) if kind == AGENT => Self::Agent { trigger, event },
            (None, Some((trigger, event))) => Self::Trigger { trigger, event },
            (None, None) => Self::Event,
        })
    }
}

/// The columns of a [`Delivery`], in the order in which they are read.
pub(super) const COLUMNS: &str = "webhook_id, status, attempts";

/// The columns of an [`AnyDelivery`] after the columns of its [`Delivery`], in the order in which
/// they are read.
pub(super) const MORE_COLUMNS: &str =
    "tenant, kind, job_id, trigger_id, message_id, receiver, data_key, url, created_at,
     CASE WHEN status = 'pending' THEN next_attempt_at END, body_until";

/// The columns of a [`WebhookSource`], in the order in which they are read.
pub(super) const SOURCE_COLUMNS: &str = "kind, job_id, trigger_id, message_id";

/// The kind of a webhook for the receiver of an agent.
const AGENT: &str = "agent";

/// A webhook to one URL, to be stored.
#[derive(Clone, Debug)]
pub struct NewDelivery {
    /// The same on every attempt.
    pub webhook_id: String,
    /// The tenant whose secrets sign the webhook.
    pub tenant: String,
    /// The job or event that it is about.
    pub source: WebhookSource,
    /// The origin of the URL. Deliveries to one receiver share a limit of concurrent attempts.
    pub receiver: String,
    /// The URL, sealed with [`NewDelivery::url_context`].
    pub url: Sealed,
    /// The [`NewDelivery::hash_of_url`] of the URL, by which lists find it.
    pub url_hash: String,
    /// The body.
    pub payload: Arc<Payload>,
    /// Time for which the record of the delivery is kept. A pending delivery is kept in any case.
    pub kept_for: Duration,
}

record! {
    /// The body of webhooks, which several deliveries may share.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Payload {
        /// Names the body in the store.
        pub id: String,
        /// The body, sealed with [`Payload::context`].
        pub sealed: Sealed,
    }
}

impl Payload {
    /// The context in which a body is sealed.
    pub fn context<'a>(tenant: &'a str, id: &'a str) -> [&'a str; 3] {
        ["webhook_payload", tenant, id]
    }
}

impl NewDelivery {
    /// The id of the webhook about the end of a job, or about an event, to a URL. It is computed from
    /// both, so that it never changes for a job or event and a URL.
    pub fn id_of(source: &str, url: &str) -> String {
        let hash = sha256_hex(format!("{source}\0{url}").as_bytes());
        format!("msg_{}", hash.get(..32).unwrap_or_default())
    }

    new_id! {
        /// Makes the id of a webhook about an event.
        new_event_id = "msg_"
    }

    /// The id of the webhook about a swap, by its number in the history. It is computed, so that
    /// each gateway makes the same id for the same swap.
    pub fn id_of_swap(connector: &str, digest: &str, number: i64) -> String {
        let hash = sha256_hex(format!("swap\0{connector}\0{digest}\0{number}").as_bytes());
        format!("msg_{}", hash.get(..32).unwrap_or_default())
    }

    /// The hash of a URL, which is sealed itself because it may contain a secret.
    pub fn hash_of_url(url: &str) -> String {
        sha256_hex(url.as_bytes())
    }

    /// The context in which a URL is sealed.
    pub fn url_context<'a>(tenant: &'a str, webhook_id: &'a str) -> [&'a str; 3] {
        ["webhook_url", tenant, webhook_id]
    }
}

named! {
    /// The state of a delivery.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum DeliveryStatus {
        /// A further attempt will follow.
        Pending = "pending",
        /// The receiver has accepted the webhook.
        Delivered = "delivered",
        /// The receiver has refused the webhook permanently, or no attempt is left.
        Failed = "failed",
    }
}

/// One attempt of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// Time of the attempt.
    pub at: SystemTime,
    /// The status of the receiver's response, or the reason why there is no response.
    pub result: Result<u16, String>,
}

record! {
    row =>
    /// A delivery, as callers see it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Delivery {
        /// The same on every attempt.
        pub webhook_id: String,
        /// The state.
        pub status: DeliveryStatus,
        /// The finished attempts, the oldest first.
        pub attempts: Vec<DeliveryAttempt> = row.read::<Attempts>()?.0,
    }
}

/// A delivery that this gateway holds the lease of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedDelivery {
    /// The delivery. It is pending.
    pub delivery: Delivery,
    /// The tenant whose secrets sign the webhook.
    pub tenant: String,
    /// The job or event that it is about.
    pub source: WebhookSource,
    /// The sealed URL.
    pub url: Sealed,
    /// The body.
    pub payload: Arc<Payload>,
    /// Number of the lease.
    pub fence: i64,
    /// `true` if an operator has requested this attempt of a delivery that had ended.
    pub resent: bool,
}

record! {
    row =>
    /// A delivery of any tenant, as the operator sees it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AnyDelivery {
        /// The delivery.
        pub delivery: Delivery,
        /// The tenant whose secrets sign the webhook.
        pub tenant: String,
        /// The job or event that it is about.
        pub source: WebhookSource = WebhookSource::read(row)?,
        /// The origin of the URL.
        pub receiver: String,
        /// The URL, sealed with [`NewDelivery::url_context`]. `None` if it is no longer kept.
        pub url: Option<Sealed> = read_sealed(row)?,
        /// Time of its creation.
        pub created_at: SystemTime,
        /// Time of the next attempt. `None` after the end.
        pub next_attempt_at: Option<SystemTime>,
        /// Time until which URL and body are kept after the end. `None` if it has not ended, or if they
        /// are no longer kept.
        pub kept_until: Option<SystemTime>,
    }
}

/// The URLs whose deliveries a list has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlFilter {
    /// All URLs with this origin.
    Receiver(String),
    /// The URL with this [`NewDelivery::hash_of_url`].
    Hash(String),
}

/// Selects a page of the deliveries of all tenants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnyDeliveryFilter {
    /// Only the delivery with this id, or the deliveries of the event with it.
    pub id: Option<String>,
    /// Only deliveries in this state.
    pub status: Option<DeliveryStatus>,
    /// Only deliveries that wait for another attempt after one that failed.
    pub failing: bool,
    /// Only deliveries of this tenant.
    pub tenant: Option<String>,
    /// Only deliveries to these URLs.
    pub url: Option<UrlFilter>,
    /// Only deliveries before the last one of the previous page, by time of creation and id.
    pub before: Option<(SystemTime, String)>,
    /// Maximum number of deliveries.
    pub limit: u32,
}

/// The outcome of the request to send a delivery once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resent {
    /// It is due now.
    Due(Box<AnyDelivery>),
    /// Its URL and body are no longer kept.
    NotKept,
    /// There is no such delivery.
    Unknown,
}

/// A column with a JSON list of attempts.
pub(super) struct Attempts(pub(super) Vec<DeliveryAttempt>);

impl Attempts {
    pub(super) fn to_text(attempts: &[DeliveryAttempt]) -> String {
        let list = attempts.iter().map(|DeliveryAttempt { at, result }| match result {
            Ok(status) => json!({ "at": to_millis(*at), "status": status }),
            Err(error) => json!({ "at": to_millis(*at), "error": error }),
        });
        Json::from_iter(list).to_string()
    }
}

impl FromValue for Attempts {
    fn from_value(value: Value) -> Option<Self> {
        let list: Vec<Json> = serde_json::from_str(&String::from_value(value)?).ok()?;
        list.iter().map(attempt).collect::<Option<_>>().map(Self)
    }
}

fn attempt(json: &Json) -> Option<DeliveryAttempt> {
    let result = match json.get("status") {
        Some(status) => Ok(status.as_u64()?.try_into().ok()?),
        None => Err(json.get("error")?.as_str()?.to_owned()),
    };
    Some(DeliveryAttempt { at: from_millis(json.get("at")?.as_i64()?), result })
}
