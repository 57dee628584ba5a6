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

    /// Counts one call of the quota with this name. `None` if there is no such quota: the call is
    /// then allowed.
    ///
    /// # Errors
    /// No call remains. `until_more` is the time until the call is allowed.
    pub fn check(&self, name: &str) -> Option<Result<Remaining<'_>, Remaining<'_>>> {
        let entry = self.0.iter().find(|entry| entry.quota.name == name)?;
        let (mut calls, now) = (entry.calls.lock(), Instant::now());
        Some(match entry.refusal(&calls, now) {
            Some(refusal) => Err(refusal),
            None => Ok(entry.count(&mut calls, now)),
        })
    }

    /// Counts one call of every quota, or of none if one of them refuses it. Returns the quota with
    /// the fewest remaining calls, or `None` if there is no quota.
    ///
    /// # Errors
    /// No call remains in this quota.
    pub fn check_all(&self) -> Result<Option<Remaining<'_>>, Remaining<'_>> {
        // Two versions of a connector may share calls and list them in another order. If both lock in
        // the order of the addresses, they cannot wait for each other.
        let mut entries: Vec<&Entry> = self.0.iter().collect();
        entries.sort_by_key(|entry| Arc::as_ptr(&entry.calls));
        let mut held: Vec<_> = entries.into_iter().map(|entry| (entry, entry.calls.lock())).collect();
        let now = Instant::now();
        if let Some(refusal) = held.iter().find_map(|(entry, calls)| entry.refusal(calls, now)) {
            return Err(refusal);
        }
        let remaining = held.iter_mut().map(|(entry, calls)| entry.count(calls, now));
        Ok(remaining.min_by_key(|remaining| remaining.calls))
    }
}

impl Entry {
    /// The remaining calls, if no call is allowed.
    fn refusal(&self, calls: &VecDeque<Instant>, now: Instant) -> Option<Remaining<'_>> {
        let remaining = self.remaining(calls, now);
        (remaining.calls == 0 && !remaining.until_more.is_zero()).then_some(remaining)
    }

    /// Counts a call that is allowed.
    fn count(&self, calls: &mut VecDeque<Instant>, now: Instant) -> Remaining<'_> {
        // Calls of earlier periods no longer count.
        while calls.front().is_some_and(|&first| first + self.quota.period <= now) {
            calls.pop_front();
        }
        calls.push_back(now);
        self.remaining(calls, now)
    }

    fn remaining(&self, calls: &VecDeque<Instant>, now: Instant) -> Remaining<'_> {
        let most = usize::try_from(self.quota.requests.clamp(1, MAX_CALLS)).unwrap_or(usize::MAX);
        let first_ends = calls.front().map(|&first| (first + self.quota.period).saturating_duration_since(now));
        Remaining {
            quota: &self.quota,
            calls: u32::try_from(most.saturating_sub(calls.len())).unwrap_or(u32::MAX),
            until_more: first_ends.unwrap_or_default(),
        }
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

    #[tokio::test(start_paused = true)]
    async fn a_call_that_one_quota_refuses_counts_in_no_other() {
        let named = |name: &str, requests| Quota { name: name.to_owned(), ..quota(requests, 60) };
        let quotas = Quotas::new([named("many", 3), named("few", 1)]);
        assert_eq!(quotas.check_all().unwrap().map(|left| (left.quota.name.as_str(), left.calls)), Some(("few", 0)));
        for _ in 0..5 {
            assert_eq!(quotas.check_all().unwrap_err().quota.name, "few");
        }
        assert_eq!(quotas.check("many").unwrap().unwrap().calls, 1, "only the first call was counted");
        assert_eq!(Quotas::default().check_all(), Ok(None));
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
