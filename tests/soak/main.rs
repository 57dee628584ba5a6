//! `make soak`: mixed load, attacks and failures at real gateways for some minutes, and then a
//! PostgreSQL server that is stopped, or stalls, during refreshes. Prints tables of what happened,
//! and writes them to `host/docs/soak.md`. The exit code is 0 if only expected things happened.
//!
//! `SOAK_MINUTES` is the duration of the mixed load. `SOAK_ONLY` is `load`, `service`, `troubles`,
//! `events`, `outages` or `stalls` for one of the parts, whose tables take the place of the former
//! ones on the page.
//!
//! # Layout
//! - [`fleet`]: the gateways, and the services and providers behind them
//! - [`load`]: honest callers, and swaps
//! - [`attacks`]: callers, connectors and services that do harm
//! - [`phases`]: the order of attacks and failures
//! - [`watch`]: what a bystander sees at the same time
//! - [`tally`]: the outcomes of calls
//! - [`service`]: three gateways that are one service, while they change
//! - [`troubles`]: three gateways that are one service, of which one at a time is in trouble
//! - [`events`]: services that notify gateways, of which one is killed
//! - [`outages`]: PostgreSQL is stopped, or stalls, during refreshes
//! - [`report`]: the tables

#![expect(clippy::expect_used, reason = "without its setup the program has nothing to measure")]

mod attacks;
mod events;
mod fleet;
mod load;
mod outages;
mod phases;
mod report;
mod service;
mod tally;
mod troubles;
mod watch;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::usage;

use self::fleet::{Fleet, MEMORY_MB, USERS};
use self::phases::Phase;
use self::report::{Report, Row};
use self::tally::Tally;

/// Duration of the mixed load in minutes, unless `SOAK_MINUTES` says another.
const DEFAULT_MINUTES: f64 = 10.0;

/// Memory of a gateway besides its budget, in MB.
const OTHER_MEMORY_MB: u64 = 200;

/// Most time of 99 of 100 calls of a bystander.
const BYSTANDER_GOAL: Duration = Duration::from_millis(250);

/// Descriptors and threads that may be more in the end than at the start: pools keep some.
const KEPT: u64 = 16;

/// Longest time until idle connections are closed.
const SETTLING: Duration = Duration::from_secs(90);

/// The state of the run, which all threads share.
pub(crate) struct Run {
    pub(crate) fleet: Fleet,
    pub(crate) tally: Tally,
    phases: Vec<Phase>,
    current: AtomicUsize,
    is_over: AtomicBool,
}

impl Run {
    /// The current phase.
    pub(crate) fn phase(&self) -> &Phase {
        &self.phases[self.current.load(Ordering::Relaxed)]
    }

    /// Returns `true` if the load has to end.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

fn main() -> ExitCode {
    raise_descriptors();
    let minutes = std::env::var("SOAK_MINUTES").ok().map_or(DEFAULT_MINUTES, |text| text.parse().expect("a number"));
    let only = std::env::var("SOAK_ONLY").unwrap_or_default();
    let mut report = Report::default();
    let runs = |part: &str| only.is_empty() || only == part;
    if runs("load") {
        run_load(Duration::from_secs_f64(minutes * 60.0), &mut report);
    }
    if runs("service") {
        service::run(Duration::from_secs_f64(minutes * 60.0 / 3.0), &mut report);
    }
    if runs("troubles") {
        troubles::run(Duration::from_secs_f64(minutes * 60.0 / 3.0), &mut report);
    }
    if runs("events") {
        events::run(Duration::from_secs_f64(minutes * 60.0 / 3.0), &mut report);
    }
    if runs("outages") {
        outages::run(&mut report);
    }
    if runs("stalls") {
        outages::stall(&mut report);
    }
    report.print();
    if only.is_empty() {
        report.write(minutes);
    } else {
        report.write_part();
    }
    if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Attackers hold many connections.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // If this fails, the limit stays as it is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// The mixed load with its attacks and failures.
fn run_load(duration: Duration, report: &mut Report) {
    println!("starting the gateways");
    let fleet = Fleet::start();
    let run = Run {
        fleet,
        tally: Tally::default(),
        phases: phases::all(),
        current: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
    };
    let before = footprint(&run);
    thread::scope(|scope| {
        load::start(scope, &run);
        watch::start(scope, &run);
        phases::run_all(&run, duration);
        run.is_over.store(true, Ordering::Relaxed);
    });
    println!("counting what is left");
    let lost = lost_accounts(&run);
    let after = settled(&run, &before);
    tell(&run, lost, &before, &after, report);
}

/// Number of accounts that do not serve any more.
fn lost_accounts(run: &Run) -> usize {
    let serves = |site: &fleet::Site, number: usize| {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if load::as_user(site, number).try_send().is_ok_and(|answer| answer.status == 200) {
                return true;
            }
            thread::sleep(Duration::from_millis(200));
        }
        false
    };
    run.fleet.sites.iter().map(|site| (0..USERS).filter(|number| !serves(site, *number)).count()).sum()
}

/// Descriptors and threads of each gateway.
fn footprint(run: &Run) -> Vec<(u64, u64)> {
    let processes = run.fleet.sites.iter().filter_map(fleet::Site::process);
    processes.map(|process| (usage::descriptors(process), usage::threads(process))).collect()
}

/// The descriptors and threads after idle connections are closed.
fn settled(run: &Run, before: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let began = Instant::now();
    loop {
        let now = footprint(run);
        if now.iter().zip(before).all(|(now, before)| now.0 <= before.0 + KEPT && now.1 <= before.1 + KEPT)
            || began.elapsed() > SETTLING
        {
            return now;
        }
        thread::sleep(Duration::from_secs(1));
    }
}

/// Puts the results into the report.
fn tell(run: &Run, lost: usize, before: &[(u64, u64)], after: &[(u64, u64)], report: &mut Report) {
    for line in run.fleet.sites.iter().filter_map(|site| site.with(support::Gateway::lines)).flatten() {
        phases::look_for_panics(run, &line);
    }
    let peak = run.fleet.sites.iter().map(fleet::Site::peak_mb).max().unwrap_or_default();
    let reuses = run.fleet.strict.reuses();
    let health = run.phases.iter().map(|phase| phase.seen.worst_health()).max().unwrap_or_default();
    let unexpected: u64 = run.tally.counts().iter().map(|(_, _, count)| count.unexpected).sum();
    let each = |of: fn(&(u64, u64)) -> u64, figures: &[(u64, u64)]| {
        figures.iter().map(|figure| of(figure).to_string()).collect::<Vec<_>>().join(", ")
    };
    let grown =
        |of: fn(&(u64, u64)) -> u64| before.iter().zip(after).any(|(before, after)| of(after) > of(before) + KEPT);
    report.figures = vec![
        Row::new("calls", run.tally.calls(), true),
        Row::new("unexpected outcomes", unexpected, unexpected == 0),
        Row::new("lost integrations", lost, lost == 0),
        Row::new("refresh tokens that were sent twice", reuses, reuses == 0),
        Row::new(
            &format!("most memory of a gateway (at most {} MB)", MEMORY_MB + OTHER_MEMORY_MB),
            format!("{peak} MB"),
            peak <= MEMORY_MB + OTHER_MEMORY_MB,
        ),
        Row::new("open descriptors before", each(|figure| figure.0, before), true),
        Row::new("open descriptors after", each(|figure| figure.0, after), !grown(|figure| figure.0)),
        Row::new("threads before", each(|figure| figure.1, before), true),
        Row::new("threads after", each(|figure| figure.1, after), !grown(|figure| figure.1)),
        Row::new("longest time of `/healthz`", format!("{} ms", health.as_millis()), true),
    ];
    report.phases =
        run.phases.iter().map(|phase| report::phase(phase, BYSTANDER_GOAL, MEMORY_MB + OTHER_MEMORY_MB)).collect();
    report.outcomes =
        run.tally.counts().into_iter().map(|(load, outcome, count)| report::outcome(load, &outcome, count)).collect();
    report.unexpected.extend(run.tally.unexpected());
}
