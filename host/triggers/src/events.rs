//! Reading events, and sending them once more.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::definition::Definition;
use super::deliver::{Occurrence, Origin, is_told};
use super::record::{EventRecord, EventsRecord};
use super::types::{INTEGRATION_EXAMPLE, TypeOf};
use super::{EventsQuery, GATEWAY, Of, Replay, TriggerError, Triggers};
use store::{EVENTS_BYTES, EventWebhooks, KeptEvents, StoredEvent, Trigger};

/// Events that one request sends once more, the oldest first. /openapi.json and the page about
/// events name the number.
const MAX_REPLAYED: u32 = 1_000;

/// Time between two looks for events that another gateway has stored.
const LOOK: Duration = Duration::from_secs(1);

impl Triggers {
    /// A page of events, the oldest first.
    ///
    /// # Errors
    /// `Invalid` if the cursor is not one, or if the store or the vault fails.
    pub async fn events(&self, of: Of<'_>, id: &str, query: EventsQuery) -> Result<Option<EventsRecord>, TriggerError> {
        if self.find(of, id).await?.is_none() {
            return Ok(None);
        }
        let EventsQuery { limit, cursor, wait } = query;
        let after = match &cursor {
            Some(cursor) => read_cursor(cursor)?,
            None => 0,
        };
        let end = Instant::now() + wait;
        let KeptEvents { events: stored, are_older_gone, last } = loop {
            let stored_here = self.stored.notified();
            tokio::pin!(stored_here);
            stored_here.as_mut().enable();
            let found = self.parts.store.events().of(id, after, limit).await?;
            if !found.events.is_empty() || found.are_older_gone || Instant::now() >= end || self.stopping.is_cancelled()
            {
                break found;
            }
            let look = end.min(Instant::now() + LOOK);
            tokio::select! {
                () = self.stopping.cancelled() => {}
                _ = timeout_at(look, stored_here) => {}
                () = sleep_until(look) => {}
            }
        };
        // Without a cursor, the oldest there is was asked for.
        let truncated = are_older_gone && cursor.is_some();
        let last = match stored.last() {
            Some(event) => event.sequence,
            None if truncated => last.max(after),
            None => after,
        };
        Ok(Some(EventsRecord { events: self.bodies(&stored).await?, next_cursor: write_cursor(last), truncated }))
    }

    /// The last events, the newest first. Events that are stored later follow the cursor.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn last_events(&self, of: Of<'_>, id: &str, limit: u32) -> Result<Option<EventsRecord>, TriggerError> {
        if self.find(of, id).await?.is_none() {
            return Ok(None);
        }
        // An event that is stored after this is among the events, or follows this number.
        let last = self.parts.store.events().last_sequence(id).await?;
        let stored = self.parts.store.events().last(id, limit).await?;
        let last = stored.first().map_or(last, |event| event.sequence);
        let events = self.bodies(&stored).await?;
        Ok(Some(EventsRecord { events, next_cursor: write_cursor(last), truncated: false }))
    }

    /// The bodies of events, as webhooks have them.
    async fn bodies(&self, events: &[StoredEvent]) -> Result<Vec<Box<RawValue>>, TriggerError> {
        let mut bodies = Vec::with_capacity(events.len());
        for event in events {
            bodies.push(serde_json::from_str(&self.body(event).await?)?);
        }
        Ok(bodies)
    }

    /// An event in full. `None` if the caller has no such trigger, or if the event is not kept.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn event(&self, of: Of<'_>, id: &str, event: &str) -> Result<Option<EventRecord>, TriggerError> {
        if self.find(of, id).await?.is_none() {
            return Ok(None);
        }
        let Some(stored) = self.parts.store.events().get(id, event).await? else { return Ok(None) };
        let body = serde_json::from_str(&self.body(&stored).await?)?;
        let mut deliveries = Vec::new();
        for delivery in self.parts.store.webhooks().deliveries_of_event(event).await? {
            deliveries.push(self.parts.webhooks.any_record(delivery).await?);
        }
        Ok(Some(EventRecord { body, deliveries }))
    }

    /// Delivers the example of the type. Returns the id of the event.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn test(&self, of: Of<'_>, id: &str) -> Result<Option<String>, TriggerError> {
        let Some(trigger) = self.find(of, id).await? else { return Ok(None) };
        let kind = TypeOf::find(&self.parts.registry, &trigger.connector, &trigger.kind);
        let example = match &kind {
            Some(kind) => kind.declared().example.as_str(),
            None if trigger.connector == GATEWAY => INTEGRATION_EXAMPLE,
            None => "{}",
        };
        // A test is delivered whatever the filters are.
        let definition = Definition { filters: Vec::new(), ..self.definition(&trigger).await? };
        let id = super::manage::random(16)?;
        let occurrence = Occurrence { source: "test", id: &id, time: None, data: example, origin: Origin::Test };
        let Some(event) = self.event_of(&trigger, &definition, &occurrence).await? else { return Ok(None) };
        let id = event.id.clone();
        self.parts.store.events().add(self.vault().await?, vec![event]).await?;
        self.parts.webhooks.wake();
        self.wake_waiting();
        Ok(Some(id))
    }

    /// Sends events once more, with their ids. Those of a trigger that is paused or has failed
    /// wait. Returns the number of events that have a URL to go to.
    ///
    /// # Errors
    /// `NotKept`, or if the store or the vault fails.
    pub async fn replay(&self, of: Of<'_>, id: &str, replay: Replay) -> Result<Option<u64>, TriggerError> {
        let Some(trigger) = self.find(of, id).await? else { return Ok(None) };
        let definition = self.definition(&trigger).await?;
        let ids = match replay {
            Replay::Events(ids) => {
                for event in &ids {
                    self.parts.store.events().get(id, event).await?.ok_or(TriggerError::NotKept)?;
                }
                ids
            }
            Replay::Since(since) => {
                let now: SystemTime = self.parts.store.database().now().await?.into();
                if now.duration_since(since).unwrap_or_default() > self.parts.config.triggers.keep {
                    return Err(TriggerError::NotKept);
                }
                self.parts.store.events().ids_since(id, since, MAX_REPLAYED).await?
            }
        };
        let (mut queued, mut bytes, mut webhooks) = (0, 0, Vec::new());
        for event in &ids {
            // It may have been deleted since.
            let Some(event) = self.parts.store.events().get(id, event).await? else { continue };
            let body = self.body(&event).await?;
            let Kind { kind } = serde_json::from_str(&body)?;
            let deliveries = match is_told(&trigger, &kind) {
                true => self.deliveries(&trigger, &definition, &event.id).await?,
                false => Vec::new(),
            };
            bytes += body.len();
            webhooks.push((event.id, deliveries, replayed(body).into_bytes()));
            if bytes >= EVENTS_BYTES {
                let part = std::mem::take(&mut webhooks);
                queued += self.parts.store.events().replay(self.vault().await?, &trigger, part).await?;
                bytes = 0;
            }
        }
        if !webhooks.is_empty() || queued == 0 {
            queued += self.parts.store.events().replay(self.vault().await?, &trigger, webhooks).await?;
        }
        self.parts.webhooks.wake();
        Ok(Some(queued))
    }

    /// The webhooks of the oldest events of a trigger whose webhooks wait.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub(super) async fn waiting(
        &self,
        trigger: &Trigger,
        definition: &Definition,
        limit: u32,
    ) -> Result<Vec<EventWebhooks>, TriggerError> {
        let events = self.parts.store.events().waiting(&trigger.id, limit).await?;
        let mut waiting = Vec::with_capacity(events.len());
        for event in &events {
            let body = self.body(event).await?;
            let Kind { kind } = serde_json::from_str(&body)?;
            let deliveries = match is_told(trigger, &kind) {
                true => self.deliveries(trigger, definition, &event.id).await?,
                false => Vec::new(),
            };
            let body = if event.is_replayed { replayed(body) } else { body };
            waiting.push((event.id.clone(), deliveries, body.into_bytes()));
        }
        Ok(waiting)
    }

    /// The body of an event.
    pub(super) async fn body(&self, event: &StoredEvent) -> Result<String, TriggerError> {
        let bytes = self.parts.vault.unseal_content(&StoredEvent::context(&event.id), &event.body).await?;
        String::from_utf8(bytes).map_err(|error| TriggerError::Damaged(error.to_string()))
    }

    /// Lets callers who wait for events look again.
    pub(super) fn wake_waiting(&self) {
        self.stored.notify_waiters();
    }
}

/// The kind of a stored event.
#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

/// A body that says that it is sent once more. Nothing else of it changes: the digits of numbers
/// and the escapes of texts stay.
fn replayed(body: String) -> String {
    // It is behind everything that the service or the caller has written.
    match body.rsplit_once(r#""replay":false"#) {
        Some((before, behind)) => format!(r#"{before}"replay":true{behind}"#),
        None => body,
    }
}

/// A cursor is the number of the last event.
fn write_cursor(sequence: i64) -> String {
    URL_SAFE_NO_PAD.encode(format!("e{sequence}"))
}

fn read_cursor(cursor: &str) -> Result<i64, TriggerError> {
    let decoded = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let number = decoded.as_deref().and_then(|text| text.strip_prefix('e')).and_then(|number| number.parse().ok());
    let wrong = "Must be the `next_cursor` of an earlier answer.".to_owned();
    number.filter(|number| *number >= 0).ok_or_else(|| TriggerError::Invalid(vec![("/cursor".to_owned(), wrong)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is_one() {
        assert_eq!(read_cursor(&write_cursor(17)).unwrap(), 17);
        for wrong in ["", "17", "e17", "!", &URL_SAFE_NO_PAD.encode("e-1"), &URL_SAFE_NO_PAD.encode("x1")] {
            assert!(read_cursor(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_body_that_is_sent_once_more_differs_in_one_member() {
        let body = |replay: &str| {
            let data = r#"{"text":"\"replay\":false \u00e9","n":12345678901234567890123}"#;
            format!(r#"{{"type":"a.b","data":{data},"event":{{"labels":{{"replay":"false"}},{replay},"sequence":7}}}}"#)
        };
        assert_eq!(replayed(body(r#""replay":false"#)), body(r#""replay":true"#));
    }
}
