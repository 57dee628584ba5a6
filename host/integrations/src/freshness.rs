//! The moments at which a credential is refreshed, and its state between them.

use std::time::{Duration, SystemTime};

use store::{Details, Status};

/// A credential is refreshed this long before it expires. One that lives less than twice as long is
/// refreshed at half of its life.
const AHEAD: Duration = Duration::from_secs(15 * 60);

/// Longest backoff between two attempts, while the credential is still good and after it has
/// expired.
const MAX_BACKOFF: Duration = Duration::from_secs(60);
const LONGEST_PAUSE_EXPIRED: Duration = Duration::from_secs(5 * 60);

/// Longest delay that a provider can request with `Retry-After`.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// The gateway's action when an operation needs a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Use it.
    Fresh,
    /// Use it, and refresh it in the background.
    Due,
    /// Refresh it before use.
    Expired,
    /// The credential has expired and the last refresh failed; time until the next attempt.
    RetryIn(Duration),
    /// No refresh can help: the user has to authorize again.
    Ended,
}

impl Freshness {
    pub(super) fn at(details: &Details, now: SystemTime) -> Self {
        if details.status != Status::Active {
            return Self::Ended;
        }
        let is_expired = details.expires_at.is_some_and(|at| at <= now);
        match (is_expired, details.next_refresh_at) {
            (false, Some(at)) if at <= now => Self::Due,
            (false, _) => Self::Fresh,
            (true, None) => Self::Ended,
            (true, Some(at)) => delay_until(at, now).map_or(Self::Expired, Self::RetryIn),
        }
    }
}

/// The status at a moment. The store still says active for a credential that expired and has no
/// refresh token.
pub(super) fn status_at(details: &Details, now: SystemTime) -> Status {
    match Freshness::at(details, now) {
        Freshness::Ended if details.status == Status::Active => Status::Expired,
        _ => details.status,
    }
}

/// The time of the first refresh of a credential that was issued at `since`, or `None` if it does
/// not expire.
pub(super) fn due_at(since: SystemTime, lifetime: Option<Duration>) -> Option<SystemTime> {
    let lifetime = lifetime?;
    since.checked_add(lifetime - AHEAD.min(lifetime / 2))
}

/// Time until the next attempt of a refresh that failed, if it is in the future. A time that is
/// further ahead than any pause was set by a machine whose clock was ahead, and does not count.
pub(super) fn delay_until(next: SystemTime, now: SystemTime) -> Option<Duration> {
    next.duration_since(now).ok().filter(|delay| !delay.is_zero() && *delay <= LONGEST_RETRY_AFTER)
}

/// The time of the next attempt after a refresh failed. The backoff is short around the moment of
/// expiry, so that a short outage costs few calls. It grows with the distance from it, so that a
/// long outage costs few requests.
pub(super) fn retry_at(expires_at: Option<SystemTime>, retry_after: Option<Duration>, now: SystemTime) -> SystemTime {
    let backoff = match expires_at.map(|at| at.duration_since(now)) {
        Some(Ok(left)) => (left / 4).min(MAX_BACKOFF),
        Some(Err(past)) => (past.duration() / 2).min(LONGEST_PAUSE_EXPIRED),
        None => MAX_BACKOFF,
    };
    let backoff = backoff.max(retry_after.unwrap_or_default().min(LONGEST_RETRY_AFTER)).max(Duration::from_secs(1));
    now.checked_add(backoff).unwrap_or(now)
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
            refresh_failing_since: None,
            secret: None,
        }
    }

    fn freshness(expires: Option<i64>, next: Option<i64>) -> Freshness {
        Freshness::at(&details(expires, next), at(0))
    }

    #[test]
    fn a_credential_is_refreshed_before_it_expires_and_used_until_then() {
        assert_eq!(freshness(Some(3600), Some(2700)), Freshness::Fresh);
        assert_eq!(freshness(Some(600), Some(-300)), Freshness::Due);
        assert_eq!(freshness(Some(-1), Some(-300)), Freshness::Expired);
        assert_eq!(freshness(None, None), Freshness::Fresh);
    }

    #[test]
    fn after_a_failed_refresh_a_good_credential_is_used_and_an_expired_one_waits_for_the_next_attempt() {
        assert_eq!(freshness(Some(600), Some(60)), Freshness::Fresh);
        assert_eq!(freshness(Some(-10), Some(5)), Freshness::RetryIn(Duration::from_secs(5)));
    }

    #[test]
    fn a_time_that_a_clock_ahead_has_set_is_not_waited_for() {
        assert_eq!(freshness(Some(-10), Some(3600)), Freshness::RetryIn(Duration::from_secs(3600)));
        assert_eq!(freshness(Some(-10), Some(3601)), Freshness::Expired);
        assert_eq!(freshness(Some(-10), Some(24 * 3600)), Freshness::Expired);
    }

    #[test]
    fn the_status_of_a_credential_without_refresh_token_is_expired_at_its_time() {
        let details = details(Some(-1), None);
        assert_eq!(status_at(&details, at(-2)), Status::Active);
        assert_eq!(status_at(&details, at(0)), Status::Expired);
    }

    #[test]
    fn a_refresh_is_due_fifteen_minutes_ahead_or_at_half_of_a_short_life() {
        assert_eq!(due_at(at(0), Some(Duration::from_secs(3600))), Some(at(2700)));
        assert_eq!(due_at(at(0), Some(Duration::from_secs(60))), Some(at(30)));
        assert_eq!(due_at(at(0), None), None);
    }

    #[test]
    fn pauses_are_short_around_the_moment_of_expiry_and_grow_away_from_it() {
        let backoff = |expires| retry_at(Some(at(expires)), None, at(0)).duration_since(at(0)).unwrap().as_secs();
        assert_eq!(
            [backoff(3600), backoff(80), backoff(0), backoff(-1), backoff(-100), backoff(-86_400)],
            [60, 20, 1, 1, 50, 300]
        );
        assert_eq!(retry_at(Some(at(10)), Some(Duration::from_secs(90)), at(0)), at(90));
        assert_eq!(retry_at(Some(at(10)), Some(Duration::from_secs(86_400)), at(0)), at(3600));
    }
}
