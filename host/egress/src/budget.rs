//! Limits on the number of calls in a period.
//!
//! A token bucket that allows a whole budget at once refills while it is used. It would allow nearly twice the budget in the
//! first period, and an upstream that counts would refuse some of the calls. So a budget stores the time of each call. A call is
//! allowed if fewer calls than the budget were made in the last period. All calls of a budget may come at once, no window of the
//! period's length has more calls than the budget, and the time to wait is known exactly. Each stored call takes 16 bytes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The largest budget. It takes 16 MB of memory; larger ones count as this one.
const MAX_CALLS: u32 = 1_000_000;

/// A maximum number of calls in a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The name that operations refer to.
    pub name: String,
    /// Maximum number of calls in a period; 0 counts as 1.
    pub requests: u32,
    /// Length of the period.
    pub period: Duration,
}

/// The part of a budget that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left<'a> {
    /// The budget.
    pub budget: &'a Budget,
    /// Calls that are allowed now.
    pub calls: u32,
    /// Time until a further call is allowed.
    pub until_more: Duration,
}

/// The budgets of one connector. Refused calls are not counted.
#[derive(Default)]
pub struct Budgets(Vec<Entry>);

struct Entry {
    budget: Budget,
    calls: Arc<Mutex<VecDeque<Instant>>>,
}

impl Budgets {
    /// Budgets without calls.
    pub fn new(budgets: impl IntoIterator<Item = Budget>) -> Self {
        let entry = |budget| Entry { budget, calls: Arc::default() };
        Self(budgets.into_iter().map(entry).collect())
    }

    /// Takes over the calls of `old`'s budgets that have the same name, number and period.
    pub fn inherit(&mut self, old: &Self) {
        for entry in &mut self.0 {
            if let Some(former) = old.0.iter().find(|former| former.budget == entry.budget) {
                entry.calls = Arc::clone(&former.calls);
            }
        }
    }

    /// The index of the budget with this name, for `check_at`, which compares no names.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|entry| entry.budget.name == name)
    }

    /// Counts one call of the budget with this name. `None` if there is no such budget: the call is then allowed.
    ///
    /// # Errors
    /// Nothing is left. `until_more` is the time until the call is allowed.
    pub fn check(&self, name: &str) -> Option<Result<Left<'_>, Left<'_>>> {
        self.0.iter().find(|entry| entry.budget.name == name).map(|entry| entry.take(Instant::now()))
    }
}

impl Entry {
    fn take(&self, now: Instant) -> Result<Left<'_>, Left<'_>> {
        let mut calls = self.calls.lock();
        let most = usize::try_from(self.budget.requests.clamp(1, MAX_CALLS)).unwrap_or(usize::MAX);
        let period = self.budget.period;
        let left = |calls: &VecDeque<Instant>| Left {
            budget: &self.budget,
            calls: u32::try_from(most.saturating_sub(calls.len())).unwrap_or(u32::MAX),
            until_more: calls.front().map_or(Duration::ZERO, |&first| (first + period).saturating_duration_since(now)),
        };
        if calls.len() >= most {
            let left = left(&calls);
            if !left.until_more.is_zero() {
                return Err(left);
            }
        }
        // Calls of earlier periods no longer count.
        while calls.front().is_some_and(|&first| first + period <= now) {
            calls.pop_front();
        }
        calls.push_back(now);
        Ok(left(&calls))
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Budgets, Duration, Instant};

    fn budget(requests: u32, seconds: u64) -> Budget {
        Budget { name: "calls".to_owned(), requests, period: Duration::from_secs(seconds) }
    }

    fn check(budgets: &Budgets) -> Result<(), Duration> {
        budgets.check("calls").unwrap().map(drop).map_err(|left| left.until_more)
    }

    #[tokio::test(start_paused = true)]
    async fn all_calls_of_a_budget_may_come_at_once_and_the_next_one_waits_for_a_period() {
        let budgets = Budgets::new([budget(300, 60)]);
        for _ in 0..300 {
            check(&budgets).unwrap();
        }
        assert_eq!(check(&budgets), Err(Duration::from_secs(60)));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(check(&budgets), Err(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        check(&budgets).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn no_window_of_a_period_ever_holds_more_calls_than_allowed() {
        let budgets = Budgets::new([budget(10, 60)]);
        let mut taken = Vec::new();
        for step in 0..2000_u64 {
            tokio::time::advance(Duration::from_millis(step * 7919 % 4000)).await;
            if check(&budgets).is_ok() {
                taken.push(Instant::now());
            }
        }
        assert!(taken.len() > 500);
        for window in taken.windows(11) {
            assert!(window[10] - window[0] >= Duration::from_secs(60));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn counted_calls_survive_a_swap_if_the_budget_is_the_same() {
        let old = Budgets::new([budget(1, 60)]);
        check(&old).unwrap();
        let mut same = Budgets::new([budget(1, 60)]);
        same.inherit(&old);
        assert!(check(&same).is_err());
        let mut other = Budgets::new([budget(2, 60)]);
        other.inherit(&old);
        assert!(check(&other).is_ok());
    }

    #[test]
    fn a_name_without_a_budget_has_no_limit() {
        assert_eq!(Budgets::default().check("any"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_left_is_told() {
        let budgets = Budgets::new([budget(3, 60)]);
        let left = || budgets.check("calls").unwrap().map(|left| (left.calls, left.until_more.as_secs()));
        assert_eq!(left(), Ok((2, 60)));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(left(), Ok((1, 50)));
        tokio::time::advance(Duration::from_secs(55)).await;
        assert_eq!(left(), Ok((1, 5)), "the first call no longer counts");
    }
}
