//! Events whose webhooks wait, because their tenant has no room for them or their trigger was
//! paused, and events that are dropped, so that their receivers learn of the gap.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{TriggerError, Triggers};
use clock::timestamp::Timestamp;
use store::Trigger;

/// Triggers of a tenant whose events one turn sends.
const TRIGGERS: u32 = 16;

/// Events of a trigger that one turn sends.
const EVENTS: u32 = 100;

/// One gap stands for all events that were lost in this time.
const GAP: Duration = Duration::from_secs(3600);

impl Triggers {
    /// Stores webhooks of events that have waited until their tenant had fewer webhooks that are not
    /// delivered, or until their trigger continued after a pause.
    ///
    /// # Errors
    /// If the store or the vault fails. What is left is done in the next turn.
    pub(super) async fn queue_backlog(&self) -> Result<(), TriggerError> {
        let store = &self.parts.store;
        let max_pending = self.parts.config.triggers.max_pending_per_tenant;
        let limit = EVENTS.min(u32::try_from(max_pending).unwrap_or(EVENTS));
        for trigger in store.events().triggers_with_backlog(max_pending, TRIGGERS).await? {
            if let Err(error) = self.queue_backlog_of(&trigger, limit).await {
                self.leave_out(&trigger.id, error)?;
            }
        }
        Ok(())
    }

    async fn queue_backlog_of(&self, trigger: &Trigger, limit: u32) -> Result<(), TriggerError> {
        let definition = self.definition(trigger).await?;
        let waiting = self.waiting(trigger, &definition, limit).await?;
        if waiting.len() >= limit as usize {
            // There may be more, as after a long pause.
            self.wake();
        }
        self.parts.store.events().queue_backlog(self.vault().await?, trigger, waiting).await?;
        self.parts.webhooks.wake();
        Ok(())
    }

    /// Tells the receivers of these triggers that events are missing, because their tenant stores too
    /// much.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub(super) async fn tell_dropped(&self, dropped: &[String]) -> Result<(), TriggerError> {
        let mut counts = BTreeMap::<&str, u64>::new();
        for trigger in dropped {
            *counts.entry(trigger).or_default() += 1;
        }
        let (gap, data) = gap_at(clock::now());
        let mut events = Vec::with_capacity(counts.len());
        for (id, number) in counts {
            let Some(trigger) = self.parts.store.triggers().get(id).await? else { continue };
            let Some(definition) = self.readable(&trigger).await? else { continue };
            events.push(self.control_event(&trigger, &definition, "trigger.gap", &gap, &data).await?);
            self.count_events(&trigger.connector, "dropped", number);
        }
        if !events.is_empty() {
            self.parts.store.events().add(self.vault().await?, events).await?;
        }
        Ok(())
    }
}

/// The gap that stands for all events that are lost in the hour of a time: its id and its data.
pub(super) fn gap_at(time: SystemTime) -> (String, Value) {
    let hour = hour_of(time);
    let from = SystemTime::UNIX_EPOCH + GAP * hour;
    (format!("full {hour}"), json!({ "from": Timestamp::from(from), "to": Timestamp::from(from + GAP) }))
}

/// The number of the hour of a time.
pub(super) fn hour_of(time: SystemTime) -> u32 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs() / GAP.as_secs()).unwrap_or(u32::MAX)
}
