//! Stored events for agents that poll.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{ATTEMPTS, AgentError, AgentWish, NewAgent, read_cursor};
use crate::{Of, TriggerError, Triggers, state};
use store::{AgentCursor, KeptEvents, Subscription, Trigger};
use webhooks::{AgentEvent, AgentMessage};

/// Time for which a trigger waits for the next poll of its agent.
const POLLED_FOR: Duration = Duration::from_secs(3600);

/// A poll renews a trigger that has less than this time left.
const RENEWED_BELOW: Duration = Duration::from_secs(3300);

/// Time until the next poll of events that the service tells the gateway.
const NEXT_POLL: Duration = Duration::from_secs(15);

/// The shortest and the longest time until the next poll of events that the gateway reads.
const SHORTEST_POLL: Duration = Duration::from_secs(5);
const LONGEST_POLL: Duration = Duration::from_secs(300);

/// A request for stored events.
#[derive(Clone, Debug)]
pub struct AgentPoll {
    /// The cursor of an earlier answer. `None` for events from now on.
    pub cursor: Option<String>,
    /// Events that are older than this are left out.
    pub max_age: Option<Duration>,
    /// Maximum number of events.
    pub max_events: u32,
}

/// Stored events for an agent.
pub struct Polled {
    /// The oldest first.
    pub events: Vec<AgentEvent>,
    /// The cursor of the next poll.
    pub cursor: String,
    /// `true` if events after the cursor are not there.
    pub truncated: bool,
    /// `true` if there are more.
    pub has_more: bool,
    /// Time until a poll may find something new.
    pub next_poll: Duration,
}

impl Triggers {
    /// Returns stored events. The first poll makes the trigger.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub async fn poll_for_agent(
        self: &Arc<Self>,
        of: Of<'_>,
        wish: AgentWish,
        poll: AgentPoll,
        deadline: Instant,
    ) -> Result<Polled, AgentError> {
        let known = poll.cursor.as_deref().map(read_cursor).transpose()?;
        let limit = poll.max_events;
        let trigger = self.polled_trigger(of, &wish, deadline).await?;
        let subscription = self.usable_subscription(of, &trigger, deadline).await?;
        let next_poll = next_poll(subscription.as_ref());
        let (store, id) = (&self.parts.store, &trigger.id);
        let cursor = |sequence| AgentCursor { trigger: id.clone(), sequence }.to_text();
        let Some(known) = known else {
            let cursor = cursor(store.events().last_sequence(id).await?);
            return Ok(Polled { events: Vec::new(), cursor, truncated: false, has_more: false, next_poll });
        };
        // The events of the trigger before are gone.
        let is_other = known.trigger != *id;
        let after = if is_other { 0 } else { known.sequence };
        let KeptEvents { events: mut stored, are_older_gone, last } = store.events().of(id, after, limit + 1).await?;
        let floor = poll.max_age.and_then(|age| clock::now().checked_sub(age));
        let mut truncated = are_older_gone || is_other;
        if let Some(floor) = floor.filter(|floor| stored.first().is_some_and(|first| first.received_at < *floor)) {
            stored = store.events().since(id, floor, limit + 1).await?;
            truncated = true;
        }
        // A page of large events ends before the limit.
        let has_more = stored.len() > limit as usize || stored.last().is_some_and(|event| event.sequence < last);
        stored.truncate(limit as usize);
        let last = match stored.last() {
            Some(event) => event.sequence,
            None if truncated => last.max(after),
            None => after,
        };
        let mut events = Vec::with_capacity(stored.len());
        for event in &stored {
            match AgentMessage::of(self.body(event).await?.as_bytes()).map_err(TriggerError::from)? {
                AgentMessage::Event(event) => events.push(event),
                AgentMessage::Gap => truncated = true,
                AgentMessage::Ended(_) | AgentMessage::State => {}
            }
        }
        Ok(Polled { events, cursor: cursor(last), truncated, has_more, next_poll })
    }

    /// The trigger of an agent that polls, which waits for the next poll again.
    async fn polled_trigger(
        self: &Arc<Self>,
        of: Of<'_>,
        wish: &AgentWish,
        deadline: Instant,
    ) -> Result<Trigger, AgentError> {
        self.find_type(of, &wish.connector, &wish.kind)?;
        for _ in 0..ATTEMPTS {
            if let Some(trigger) = self.of_agent(of, &wish.id).await? {
                let expires_at = trigger.agent.as_ref().map(|part| part.expires_at);
                let left = expires_at.and_then(|end| end.duration_since(clock::now()).ok());
                let is_fresh = left.is_some_and(|left| left > RENEWED_BELOW);
                if is_fresh || self.parts.store.agent_triggers().renew(&trigger.id, POLLED_FOR).await?.is_some() {
                    return Ok(trigger);
                }
                continue;
            }
            let agent = NewAgent { id: wish.id.clone(), life: POLLED_FOR, takes_control: false, secrets: None };
            if let Some(trigger) = self.make_for_agent(of, wish, Vec::new(), agent, deadline).await? {
                return Ok(trigger);
            }
        }
        Err(TriggerError::Damaged("a trigger of an agent".to_owned()).into())
    }
}

/// Time until a poll may find something new.
fn next_poll(subscription: Option<&Subscription>) -> Duration {
    let read_at = |subscription: &Subscription| {
        let until = subscription.read_at?.duration_since(subscription.now).unwrap_or_default();
        Some(until.clamp(SHORTEST_POLL, LONGEST_POLL))
    };
    subscription.filter(|found| !state::is_pushed(found)).and_then(read_at).unwrap_or(NEXT_POLL)
}
