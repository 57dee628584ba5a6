//! From an occurrence at a service to an event of each trigger, with its webhooks.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::definition::Definition;
use super::{TriggerError, Triggers};
use clock::timestamp::Timestamp;
use store::{EventDelivery, Labels, NewEvent, Told, Trigger, event_id};

/// Something that happened, as one trigger may get it.
pub(super) struct Occurrence<'a> {
    /// The inbox or the reader that tells of it.
    pub(super) source: &'a str,
    /// Its id at the service.
    pub(super) id: &'a str,
    /// The time at which it happened. `None` for now.
    pub(super) time: Option<SystemTime>,
    /// JSON text.
    pub(super) data: &'a str,
    pub(super) origin: Origin,
}

/// How the gateway has learned of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The service has told it.
    Push,
    /// It was read at an interval, or after a notification.
    Read,
    /// It was read after a time in which the service could not tell it.
    CatchUp,
    /// A caller has requested it.
    Test,
}

impl Origin {
    const fn name(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Read => "read",
            Self::CatchUp => "catch-up",
            Self::Test => "test",
        }
    }
}

/// The body of a webhook about an event. `sequence` is the last member, because the store adds it.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: Timestamp,
    data: &'a RawValue,
    event: About<'a>,
}

#[derive(Serialize)]
struct About<'a> {
    id: &'a str,
    trigger_id: &'a str,
    connector: &'a str,
    user_identifier: Option<&'a str>,
    labels: &'a Labels,
    received_at: Timestamp,
    source: &'static str,
    replay: bool,
    sequence: u64,
}

/// The deepest nesting of lists and objects in the data of an event. It is in bodies and pages, and
/// parsers read little more.
const MAX_DEPTH: usize = 100;

/// The end of a body with the number 0.
const END: &str = "0}}";

impl Triggers {
    /// The event of a trigger. `None` if its filters drop it.
    ///
    /// All data of events comes through here, so the webhook, the pages and the repetition of an event
    /// have data that each parser reads. Data that cannot be made so is told as a `trigger.gap`: an
    /// error would keep other triggers and later events from theirs.
    ///
    /// # Errors
    /// If the data is not JSON, or the vault fails.
    pub(super) async fn event_of(
        &self,
        trigger: &Trigger,
        definition: &Definition,
        occurrence: &Occurrence<'_>,
    ) -> Result<Option<NewEvent>, TriggerError> {
        let Some(data) = json_text::readable(occurrence.data, MAX_DEPTH) else {
            self.count_events(&trigger.connector, "gap", 1);
            let at = Timestamp::from(occurrence.time.unwrap_or_else(clock::now));
            let gap = json!({ "from": at, "to": at });
            return self.control_event(trigger, definition, "trigger.gap", occurrence.id, &gap).await.map(Some);
        };
        if !definition.filters.is_empty() {
            let data: Value = serde_json::from_str(&data)?;
            if !definition.admits(&data) {
                self.count_events(&trigger.connector, "filtered", 1);
                return Ok(None);
            }
        }
        let data = definition.shape(&data)?;
        let kind = format!("{}.{}", trigger.connector, trigger.kind);
        self.new_event(trigger, definition, &kind, occurrence, &data).await.map(Some)
    }

    /// An event about the trigger itself, such as `trigger.gap`.
    ///
    /// # Errors
    /// If the vault fails.
    pub(super) async fn control_event(
        &self,
        trigger: &Trigger,
        definition: &Definition,
        kind: &str,
        id: &str,
        data: &Value,
    ) -> Result<NewEvent, TriggerError> {
        let data = data.to_string();
        let occurrence = Occurrence { source: kind, id, time: None, data: &data, origin: Origin::Read };
        self.new_event(trigger, definition, kind, &occurrence, &data).await
    }

    /// Tells the receivers of a trigger with an event of this kind how it is, unless they were told.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub(super) async fn tell_state(
        &self,
        trigger: &Trigger,
        definition: &Definition,
        (told, kind): (Told, &str),
        id: &str,
        reason: Option<&str>,
    ) -> Result<(), TriggerError> {
        let event = self.control_event(trigger, definition, kind, id, &json!({ "reason": reason })).await?;
        if self.parts.store.triggers().tell(self.vault().await?, told, event).await? {
            self.parts.webhooks.wake();
            self.wake_waiting();
        }
        Ok(())
    }

    async fn new_event(
        &self,
        trigger: &Trigger,
        definition: &Definition,
        kind: &str,
        occurrence: &Occurrence<'_>,
        data: &str,
    ) -> Result<NewEvent, TriggerError> {
        let id = event_id(&trigger.id, occurrence.source, occurrence.id);
        let now = clock::now();
        let data: Box<RawValue> = serde_json::from_str(data)?;
        let body = serde_json::to_string(&Body {
            kind,
            timestamp: occurrence.time.unwrap_or(now).into(),
            data: &data,
            event: About {
                id: &id,
                trigger_id: &trigger.id,
                connector: &trigger.connector,
                user_identifier: Some(trigger.user_identifier.as_str()).filter(|named| !named.is_empty()),
                labels: &trigger.labels,
                received_at: now.into(),
                source: occurrence.origin.name(),
                replay: false,
                sequence: 0,
            },
        })?;
        let head = body.strip_suffix(END).unwrap_or(&body).to_owned();
        let deliveries = match is_told(trigger, kind) {
            true => self.deliveries(trigger, definition, &id).await?,
            false => Vec::new(),
        };
        let settings = &self.parts.config.triggers;
        Ok(NewEvent {
            id,
            trigger: trigger.id.clone(),
            tenant: trigger.tenant.clone(),
            body: (head, "}}".to_owned()),
            deliveries,
            kept_for: settings.keep,
            known_for: settings.dedupe.max(settings.keep),
        })
    }

    /// The webhooks of an event, one for each URL.
    ///
    /// # Errors
    /// If the vault fails.
    pub(super) async fn deliveries(
        &self,
        trigger: &Trigger,
        definition: &Definition,
        event: &str,
    ) -> Result<Vec<EventDelivery>, TriggerError> {
        let mut deliveries = Vec::with_capacity(definition.urls.len());
        for url in &definition.urls {
            let for_agent = trigger.agent.is_some();
            deliveries.push(self.parts.webhooks.trigger_delivery(&trigger.tenant, event, url, for_agent).await?);
        }
        Ok(deliveries)
    }

    pub(super) fn count_events(&self, connector: &str, outcome: &'static str, number: u64) {
        if number > 0 {
            let labels = metrics::OutcomeLabels { connector: connector.to_owned(), outcome: outcome.to_owned() };
            self.parts.metrics.trigger_events.get_or_create_owned(&labels).inc_by(number);
        }
    }
}

/// Returns `true` if the receivers of a trigger get events of a kind. Agents are not told each
/// change of the state, and some receivers know only what has happened at the service.
pub(super) fn is_told(trigger: &Trigger, kind: &str) -> bool {
    match (&trigger.agent, kind.strip_prefix("trigger.")) {
        (None, _) | (_, None) => true,
        (Some(agent), Some(kind)) => agent.takes_control && matches!(kind, "gap" | "disabled"),
    }
}

/// The time in an RFC 3339 text.
pub(super) fn time_of(text: Option<&str>) -> Option<SystemTime> {
    clock::timestamp::parse(text?).ok()
}
