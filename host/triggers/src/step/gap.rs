//! Gaps: the messages to receivers about events that cannot be recovered.

use std::time::SystemTime;

use serde_json::json;

use super::{Member, Step};
use crate::TriggerError;
use clock::timestamp::Timestamp;
use store::{NewEvent, Standing, Subscription};

impl Step<'_> {
    /// The last time at which the service was known to notify the gateway, or was read.
    pub(super) fn last_known(&self) -> Option<SystemTime> {
        let Subscription { last_push_at, last_read_at, renewed_at, .. } = self.subscription;
        [*last_push_at, *last_read_at, *renewed_at].into_iter().flatten().max()
    }

    /// The id of a gap that this step has found.
    pub(super) fn id_of_gap(&self) -> String {
        format!("lost {}", self.subscription.fence)
    }

    /// The events that tell each trigger of a gap that ends now. What happened before a newcomer
    /// was made is not for it, so it lacks nothing.
    pub(super) async fn gap(&self, from: Option<SystemTime>, id: &str) -> Result<Vec<NewEvent>, TriggerError> {
        let to = Timestamp::from(clock::now());
        let mut events = Vec::with_capacity(self.members.len());
        let newcomers = self.newcomers();
        for (member, _) in self.members.iter().zip(&newcomers).filter(|(_, is_newcomer)| !**is_newcomer) {
            let Member { trigger, definition, .. } = member;
            let data = json!({ "from": Timestamp::from(from.unwrap_or(trigger.created_at)), "to": to });
            events.push(self.triggers.control_event(trigger, definition, "trigger.gap", id, &data).await?);
            self.triggers.count_events(&trigger.connector, "gap", 1);
        }
        Ok(events)
    }

    /// Tells of a gap, once in a step, together with the result of the step.
    pub(super) async fn tell_gap(&mut self, from: Option<SystemTime>) -> Result<(), TriggerError> {
        if self.gaps.is_empty() {
            self.gaps = self.gap(from, &self.id_of_gap()).await?;
        }
        Ok(())
    }

    /// Tells of the events that the service has sent while the subscription waited for the user.
    pub(super) async fn tell_missed(&mut self) -> Result<(), TriggerError> {
        let is_notified = self.is_carried() && self.subscription.standing == Standing::Active;
        if self.is_back() && is_notified && self.done.blocked.is_none() {
            self.tell_gap(self.last_known()).await?;
        }
        Ok(())
    }
}
