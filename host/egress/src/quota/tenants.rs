//! How tenants share the calls of a quota.
//!
//! A tenant alone may make all calls. A tenant that was refused has a claim to a call, until the
//! time at which it was told to come again and a little longer. While there are claims, a call that
//! leaves the log is a claim too, for a short time: its tenant is expected to make another one,
//! unless it has let an expectation pass and shown no sign of life since. The
//! shares of the tenants are equal, and what a tenant does not need is for the others (max-min
//! fairness). Free calls are reserved for tenants with claims and less than their share. A tenant
//! may make the calls that are reserved for it, and those that are not reserved. A reserved call
//! stays unused for as long as its claim lasts, and no longer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// Time for which a division of the calls is used. Meanwhile, only the numbers of the tenants that
/// call are kept up to date.
const DIVISION_LIFE: Duration = Duration::from_millis(100);

/// The tenants with calls in the last period, or with claims.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    known: HashMap<Arc<str>, Tenant>,
    /// The end of the last claim. `None` while there are no claims.
    claimed_until: Option<Instant>,
    division: Option<Division>,
}

#[derive(Debug, Default)]
struct Tenant {
    /// Calls in the last period.
    used: u32,
    claims: u32,
    claimed_until: Option<Instant>,
    /// It is expected, and has neither made a call nor been refused one since.
    is_silent: bool,
    last_call: Option<Instant>,
    /// It has one of the calls that do not divide.
    has_extra: bool,
    /// The calls that it may make at this gateway, if the gateways have divided the quota among the
    /// tenants.
    allotted: Option<u32>,
}

/// A division of the calls among the tenants.
#[derive(Clone, Copy, Debug)]
struct Division {
    at: Instant,
    /// The share of a tenant whose needs are larger.
    share: u32,
    /// The free calls that are reserved.
    reserved: u32,
}

impl Tenants {
    /// Returns whether a tenant may make one of the `free` calls. `capacity` are the calls that all
    /// tenants may make in a period.
    pub(super) fn may_call(&mut self, tenant: &str, capacity: u32, free: u32, now: Instant) -> bool {
        let Some(until) = self.claimed_until else { return true };
        if until <= now {
            self.end_claims(now);
            return true;
        }
        let division = self.divide(capacity, now);
        let has_reserved = self.known.get(tenant).is_some_and(|known| known.missing(division.share) > 0);
        has_reserved || free > division.reserved
    }

    /// Counts a call. Returns the tenant's name, which later leaves the log with the call.
    pub(super) fn count(&mut self, tenant: &str, now: Instant) -> Arc<str> {
        let name = self.name_of(tenant);
        let mut has_extra = false;
        self.change(&name, |known| {
            known.used += 1;
            known.claims = known.claims.saturating_sub(1);
            known.is_silent = false;
            known.last_call = Some(now);
            has_extra = known.has_extra;
        });
        // The next call that does not divide is for another tenant.
        if has_extra {
            self.division = None;
        }
        name
    }

    /// Notes that a call has left the log. Its tenant is expected to make another one until then.
    pub(super) fn forget(&mut self, tenant: &Arc<str>, at: Instant, expected_until: Instant) {
        let is_contended = self.claimed_until.is_some_and(|until| until > at);
        let mut claimed_until = None;
        self.change(tenant, |known| {
            known.used = known.used.saturating_sub(1);
            // The calls of a tenant that has gone leave the log one after the other. They do not
            // make the time longer for which it is expected.
            if is_contended && !known.is_silent {
                known.claimed_until = known.claimed_until.max(Some(expected_until));
                known.is_silent = true;
                known.claims = known.claims.saturating_add(1);
            } else if is_contended && known.claims > 0 {
                known.claims = known.claims.saturating_add(1);
            }
            claimed_until = known.claimed_until;
        });
        self.claimed_until = self.claimed_until.max(claimed_until);
        if self.known.get(tenant).is_some_and(Tenant::is_idle) {
            self.known.remove(tenant);
        }
    }

    /// Notes that a tenant was refused a call, and waits until then for one. A tenant has at most
    /// `most` claims.
    pub(super) fn claim(&mut self, tenant: &str, until: Instant, most: u32) {
        let name = self.name_of(tenant);
        self.change(&name, |known| {
            known.claims = known.claims.saturating_add(1).min(most);
            known.is_silent = false;
            known.claimed_until = known.claimed_until.max(Some(until));
        });
        self.claimed_until = self.claimed_until.max(Some(until));
    }

    /// The calls that each tenant needs in a period, as far as is known: those it has made, and
    /// those it has claims to.
    pub(super) fn needs(&mut self, now: Instant) -> Vec<(String, u32)> {
        self.end_claims(now);
        let need = |(name, known): (&Arc<str>, &Tenant)| (name.to_string(), known.needed());
        self.known.iter().map(need).filter(|(_, needed)| *needed > 0).collect()
    }

    /// The time at which the first of the claims ends. `None` while there are no claims.
    pub(super) fn first_end(&self) -> Option<Instant> {
        self.known.values().filter(|known| known.claims > 0).filter_map(|known| known.claimed_until).min()
    }

    /// Notes the calls that each tenant may make at this gateway. Other tenants share the rest as
    /// if the gateway were alone.
    pub(super) fn allot(&mut self, allotments: &[(String, u32)]) {
        self.known.values_mut().for_each(|known| known.allotted = None);
        for (tenant, units) in allotments {
            if let Some(known) = self.known.get_mut(tenant.as_str()) {
                known.allotted = Some(*units);
            }
        }
        self.known.retain(|_, known| !known.is_idle());
        self.division = None;
    }

    /// Returns whether a tenant uses less than it may at this gateway.
    pub(super) fn is_below_its_part(&self, tenant: &str) -> bool {
        self.known.get(tenant).is_some_and(|known| known.allotted.is_some_and(|allotted| known.used < allotted))
    }

    /// The calls that tenants have made in the last period beyond what they may make at this
    /// gateway.
    pub(super) fn used_beyond_parts(&self) -> u32 {
        let beyond = |known: &Tenant| known.used.saturating_sub(known.allotted.unwrap_or(known.used));
        self.known.values().map(beyond).fold(0, u32::saturating_add)
    }

    /// The name of a tenant, which is stored once.
    fn name_of(&self, tenant: &str) -> Arc<str> {
        match self.known.get_key_value(tenant) {
            Some((name, _)) => Arc::clone(name),
            None => Arc::from(tenant),
        }
    }

    /// Changes a tenant, and the calls that are reserved for it.
    fn change(&mut self, name: &Arc<str>, change: impl FnOnce(&mut Tenant)) {
        let known = self.known.entry(Arc::clone(name)).or_default();
        let Some(division) = &mut self.division else { return change(known) };
        let before = known.missing(division.share);
        change(known);
        division.reserved =
            (division.reserved - before.min(division.reserved)).saturating_add(known.missing(division.share));
    }

    /// Forgets claims that have ended.
    fn end_claims(&mut self, now: Instant) {
        self.known.retain(|_, known| {
            if known.claimed_until.is_some_and(|until| until <= now) {
                known.is_silent |= known.claims > 0;
                (known.claims, known.claimed_until) = (0, None);
            }
            !known.is_idle()
        });
        self.claimed_until = self.known.values().filter_map(|known| known.claimed_until).max();
        self.division = None;
    }

    /// Divides the calls among the tenants.
    fn divide(&mut self, capacity: u32, now: Instant) -> Division {
        if let Some(division) = self.division
            && now.saturating_duration_since(division.at) < DIVISION_LIFE
        {
            return division;
        }
        self.end_claims(now);
        let mut needs: Vec<u32> = self.known.values().map(Tenant::needed).collect();
        let (share, rest) = level(capacity, &mut needs);
        let mut unmet: Vec<(&Arc<str>, &mut Tenant)> = Vec::new();
        for (name, known) in &mut self.known {
            known.has_extra = false;
            if known.needed() > share {
                unmet.push((name, known));
            }
        }
        // A call that does not divide is for the tenant whose last call is the oldest. The names
        // decide between two of the same age, because the order of the map is another in each process.
        unmet.sort_by(|(name, known), (other_name, other)| {
            known.last_call.cmp(&other.last_call).then_with(|| name.cmp(other_name))
        });
        unmet.into_iter().take(rest as usize).for_each(|(_, known)| known.has_extra = true);
        let reserved = self.known.values().map(|known| known.missing(share)).fold(0, u32::saturating_add);
        *self.division.insert(Division { at: now, share, reserved })
    }
}

impl Tenant {
    fn needed(&self) -> u32 {
        self.used.saturating_add(self.claims)
    }

    /// The calls that are reserved for the tenant.
    fn missing(&self, share: u32) -> u32 {
        let share = self.allotted.unwrap_or(share + u32::from(self.has_extra));
        self.needed().min(share).saturating_sub(self.used)
    }

    fn is_idle(&self) -> bool {
        self.used == 0 && self.claims == 0 && self.allotted.is_none()
    }
}

/// The largest share such that all tenants together need no more than there is, if none of them
/// gets more than it. Returns what does not divide as well.
fn level(capacity: u32, needs: &mut [u32]) -> (u32, u32) {
    needs.sort_unstable();
    let mut left = capacity;
    for (place, need) in needs.iter().enumerate() {
        let others = u32::try_from(needs.len() - place).unwrap_or(u32::MAX);
        if *need > left / others {
            return (left / others, left % others);
        }
        left -= need;
    }
    (capacity, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_needs_are_met_and_large_ones_share_the_rest() {
        assert_eq!(level(100, &mut [10, 90, 90]), (45, 0));
        assert_eq!(level(100, &mut [10, 20, 30]), (100, 0));
        assert_eq!(level(1, &mut [5, 5, 5]), (0, 1));
        assert_eq!(level(5, &mut []), (5, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_kept_of_tenants_without_calls_and_claims() {
        let (mut tenants, now) = (Tenants::default(), Instant::now());
        for number in 0..1_000 {
            let name = tenants.count(&number.to_string(), now);
            tenants.claim(&name, now + Duration::from_secs(1), 10);
            tenants.forget(&name, now, now + Duration::from_secs(1));
        }
        assert_eq!(tenants.known.len(), 1_000);
        assert!(tenants.may_call("other", 10, 1, now + Duration::from_secs(1)));
        assert!(tenants.known.is_empty() && tenants.claimed_until.is_none());
    }
}
