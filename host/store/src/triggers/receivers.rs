//! Triggers whose receivers refuse webhooks or fail.

use std::time::Duration;

use database::connection::Connection;
use database::time::millis;
use database::value::values;

use super::queries::{set_state, wake};
use super::types::TriggerState;
use super::waiting::unqueue_pending_events;
use crate::Stored;

/// A trigger is disabled once its receivers have failed for this time, without one that succeeded.
const MAX_FAILING: Duration = Duration::from_secs(5 * 24 * 3600);

/// Time without a new webhook after which an earlier failure no longer counts. The attempts of one
/// take less than a day, so for more than a day no one has found the receivers failing.
const PAUSE: Duration = Duration::from_secs(2 * 24 * 3600);

/// The result of an attempt to send a webhook about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptOfEvent {
    /// The receiver has accepted it.
    Received,
    /// The receiver wants no more of them.
    Gone,
    /// It was not accepted.
    Failed {
        /// It is the first attempt of its webhook.
        is_first: bool,
    },
}

/// Notes an attempt to send a webhook of a trigger. A receiver that wants no more pauses it, and
/// receivers that fail for days end it. Its events stay in both cases.
pub(crate) fn note_attempt(
    connection: &mut dyn Connection,
    trigger: &str,
    webhook_id: &str,
    result: AttemptOfEvent,
) -> Stored<()> {
    match result {
        AttemptOfEvent::Received => connection.run(
            "UPDATE triggers SET failing_since = NULL WHERE id = $1 AND failing_since IS NOT NULL",
            values![trigger],
        ),
        AttemptOfEvent::Gone => {
            set_state(connection, trigger, TriggerState::Paused, Some("receiver-gone"))?;
            unqueue_pending_events(connection, trigger)
        }
        AttemptOfEvent::Failed { is_first } => {
            if is_first {
                connection.execute(
                    "UPDATE triggers SET failing_since = NULL WHERE id = $1 AND failing_since <= now_ms() - $2
                         AND NOT EXISTS (SELECT 1 FROM webhook_deliveries WHERE trigger_id = $1 AND webhook_id <> $3
                             AND created_at > now_ms() - $2)",
                    values![trigger, millis(PAUSE), webhook_id],
                )?;
            }
            connection.execute(
                "UPDATE triggers SET failing_since = now_ms() WHERE id = $1 AND failing_since IS NULL",
                values![trigger],
            )?;
            let has_failed: bool = connection.one(
                "SELECT EXISTS (SELECT 1 FROM triggers WHERE id = $1 AND failing_since <= now_ms() - $2 AND state = 'live')",
                values![trigger, millis(MAX_FAILING)],
            )?;
            if has_failed {
                let subscription: Option<Option<String>> =
                    connection.optional("SELECT subscription FROM triggers WHERE id = $1", values![trigger])?;
                // A step locks the subscription before its triggers too. The next one tells of the
                // end.
                wake(connection, subscription.flatten().as_deref())?;
                set_state(connection, trigger, TriggerState::Failed, Some("receiver-fails"))?;
                unqueue_pending_events(connection, trigger)?;
            }
            Ok(())
        }
    }
}
