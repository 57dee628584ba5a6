//! Quotas: limits on the number of calls in a period.
//!
//! A token bucket that allows a whole quota in one burst refills while it is used. It would allow
//! nearly twice the quota in the first period, and an upstream that counts would refuse some of the
//! calls. Therefore a quota stores the time of each call. A call is allowed if fewer calls than the
//! quota were made in the last period. All calls of a quota may come in one burst, no window of the
//! period's length has more calls than the quota, and the time to wait is known exactly. Each
//! stored call takes 32 bytes.
//!
//! Tenants share a quota that all of them need ([`tenants`]). Gateways that share a database share
//! their quotas, too: see [`Budget`].

mod log;
mod tenants;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::Instant;

use self::log::Full;
pub use self::log::{Budget, BudgetGrant, BudgetReport};

/// The largest quota. It takes 32 MB of memory. A larger one counts as this one.
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

impl Quota {
    /// Maximum number of calls in a period that counts: at least one, and at most a million.
    pub fn limit(&self) -> u32 {
        self.requests.clamp(1, MAX_CALLS)
    }
}

/// The calls of a quota that remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remaining<'a> {
    /// The quota.
    pub quota: &'a Quota,
    /// Calls that are allowed now, of all gateways that share the quota.
    pub calls: u32,
    /// Time until a further call is allowed.
    pub until_more: Duration,
}

/// A call that a quota refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused<'a> {
    /// The quota.
    pub quota: &'a Quota,
    /// Time until the call is allowed. A guess if other gateways have the calls that remain.
    pub until_more: Duration,
    /// `true` if other gateways may have returned calls that this one could get.
    pub may_ask: bool,
    /// `true` if this gateway could not renew what it holds of the quota.
    pub has_lapsed: bool,
}

/// The quotas of one connector. Refused calls are not counted.
#[derive(Default)]
pub struct Quotas(Vec<Entry>);

struct Entry {
    quota: Quota,
    budget: Budget,
}

impl Quotas {
    /// Quotas without calls, of which this gateway has everything.
    pub fn new(quotas: impl IntoIterator<Item = Quota>) -> Self {
        Self::with(quotas, Budget::whole)
    }

    /// Quotas without calls that this gateway shares with others.
    pub fn shared(quotas: impl IntoIterator<Item = Quota>) -> Self {
        Self::with(quotas, Budget::shared)
    }

    fn with(quotas: impl IntoIterator<Item = Quota>, budget: fn(&Quota) -> Budget) -> Self {
        Self(quotas.into_iter().map(|quota| Entry { budget: budget(&quota), quota }).collect())
    }

    /// Takes over the calls of the `previous` quotas that have the same name, number and period.
    pub fn inherit(&mut self, previous: &Self) {
        for entry in &mut self.0 {
            if let Some(same) = previous.0.iter().find(|other| other.quota == entry.quota) {
                entry.budget = same.budget.clone();
            }
        }
    }

    /// All quotas, with their budgets.
    pub fn budgets(&self) -> impl Iterator<Item = (&Quota, &Budget)> {
        self.0.iter().map(|entry| (&entry.quota, &entry.budget))
    }

    /// Counts one call of a tenant in the quota with this name. `None` if there is no such quota:
    /// the call is then allowed.
    ///
    /// # Errors
    /// No call remains.
    pub fn check(&self, name: &str, tenant: &str) -> Option<Result<Remaining<'_>, Refused<'_>>> {
        let entry = self.0.iter().find(|entry| entry.quota.name == name)?;
        let (mut log, now) = (entry.budget.log().lock(), Instant::now());
        Some(match log.is_full(&entry.quota, tenant, now) {
            Some(full) => Err(entry.refused(full)),
            None => Ok(entry.remaining(log.count(&entry.quota, tenant, now))),
        })
    }

    /// Counts one call of a tenant in every quota, or of none if one of them refuses it. Returns
    /// the quota with the fewest remaining calls, or `None` if there is no quota.
    ///
    /// # Errors
    /// No call remains in this quota.
    pub fn check_all(&self, tenant: &str) -> Result<Option<Remaining<'_>>, Refused<'_>> {
        // Two versions of a connector may share calls and list them in another order. If both lock
        // in the order of the addresses, they cannot wait for each other.
        let mut entries: Vec<&Entry> = self.0.iter().collect();
        entries.sort_by_key(|entry| std::ptr::from_ref(entry.budget.log()));
        let mut held: Vec<_> = entries.into_iter().map(|entry| (entry, entry.budget.log().lock())).collect();
        let now = Instant::now();
        for (entry, log) in &mut held {
            if let Some(full) = log.is_full(&entry.quota, tenant, now) {
                return Err(entry.refused(full));
            }
        }
        let remaining = held.iter_mut().map(|(entry, log)| entry.remaining(log.count(&entry.quota, tenant, now)));
        Ok(remaining.min_by_key(|remaining| remaining.calls))
    }
}

impl Entry {
    fn remaining(&self, (calls, until_more): (u32, Duration)) -> Remaining<'_> {
        Remaining { quota: &self.quota, calls, until_more }
    }

    fn refused(&self, Full { until_more, may_ask, has_lapsed }: Full) -> Refused<'_> {
        Refused { quota: &self.quota, until_more, may_ask, has_lapsed }
    }
}
