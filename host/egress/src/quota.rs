//! Quotas: limits on the number of calls in a period.
//!
//! A token bucket that allows a whole quota in one burst refills while it is used. It would allow
//! nearly twice the quota in the first period, and an upstream that counts would refuse some of the
//! calls. Therefore a quota stores the time of each call. A call is allowed if fewer calls than the
//! quota were made in the last period. All calls of a quota may come in one burst, no window of the
//! period's length has more calls than the quota, and the time to wait is known exactly. Each
//! stored call takes 16 bytes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The largest quota. It takes 16 MB of memory. A larger one counts as this one.
const MAX_CALLS: u32 = 1_000_000;

/// A maximum number of calls in a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The name that operations refer to.
    pub name: String,
    /// Maximum number of calls in a period. 0 counts as 1.
    pub requests: u32,
    /// Length of the period.
    pub period: Duration,
}

/// The calls of a quota that remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remaining<'a> {
    /// The quota.
    pub quota: &'a Quota,
    /// Calls that are allowed now.
    pub calls: u32,
    /// Time until a further call is allowed.
    pub until_more: Duration,
}

/// The quotas of one connector. Refused calls are not counted.
#[derive(Default)]
pub struct Quotas(Vec<Entry>);

struct Entry {
    quota: Quota,
    calls: Arc<Mutex<VecDeque<Instant>>>,
}

impl Quotas {
    /// Quotas without calls.
    pub fn new(quotas: impl IntoIterator<Item = Quota>) -> Self {
        let entry = |quota| Entry { quota, calls: Arc::default() };
        Self(quotas.into_iter().map(entry).collect())
    }

    /// Takes over the calls of the `previous` quotas that have the same name, number and period.
    pub fn inherit(&mut self, previous: &Self) {
        for entry in &mut self.0 {
            if let Some(same) = previous.0.iter().find(|other| other.quota == entry.quota) {
                entry.calls = Arc::clone(&same.calls);
            }
        }
    }

    /// The names of all quotas.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|entry| entry.quota.name.as_str())
    }

    /// Counts one call of the quota with this name. `None` if there is no such quota: the call is
    /// then allowed.
    ///
    /// # Errors
    /// No call remains. `until_more` is the time until the call is allowed.
    pub fn check(&self, name: &str) -> Option<Result<Remaining<'_>, Remaining<'_>>> {
        self.0.iter().find(|entry| entry.quota.name == name).map(|entry| entry.take(Instant::now()))
    }
}

impl Entry {
    fn take(&self, now: Instant) -> Result<Remaining<'_>, Remaining<'_>> {
        let mut calls = self.calls.lock();
        let most = usize::try_from(self.quota.requests.clamp(1, MAX_CALLS)).unwrap_or(usize::MAX);
        let period = self.quota.period;
        let remaining = |calls: &VecDeque<Instant>| Remaining {
            quota: &self.quota,
            calls: u32::try_from(most.saturating_sub(calls.len())).unwrap_or(u32::MAX),
            until_more: calls.front().map_or(Duration::ZERO, |&first| (first + period).saturating_duration_since(now)),
        };
        if calls.len() >= most {
            let remaining = remaining(&calls);
            if !remaining.until_more.is_zero() {
                return Err(remaining);
            }
        }
        // Calls of earlier periods no longer count.
        while calls.front().is_some_and(|&first| first + period <= now) {
            calls.pop_front();
        }
        calls.push_back(now);
        Ok(remaining(&calls))
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, Quota, Quotas};

    fn quota(requests: u32, seconds: u64) -> Quota {
        Quota { name: "calls".to_owned(), requests, period: Duration::from_secs(seconds) }
    }

    fn check(quotas: &Quotas) -> Result<(), Duration> {
        quotas.check("calls").unwrap().map(drop).map_err(|remaining| remaining.until_more)
    }

    #[tokio::test(start_paused = true)]
    async fn all_calls_of_a_quota_may_come_in_one_burst_and_the_next_one_waits_for_a_period() {
        let quotas = Quotas::new([quota(300, 60)]);
        for _ in 0..300 {
            check(&quotas).unwrap();
        }
        assert_eq!(check(&quotas), Err(Duration::from_secs(60)));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(check(&quotas), Err(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        check(&quotas).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn no_window_of_a_period_ever_holds_more_calls_than_allowed() {
        let quotas = Quotas::new([quota(10, 60)]);
        let mut taken = Vec::new();
        for step in 0..2000_u64 {
            tokio::time::advance(Duration::from_millis(step * 7919 % 4000)).await;
            if check(&quotas).is_ok() {
                taken.push(Instant::now());
            }
        }
        assert!(taken.len() > 500);
        for window in taken.windows(11) {
            assert!(window[10] - window[0] >= Duration::from_secs(60));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn counted_calls_survive_a_swap_if_the_quota_is_the_same() {
        let previous = Quotas::new([quota(1, 60)]);
        check(&previous).unwrap();
        let mut same = Quotas::new([quota(1, 60)]);
        same.inherit(&previous);
        assert!(check(&same).is_err());
        let mut other = Quotas::new([quota(2, 60)]);
        other.inherit(&previous);
        assert!(check(&other).is_ok());
    }

    #[test]
    fn a_name_without_a_quota_has_no_limit() {
        assert_eq!(Quotas::default().check("any"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_remaining_calls_are_returned() {
        let quotas = Quotas::new([quota(3, 60)]);
        let remaining = || quotas.check("calls").unwrap().map(|left| (left.calls, left.until_more.as_secs()));
        assert_eq!(remaining(), Ok((2, 60)));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(remaining(), Ok((1, 50)));
        tokio::time::advance(Duration::from_secs(55)).await;
        assert_eq!(remaining(), Ok((1, 5)), "the first call no longer counts");
    }
}
