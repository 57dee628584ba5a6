//! Triggers that cannot be read, as after a restore of the database without its data keys. The
//! others continue without them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::definition::Definition;
use super::{TriggerError, Triggers};
use store::Trigger;

/// Time after which the log names a damaged trigger once more.
const AGAIN: Duration = Duration::from_secs(3600);

/// The triggers that were left out, and the time at which the log has named each.
pub(super) type LeftOut = Mutex<BTreeMap<String, Instant>>;

impl Triggers {
    /// The definition of one trigger among others. `None` if it is damaged.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub(super) async fn readable(&self, trigger: &Trigger) -> Result<Option<Definition>, TriggerError> {
        match self.definition(trigger).await {
            Ok(definition) => Ok(Some(definition)),
            Err(error) => self.leave_out(&trigger.id, error).map(|()| None),
        }
    }

    /// Names a damaged trigger in the log, from time to time, so that the others continue without
    /// it.
    ///
    /// # Errors
    /// Returns the error if the trigger is not damaged: another attempt may read it.
    pub(super) fn leave_out(&self, trigger: &str, error: TriggerError) -> Result<(), TriggerError> {
        if !error.is_damage() {
            return Err(error);
        }
        let now = Instant::now();
        let mut left_out = self.left_out.lock();
        left_out.retain(|_, at| now.duration_since(*at) < AGAIN);
        if let Entry::Vacant(place) = left_out.entry(trigger.to_owned()) {
            place.insert(now);
            tracing::error!(trigger, %error, "a trigger cannot be read and gets no events; the others continue");
        }
        Ok(())
    }
}
