//! Limits of the requests to inboxes. Anyone can send them, so they are counted before they cost
//! much.
//!
//! The counts are one gateway's. They are in memory, whose size is bounded whoever sends.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Requests to unknown addresses: 20 in each second, since a burst and what returns meanwhile are
/// half of it each. Services send none.
const UNKNOWN: Rate = Rate { burst: 10.0, per_second: 10.0 };

/// Requests to one inbox.
const INBOX: Rate = Rate { burst: 2000.0, per_second: 200.0 };

/// Requests of one remote to one inbox that were not verified: 60 in each minute, of which half may
/// come at once.
const FAILED: Rate = Rate { burst: 30.0, per_second: 0.5 };

/// The most counts that are kept. Counts that are full again are dropped first.
const MAX_COUNTS: usize = 50_000;

/// A number of requests that returns with time.
#[derive(Clone, Copy)]
struct Rate {
    burst: f64,
    per_second: f64,
}

/// The rest of a [`Rate`].
#[derive(Clone, Copy)]
struct Rest {
    left: f64,
    at: Instant,
}

/// The limits of one gateway.
pub struct Limits {
    /// The most requests at the same time.
    places: usize,
    taken: Arc<AtomicUsize>,
    unknown: Mutex<Rest>,
    inboxes: Counts<String>,
    failed: Counts<(String, IpAddr)>,
}

impl Limits {
    /// Nothing is counted yet. At most so many requests are answered at the same time.
    pub fn new(places: usize, now: Instant) -> Self {
        Self {
            places,
            taken: Arc::default(),
            unknown: Mutex::new(Rest { left: UNKNOWN.burst, at: now }),
            inboxes: Counts::new(INBOX),
            failed: Counts::new(FAILED),
        }
    }

    /// Takes the place of a request until the place is dropped. `None` if all are taken.
    pub fn enter(&self) -> Option<Place> {
        let place = Place(Arc::clone(&self.taken));
        let others = self.taken.fetch_add(1, Ordering::Relaxed);
        (others < self.places).then_some(place)
    }

    /// Counts a request to an unknown address. Returns `false` if there were too many.
    pub fn admit_unknown(&self, now: Instant) -> bool {
        self.unknown.lock().take(UNKNOWN, now).is_none()
    }

    /// Counts a request to an inbox.
    ///
    /// # Errors
    /// If there were too many: the time until the next one may come.
    pub fn admit(&self, inbox: &str, now: Instant) -> Result<(), Duration> {
        self.inboxes.take(inbox.to_owned(), now)
    }

    /// Says if a remote may try at an inbox again.
    ///
    /// # Errors
    /// If too many of its requests were not verified: the time until it may.
    pub fn may_try(&self, inbox: &str, remote: IpAddr, now: Instant) -> Result<(), Duration> {
        self.failed.look(&(inbox.to_owned(), network(remote)), now)
    }

    /// Counts a request that was not verified.
    pub fn failed(&self, inbox: &str, remote: IpAddr, now: Instant) {
        // `may_try` says no from now on, if this was the last one.
        let _ = self.failed.take((inbox.to_owned(), network(remote)), now);
    }
}

/// The place of a request that is being answered.
pub struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The network that one sender has: an IPv4 address, or a /64 of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) & !u128::from(u64::MAX))),
    }
}

impl Rest {
    /// The rest at another time.
    fn at(self, rate: Rate, now: Instant) -> f64 {
        let returned = now.saturating_duration_since(self.at).as_secs_f64() * rate.per_second;
        (self.left + returned).min(rate.burst)
    }

    /// Takes one. If there is none, returns the time until there is.
    fn take(&mut self, rate: Rate, now: Instant) -> Option<Duration> {
        *self = Self { left: self.at(rate, now), at: now };
        if self.left >= 1.0 {
            self.left -= 1.0;
            return None;
        }
        Some(wait(self.left, rate))
    }
}

fn wait(left: f64, rate: Rate) -> Duration {
    Duration::from_secs_f64(((1.0 - left) / rate.per_second).max(0.0))
}

/// A rate for each of many keys.
struct Counts<K> {
    rate: Rate,
    rests: Mutex<HashMap<K, Rest>>,
}

impl<K: Eq + Hash> Counts<K> {
    fn new(rate: Rate) -> Self {
        Self { rate, rests: Mutex::default() }
    }

    fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        let rate = self.rate;
        let mut rests = self.rests.lock();
        if rests.len() >= MAX_COUNTS && !rests.contains_key(&key) {
            rests.retain(|_, rest| rest.at(rate, now) < rate.burst);
            // Senders with so many addresses are limited by the number of connections.
            if rests.len() >= MAX_COUNTS {
                rests.clear();
            }
        }
        rests.entry(key).or_insert(Rest { left: rate.burst, at: now }).take(rate, now).map_or(Ok(()), Err)
    }

    fn look(&self, key: &K, now: Instant) -> Result<(), Duration> {
        let rest = self.rests.lock().get(key).map_or(self.rate.burst, |rest| rest.at(self.rate, now));
        if rest >= 1.0 { Ok(()) } else { Err(wait(rest, self.rate)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The times of the first minutes at which requests come.
    fn times(begin: Instant) -> impl Iterator<Item = Instant> {
        (0..1500).map(move |number| begin + SECOND / 10 * number)
    }

    /// The largest number of these times that are in one period.
    fn most(times: &[Instant], period: Duration) -> usize {
        let within = |begin: &Instant| times.iter().filter(|at| **at >= *begin && **at - *begin < period).count();
        times.iter().map(within).max().unwrap_or_default()
    }

    #[test]
    fn unknown_addresses_are_twenty_in_each_second() {
        let begin = Instant::now();
        let limits = Limits::new(1, begin);
        let admitted = |at: Instant| (0..100).filter(|_| limits.admit_unknown(at)).count();
        assert_eq!(admitted(begin), 10);
        assert_eq!(admitted(begin + SECOND / 2), 5);
        assert_eq!(admitted(begin + 10 * SECOND), 10);
        let limits = Limits::new(1, begin);
        let often = times(begin).flat_map(|at| [at; 10]);
        let taken: Vec<Instant> = often.filter(|at| limits.admit_unknown(*at)).collect();
        assert!((15..=20).contains(&most(&taken, SECOND)), "{}", most(&taken, SECOND));
    }

    #[test]
    fn so_many_requests_are_answered_at_the_same_time() {
        let limits = Limits::new(2, Instant::now());
        let first = limits.enter().unwrap();
        let _second = limits.enter().unwrap();
        assert!(limits.enter().is_none() && limits.enter().is_none());
        drop(first);
        assert!(limits.enter().is_some());
    }

    #[test]
    fn an_inbox_takes_a_burst_and_then_two_hundred_a_second() {
        let begin = Instant::now();
        let limits = Limits::new(1, begin);
        let admitted = |inbox: &str, at: Instant| (0..3000).filter(|_| limits.admit(inbox, at).is_ok()).count();
        assert_eq!(admitted("a", begin), 2000);
        assert_eq!(admitted("a", begin + SECOND), 200);
        assert_eq!(admitted("b", begin + SECOND), 2000, "another inbox has its own");
        let wait = limits.admit("a", begin + SECOND).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= SECOND / 200, "{wait:?}");
    }

    #[test]
    fn a_remote_fails_sixty_times_in_each_minute_at_one_inbox() {
        let begin = Instant::now();
        let limits = Limits::new(1, begin);
        let (remote, other): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        for _ in 0..30 {
            assert_eq!(limits.may_try("a", remote, begin), Ok(()));
            limits.failed("a", remote, begin);
        }
        assert_eq!(limits.may_try("a", remote, begin), Err(2 * SECOND));
        assert_eq!(limits.may_try("a", other, begin), Ok(()));
        assert_eq!(limits.may_try("b", remote, begin), Ok(()), "a wrong secret at one inbox stops no other one");
        assert_eq!(limits.may_try("a", remote, begin + 2 * SECOND), Ok(()));
        limits.failed("a", remote, begin + 2 * SECOND);
        assert!(limits.may_try("a", remote, begin + 2 * SECOND).is_err());
        // Attempts that were not read do not count.
        assert_eq!(limits.may_try("a", remote, begin + 4 * SECOND), Ok(()));

        let mut failed = Vec::new();
        for at in times(begin).filter(|at| limits.may_try("c", remote, *at).is_ok()) {
            limits.failed("c", remote, at);
            failed.push(at);
        }
        let most = most(&failed, 60 * SECOND);
        assert!((55..=60).contains(&most), "{most}");
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_are_one_remote() {
        let begin = Instant::now();
        let limits = Limits::new(1, begin);
        for number in 0..30 {
            limits.failed("a", format!("2001:db8::{number:x}").parse().unwrap(), begin);
        }
        assert!(limits.may_try("a", "2001:db8::ffff".parse().unwrap(), begin).is_err());
        assert!(limits.may_try("a", "2001:db8:0:1::1".parse().unwrap(), begin).is_ok());
    }

    #[test]
    fn counts_have_a_bounded_number() {
        let begin = Instant::now();
        let limits = Limits::new(1, begin);
        for number in 0..60_000_u32 {
            limits.failed("a", IpAddr::V4(number.into()), begin);
        }
        assert!(limits.failed.rests.lock().len() <= MAX_COUNTS);
    }
}
