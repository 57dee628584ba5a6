//! Events: the webhooks that notify the operator's `callbacks.events_url` of changes.

use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tracing::Instrument;

use super::{WebhookError, Webhooks};
use clock::timestamp::Timestamp;
use store::{NewDelivery, WebhookSource};

/// The tenant whose secrets sign events.
pub const TENANT: &str = "default";

/// Time for which the record of an event's delivery is kept at least.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);

/// Age up to which the event of a swap is stored. A gateway that has stored it knows this from the
/// record of its delivery.
const MAX_AGE_OF_SWAP: Duration = Duration::from_secs(12 * 3600);

/// Longest time in which the event of a swap is tried to be stored while the database is away, and
/// the time between two attempts.
const MAX_WAIT: Duration = Duration::from_secs(300);
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The kind of an event. Its name never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A user has connected an account.
    IntegrationConnected,
    /// The provider no longer accepts the tokens of an account, or they have expired.
    IntegrationExpired,
    /// The access to an account was revoked, by the user or by the service.
    IntegrationRevoked,
    /// Another version of a connector is live.
    ConnectorSwapped,
    /// A module was refused.
    ConnectorRefused,
}

impl EventKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::IntegrationConnected,
        Self::IntegrationExpired,
        Self::IntegrationRevoked,
        Self::ConnectorSwapped,
        Self::ConnectorRefused,
    ];

    /// The value of `type`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IntegrationConnected => "integration.connected",
            Self::IntegrationExpired => "integration.expired",
            Self::IntegrationRevoked => "integration.revoked",
            Self::ConnectorSwapped => "connector.swapped",
            Self::ConnectorRefused => "connector.refused",
        }
    }
}

/// The body of the webhook that notifies the operator of an event.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct EventRecord<'a> {
    #[schemars(extend("enum" = EventKind::ALL.map(EventKind::name)))]
    r#type: &'static str,
    timestamp: Timestamp,
    /// The integration or the connector, and why it changed.
    #[schemars(extend("type" = "object"))]
    data: &'a Value,
}

/// Sends events to the operator. By default, and without `callbacks.events_url`, no events are
/// sent.
#[derive(Clone, Default)]
pub struct Events(Option<Webhooks>);

impl Webhooks {
    /// The events of this gateway.
    pub fn events(&self) -> Events {
        Events(self.config.callbacks.events_url.is_some().then(|| self.clone()))
    }

    async fn event_delivery(
        &self,
        id: String,
        kind: EventKind,
        at: SystemTime,
        data: &Value,
    ) -> Result<Option<NewDelivery>, WebhookError> {
        let Some(url) = &self.config.callbacks.events_url else { return Ok(None) };
        let event = EventRecord { r#type: kind.name(), timestamp: at.into(), data };
        let payload = json!(event).to_string();
        let payload = self.payload(TENANT, &id, payload.as_bytes()).await?;
        self.delivery(id, TENANT, WebhookSource::Event, url.as_str(), payload, KEPT_FOR).await.map(Some)
    }

    /// The delivery of an event that happens now.
    async fn new_event(&self, kind: EventKind, data: &Value) -> Result<Vec<NewDelivery>, WebhookError> {
        let delivery = self.event_delivery(NewDelivery::new_event_id()?, kind, clock::now(), data).await?;
        Ok(delivery.into_iter().collect())
    }

    /// Stores the event of the last swap to a version, unless it is stored already.
    async fn store_swap(&self, connector: &str, digest: &str) -> Result<(), WebhookError> {
        let Some(swap) = self.store.changes().last_swap(connector, digest).await? else { return Ok(()) };
        // The record of an earlier delivery may be deleted.
        if swap.at.elapsed().is_ok_and(|age| age > MAX_AGE_OF_SWAP) {
            return Ok(());
        }
        let (version, sha256) = swap.replaced;
        let data = json!({
            "connector": connector,
            "version": swap.version,
            "sha256": digest,
            "replaced": {"version": version, "sha256": sha256},
        });
        let id = NewDelivery::id_of_swap(connector, digest, swap.number);
        if let Some(delivery) = self.event_delivery(id, EventKind::ConnectorSwapped, swap.at, &data).await?
            && self.store.webhooks().add_delivery_once(delivery).await?
        {
            self.wake();
        }
        Ok(())
    }
}

impl Events {
    /// The deliveries of an event, to be stored in the transaction of the change. Empty if events
    /// are not sent. After the transaction, the caller calls [`Events::stored`].
    ///
    /// # Errors
    /// If the vault fails.
    pub async fn prepare(&self, kind: EventKind, data: &Value) -> Result<Vec<NewDelivery>, WebhookError> {
        match &self.0 {
            Some(webhooks) => webhooks.new_event(kind, data).await,
            None => Ok(Vec::new()),
        }
    }

    /// Makes the sender look immediately for deliveries that were stored.
    pub fn stored(&self) {
        if let Some(webhooks) = &self.0 {
            webhooks.wake();
        }
    }

    /// Stores the event that a version of a connector has replaced another one. Runs in the
    /// background.
    ///
    /// Call it whenever a version becomes live, also at the start. The event is made from the
    /// history, which has each swap before it happens. So a gateway that was killed right after a
    /// swap stores the event at its next start. All gateways on a database store one event.
    pub fn swapped(&self, connector: &str, digest: &str) {
        let Some(webhooks) = self.0.clone() else { return };
        let (connector, digest) = (connector.to_owned(), digest.to_owned());
        let tasks = webhooks.tasks.clone();
        tasks.spawn(
            async move {
                let give_up_at = Instant::now() + MAX_WAIT;
                while let Err(error) = webhooks.store_swap(&connector, &digest).await {
                    if Instant::now() >= give_up_at {
                        tracing::error!(connector, %error, "the event of a swap is not stored; the next start tries again");
                        return;
                    }
                    sleep(RETRY_DELAY).await;
                }
            }
            .in_current_span(),
        );
    }

    /// Stores an event of a change that is in no transaction. Runs in the background.
    pub fn notify(&self, kind: EventKind, data: Value) {
        let Some(webhooks) = self.0.clone() else { return };
        let tasks = webhooks.tasks.clone();
        tasks.spawn(
            async move {
                let storing = async {
                    let deliveries = webhooks.new_event(kind, &data).await?;
                    webhooks.store.webhooks().add_deliveries(deliveries).await?;
                    Ok::<_, WebhookError>(())
                };
                match storing.await {
                    Ok(()) => webhooks.wake(),
                    Err(error) => {
                        tracing::error!(event = kind.name(), %error, "an event is lost, because it cannot be stored");
                    }
                }
            }
            .in_current_span(),
        );
    }
}
