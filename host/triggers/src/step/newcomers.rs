//! Triggers that join a subscription with other triggers. Its cursor stands for the last read,
//! which may be long ago: reads wait while all triggers are paused, and a live subscription may be
//! read once a day.

use super::{Member, Step};
use store::TriggerState;

impl Step<'_> {
    /// Says for each member if it is a newcomer. What happened until the first read after its making is
    /// not for it, as the first read of a subscription delivers nothing.
    pub(super) fn newcomers(&self) -> Vec<bool> {
        let is_new = |member: &Member| member.trigger.state == TriggerState::Pending;
        // The cursor of a subscription whose triggers are all new is theirs.
        match self.members.iter().all(is_new) {
            true => vec![false; self.members.len()],
            false => self.members.iter().map(is_new).collect(),
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
        ((self.reads() || self.has_rest()) && self.has_newcomers()).then_some(!self.has_read_all)
    }
}
