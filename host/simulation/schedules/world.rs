//! The world of all gateways of one schedule: the database, the weather, and the log.

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::weather::{Episode, FREEZE, Fault, Outage, PINCH, Subject, Weather};
use clock::SimulatedClock;
use clock::random::Random;
use store::StoreError;
use store::simulated::{Faults, SimulatedDatabase, Step};

/// The clock of a database, which several schedules use one after the other.
#[derive(Default)]
pub(crate) struct DatabaseClock(Mutex<Option<Arc<SimulatedClock>>>);

impl DatabaseClock {
    pub(crate) fn now_ms(&self) -> i64 {
        self.0.lock().as_ref().map_or(0, |clock| clock.now_ms())
    }

    pub(crate) fn set(&self, clock: Option<Arc<SimulatedClock>>) {
        *self.0.lock() = clock;
    }
}

/// A schedule that runs.
pub(crate) struct World {
    pub(crate) began: Instant,
    pub(crate) database: SimulatedDatabase,
    pub(crate) database_clock: Arc<SimulatedClock>,
    pub(crate) weather: Weather,
    /// The last time at which a process lost its way to the database, or stopped.
    trouble: Mutex<Option<Duration>>,
    log: Mutex<Log>,
}

const DAY_MS: i64 = 24 * 3_600_000;

/// After a failure, a lease may stay that no gateway could release: it ends by itself, and is taken
/// over after the grace time, if a gateway looks at it by then.
const AFTER_TROUBLE: Duration = Duration::from_secs(17);

/// Time for which a gateway looks at a lease that has ended, and the pauses between its looks.
const GRACE: Duration = Duration::from_secs(8);

#[derive(Default)]
struct Log {
    hash: DefaultHasher,
    lines: Vec<String>,
    violations: Vec<String>,
}

impl World {
    pub(crate) fn new(
        random: &mut Random,
        gateways: usize,
        subject: Subject,
        database: &SimulatedDatabase,
        clock: &DatabaseClock,
    ) -> Arc<Self> {
        let began = Instant::now();
        let database_clock = SimulatedClock::new(began, 0, random.next());
        clock.set(Some(Arc::clone(&database_clock)));
        let weather = Weather::new(random, gateways, subject);
        let world = Self {
            began,
            database: database.clone(),
            database_clock,
            weather,
            trouble: Mutex::default(),
            log: Mutex::default(),
        };
        for episode in &world.weather.episodes {
            world.log(format!("weather: {episode:?}"));
        }
        Arc::new(world)
    }

    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Notes an event.
    pub(crate) fn log(&self, line: impl std::fmt::Display) {
        let line = format!("{:>9.3} {line}", self.now().as_secs_f64());
        let mut log = self.log.lock();
        log.hash.write(line.as_bytes());
        log.lines.push(line);
    }

    /// Notes that an invariant does not hold.
    pub(crate) fn violated(&self, what: impl std::fmt::Display) {
        self.log(format_args!("VIOLATED: {what}"));
        let mut log = self.log.lock();
        let line = log.lines.last().cloned().unwrap_or_default();
        log.violations.push(line);
    }

    /// The hash of the log, the log, and the violations.
    pub(crate) fn end(&self) -> (u64, Vec<String>, Vec<String>) {
        let mut log = self.log.lock();
        (log.hash.finish(), std::mem::take(&mut log.lines), std::mem::take(&mut log.violations))
    }

    /// The time since which nothing was wrong, and no fault had left a lease behind. It may be later
    /// than now.
    pub(crate) fn calm_since(&self) -> Duration {
        let weather = self.weather.calm_since(self.now());
        // A fault that follows begins the grace time of the lease again.
        self.trouble.lock().map_or(weather, |at| weather.saturating_add(GRACE).max(at + AFTER_TROUBLE))
    }

    /// As [`World::calm_since`], for a call that has found an account at this time with a lease that
    /// had ended. No gateway looks at the lease of an account that no call needs, so the grace time
    /// begins with this look, and again after each fault.
    pub(crate) fn calm_since_look(&self, look: Duration) -> Duration {
        let seen = look.max(self.weather.calm_since(self.now())).saturating_add(GRACE);
        self.calm_since().max(seen)
    }

    /// A process stops, and leaves what it holds to the others.
    pub(crate) fn note_stop(&self, process: &Process) {
        *self.trouble.lock() = Some(self.now());
        self.log(format_args!("{} stops", process.name()));
    }

    /// Returns whether nothing was wrong for this time. Leases may still be there that no gateway
    /// could release.
    pub(crate) fn has_been_calm(&self, time: Duration) -> bool {
        let since = self.now().saturating_sub(time);
        !self.trouble.lock().is_some_and(|at| at > since) && self.weather.has_been_calm(since, self.now())
    }

    /// The time of the next event of a caller: mostly after `pause`, and often when a fault begins.
    pub(crate) fn next_event(&self, random: &mut Random, pause: Duration) -> Duration {
        let (now, is_at_fault, after) = (self.now(), random.permille(500), random.ms(0..400));
        let soon = |episode: &&Episode| now < episode.from && episode.from < now + Duration::from_secs(15);
        let fault = self.weather.episodes.iter().find(soon).filter(|_| is_at_fault);
        fault.map_or(now + pause, |episode| episode.from + after)
    }

    /// Returns whether a gateway was without the database for longer than the leases of its jobs.
    pub(crate) fn was_cut_off(&self, gateway: usize) -> bool {
        self.weather
            .episodes
            .iter()
            .any(|episode| matches!(episode.fault, Fault::Cut { gateway: cut } if cut == gateway))
    }

    /// Returns whether a kept answer may be forgotten, because the clock of the database has jumped by
    /// days.
    pub(crate) fn may_forget(&self) -> bool {
        self.database_clock.skew_ms.load(Ordering::Relaxed) > DAY_MS / 2
    }

    /// Returns whether what is kept for a day may be gone, because the clock of the database was days
    /// ahead for a while.
    pub(crate) fn may_have_forgotten(&self) -> bool {
        let is_far = |fault: &Fault| matches!(fault, Fault::DatabaseClock(ms) if *ms > DAY_MS / 2);
        self.weather.episodes.iter().any(|episode| is_far(&episode.fault))
    }

    /// Waits for a time of this schedule.
    pub(crate) async fn wait_until(&self, at: Duration) {
        sleep_until(self.began + at).await;
    }
}

/// One process: its way to the database and to the network.
pub(crate) struct Process {
    pub(crate) gateway: usize,
    /// How often this gateway was started.
    pub(crate) life: u32,
    pub(crate) world: Arc<World>,
    random: Mutex<Random>,
    is_dead: AtomicBool,
    killed: Notify,
    frozen_until: Mutex<Instant>,
    /// The time of the first write in a fault that pinches this process.
    pinched_from: Mutex<Option<Duration>>,
    uses: AtomicI64,
}

impl Process {
    pub(crate) fn new(world: &Arc<World>, gateway: usize, life: u32, random: Random) -> Arc<Self> {
        Arc::new(Self {
            gateway,
            life,
            world: Arc::clone(world),
            random: Mutex::new(random),
            is_dead: false.into(),
            killed: Notify::new(),
            frozen_until: Mutex::new(Instant::now()),
            pinched_from: Mutex::default(),
            uses: 0.into(),
        })
    }

    pub(crate) fn name(&self) -> String {
        format!("g{}.{}", self.gateway, self.life)
    }

    pub(crate) fn kill(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
        self.killed.notify_waiters();
    }

    /// Waits until the process is killed.
    pub(crate) async fn death(&self) {
        let killed = self.killed.notified();
        if !self.is_dead() {
            killed.await;
        }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::Relaxed)
    }

    pub(crate) fn freeze(&self, time: Duration) {
        self.world.log(format_args!("{} stands still for {time:?}", self.name()));
        *self.frozen_until.lock() = Instant::now() + time;
    }

    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut self.random.lock())
    }

    /// Waits while the process stands still. A process that was killed never continues.
    pub(crate) async fn live(&self) {
        loop {
            if self.is_dead() {
                std::future::pending::<()>().await;
            }
            let until = *self.frozen_until.lock();
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }

    /// A request is about to leave. In some schedules the process stands still at this moment.
    pub(crate) async fn before_request(&self) {
        let now = self.world.now();
        let freezes = self.world.weather.episodes.iter().any(|episode| match &episode.fault {
            Fault::Pinch { gateway, delay } if *gateway == self.gateway => {
                self.pinched_from.lock().is_some_and(|from| now < from + PINCH + *delay)
            }
            _ => false,
        });
        if freezes && self.draw(|random| random.permille(700)) {
            let time = self.draw(|random| random.ms(6_500..FREEZE.as_millis() as u64));
            self.freeze(time);
        }
        self.live().await;
    }

    /// The way to the database or back.
    async fn travel(&self, writes: bool, is_back: bool) -> Result<(), StoreError> {
        let latency = self.draw(|random| random.ms(1..12));
        sleep(latency).await;
        self.live().await;
        let now = self.world.now();
        let pinched = self.pinched_from.lock().is_some_and(|from| now < from + PINCH);
        if pinched && self.draw(|random| random.permille(600)) {
            let delay = self.world.weather.pinch();
            sleep(delay).await;
        }
        while let Some(episode) = self.world.weather.at(self.world.now(), self.gateway) {
            match &episode.fault {
                Fault::Outage { kind: Outage::Stall, late } => {
                    self.world.wait_until(episode.until + late[self.gateway]).await;
                    let after = self.draw(|random| random.ms(1..300));
                    sleep(after).await;
                }
                Fault::Cut { gateway } if *gateway == self.gateway => return Err(StoreError::Closed),
                Fault::Outage { kind: Outage::Refuse, .. } => return Err(StoreError::Closed),
                Fault::Outage { kind: Outage::ReadOnly, .. } if writes && !is_back => return Err(StoreError::Closed),
                // From its next write on, which is often the taking of a lease.
                Fault::Pinch { gateway, .. } if *gateway == self.gateway => {
                    if writes && !is_back {
                        self.pinched_from.lock().get_or_insert(self.world.now());
                    }
                    break;
                }
                Fault::Slow { gateway, delay } if *gateway == self.gateway => {
                    let (is_slow, is_longest, drawn) = self.draw(|random| {
                        (random.permille(600), random.permille(700), random.ms(0..delay.as_millis() as u64))
                    });
                    let delay = if is_longest { *delay } else { drawn };
                    if is_slow {
                        sleep(delay).await;
                    }
                    break;
                }
                Fault::Flaky { gateway } if *gateway == self.gateway => {
                    if self.draw(|random| random.permille(400)) {
                        return Err(StoreError::Closed);
                    }
                    break;
                }
                _ => break,
            }
        }
        self.live().await;
        // Now and then a connection breaks without any other fault.
        if self.draw(|random| random.permille(1)) {
            return Err(StoreError::Closed);
        }
        Ok(())
    }

    fn step(self: Arc<Self>, writes: bool, is_back: bool) -> BoxFuture<'static, Result<(), StoreError>> {
        async move {
            let number = self.uses.fetch_add(1, Ordering::Relaxed);
            let result = self.travel(writes, is_back).await;
            if result.is_err() {
                *self.world.trouble.lock() = Some(self.world.now());
                let way = if is_back { "from" } else { "to" };
                self.world.log(format_args!("{} lost the way {way} the database in step {number}", self.name()));
            }
            result
        }
        .boxed()
    }
}

/// The way of a process to the database.
pub(crate) struct Way(pub(crate) Arc<Process>);

impl Faults for Way {
    fn before(&self, writes: bool) -> Step {
        Arc::clone(&self.0).step(writes, false)
    }

    fn after(&self, writes: bool) -> Step {
        Arc::clone(&self.0).step(writes, true)
    }
}

/// The way of the checks, which takes no time.
pub(crate) struct NoFaults;

impl Faults for NoFaults {
    fn before(&self, _writes: bool) -> Step {
        Box::pin(std::future::ready(Ok(())))
    }

    fn after(&self, _writes: bool) -> Step {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Lets the clock of the database jump.
pub(crate) async fn turn_clocks(world: Arc<World>) {
    for episode in &world.weather.episodes {
        if let Fault::DatabaseClock(ms) = episode.fault {
            world.wait_until(episode.from).await;
            world.log(format_args!("the clock of the database jumps by {ms} ms"));
            world.database_clock.skew_ms.fetch_add(ms, Ordering::Relaxed);
        }
    }
}

/// Lets a gateway stand still, and its clock jump, while it serves.
pub(crate) async fn disturb(process: Arc<Process>, clock: Arc<SimulatedClock>) {
    let world = Arc::clone(&process.world);
    let now = world.now();
    for episode in world.weather.episodes.iter().filter(|episode| episode.from >= now) {
        world.wait_until(episode.from).await;
        match episode.fault {
            Fault::Freeze { gateway } if gateway == process.gateway => process.freeze(episode.until - episode.from),
            Fault::GatewayClock { gateway, ms } if gateway == process.gateway => {
                world.log(format_args!("the clock of {} jumps by {ms} ms", process.name()));
                clock.skew_ms.fetch_add(ms, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}
