//! Events: the webhooks that notify the operator's `callbacks.events_url` of changes.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tracing::Instrument;

use super::{WebhookError, Webhooks};
use crate::clock;
use crate::timestamp::Timestamp;
use store::{NewDelivery, WebhookSource};

/// The tenant whose secrets sign events.
const TENANT: &str = "default";

/// Time for which the record of an event's delivery is kept at least.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);

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

    async fn event_delivery(&self, kind: EventKind, data: &Value) -> Result<Vec<NewDelivery>, WebhookError> {
        let Some(url) = &self.config.callbacks.events_url else { return Ok(Vec::new()) };
        let event = EventRecord { r#type: kind.name(), timestamp: clock::now().into(), data };
        let payload = json!(event).to_string();
        let id = NewDelivery::new_event_id()?;
        let payload = self.payload(TENANT, &id, payload.as_bytes()).await?;
        let delivery = self.delivery(id, TENANT, WebhookSource::Event, url.as_str(), payload, KEPT_FOR).await?;
        Ok(vec![delivery])
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
            Some(webhooks) => webhooks.event_delivery(kind, data).await,
            None => Ok(Vec::new()),
        }
    }

    /// Makes the sender look immediately for deliveries that were stored.
    pub fn stored(&self) {
        if let Some(webhooks) = &self.0 {
            webhooks.wake();
        }
    }

    /// Stores an event of a change that is in no transaction. Runs in the background.
    pub fn notify(&self, kind: EventKind, data: Value) {
        let Some(webhooks) = self.0.clone() else { return };
        let tasks = webhooks.tasks.clone();
        tasks.spawn(
            async move {
                let storing = async {
                    let deliveries = webhooks.event_delivery(kind, &data).await?;
                    webhooks.store.add_deliveries(deliveries).await?;
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
