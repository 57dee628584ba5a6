//! Rate limits that gateways and tenants share, under demand that changes.
//!
//! Invariants: no window of a period has more calls than the budget, whatever happens. When nothing
//! is wrong, and demand on any of the gateways is larger than the budget, at least 95 % of it are
//! used, and each tenant with demand gets its equal part, whichever gateways it calls. When the
//! demand moves to another gateway or to other tenants, a unit that is free is used again within
//! three seconds, so 95 % of the budget are used if the demand stays for a minute.
//!
//! The use of a budget is the time for which its units are in use. The number of calls would not
//! do: of a small budget, all calls of a period may come just before the time that is measured, and
//! the next ones just after its end.

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
use store::PERIODS_OF_TURN;

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

/// A tenant that calls rarely makes a call in so many of the intervals between two calls of the
/// budget.
const RARELY: u32 = 4;

/// The longest pause between two calls of a tenant, compared with the usual one.
const LONGEST_PAUSE: f64 = 1.5;

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
    sleep(site.longest_pause() + period + Duration::from_secs(10)).await;
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
    /// The longest pause between two calls of a tenant. A caller ends its pause before it follows a
    /// new demand.
    fn longest_pause(&self) -> Duration {
        (self.quota.period / self.quota.requests * RARELY).mul_f64(LONGEST_PAUSE)
    }

    /// The time between two calls of a tenant that needs more than the budget.
    fn pressing_interval(&self) -> Duration {
        (self.quota.period / self.quota.requests / 3).min(Duration::from_millis(200))
    }

    /// Draws the demand of each tenant at each gateway.
    fn change_demand(&self, random: &mut Random) {
        let budget_interval = self.quota.period / self.quota.requests;
        for demand in self.demand.lock().iter_mut().flatten() {
            *demand = match random.within(0..4) {
                0 => None,
                1 => Some(budget_interval * RARELY),
                2 => Some(budget_interval),
                _ => Some(budget_interval / 3),
            };
        }
    }

    /// Lets the demand of each tenant that calls at all be larger than the budget. The calls come
    /// to the gateway `alone`, and to the others with a probability of so many in a thousand.
    fn press(&self, random: &mut Random, alone: usize, others: u64) {
        let interval = self.pressing_interval();
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
            sleep(interval.mul_f64(random.within(500..1_500) as f64 / 1_500.0 * LONGEST_PAUSE)).await;
            process.live().await;
            let counted = budgets.count(|| quotas.check(QUOTA, TENANTS[tenant]).transpose()).await;
            if counted.is_ok() {
                self.calls.lock().push((self.world.now(), tenant));
            }
        }
    }

    /// Checks that each unit was used again soon after each move since then. Afterwards it is free
    /// only from the end of a period until the next call of a tenant.
    fn check_use_of_moving(&self, from: Duration) {
        let (used, budget) = (self.units_in_use(from).iter().sum::<f64>(), f64::from(self.quota.requests));
        self.world.log(format_args!("{used:.3} of {budget} units were in use while the demand moved"));
        if !self.is_measured(from) {
            return;
        }
        let free = MOVED + self.pressing_interval().mul_f64(LONGEST_PAUSE) * (STAYS - 1);
        let unused = free.div_duration_f64(self.quota.period * STAYS);
        if used < (1.0 - unused.max(0.05)) * budget {
            self.world.violated(format_args!("only {used:.3} of {budget} units were in use while the demand moved"));
        }
    }

    /// Checks that at least 95 % of the budget were used since then, and that each tenant with
    /// demand had its part.
    fn check_use(&self, from: Duration) {
        let used = self.units_in_use(from);
        let (all, budget) = (used.iter().sum::<f64>(), self.quota.requests);
        self.world.log(format_args!("{all:.3} of {budget} units were in use, by tenant: {used:.3?}"));
        if !self.is_measured(from) {
            return;
        }
        if all + self.moved_in_turn(from, budget) < 0.95 * f64::from(budget) {
            self.world.violated(format_args!("only {all:.3} of {budget} units were in use"));
        }
        let calling: Vec<usize> = {
            let demand = self.demand.lock();
            (0..TENANTS.len()).filter(|tenant| demand.iter().any(|of| of[*tenant].is_some())).collect()
        };
        let share = budget / calling.len() as u32;
        for tenant in calling {
            if used[tenant] + self.moved_in_turn(from, share) < FAIR * f64::from(share) {
                self.world.violated(format_args!("tenant {tenant} used only {:.3} of its {share} units", used[tenant]));
            }
        }
    }

    /// The most of so many units that were free since then, on average, because those that do not
    /// divide among tenants and gateways went to other ones.
    ///
    /// That happens after a fixed number of periods. Each of these units moves when the period of its
    /// call is over. They are less than the pairs of a gateway and a tenant that calls it: each
    /// division among some leaves less units than there are some.
    fn moved_in_turn(&self, from: Duration, units: u32) -> f64 {
        let (now, moves) = (self.world.now(), self.quota.period + MOVED);
        let turn_at = |time: Duration| {
            let ago_ms = (now - time).as_millis() as i64;
            let turn_ms = self.quota.period.as_millis() as i64 * PERIODS_OF_TURN;
            (self.world.database_clock.now_ms() - ago_ms) / turn_ms
        };
        if turn_at(from.saturating_sub(moves)) == turn_at(now) {
            return 0.0;
        }
        let pairs = self.demand.lock().iter().flatten().flatten().count() as u32;
        f64::from(pairs.saturating_sub(1).min(units)) * MOVED.div_duration_f64(now - from)
    }

    /// The units that the calls of each tenant used since then, on average. A call uses its unit for
    /// a period.
    fn units_in_use(&self, from: Duration) -> [f64; TENANTS.len()] {
        let now = self.world.now();
        let mut used = [Duration::ZERO; TENANTS.len()];
        for (at, tenant) in &*self.calls.lock() {
            used[*tenant] += (*at + self.quota.period).min(now).saturating_sub(from.max(*at));
        }
        used.map(|used| used.div_duration_f64(now - from))
    }

    /// Returns whether the use of the budget since then is measured.
    fn is_measured(&self, from: Duration) -> bool {
        let is_calm = self.world.has_been_calm(self.world.now() - from + LEASE + self.quota.period);
        is_calm && self.quota.period >= SHORTEST_MEASURED
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
