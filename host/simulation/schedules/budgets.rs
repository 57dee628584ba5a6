//! Rate limits that gateways and tenants share, under demand that changes.
//!
//! Invariants: no window of a period has more calls than the budget, whatever happens. When nothing
//! is wrong, and demand on any of the gateways is larger than the budget, at least 95 % of it are
//! used, and each tenant with demand gets its equal part, whichever gateways it calls. When the
//! demand moves to another gateway or to other tenants, a unit that is free is used again within
//! three seconds, so 95 % of the budget are used if the demand stays for a minute.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::time::sleep;

use super::gateways;
use super::world::{Process, Way, World};
use clock::SimulatedClock;
use clock::random::Random;
use egress::{Quota, Quotas};
use pipeline::budgets::{Budgets, LEASE, Ledger, LiveBudget};

const QUOTA: &str = "calls";

/// Periods for which the use of the budget is measured at the end.
const MEASURED: u32 = 3;

/// The shortest period for which the use of the budget is measured.
const SHORTEST_MEASURED: Duration = Duration::from_secs(10);

/// How often all demand moves to another gateway, and the periods for which it stays there.
const MOVES: u32 = 3;
const STAYS: u32 = 3;

/// The longest time for which a unit is free that calls at another gateway need.
const MOVED: Duration = Duration::from_secs(3);

const TENANTS: [&str; 3] = ["a", "b", "c"];

/// The part of its equal share that a tenant gets at least.
const FAIR: f64 = 0.9;

struct Site {
    world: Arc<World>,
    quota: Quota,
    /// The times of the calls that any gateway has counted, and their tenants.
    calls: Mutex<Vec<(Duration, usize)>>,
    /// The time between two calls of each tenant at each gateway. `None` for one without calls.
    demand: Mutex<Vec<[Option<Duration>; TENANTS.len()]>>,
}

pub(super) async fn run(world: &Arc<World>, count: usize, random: &mut Random) {
    let clock = SimulatedClock::new(world.began, 0, 0);
    clock.scope(run_in(world, count, random)).await;
}

async fn run_in(world: &Arc<World>, count: usize, random: &mut Random) {
    let period = match random.within(0..10) {
        0..5 => random.ms(10_000..20_000),
        5..9 => random.ms(1_000..10_000),
        _ => Duration::from_secs(60),
    };
    let largest = if random.permille(300) { 10 } else { 120 };
    // More than ten calls a second take long to run, and find nothing else.
    let requests = random.within(1..largest).min(period.as_millis() as u64 / 100) as u32;
    let quota = Quota { name: QUOTA.to_owned(), requests, period };
    world.log(format_args!("{requests} calls in {period:?}"));
    let site = Arc::new(Site {
        world: Arc::clone(world),
        quota,
        calls: Mutex::default(),
        demand: Mutex::new(vec![[None; TENANTS.len()]; count]),
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
    // Calls need more than the budget, at one gateway alone or at some.
    let others = if random.permille(300) { 0 } else { 400 };
    let mut alone = random.within(0..count as u64) as usize;
    site.press(random, alone, others);
    sleep(period + Duration::from_secs(10)).await;
    let from = world.now();
    sleep(period * MEASURED).await;
    site.check_use(from);
    let from = world.now();
    for _ in 0..MOVES {
        alone = (alone + random.within(1..count as u64) as usize) % count;
        site.press(random, alone, 0);
        sleep(period * STAYS).await;
    }
    site.check_use_of_moving(from);
    site.check_windows();
}

impl Site {
    /// Draws the demand of each tenant at each gateway.
    fn change_demand(&self, random: &mut Random) {
        let budget_interval = self.quota.period / self.quota.requests;
        for demand in self.demand.lock().iter_mut().flatten() {
            *demand = match random.within(0..4) {
                0 => None,
                1 => Some(budget_interval * 4),
                2 => Some(budget_interval),
                _ => Some(budget_interval / 3),
            };
        }
    }

    /// Lets the demand of each tenant that calls at all be larger than the budget. The calls come
    /// to the gateway `alone`, and to the others with a probability of so many in a thousand.
    fn press(&self, random: &mut Random, alone: usize, others: u64) {
        let interval = (self.quota.period / self.quota.requests / 3).min(Duration::from_millis(200));
        let mut demand = self.demand.lock();
        for (gateway, demand) in demand.iter_mut().enumerate() {
            for demand in demand.iter_mut() {
                let is_busy = random.permille(if gateway == alone { 500 } else { others });
                *demand = is_busy.then_some(interval);
            }
        }
        if demand.iter().flatten().all(Option::is_none) {
            demand[alone] = [Some(interval); TENANTS.len()];
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
            let stop = gateways::stop(start, &mut random);
            let caller = |tenant| self.call_as(tenant, &process, &budgets, &quotas, random.fork());
            let callers = join_all((0..TENANTS.len()).map(caller));
            tokio::select! {
                biased;
                () = budgets.share(&mut ledger, || LiveBudget::of("demo", &quotas).collect()) => {}
                _ = callers => {}
                () = stop => {}
            }
            self.world.note_stop(&process);
            let _ = ledger.leave().await;
        }
    }

    async fn call_as(&self, tenant: usize, process: &Process, budgets: &Budgets, quotas: &Quotas, mut random: Random) {
        loop {
            let interval = self.demand.lock()[process.gateway][tenant];
            let Some(interval) = interval else {
                sleep(random.ms(200..1_000)).await;
                continue;
            };
            sleep(interval.mul_f64(random.within(500..1_500) as f64 / 1_000.0)).await;
            process.live().await;
            let counted = budgets.count(|| quotas.check(QUOTA, TENANTS[tenant]).transpose()).await;
            if counted.is_ok() {
                self.calls.lock().push((self.world.now(), tenant));
            }
        }
    }

    /// Checks that each unit was used again soon after each move since then.
    fn check_use_of_moving(&self, from: Duration) {
        let calls = self.calls.lock().iter().filter(|(at, _)| *at >= from).count() as u32;
        let budget = self.quota.requests * MOVES * STAYS;
        self.world.log(format_args!("{calls} of {budget} calls were made while the demand moved"));
        let is_calm = self.world.has_been_calm(self.world.now() - from + LEASE + self.quota.period);
        if !is_calm || self.quota.period < SHORTEST_MEASURED {
            return;
        }
        let unused = MOVED.as_secs_f64() / (self.quota.period * STAYS).as_secs_f64();
        if f64::from(calls + MOVES) < (1.0 - unused.max(0.05)) * f64::from(budget) {
            self.world.violated(format_args!("only {calls} of {budget} calls were made while the demand moved"));
        }
    }

    /// Checks that at least 95 % of the budget were used since then, and that each tenant with
    /// demand had its part. One call more may be just outside of the time.
    fn check_use(&self, from: Duration) {
        let mut used = [0; TENANTS.len()];
        for (_, tenant) in self.calls.lock().iter().filter(|(at, _)| *at >= from) {
            used[*tenant] += 1;
        }
        let all: u32 = used.iter().sum();
        let budget = self.quota.requests * MEASURED;
        self.world.log(format_args!("{all} of {budget} calls were made, by tenant: {used:?}"));
        let is_calm = self.world.has_been_calm(self.world.now() - from + LEASE + self.quota.period);
        if !is_calm || self.quota.period < SHORTEST_MEASURED {
            return;
        }
        if f64::from(all + 1) < 0.95 * f64::from(budget) {
            self.world.violated(format_args!("only {all} of {budget} calls were made"));
        }
        let demand = self.demand.lock();
        let calling: Vec<usize> =
            (0..TENANTS.len()).filter(|tenant| demand.iter().any(|of| of[*tenant].is_some())).collect();
        let share = self.quota.requests / calling.len() as u32 * MEASURED;
        for tenant in calling {
            if f64::from(used[tenant] + 1) < FAIR * f64::from(share) {
                self.world.violated(format_args!("tenant {tenant} made only {} of its {share} calls", used[tenant]));
            }
        }
    }

    /// Checks all windows.
    fn check_windows(&self) {
        let calls = self.calls.lock();
        let budget = self.quota.requests as usize;
        for window in calls.windows(budget + 1) {
            let (first, last) = (window[0].0, window[budget].0);
            if last - first < self.quota.period {
                self.world.violated(format_args!("more than {budget} calls between {first:?} and {last:?}"));
                return;
            }
        }
    }
}
