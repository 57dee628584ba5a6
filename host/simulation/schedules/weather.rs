//! The faults of one schedule: when the database is away, which gateway is slow, frozen or killed,
//! and which clock jumps.
//!
//! The faults of one schedule follow each other with a gap, because each has the most that the
//! gateways promise to survive. A gateway may be without the database alone for less than a lease
//! and the grace time, and the database may be away from all of them for any time, if they see it
//! again within a few seconds of each other.

use std::time::Duration;

use clock::random::Random;

/// One fault.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The database is away for all gateways, which find it again at different times.
    Outage { kind: Outage, late: Vec<Duration> },
    /// The way from one gateway to the database is bad. Each use may be delayed up to `delay`.
    Slow { gateway: usize, delay: Duration },
    /// As `Slow`, from the next write of the gateway on, and the gateway may stand still when it is
    /// about to send a request.
    Pinch { gateway: usize, delay: Duration },
    /// Uses of one gateway fail, before or after the database has done them.
    Flaky { gateway: usize },
    /// A gateway stands still.
    Freeze { gateway: usize },
    /// One gateway alone is without the database, for longer than the leases of its jobs.
    Cut { gateway: usize },
    /// A gateway is killed, and starts again after a while.
    Kill { gateway: usize, restart: Duration },
    /// The clock of the database jumps by these milliseconds.
    DatabaseClock(i64),
    /// The clock of a gateway jumps by these milliseconds.
    GatewayClock { gateway: usize, ms: i64 },
}

/// The behaviour of a database that is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outage {
    /// It does not answer, and breaks no connection.
    Stall,
    /// It refuses, and breaks connections whose statements it has done.
    Refuse,
    /// It reads and does not write.
    ReadOnly,
}

/// The leases of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Refreshes,
    /// Jobs and webhooks.
    Background,
    /// Calls with idempotency keys.
    Keyed,
    /// Rate limits that gateways share.
    Budgets,
    /// Paced upstreams that gateways share.
    Queues,
    /// The modules that gateways serve as one service.
    Modules,
    /// The API keys that gateways take.
    Keys,
    /// Triggers, their subscriptions and their events.
    Events,
}

/// A fault with its time.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub(crate) from: Duration,
    pub(crate) until: Duration,
    pub(crate) fault: Fault,
}

/// All faults of one schedule, in their order.
#[derive(Debug)]
pub(crate) struct Weather {
    pub(crate) episodes: Vec<Episode>,
    /// The end of the last fault.
    pub(crate) calm_from: Duration,
}

/// The time between two faults. In it, gateways that live renew their leases.
const GAP: std::ops::Range<u64> = 8_000..25_000;

impl Weather {
    /// Draws the faults. Without accounts, which that would cost, a gateway may be without the
    /// database for any time. With jobs, webhooks and subscriptions, the clock of the database is never
    /// set back: those that are due later would wait for their time.
    pub(crate) fn new(random: &mut Random, gateways: usize, subject: Subject) -> Self {
        let (mut at, mut episodes) = (random.ms(500..8_000), Vec::new());
        let pinches = random.permille(300);
        for _ in 0..random.within(1..4) {
            let gateway = random.within(0..gateways as u64) as usize;
            let (fault, length) = match random.within(0..100) {
                0..35 => {
                    let kind =
                        [Outage::Stall, Outage::Refuse, Outage::Stall, Outage::ReadOnly][random.within(0..4) as usize];
                    let late = (0..gateways).map(|_| random.ms(0..4_000)).collect();
                    let longest = if random.permille(200) { 90_000 } else { 30_000 };
                    (Fault::Outage { kind, late }, random.ms(1_000..longest))
                }
                35..52 => {
                    let delay = random.ms(1_000..5_000);
                    match pinches {
                        true => (Fault::Pinch { gateway, delay: PINCH - delay / 10 }, PINCH),
                        false => (Fault::Slow { gateway, delay }, random.ms(1_000..5_000)),
                    }
                }
                52..70 if !matches!(subject, Subject::Refreshes | Subject::Keyed) => {
                    (Fault::Cut { gateway }, random.ms(20_000..90_000))
                }
                52..62 => (Fault::Flaky { gateway }, random.ms(1_000..8_000)),
                62..70 => (Fault::Freeze { gateway }, random.ms(1_000..8_000)),
                70..82 => (Fault::Kill { gateway, restart: random.ms(500..25_000) }, Duration::ZERO),
                82..92 => {
                    let (ms, is_back) = (random.within(0..5 * 3_600_000) as i64, random.permille(500));
                    let ms = match subject {
                        // More than a day, after which kept answers are forgotten.
                        Subject::Keyed if random.permille(500) => 24 * 3_600_000 + ms,
                        Subject::Background | Subject::Events => ms,
                        _ if is_back => -ms,
                        _ => ms,
                    };
                    (Fault::DatabaseClock(ms), Duration::ZERO)
                }
                _ => {
                    // An hour and a day are a wrong time zone and a wrong date.
                    let ms = match random.within(0..8) {
                        0 => 3_600_000,
                        1 => 24 * 3_600_000,
                        4 => -3_600_000,
                        5 => -24 * 3_600_000,
                        _ => random.within(0..120_000) as i64 - 60_000,
                    };
                    (Fault::GatewayClock { gateway, ms }, Duration::ZERO)
                }
            };
            let late = match &fault {
                Fault::Outage { late, .. } => late.iter().max().copied().unwrap_or_default(),
                Fault::Slow { delay, .. } => *delay,
                Fault::Pinch { delay, .. } => PINCH + *delay + FREEZE,
                Fault::Kill { restart, .. } => *restart,
                _ => Duration::ZERO,
            };
            // The database may be away again before every gateway has found it.
            let again = matches!(fault, Fault::Outage { .. }) && random.permille(400);
            episodes.push(Episode { from: at, until: at + length, fault });
            at += length + late;
            if again {
                let from = at - late + random.ms(100..3_500);
                let until = from + random.ms(1_000..25_000);
                let late = (0..gateways).map(|_| random.ms(0..4_000)).collect();
                episodes.push(Episode { from, until, fault: Fault::Outage { kind: Outage::Stall, late } });
                at = until + Duration::from_secs(4);
            }
            at += random.ms(GAP);
        }
        Self { episodes, calm_from: at }
    }

    /// The fault of a time, if there is one.
    pub(crate) fn at(&self, now: Duration, gateway: usize) -> Option<&Episode> {
        self.episodes.iter().find(|episode| {
            let until = match &episode.fault {
                Fault::Outage { late, .. } => episode.until + late.get(gateway).copied().unwrap_or_default(),
                _ => episode.until,
            };
            episode.from <= now && now < until
        })
    }

    /// The delay of a use in a fault that pinches. A schedule has one delay.
    pub(crate) fn pinch(&self) -> Duration {
        let delay = |episode: &Episode| match episode.fault {
            Fault::Pinch { delay, .. } => Some(delay),
            _ => None,
        };
        self.episodes.iter().find_map(delay).unwrap_or_default()
    }

    /// The gateway whose way to the database is bad at a time.
    pub(crate) fn slow_from(&self, at: Duration) -> Option<usize> {
        self.episodes.iter().find_map(|episode| match episode.fault {
            Fault::Slow { gateway, .. } | Fault::Pinch { gateway, .. } if episode.from <= at && at < episode.until => {
                Some(gateway)
            }
            _ => None,
        })
    }

    /// Returns whether there was no fault between two times.
    pub(crate) fn has_been_calm(&self, since: Duration, until: Duration) -> bool {
        let over = |episode: &Episode| match &episode.fault {
            Fault::Outage { late, .. } => episode.until + late.iter().max().copied().unwrap_or_default(),
            // Uses that began in it end later.
            Fault::Slow { delay, .. } => episode.until + *delay,
            Fault::Pinch { delay, .. } => episode.until + PINCH + *delay + FREEZE,
            _ => episode.until,
        };
        self.episodes.iter().all(|episode| over(episode) < since || until < episode.from)
    }

    /// The end of the last fault that began before `now`, with the leases that it may leave behind.
    pub(crate) fn calm_since(&self, now: Duration) -> Duration {
        let over = |episode: &Episode| match &episode.fault {
            Fault::Outage { late, .. } => episode.until + late.iter().max().copied().unwrap_or_default(),
            // The lease of a gateway that was killed ends later, and another one takes it after the
            // grace time.
            Fault::Kill { restart, .. } => episode.until + (*restart).max(Duration::from_secs(20)),
            Fault::Slow { delay, .. } => episode.until + *delay,
            Fault::Pinch { delay, .. } => episode.until + PINCH + *delay + FREEZE,
            Fault::Flaky { .. } | Fault::DatabaseClock(_) => episode.until + Duration::from_secs(16),
            _ => episode.until,
        };
        self.episodes.iter().filter(|episode| episode.from <= now).map(over).max().unwrap_or_default()
    }
}

/// The time in which uses of a gateway that is pinched are delayed.
pub(crate) const PINCH: Duration = Duration::from_secs(5);

/// The longest time for which a gateway stands still.
pub(crate) const FREEZE: Duration = Duration::from_secs(8);
