//! Rate limits that gateways share, under demand that changes.
//!
//! Invariants: no window of a period has more calls than the budget, whatever happens. When nothing
//! is wrong, and demand on any of the gateways is larger than the budget, at least 95 % of it are
//! used.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;

use super::gateways;
use super::world::{Process, Way, World};
use crate::budgets::{Budgets, LEASE, Ledger, LiveBudget};
use crate::clock::SimulatedClock;
use crate::clock::random::Random;
use egress::{Quota, Quotas};

const QUOTA: &str = "calls";

/// Periods for which the use of the budget is measured at the end.
const MEASURED: u32 = 6;

/// The shortest period for which the use of the budget is measured.
const SHORTEST_MEASURED: Duration = Duration::from_secs(10);

struct Site {
    world: Arc<World>,
    quota: Quota,
    /// The times of the calls that any gateway has counted.
    calls: Mutex<Vec<Duration>>,
    /// The time between two calls of each gateway. `None` for one without calls.
    demand: Mutex<Vec<Option<Duration>>>,
}

pub(super) async fn run(world: &Arc<World>, count: usize, random: &mut Random) {
    let clock = SimulatedClock::new(world.began, 0, 0);
    clock.scope(run_in(world, count, random)).await;
}

async fn run_in(world: &Arc<World>, count: usize, random: &mut Random) {
    let period = if random.permille(500) { random.ms(10_000..20_000) } else { random.ms(1_000..10_000) };
    let largest = if random.permille(300) { 10 } else { 120 };
    let requests = random.within(1..largest) as u32;
    let quota = Quota { name: QUOTA.to_owned(), requests, period };
    world.log(format_args!("{requests} calls in {period:?}"));
    let site = Arc::new(Site {
        world: Arc::clone(world),
        quota,
        calls: Mutex::default(),
        demand: Mutex::new(vec![None; count]),
    });
    for gateway in 0..count {
        let serving = Arc::clone(&site);
        let serve = move |process, random| Arc::clone(&serving).serve(process, random);
        tokio::spawn(gateways::run(Arc::clone(world), gateway, random.fork(), serve, |_| std::future::ready(())));
    }
    tokio::spawn(super::world::turn_clocks(Arc::clone(world)));
    while world.now() < world.weather.calm_from + LEASE + period {
        site.change_demand(random);
        sleep(random.ms(2_000..25_000)).await;
    }
    // Two gateways, or one alone, get more calls than the budget has.
    for _ in 0..random.within(1..3) {
        site.press(random);
        let settled = period + Duration::from_secs(10);
        sleep(settled).await;
        let from = world.now();
        sleep(period * MEASURED).await;
        site.check_use(from);
    }
    site.check_windows();
}

impl Site {
    /// Draws the demand of each gateway.
    fn change_demand(&self, random: &mut Random) {
        let budget_interval = self.quota.period / self.quota.requests;
        for demand in self.demand.lock().iter_mut() {
            *demand = match random.within(0..4) {
                0 => None,
                1 => Some(budget_interval * 4),
                2 => Some(budget_interval),
                _ => Some(budget_interval / 3),
            };
        }
    }

    /// Lets the demand of one gateway alone, or of all, be larger than the budget.
    fn press(&self, random: &mut Random) {
        let interval = (self.quota.period / self.quota.requests / 3).min(Duration::from_millis(100));
        let mut demand = self.demand.lock();
        let one = random.within(0..demand.len() as u64 + 1) as usize;
        for (gateway, demand) in demand.iter_mut().enumerate() {
            let is_busy = one == gateway || random.permille(300);
            *demand = is_busy.then_some(interval);
        }
        if demand.iter().all(Option::is_none) {
            demand.fill(Some(interval));
        }
        self.world.log(format_args!("the demand is {demand:?}"));
    }

    /// One process. Some of them stop and leave their units to the others.
    async fn serve(self: Arc<Self>, process: Arc<Process>, mut random: Random) {
        let store = self.world.database.store(Arc::new(Way(Arc::clone(&process))));
        for start in 0.. {
            let id = format!("{}.{start}", process.name());
            let quotas = Quotas::shared([self.quota.clone()]);
            let budgets = Budgets::shared();
            let mut ledger = Ledger::new(store.clone(), id);
            let is_last = start > 1 || random.permille(600);
            let stops = random.ms(10_000..60_000);
            let stop = async {
                match is_last {
                    true => std::future::pending().await,
                    false => sleep(stops).await,
                }
            };
            tokio::select! {
                biased;
                () = budgets.share(&mut ledger, || LiveBudget::of("demo", &quotas).collect()) => {}
                () = self.callers(&process, &budgets, &quotas, random.fork()) => {}
                () = stop => {}
            }
            self.world.log(format_args!("{} stops", process.name()));
            let _ = ledger.leave().await;
        }
    }

    async fn callers(&self, process: &Process, budgets: &Budgets, quotas: &Quotas, mut random: Random) {
        loop {
            let interval = self.demand.lock()[process.gateway];
            let Some(interval) = interval else {
                sleep(random.ms(50..500)).await;
                continue;
            };
            sleep(interval.mul_f64(random.within(500..1_500) as f64 / 1_000.0)).await;
            process.live().await;
            let counted = budgets.count(|| quotas.check(QUOTA).transpose()).await;
            if counted.is_ok() {
                self.calls.lock().push(self.world.now());
            }
        }
    }

    /// Checks that at least 95 % of the budget were used since then. One call more may be just outside
    /// of the time.
    fn check_use(&self, from: Duration) {
        let used = self.calls.lock().iter().filter(|at| **at >= from).count() as u32;
        let budget = self.quota.requests * MEASURED;
        self.world.log(format_args!("{used} of {budget} calls were made"));
        let is_calm = self.world.has_been_calm(self.world.now() - from + LEASE + self.quota.period);
        if is_calm && self.quota.period >= SHORTEST_MEASURED && f64::from(used + 1) < 0.95 * f64::from(budget) {
            self.world.violated(format_args!("only {used} of {budget} calls were made"));
        }
    }

    /// Checks all windows.
    fn check_windows(&self) {
        let calls = self.calls.lock();
        let budget = self.quota.requests as usize;
        for window in calls.windows(budget + 1) {
            let (first, last) = (window[0], window[budget]);
            if last - first < self.quota.period {
                self.world.violated(format_args!("more than {budget} calls between {first:?} and {last:?}"));
                return;
            }
        }
    }
}
