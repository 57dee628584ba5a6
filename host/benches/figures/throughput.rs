//! A thin operation, compared with a bare proxy that makes the same call, and with nginx.
//!
//! The peers take turns in short rounds, so that other load of the machine affects all of them alike. The printed
//! values are the medians of the rounds. A ratio is the median of the ratios of neighbouring rounds.

use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::load::{Load, Target};
use crate::role::Peer;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit, median};
use crate::{gateway, machine, nginx, proxy, upstream};

/// Share of the bare proxy's requests per second that the gateway must reach.
const GOAL: f64 = 0.85;

/// Number of connections. Each makes one call after the other.
const CONNECTIONS: usize = 16;

/// A server that takes turns with others.
struct Contestant {
    name: &'static str,
    load: Load,
    rounds: Vec<Measured>,
    /// Share of its requests per second that the gateway must reach; `None` without a goal.
    goal: Option<f64>,
    /// Its process, whose CPU time is measured.
    process_id: u32,
}

/// The measured values of a round.
#[derive(Clone, Copy)]
struct Measured {
    per_second: f64,
    p50: f64,
    p99: f64,
    cpu: f64,
}

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let upstream = upstream::start()?;
    let gateway = gateway::start(upstream.address)?;
    let proxy = proxy::start(upstream.address)?;
    let folder = TempDir::new()?;
    // nginx is optional, so the section continues without it.
    let nginx = nginx::start(upstream.address, folder.path()).unwrap_or_else(|error| {
        eprintln!("  {error}");
        None
    });
    // A profiler needs the process ids.
    eprintln!("  process ids: gateway {}, proxy {}", gateway.process_id(), proxy.process.id());

    let target = |name, peer: &Peer| {
        Target::new(name, peer.address, upstream::ITEM, r#"{"item_id":"17","view":"full"}"#.to_owned())
    };
    runtime.block_on(async {
        let mut contestants = vec![Contestant::new(gateway::thin(&gateway, "17")?, gateway.process_id(), None).await?];
        contestants.push(Contestant::new(target("bare proxy", &proxy), proxy.process.id(), Some(GOAL)).await?);
        if let Some(nginx) = &nginx {
            contestants.push(Contestant::new(target("nginx", nginx), nginx.process.id(), None).await?);
        }
        compare(contestants, settings).await
    })
}

/// Lets the contestants take turns. The first one is the gateway.
async fn compare(mut contestants: Vec<Contestant>, settings: &Settings) -> Outcome<Vec<Figure>> {
    for contestant in &mut contestants {
        contestant.load.run(settings.time(2.0, 0.5)).await?.check(contestant.name)?;
    }
    for _ in 0..settings.pick(7, 3) {
        for contestant in &mut contestants {
            contestant.round(settings.time(2.0, 1.0)).await?;
        }
    }
    let (ours, peers) = contestants.split_first().ok_or("nothing was measured")?;
    let mut figures = Vec::new();
    for peer in peers {
        let per_second = ours.beside(peer, "requests", Unit::PerSecond, |round| round.per_second);
        figures.push(match peer.goal {
            Some(least) => per_second.goal(Goal::Ratio(least)),
            None => per_second,
        });
        figures.push(ours.beside(peer, "median latency", Unit::Seconds, |round| round.p50));
        figures.push(ours.beside(peer, "99% latency", Unit::Seconds, |round| round.p99));
        figures.push(ours.beside(peer, "CPU time a request", Unit::Seconds, |round| round.cpu));
    }
    Ok(figures)
}

impl Contestant {
    async fn new(target: Target, process_id: u32, goal: Option<f64>) -> Outcome<Self> {
        let name = target.name;
        let load = Load::open(target, CONNECTIONS).await?;
        Ok(Self { name, load, rounds: Vec::new(), goal, process_id })
    }

    async fn round(&mut self, time: Duration) -> Outcome<()> {
        let before = machine::cpu_seconds(self.process_id)?;
        let round = self.load.run(time).await?;
        let cpu = machine::cpu_seconds(self.process_id)? - before;
        round.check(self.name)?;
        let calls = round.succeeded as f64;
        self.rounds.push(Measured {
            per_second: calls / round.seconds,
            p50: round.percentile(0.5),
            p99: round.percentile(0.99),
            cpu: cpu / calls,
        });
        Ok(())
    }

    fn beside(&self, peer: &Self, what: &str, unit: Unit, value: impl Fn(&Measured) -> f64) -> Figure {
        let values = |of: &Self| of.rounds.iter().map(&value).collect::<Vec<_>>();
        let (ours, theirs) = (values(self), values(peer));
        let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
        Figure::new(format!("thin operation: {what}"), unit, median(ours)).beside_with_ratio(
            peer.name,
            median(theirs),
            median(ratios),
        )
    }
}
