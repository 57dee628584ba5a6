//! The order of attacks and failures. Each has its own phase, and the phases repeat until the time
//! is over.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::Run;
use crate::attacks::{self, Until};
use crate::fleet::Site;
use crate::watch::Seen;

/// Longest duration of one phase.
const LONGEST: Duration = Duration::from_secs(15);

/// Time for which PostgreSQL is stopped.
const STOPPED: Duration = Duration::from_secs(3);

/// Time until a killed gateway is started again.
const DEAD: Duration = Duration::from_secs(1);

/// One kind of attack or failure.
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    pub(crate) seen: Seen,
    event: Event,
    /// Index of the gateway that is attacked now.
    attacked: std::sync::atomic::AtomicUsize,
}

enum Event {
    /// Nothing but the load.
    Nothing,
    /// An attack by this number of threads.
    Attack(usize, fn(&Run, &Site, &Until)),
    PostgresRestarts,
    GatewayIsKilled,
}

impl Phase {
    fn new(name: &'static str, event: Event) -> Self {
        Self { name, seen: Seen::default(), event, attacked: 0.into() }
    }

    /// Returns `true` if the phase is about this gateway.
    pub(crate) fn concerns(&self, index: usize) -> bool {
        match self.event {
            Event::Nothing => true,
            Event::Attack(..) => self.attacked.load(Ordering::Relaxed) == index,
            Event::PostgresRestarts => index < 2,
            Event::GatewayIsKilled => index != 0,
        }
    }
}

/// All phases.
pub(crate) fn all() -> Vec<Phase> {
    let attack = |name, threads, attack| Phase::new(name, Event::Attack(threads, attack));
    vec![
        Phase::new("only the load", Event::Nothing),
        attack("a hostile module", 3, attacks::hostile_module),
        attack("slow and broken upstreams", 6, attacks::broken_upstreams),
        attack("answers that are not read", 1, attacks::unread_answers),
        attack("silent connections", 1, attacks::silent_connections),
        attack("bodies that never end", 1, attacks::unfinished_bodies),
        attack("bodies that are costly to validate", 2, attacks::costly_bodies),
        attack("modules that take long to compile", 1, attacks::compile_bombs),
        Phase::new("PostgreSQL is stopped and started", Event::PostgresRestarts),
        Phase::new("one of two gateways is killed", Event::GatewayIsKilled),
    ]
}

/// Goes through the phases, again and again. Each gateway is attacked in turn.
pub(crate) fn run_all(run: &Run, duration: Duration) {
    let (began, count) = (Instant::now(), run.phases.len());
    let length = LONGEST.min(duration / u32::try_from(count).unwrap_or(u32::MAX));
    for number in 0.. {
        // Every phase is there at least once.
        if number >= count && began.elapsed() + length / 2 > duration {
            return;
        }
        let phase = &run.phases[number % count];
        let attacked = (number + number / count) % run.fleet.sites.len();
        phase.attacked.store(attacked, Ordering::Relaxed);
        run.current.store(number % count, Ordering::Relaxed);
        let until = Until(Instant::now() + length);
        println!("{:>4} s  {}", began.elapsed().as_secs(), phase.name);
        match phase.event {
            Event::Nothing => {}
            Event::Attack(threads, attack) => thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| attack(run, &run.fleet.sites[attacked], &until));
                }
            }),
            Event::PostgresRestarts => {
                run.fleet.stopped.begin();
                run.fleet.postgres.stop();
                thread::sleep(STOPPED);
                run.fleet.postgres.start();
                run.fleet.stopped.end();
            }
            Event::GatewayIsKilled => {
                let lines = run.fleet.sites[0].kill_and_start(DEAD);
                lines.iter().for_each(|line| look_for_panics(run, line));
            }
        }
        thread::sleep(until.0.saturating_duration_since(Instant::now()));
    }
}

/// No line of a gateway may tell of a panic.
pub(crate) fn look_for_panics(run: &Run, line: &str) {
    // A connector may panic. Its message is in a line that names the connector.
    if line.contains("panicked at") && !line.contains("\"connector\"") {
        run.tally.complain(format!("a gateway panicked: {line}"));
    }
}
