//! The calls of one quota, and the units of it that this gateway holds.
//!
//! A unit allows one call in each period. A gateway that shares its quotas with others holds some
//! of the units, for the time of a lease. It may use as many as its target says, which is less than
//! it holds while the others need more. What it holds above that is returned by [`Budget::report`]
//! once the calls of these units have left the log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Quota;
use super::tenants::Tenants;

/// Time after an ask that brought nothing, until a call asks again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Time to wait for calls that other gateways have to return, or other tenants have to leave.
const UNTIL_RETURNED: Duration = Duration::from_secs(1);

/// Time for which a tenant is expected after the time at which it was told to come again, which is
/// rounded up to a whole second for the caller. It is also expected for this time, and at most for
/// a quarter of the period, after one of its calls has left the log. What is free and reserved for
/// a tenant that does not come is used by nobody, so the time is short.
const LATE: Duration = Duration::from_secs(2);

/// The calls and the units of a quota. Clones share them.
#[derive(Clone)]
pub struct Budget {
    period: Duration,
    log: Arc<Mutex<Log>>,
}

/// The report of a gateway about its part of a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetReport {
    /// The units that it holds from now on.
    pub units: u32,
    /// Calls in the last period.
    pub used: u32,
    /// The units that all tenants need.
    pub needed: u32,
    /// The units that each tenant needs: for its calls in the last period, and for calls that were
    /// refused and are expected again.
    pub needs: Vec<(String, u32)>,
    /// Time until the last of its calls leaves the log.
    pub cooled_in: Duration,
}

/// The part of a budget that a gateway gets after a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetGrant {
    /// The units that it holds.
    pub units: u32,
    /// The units that it may use.
    pub target: u32,
    /// The units that tenants may use, if the gateways have divided the budget among them.
    pub allotments: Vec<(String, u32)>,
    /// Calls of all others in the last period.
    pub used_by_others: u32,
    /// `true` if the gateways need more than there is.
    pub is_contended: bool,
    /// `true` if the gateway needs more than it could get.
    pub is_unmet: bool,
    /// The end of the lease.
    pub until: Instant,
}

#[derive(Debug)]
pub(super) struct Log {
    /// The calls of the last period, and perhaps of earlier ones.
    calls: VecDeque<Call>,
    tenants: Tenants,
    units: u32,
    target: u32,
    used_by_others: u32,
    /// The gateways need more than there is.
    is_contended: bool,
    /// The end of the lease. `None` for a gateway that shares its quotas with nobody.
    until: Option<Instant>,
    ask_again: Instant,
}

#[derive(Debug)]
struct Call {
    at: Instant,
    tenant: Arc<str>,
}

/// Why a call is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full {
    pub(super) until_more: Duration,
    pub(super) may_ask: bool,
    pub(super) has_lapsed: bool,
}

impl Budget {
    /// A budget of which this gateway has everything.
    pub(super) fn whole(quota: &Quota) -> Self {
        Self::with(quota, quota.limit(), None)
    }

    /// A budget that gateways share. This one holds nothing of it yet.
    pub(super) fn shared(quota: &Quota) -> Self {
        Self::with(quota, 0, Some(Instant::now()))
    }

    fn with(quota: &Quota, units: u32, until: Option<Instant>) -> Self {
        Self { period: quota.period, log: Arc::new(Mutex::new(Log::new(units, until))) }
    }

    pub(super) fn log(&self) -> &Mutex<Log> {
        &self.log
    }

    /// Returns the units that the gateway does not need any more, and tells what it needs. The
    /// units are not used from now on, whether the report arrives or not. While others need more
    /// than there is, the gateway keeps nothing beyond its own needs.
    pub fn report(&self) -> BudgetReport {
        let mut log = self.log.lock();
        let now = Instant::now();
        log.forget(self.period, now);
        let used = u32::try_from(log.calls.len()).unwrap_or(u32::MAX);
        let needs = log.tenants.needs(now);
        let needed = needs.iter().fold(0_u32, |sum, (_, needed)| sum.saturating_add(*needed));
        // The calls of tenants beyond their parts use units that go to others. The units below the
        // target are for the other tenants meanwhile.
        let beyond = log.tenants.used_beyond_parts();
        let kept = if log.is_contended { log.target.min(needed.saturating_sub(beyond)) } else { log.target };
        let kept = kept.saturating_add(beyond);
        log.units = log.units.min(kept.max(used));
        let cooled_in = log.calls.back().map(|last| (last.at + self.period).saturating_duration_since(now));
        BudgetReport { units: log.units, used, needed, needs, cooled_in: cooled_in.unwrap_or_default() }
    }

    /// Time until the claim of a tenant ends, so that the gateway may need less. `None` while no
    /// tenant has a claim.
    pub fn until_claim_ends(&self) -> Option<Duration> {
        let end = self.log.lock().tenants.first_end();
        end.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// Takes over the units and the calls of another budget, which has none then.
    pub fn take_over(&self, previous: &Self) {
        let log = std::mem::replace(&mut *previous.log.lock(), Log::new(0, Some(Instant::now())));
        *self.log.lock() = log;
    }

    /// Returns whether both are the same budget, and not only equal.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.log, &other.log)
    }

    /// Returns all units that no call of the last period has taken. No call is allowed from now on.
    pub fn close(&self) -> BudgetReport {
        {
            let mut log = self.log.lock();
            log.target = 0;
            log.tenants.allot(&[]);
        }
        self.report()
    }

    /// Takes what the gateway is told after a report.
    pub fn grant(&self, grant: BudgetGrant) {
        let mut log = self.log.lock();
        log.units = grant.units;
        log.target = grant.target;
        log.tenants.allot(&grant.allotments);
        log.used_by_others = grant.used_by_others;
        log.is_contended = grant.is_contended;
        log.until = Some(grant.until);
        if grant.is_unmet {
            log.ask_again = Instant::now() + ASK_AGAIN;
        }
    }
}

impl Log {
    fn new(units: u32, until: Option<Instant>) -> Self {
        let (calls, tenants, ask_again) = (VecDeque::new(), Tenants::default(), Instant::now());
        Self { calls, tenants, units, target: units, used_by_others: 0, is_contended: false, until, ask_again }
    }

    /// Forgets calls of earlier periods.
    fn forget(&mut self, period: Duration, now: Instant) {
        while let Some(call) = self.calls.pop_front_if(|first| first.at + period <= now) {
            let at = call.at + period;
            self.tenants.forget(&call.tenant, at, at + LATE.min(period / 4));
        }
    }

    /// Returns why a tenant may make no call now, if so. It then has a claim to one.
    pub(super) fn is_full(&mut self, quota: &Quota, tenant: &str, now: Instant) -> Option<Full> {
        self.forget(quota.period, now);
        let has_lapsed = self.until.is_some_and(|until| until <= now);
        let (used, capacity) = (self.used(), self.units.min(self.target));
        let free = capacity.saturating_sub(used);
        // If others use more than their parts, a tenant does not wait until they use less.
        let has_part = |log: &Self| log.units > used && log.tenants.is_below_its_part(tenant);
        if !has_lapsed && (free > 0 && self.tenants.may_call(tenant, capacity, free, now) || has_part(self)) {
            return None;
        }
        let until_more = match () {
            // The free calls are reserved for other tenants, or others have to return some.
            () if free > 0 && !has_lapsed || used == 0 => UNTIL_RETURNED,
            () => self.until_more(quota.period, now),
        };
        self.tenants.claim(tenant, now + until_more + LATE, quota.limit());
        let is_shared = self.until.is_some();
        let may_ask = is_shared && self.units < quota.limit() && self.ask_again <= now;
        Some(Full { until_more, may_ask, has_lapsed })
    }

    /// Counts a call that is allowed. Returns the calls that all gateways have left, and the time
    /// until there is another one.
    pub(super) fn count(&mut self, quota: &Quota, tenant: &str, now: Instant) -> (u32, Duration) {
        let tenant = self.tenants.count(tenant, now);
        self.calls.push_back(Call { at: now, tenant });
        let left = quota.limit().saturating_sub(self.used()).saturating_sub(self.used_by_others);
        (left, self.until_more(quota.period, now))
    }

    fn used(&self) -> u32 {
        u32::try_from(self.calls.len()).unwrap_or(u32::MAX)
    }

    fn until_more(&self, period: Duration, now: Instant) -> Duration {
        self.calls.front().map(|first| (first.at + period).saturating_duration_since(now)).unwrap_or_default()
    }
}
