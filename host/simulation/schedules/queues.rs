//! The queue of a paced upstream that gateways share.
//!
//! Invariants, whatever happens: no two calls start within an interval, and no more of them run at
//! once than the pacing allows. When nothing is wrong, a call does not start before one that has
//! waited for longer at another gateway, but for one that takes the turn of a call that has given
//! up, and the queue does not stand still.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, sleep_until};

use super::gateways;
use super::world::{Process, Way, World};
use clock::SimulatedClock;
use clock::random::Random;
use egress::{PacedQueue, Pacing, QUEUE_LEASE};
use pipeline::budgets::{Budgets, Ledger, LiveBudget};

/// The longest time to the deadline of a call.
const LONGEST: Duration = Duration::from_secs(45);

/// Time after which all gateways know of a call that waits.
const KNOWN: Duration = Duration::from_secs(4);

/// The arrivals of calls at different gateways are compared within this time, because a report
/// takes a while to the database.
const LATENCY: Duration = Duration::from_millis(500);

/// Time after which a gateway that was killed no longer holds the queue, however long its calls may
/// take: its lease, the longest interval, and the time until the others look.
const SETTLED: Duration = QUEUE_LEASE.saturating_add(Duration::from_secs(15));

/// The longest time between the end of an interval and the start of the next call, if calls wait.
const MOVED: Duration = Duration::from_secs(5);

/// The time for which the queue is watched when all is calm.
const MEASURED: Duration = Duration::from_secs(40);

struct Site {
    world: Arc<World>,
    pacing: Pacing,
    /// Many calls run for a long time. A gateway that loses the database may then still run one
    /// when its lease is over.
    is_slow: bool,
    /// The time between two calls of each gateway. `None` for one without calls.
    demand: Mutex<Vec<Option<Duration>>>,
    upstream: Mutex<Upstream>,
}

/// The calls that the upstream has seen, and those that wait for it.
#[derive(Default)]
struct Upstream {
    running: u32,
    last_start: Option<Duration>,
    starts: u64,
    /// The last time at which no call waited, or one started.
    moved: Duration,
    waiting: BTreeMap<u64, Duration>,
    /// The last call of each gateway that gave up: its arrival, and when it gave up.
    given_up: BTreeMap<usize, (Duration, Duration)>,
    next: u64,
}

pub(super) async fn run(world: &Arc<World>, count: usize, random: &mut Random) {
    let clock = SimulatedClock::new(world.began, 0, 0);
    clock.scope(run_in(world, count, random)).await;
}

async fn run_in(world: &Arc<World>, count: usize, random: &mut Random) {
    let concurrency = if random.permille(600) { 1 } else { random.within(2..5) as u32 };
    let interval = if random.permille(100) { Duration::ZERO } else { random.ms(100..4_000) };
    let pacing = Pacing { interval, concurrency, max_wait: Duration::from_secs(60) };
    let is_slow = random.permille(500);
    world.log(format_args!("{pacing:?}, slow: {is_slow}"));
    let site = Arc::new(Site {
        world: Arc::clone(world),
        pacing,
        is_slow,
        demand: Mutex::new(vec![None; count]),
        upstream: Mutex::default(),
    });
    for gateway in 0..count {
        let serving = Arc::clone(&site);
        let serve = move |process, random| Arc::clone(&serving).serve(process, random);
        tokio::spawn(gateways::run(Arc::clone(world), gateway, random.fork(), serve, |_| std::future::ready(())));
    }
    tokio::spawn(super::world::turn_clocks(Arc::clone(world)));
    // A gateway that was killed keeps the queue until its lease is over.
    while world.now() < world.weather.calm_from + SETTLED {
        site.change_demand(random);
        sleep(random.ms(2_000..25_000)).await;
    }
    site.demand.lock().fill(Some(Duration::from_secs(2)));
    let starts = site.upstream.lock().starts;
    sleep(MEASURED).await;
    let starts = site.upstream.lock().starts - starts;
    world.log(format_args!("{starts} calls have started in the last seconds"));
}

impl Site {
    /// Draws the demand of each gateway.
    fn change_demand(&self, random: &mut Random) {
        for demand in self.demand.lock().iter_mut() {
            *demand = match random.within(0..4) {
                0 => None,
                1 => Some(Duration::from_secs(8)),
                _ => Some(self.pacing.interval.max(Duration::from_millis(500)) * 2),
            };
        }
    }

    /// One process. Some of them stop and leave the queue to the others.
    async fn serve(self: Arc<Self>, process: Arc<Process>, mut random: Random) {
        let store = self.world.database.store(Arc::new(Way(Arc::clone(&process))));
        for start in 0.. {
            let budgets = Budgets::shared();
            let Some(wake) = budgets.exchange() else { return };
            let queue = PacedQueue::shared(self.pacing, &wake);
            let mut ledger = Ledger::new(store.clone(), format!("{}.{start}", process.name()));
            let stop = gateways::stop(start, &mut random);
            let live = || vec![LiveBudget::of_queue("demo", "api", queue.clone())];
            tokio::select! {
                biased;
                () = budgets.share(&mut ledger, live) => {}
                () = self.callers(&process, &queue, random.fork()) => {}
                () = stop => {}
            }
            self.world.note_stop(&process);
            let _ = ledger.leave().await;
        }
    }

    async fn callers(&self, process: &Process, queue: &PacedQueue, mut random: Random) {
        let mut calls = FuturesUnordered::new();
        loop {
            let demand = self.demand.lock()[process.gateway];
            let pause = demand
                .map_or(random.ms(50..500), |interval| interval.mul_f64(random.within(500..1_500) as f64 / 1_000.0));
            tokio::select! {
                biased;
                Some(()) = calls.next() => continue,
                () = sleep(pause) => {}
            }
            process.live().await;
            if demand.is_some() && calls.len() < 10 {
                calls.push(self.call(process, queue, random.fork()));
            }
        }
    }

    async fn call(&self, process: &Process, queue: &PacedQueue, mut random: Random) {
        let longest =
            if random.permille(if self.is_slow { 500 } else { 50 }) { LONGEST } else { random.ms(5_000..30_000) };
        let deadline = Instant::now() + longest;
        let place = Waiting::join(self, process);
        let lasts = if random.permille(if self.is_slow { 300 } else { 30 }) { LONGEST } else { random.ms(10..1_000) };
        let called = queue.run(deadline, async {
            let _running = place.start();
            sleep_until(deadline.min(Instant::now() + lasts)).await;
        });
        // The queue says why a call was refused or ended.
        let _ = called.await;
    }

    /// Returns whether nothing was wrong for so long that all gateways know the calls that wait.
    fn is_calm(&self) -> bool {
        self.world.has_been_calm(SETTLED)
    }
}

/// A call that waits.
struct Waiting<'a> {
    site: &'a Site,
    process: &'a Process,
    number: u64,
}

impl<'a> Waiting<'a> {
    fn join(site: &'a Site, process: &'a Process) -> Self {
        let (mut upstream, now) = (site.upstream.lock(), site.world.now());
        let number = upstream.next;
        upstream.next += 1;
        if upstream.waiting.is_empty() {
            upstream.moved = now;
        }
        upstream.waiting.insert(number, now);
        Self { site, process, number }
    }

    /// The upstream sees the call.
    fn start(self) -> Running<'a> {
        let (site, now) = (self.site, self.site.world.now());
        let mut upstream = site.upstream.lock();
        site.world.log(format_args!("{} starts call {}", self.process.name(), self.number));
        if let Some(last) = upstream.last_start.filter(|last| now - *last < site.pacing.interval) {
            site.world.violated(format_args!("calls start at {last:?} and {now:?}"));
        }
        if upstream.running >= site.pacing.concurrency {
            site.world.violated(format_args!("{} calls run at {now:?}", upstream.running + 1));
        }
        let arrived = upstream.waiting.get(&self.number).copied().unwrap_or(now);
        let first = upstream.waiting.values().next().copied().unwrap_or(now);
        // A call may take the turn of an earlier one of its gateway that has just given up.
        let given_up = upstream.given_up.get(&self.process.gateway);
        let takes_turn = given_up.is_some_and(|(arrived, at)| *arrived < first + LATENCY && now < *at + KNOWN);
        if site.is_calm() && !takes_turn && first + LATENCY < arrived && first + KNOWN < now {
            site.world.violated(format_args!("a call of {arrived:?} starts before one of {first:?}"));
        }
        if site.is_calm() && upstream.running == 0 && now > upstream.moved + site.pacing.interval + MOVED {
            site.world.violated(format_args!("no call has started since {:?}", upstream.moved));
        }
        upstream.waiting.remove(&self.number);
        upstream.last_start = Some(now);
        upstream.running += 1;
        upstream.starts += 1;
        upstream.moved = now;
        Running(site)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let (mut upstream, now) = (self.site.upstream.lock(), self.site.world.now());
        if let Some(arrived) = upstream.waiting.remove(&self.number) {
            upstream.given_up.insert(self.process.gateway, (arrived, now));
        }
    }
}

/// A call that the upstream has not answered.
struct Running<'a>(&'a Site);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut upstream = self.0.upstream.lock();
        upstream.running -= 1;
        upstream.moved = self.0.world.now();
    }
}
