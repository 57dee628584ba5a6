//! Events for which a tenant has no room: their webhooks wait, or they are dropped and their
//! receivers learn of the gap.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{TriggerError, Triggers};
use clock::timestamp::Timestamp;

/// Triggers of a tenant whose events one turn sends.
const TRIGGERS: u32 = 16;

/// Events of a trigger that one turn sends.
const EVENTS: u32 = 100;

/// One gap stands for all events that were dropped in this time.
const GAP: Duration = Duration::from_secs(3600);

impl Triggers {
    /// Stores webhooks of events that have waited until their tenant had fewer webhooks that are not
    /// delivered.
    ///
    /// # Errors
    /// If the store or the vault fails. What is left is done in the next turn.
    pub(super) async fn queue_backlog(&self) -> Result<(), TriggerError> {
        let store = &self.parts.store;
        let max_pending = self.parts.config.triggers.max_pending_per_tenant;
        let limit = EVENTS.min(u32::try_from(max_pending).unwrap_or(EVENTS));
        for trigger in store.events().triggers_with_backlog(max_pending, TRIGGERS).await? {
            let definition = self.definition(&trigger).await?;
            let waiting = self.waiting(&trigger, &definition, limit).await?;
            store.events().queue_backlog(self.vault().await?, &trigger, waiting).await?;
            self.parts.webhooks.wake();
        }
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
        let since = clock::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let hour = u32::try_from(since.as_secs() / GAP.as_secs()).unwrap_or(u32::MAX);
        let from = SystemTime::UNIX_EPOCH + GAP * hour;
        let data = json!({ "from": Timestamp::from(from), "to": Timestamp::from(from + GAP) });
        let mut events = Vec::with_capacity(counts.len());
        for (id, number) in counts {
            let Some(trigger) = self.parts.store.triggers().get(id).await? else { continue };
            let definition = self.definition(&trigger).await?;
            let id = format!("full {hour}");
            events.push(self.control_event(&trigger, &definition, "trigger.gap", &id, &data).await?);
            self.count_events(&trigger.connector, "dropped", number);
        }
        if !events.is_empty() {
            self.parts.store.events().add(self.vault().await?, events).await?;
        }
        Ok(())
    }
}
