//! Places for calls that run at the same time: those of a connector, and those of the sandbox. Tenants share them.
//!
//! A tenant with fewer places than its share takes any that is free. A tenant that has its share takes more only while nobody else
//! needs them: some places are kept for tenants that come, and none is given to it while a tenant below its share was refused a
//! moment ago. So a tenant that calls alone uses nearly all places, and one that comes later is served at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// This part of the places is kept for tenants that have less than their share.
const KEPT: usize = 8;

/// The time for which places that become free are kept for a tenant that was refused. It is longer than the time after which the
/// answer asks it to try again.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of tenants above which those without a call are forgotten.
const MANY_TENANTS: usize = 1000;

/// A number of places that tenants share.
pub(super) struct Places {
    limit: usize,
    /// The number of places that a tenant may have while others need them.
    share: usize,
    kept: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    tenants: HashMap<Box<str>, Arc<Tenant>>,
    /// Until then, tenants that have their share get no more.
    contended_until: Option<Instant>,
}

/// The number of places that a tenant has. It changes only while [`State`] is locked.
#[derive(Default)]
struct Tenant(AtomicUsize);

/// The right to run one call. Dropping it gives the place back.
pub struct Permit {
    places: Arc<Places>,
    tenant: Arc<Tenant>,
}

/// Why there is no place for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// All places are taken.
    AllTaken,
    /// The tenant has its share.
    OverShare,
}

impl Places {
    /// `limit` places, of which a tenant may have the part `share` while others need them.
    pub(super) fn new(limit: usize, share: f64) -> Arc<Self> {
        // The share is between 0 and 1, so this neither overflows nor loses a sign.
        let share = ((limit as f64 * share).ceil() as usize).clamp(1, limit.max(1));
        let kept = if share < limit { limit / KEPT } else { 0 };
        Arc::new(Self { limit, share, kept, state: Mutex::default() })
    }

    /// Takes a place for a call of a tenant.
    pub(super) fn take(self: &Arc<Self>, tenant: &str) -> Result<Permit, NoPlace> {
        let mut state = self.state.lock();
        let tenant = state.tenant(tenant);
        let free = self.limit.saturating_sub(state.taken);
        if tenant.taken() < self.share {
            if free == 0 {
                state.contended_until = Some(Instant::now() + PATIENCE);
                return Err(NoPlace::AllTaken);
            }
        } else if free == 0 {
            return Err(NoPlace::AllTaken);
        } else if free <= self.kept || state.is_contended() {
            return Err(NoPlace::OverShare);
        }
        state.taken += 1;
        tenant.0.fetch_add(1, Ordering::Relaxed);
        Ok(Permit { places: Arc::clone(self), tenant })
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
        if self.tenants.len() >= MANY_TENANTS {
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
        let mut state = self.places.state.lock();
        state.taken -= 1;
        self.tenant.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_all(places: &Arc<Places>, tenant: &str) -> Vec<Permit> {
        std::iter::from_fn(|| places.take(tenant).ok()).collect()
    }

    #[test]
    fn a_tenant_alone_leaves_some_places_to_those_who_come() {
        let places = Places::new(256, 0.5);
        let first = take_all(&places, "a");
        assert_eq!(first.len(), 224);
        assert_eq!(places.take("a").err(), Some(NoPlace::OverShare));
        assert_eq!(take_all(&places, "b").len(), 32);
    }

    #[test]
    fn while_others_need_places_a_tenant_has_at_most_its_share() {
        let places = Places::new(16, 0.5);
        let mut first = take_all(&places, "a");
        let second = take_all(&places, "b");
        assert_eq!((first.len(), second.len()), (14, 2));
        // `b` was refused. What `a` gives back is for `b` from now on.
        first.truncate(10);
        assert!(places.take("a").is_err());
        assert_eq!(take_all(&places, "b").len(), 4);
        drop((first, second));
        assert_eq!(take_all(&places, "a").len(), 8, "`b` was refused a moment ago");
        places.state.lock().contended_until = Some(Instant::now());
        assert_eq!(take_all(&places, "a").len(), 14);
    }

    #[test]
    fn few_places_and_a_share_of_one_are_for_whoever_comes_first() {
        for (places, expected) in [(Places::new(1, 0.5), 1), (Places::new(2, 0.5), 2), (Places::new(100, 1.0), 100)] {
            let taken = take_all(&places, "a");
            assert_eq!(taken.len(), expected);
            assert_eq!(places.take("b").err(), Some(NoPlace::AllTaken));
        }
    }

    #[test]
    fn tenants_without_a_call_are_forgotten() {
        let places = Places::new(10_000, 0.5);
        let kept = places.take("kept").unwrap();
        for number in 0..3 * MANY_TENANTS {
            places.take(&number.to_string()).unwrap();
        }
        assert!(places.state.lock().tenants.len() <= MANY_TENANTS);
        assert_eq!(places.state.lock().tenants["kept"].taken(), 1);
        drop(kept);
    }
}
