//! What can be done with an integration's credential at a moment, and when it is to be renewed.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use store::{Details, Status};

/// A credential is renewed this long before it expires, or at half of its life where that comes later.
const AHEAD: Duration = Duration::from_secs(15 * 60);

/// Longest pause between two attempts while the credential is still good, and once it no longer is.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE_EXPIRED: Duration = Duration::from_secs(5 * 60);

/// A provider that asks for more patience than this is asked again all the same.
const MOST_PATIENCE: Duration = Duration::from_secs(60 * 60);

/// What can be done with a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Used.
    Fresh,
    /// Used, and renewed meanwhile.
    Due,
    /// Renewed before it is used.
    Expired,
    /// Nothing for so long: it has expired, and renewing it failed a moment ago.
    RetryIn(Duration),
    /// Nothing: the user has to authorize again.
    Ended,
}

impl Freshness {
    pub(super) fn of(details: &Details, now: SystemTime) -> Self {
        if details.status != Status::Active {
            return Self::Ended;
        }
        let is_expired = details.expires_at.is_some_and(|at| at <= now);
        match (is_expired, details.next_refresh_at) {
            (false, Some(at)) if at <= now => Self::Due,
            (false, _) => Self::Fresh,
            (true, None) => Self::Ended,
            (true, Some(at)) => match at.duration_since(now) {
                Ok(pause) if !pause.is_zero() => Self::RetryIn(pause),
                _ => Self::Expired,
            },
        }
    }
}

/// When a credential that lives so long from now on is to be renewed.
pub(super) fn due_at(since: SystemTime, life: Option<Duration>) -> Option<SystemTime> {
    let life = life?;
    since.checked_add(life - AHEAD.min(life / 2))
}

/// When to try again after a failure: sooner the nearer the moment of expiry is, on either side, so that a short disturbance is
/// over quickly and a long one costs little.
pub(super) fn retry_at(expires_at: Option<SystemTime>, asked: Option<Duration>, now: SystemTime) -> SystemTime {
    let pause = match expires_at.map(|at| at.duration_since(now)) {
        Some(Ok(left)) => (left / 4).min(LONGEST_PAUSE),
        Some(Err(past)) => (past.duration() / 2).min(LONGEST_PAUSE_EXPIRED),
        None => LONGEST_PAUSE,
    };
    let pause = pause.max(asked.unwrap_or_default().min(MOST_PATIENCE)).max(Duration::from_secs(1));
    now.checked_add(pause).unwrap_or(now)
}

/// Who must act so that an integration is well again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The user, by authorizing again.
    User,
    /// Who runs the gateway.
    Operator,
    /// The service; the gateway goes on trying.
    Provider,
}

/// Why an integration is not well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Who must act.
    pub owner: Owner,
    /// What happened, in a sentence.
    pub detail: String,
}

impl Reason {
    pub(super) fn new(owner: Owner, detail: impl Into<String>) -> Self {
        Self { owner, detail: detail.into() }
    }

    /// As the store keeps it.
    pub(super) fn to_text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// Why an integration is not well at a moment; none when it is.
    pub(super) fn of(details: &Details, now: SystemTime) -> Option<Self> {
        let stored = details.reason.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let has_ended = Freshness::of(details, now) == Freshness::Ended;
        stored.or_else(|| {
            has_ended
                .then(|| Self::new(Owner::User, "The access has expired, and the service gave no means to renew it."))
        })
    }
}

/// The status at a moment: what nothing renews expires without anybody writing it down.
pub(super) fn status(details: &Details, now: SystemTime) -> Status {
    match Freshness::of(details, now) {
        Freshness::Ended if details.status == Status::Active => Status::Expired,
        _ => details.status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Account;

    const NOW: Duration = Duration::from_secs(1_000_000);

    fn at(offset: i64) -> SystemTime {
        let base = SystemTime::UNIX_EPOCH + NOW;
        let distance = Duration::from_secs(offset.unsigned_abs());
        if offset < 0 { base - distance } else { base + distance }
    }

    fn details(expires: Option<i64>, next: Option<i64>) -> Details {
        Details {
            status: Status::Active,
            reason: None,
            account: Account::default(),
            scopes: Vec::new(),
            expires_at: expires.map(at),
            last_refreshed_at: None,
            next_refresh_at: next.map(at),
            secret: None,
        }
    }

    fn freshness(expires: Option<i64>, next: Option<i64>) -> Freshness {
        Freshness::of(&details(expires, next), at(0))
    }

    #[test]
    fn a_credential_is_renewed_before_it_expires_and_serves_until_then() {
        assert_eq!(freshness(Some(3600), Some(2700)), Freshness::Fresh);
        assert_eq!(freshness(Some(600), Some(-300)), Freshness::Due);
        assert_eq!(freshness(Some(-1), Some(-300)), Freshness::Expired);
        assert_eq!(freshness(None, None), Freshness::Fresh);
    }

    #[test]
    fn after_a_failure_it_serves_while_it_is_good_and_waits_once_it_is_not() {
        assert_eq!(freshness(Some(600), Some(60)), Freshness::Fresh);
        assert_eq!(freshness(Some(-10), Some(5)), Freshness::RetryIn(Duration::from_secs(5)));
    }

    #[test]
    fn what_nothing_renews_is_expired_at_its_time_and_says_whose_turn_it_is() {
        let details = details(Some(-1), None);
        assert_eq!(status(&details, at(-2)), Status::Active);
        assert_eq!(Reason::of(&details, at(-2)), None);
        assert_eq!(status(&details, at(0)), Status::Expired);
        assert_eq!(Reason::of(&details, at(0)).unwrap().owner, Owner::User);
    }

    #[test]
    fn renewal_is_due_fifteen_minutes_ahead_or_at_half_of_a_short_life() {
        assert_eq!(due_at(at(0), Some(Duration::from_secs(3600))), Some(at(2700)));
        assert_eq!(due_at(at(0), Some(Duration::from_secs(60))), Some(at(30)));
        assert_eq!(due_at(at(0), None), None);
    }

    #[test]
    fn pauses_are_short_around_the_moment_of_expiry_and_grow_away_from_it() {
        let pause = |expires| retry_at(Some(at(expires)), None, at(0)).duration_since(at(0)).unwrap().as_secs();
        assert_eq!([pause(3600), pause(80), pause(0), pause(-1), pause(-100), pause(-86_400)], [60, 20, 1, 1, 50, 300]);
        assert_eq!(retry_at(Some(at(10)), Some(Duration::from_secs(90)), at(0)), at(90));
        assert_eq!(retry_at(Some(at(10)), Some(Duration::from_secs(86_400)), at(0)), at(3600));
    }
}
