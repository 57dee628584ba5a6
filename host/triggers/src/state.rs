//! The state of a trigger, from evidence: when the subscription ends, if its last renewal
//! succeeded, and when it was last read. An intention is no evidence.

use std::time::{Duration, SystemTime};

use store::{Blocked, Standing, Subscription, Trigger, TriggerState};

/// Renewals that fail in a row before a trigger is degraded.
const FAILED_RENEWALS: u32 = 2;

/// Reads in a row without an event after which the time between two reads grows.
const EMPTY_READS: u32 = 30;

/// The longest time between two reads to which it grows.
const LONGEST_INTERVAL: Duration = Duration::from_secs(900);

/// The time between two reads for a trigger, if the service does not tell of events. After many
/// reads in a row without an event, each one doubles it, unless the caller has asked for an
/// interval.
pub(super) fn interval(asked: Option<u32>, declared: u32, empty_reads: u32) -> Duration {
    if let Some(asked) = asked {
        return Duration::from_secs(asked.into());
    }
    let declared = Duration::from_secs(declared.into());
    // More doublings than these reach the longest one from any interval.
    let doublings = empty_reads.saturating_sub(EMPTY_READS).min(16);
    (declared * (1 << doublings)).min(LONGEST_INTERVAL.max(declared))
}

/// The state and its reason.
pub(super) struct State {
    pub(super) status: &'static str,
    pub(super) reason: Option<String>,
}

/// How a type learns of events, as far as the state depends on it.
#[derive(Clone, Copy)]
pub(super) struct Ways {
    /// The gateway reads.
    pub(super) reads: bool,
    /// Time between two reads where the service does not tell of events.
    pub(super) interval: Duration,
    /// An inbox of an application has no secret, or is not made.
    pub(super) needs_setup: bool,
}

/// Returns `true` if the service tells the gateway of events now.
pub(super) fn is_pushed(subscription: &Subscription) -> bool {
    subscription.standing == Standing::Active
        && subscription.expires_at.is_none_or(|end| end > subscription.now)
        && subscription.failed_renewals < FAILED_RENEWALS
}

/// Returns `true` if the gateway has read lately.
fn is_read(subscription: &Subscription, interval: Duration) -> bool {
    let since = |at: SystemTime| subscription.now.duration_since(at).unwrap_or_default();
    subscription.last_read_at.is_some_and(|at| since(at) <= interval * 2)
}

/// The state of a trigger.
pub(super) fn of(trigger: &Trigger, subscription: Option<&Subscription>, ways: Ways) -> State {
    let state = |status, reason: Option<String>| State { status, reason };
    match trigger.state {
        TriggerState::Paused => return state("paused", trigger.reason.clone()),
        TriggerState::Failed => return state("failed", trigger.reason.clone()),
        TriggerState::Pending | TriggerState::Live => {}
    }
    // Events of the gateway itself need no subscription.
    let Some(subscription) = subscription else { return state("active", None) };
    let reason = subscription.reason.clone();
    match subscription.blocked {
        Some(Blocked::User) => return state("needs-user", reason),
        Some(Blocked::Final) => return state("failed", reason),
        None => {}
    }
    if trigger.state == TriggerState::Pending {
        return state("pending", reason);
    }
    let is_pushed = is_pushed(subscription) && !ways.needs_setup;
    let is_active = match (is_pushed, subscription.standing) {
        (true, _) => true,
        (false, Standing::None) => ways.reads && is_read(subscription, ways.interval),
        (false, Standing::New | Standing::Active | Standing::Lost) => false,
    };
    match is_active {
        true => state("active", None),
        false if ways.needs_setup => state("degraded", Some("needs-setup".to_owned())),
        false => {
            let unknown = match subscription.standing {
                Standing::None if ways.reads => "the last read is too old",
                Standing::Lost if ways.reads => "the service no longer notifies the gateway, which reads at intervals",
                _ => "the service does not notify the gateway",
            };
            state("degraded", reason.or_else(|| Some(unknown.to_owned())))
        }
    }
}

/// How the events of a trigger arrive.
pub(super) fn mode(subscription: Option<&Subscription>, reads: bool) -> &'static str {
    match subscription.map(|subscription| subscription.standing) {
        None => "push",
        Some(Standing::Active) if reads => "push+poll",
        Some(Standing::Active) => "push",
        Some(_) if reads => "poll",
        Some(_) => "push",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_between_reads_doubles_after_thirty_without_an_event_unless_a_caller_has_asked_for_it() {
        let seconds = |asked, declared, empty| interval(asked, declared, empty).as_secs();
        assert_eq!(
            [0, 30, 31, 32, 34, 35, 1000].map(|empty| seconds(None, 60, empty)),
            [60, 60, 120, 240, 900, 900, 900]
        );
        assert_eq!([0, 1000, u32::MAX].map(|empty| seconds(None, 86_400, empty)), [86_400; 3], "it is longer already");
        assert_eq!([0, 1000].map(|empty| seconds(Some(75), 60, empty)), [75; 2]);
    }
}
