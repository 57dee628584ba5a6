//! Limits of concurrent calls: one for each connector, and one for the sandbox. Tenants share each
//! limit.
//!
//! A tenant with fewer permits than its share takes any free one. A tenant that has its share takes
//! more only while no other tenant needs them. For this, some permits stay reserved for tenants
//! below their share. In addition, if such a tenant was refused a moment ago, a tenant that has its
//! share gets no more. So a tenant that calls alone uses nearly all permits, and a tenant that
//! comes later is served immediately.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// One of so many permits is reserved for tenants that have less than their share.
const RESERVED: usize = 8;

/// The time for which returned permits are reserved for a tenant that was refused. It is longer
/// than the `Retry-After` of the answer.
const CONTENTION: Duration = Duration::from_secs(2);

/// Number of tenants above which those without a call are forgotten.
const MAX_IDLE_TENANTS: usize = 1000;

/// A limit of concurrent calls that tenants share.
pub(super) struct ConcurrencyLimit {
    limit: usize,
    /// The number of permits that a tenant may have while others need them.
    share: usize,
    reserved: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    tenants: HashMap<Box<str>, Arc<Tenant>>,
    /// Until this time, tenants that have their share get no more permits.
    contended_until: Option<Instant>,
}

/// The number of permits that a tenant has. It changes only while [`State`] is locked.
#[derive(Default)]
struct Tenant(AtomicUsize);

/// The right to run one call. Dropping it returns it to its limit.
pub struct Permit {
    limit: Arc<ConcurrencyLimit>,
    tenant: Arc<Tenant>,
}

/// Why a call gets no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPermit {
    /// All permits are taken.
    AllTaken,
    /// The tenant has its share.
    OverShare,
}

impl ConcurrencyLimit {
    /// A limit of `limit` permits. A tenant may have the part `share` of them while others need
    /// them.
    pub(super) fn new(limit: usize, share: f64) -> Arc<Self> {
        // The share is between 0 and 1, so this neither overflows nor loses a sign.
        let share = ((limit as f64 * share).ceil() as usize).clamp(1, limit.max(1));
        let reserved = if share < limit { limit / RESERVED } else { 0 };
        Arc::new(Self { limit, share, reserved, state: Mutex::default() })
    }

    /// Takes a permit for a call of a tenant.
    pub(super) fn acquire(self: &Arc<Self>, tenant: &str) -> Result<Permit, NoPermit> {
        let mut state = self.state.lock();
        let tenant = state.tenant(tenant);
        let free = self.limit.saturating_sub(state.taken);
        if tenant.taken() < self.share {
            if free == 0 {
                state.contended_until = Some(Instant::now() + CONTENTION);
                return Err(NoPermit::AllTaken);
            }
        } else if free == 0 {
            return Err(NoPermit::AllTaken);
        } else if free <= self.reserved || state.is_contended() {
            return Err(NoPermit::OverShare);
        }
        state.taken += 1;
        tenant.0.fetch_add(1, Ordering::Relaxed);
        Ok(Permit { limit: Arc::clone(self), tenant })
    }
}

impl Tenant {
    fn taken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl State {
    fn tenant(&mut self, name: &str) -> Arc<Tenant> {
        if let Some(known) = self.tenants.get(name) {
            return Arc::clone(known);
        }
        if self.tenants.len() >= MAX_IDLE_TENANTS {
            self.tenants.retain(|_, tenant| tenant.taken() > 0);
        }
        Arc::clone(self.tenants.entry(name.into()).or_default())
    }

    fn is_contended(&mut self) -> bool {
        let Some(until) = self.contended_until else { return false };
        if Instant::now() < until {
            return true;
        }
        self.contended_until = None;
        false
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.limit.state.lock();
        state.taken -= 1;
        self.tenant.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_all(limit: &Arc<ConcurrencyLimit>, tenant: &str) -> Vec<Permit> {
        std::iter::from_fn(|| limit.acquire(tenant).ok()).collect()
    }

    #[test]
    fn a_tenant_alone_leaves_some_permits_to_later_tenants() {
        let limit = ConcurrencyLimit::new(256, 0.5);
        let first = take_all(&limit, "a");
        assert_eq!(first.len(), 224);
        assert_eq!(limit.acquire("a").err(), Some(NoPermit::OverShare));
        assert_eq!(take_all(&limit, "b").len(), 32);
    }

    #[test]
    fn while_others_need_permits_a_tenant_has_at_most_its_share() {
        let limit = ConcurrencyLimit::new(16, 0.5);
        let mut first = take_all(&limit, "a");
        let second = take_all(&limit, "b");
        assert_eq!((first.len(), second.len()), (14, 2));
        // `b` was refused. From now on, permits that `a` returns are for `b`.
        first.truncate(10);
        assert!(limit.acquire("a").is_err());
        assert_eq!(take_all(&limit, "b").len(), 4);
        drop((first, second));
        assert_eq!(take_all(&limit, "a").len(), 8, "`b` was refused a moment ago");
        limit.state.lock().contended_until = Some(Instant::now());
        assert_eq!(take_all(&limit, "a").len(), 14);
    }

    #[test]
    fn few_permits_and_a_share_of_one_go_to_the_first_caller() {
        for (limit, expected) in [
            (ConcurrencyLimit::new(1, 0.5), 1),
            (ConcurrencyLimit::new(2, 0.5), 2),
            (ConcurrencyLimit::new(100, 1.0), 100),
        ] {
            let taken = take_all(&limit, "a");
            assert_eq!(taken.len(), expected);
            assert_eq!(limit.acquire("b").err(), Some(NoPermit::AllTaken));
        }
    }

    #[test]
    fn tenants_without_a_call_are_forgotten() {
        let limit = ConcurrencyLimit::new(10_000, 0.5);
        let kept = limit.acquire("kept").unwrap();
        for number in 0..3 * MAX_IDLE_TENANTS {
            limit.acquire(&number.to_string()).unwrap();
        }
        assert!(limit.state.lock().tenants.len() <= MAX_IDLE_TENANTS);
        assert_eq!(limit.state.lock().tenants["kept"].taken(), 1);
        drop(kept);
    }
}
