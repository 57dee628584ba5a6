//! Triggers that are added to a subscription whose other triggers are paused. Reads have waited
//! with the cursor, which may stand for a time long ago.

use super::Step;
use store::TriggerState;

impl Step<'_> {
    /// Says for each member if it is a newcomer. What happened until the first read after its making is
    /// not for it, as the first read of a subscription delivers nothing.
    pub(super) fn newcomers(&self) -> Vec<bool> {
        let is = |state| self.members.iter().map(move |member| member.trigger.state == state);
        // The cursor of a subscription whose triggers are all new is theirs. A live trigger has kept
        // the cursor near.
        let others_wait = is(TriggerState::Paused).any(|is| is) || is(TriggerState::Failed).any(|is| is);
        match others_wait && !is(TriggerState::Live).any(|is| is) {
            true => is(TriggerState::Pending).collect(),
            false => vec![false; self.members.len()],
        }
    }

    fn has_newcomers(&self) -> bool {
        self.newcomers().contains(&true)
    }

    /// Returns `true` if a read is due because of a newcomer, whatever its time.
    pub(super) fn reads_for_newcomers(&self) -> bool {
        // After a failure, the time of the next attempt holds.
        self.has_newcomers() && !self.has_read_all && self.subscription.failed_reads == 0
    }

    /// Returns `true` if newcomers wait for the end of a read. `None` if there are none, or if the
    /// gateway does not read.
    pub(super) fn newcomers_wait(&self) -> Option<bool> {
        (self.reads() && self.has_newcomers()).then_some(!self.has_read_all)
    }
}
