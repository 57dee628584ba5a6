//! Triggers: what callers want to know of, and the events that were stored for them.
//!
//! - [`types`]: a trigger and its events
//! - [`queries`]: adding, finding, changing and deleting triggers
//! - [`accounts`]: changes of accounts, for triggers of the gateway itself
//! - [`events`]: storing, reading and deleting events
//! - [`waiting`]: events whose webhooks wait
//! - [`receivers`]: triggers whose receivers refuse or fail

mod accounts;
mod events;
mod queries;
mod receivers;
mod types;
mod waiting;

pub use self::events::{EVENTS_BYTES, EventWebhooks};
pub(crate) use self::events::{insert_events, is_known};
pub(crate) use self::queries::{find as find_trigger, remove as remove_in, settle, triggers_of};
pub(crate) use self::receivers::{AttemptOfEvent, note_attempt};
pub use self::types::{
    EventDelivery, IntegrationChange, KeptEvents, NewEvent, NewTrigger, Removed, StoredEvent, Told, Trigger,
    TriggerChange, TriggerFilter, TriggerState, event_id, new_trigger_id,
};
pub(crate) use self::waiting::{insert_told_events, lock_subscriptions_of};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
