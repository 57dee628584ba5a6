//! A limit on how often something may happen.

use std::time::Duration;

use tokio::time::Instant;

/// Permits that come back one after the other: after `burst` permits at once there is one in each
/// `period`. This is the generic cell rate algorithm, which keeps one time and no counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    period: Duration,
    burst: u32,
    /// All permits are there from this time on.
    full_at: Instant,
}

impl Allowance {
    /// All permits are there.
    pub(crate) fn new(burst: u32, period: Duration) -> Self {
        Self { period, burst, full_at: Instant::now() }
    }

    /// Takes a permit. Returns `false` if there is none.
    pub(crate) fn take(&mut self) -> bool {
        let now = Instant::now();
        let full_at = self.full_at.max(now) + self.period;
        let is_there = full_at <= now + self.period * self.burst;
        if is_there {
            self.full_at = full_at;
        }
        is_there
    }

    /// Returns whether all permits are there.
    pub(crate) fn is_full(&self) -> bool {
        self.full_at <= Instant::now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(allowance: &mut Allowance) -> usize {
        (0..100).take_while(|_| allowance.take()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_burst_permits_come_back_one_in_each_period_up_to_the_burst() {
        let period = Duration::from_millis(100);
        let mut allowance = Allowance::new(10, period);
        assert_eq!(taken(&mut allowance), 10);
        tokio::time::advance(period - Duration::from_millis(1)).await;
        assert_eq!(taken(&mut allowance), 0);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(taken(&mut allowance), 1);
        assert!(!allowance.is_full());
        tokio::time::advance(period * 1000).await;
        assert!(allowance.is_full());
        assert_eq!(taken(&mut allowance), 10);
    }
}
