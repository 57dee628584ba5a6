//! A thin operation, beside a bare proxy that makes the same call and beside nginx.
//!
//! The peers take turns in short rounds, so that whatever else the machine does meets all of them. The values printed are the
//! medians of the rounds; a ratio is the median of the ratios of neighbouring rounds.

use std::time::Duration;

use tempfile::TempDir;

use crate::gateway::Home;
use crate::load::{Load, Target};
use crate::process::Process;
use crate::table::{Figure, Goal, Unit, median};
use crate::{Outcome, Settings, machine, nginx, role, upstream};

/// Of the bare proxy's requests per second.
const GOAL: f64 = 0.85;

/// Calls at once.
const CONNECTIONS: usize = 16;

/// One of those that take turns.
struct Contestant {
    name: &'static str,
    load: Load,
    rounds: Vec<Measured>,
    /// What we want of its requests per second.
    goal: Option<f64>,
    process: Process,
}

/// What is measured of a round.
#[derive(Clone, Copy)]
struct Measured {
    per_second: f64,
    p50: f64,
    p99: f64,
    cpu: f64,
}

/// Measures the section.
pub(crate) async fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    let (_upstream, upstream) = role::start_upstream()?;
    let home = Home::new(upstream)?;
    let gateway = home.start().await?;
    let (proxy, proxy_address) = role::start_proxy(upstream)?;
    // For whoever wants to look into them meanwhile.
    eprintln!("  process ids: gateway {}, proxy {}", gateway.process.id(), proxy.id());

    let mut contestants = vec![Contestant::new(gateway.thin("17"), gateway.process, None).await?];
    let body = r#"{"item_id":"17","view":"full"}"#;
    let target = Target::new("bare proxy", proxy_address, upstream::ITEM, body.to_owned());
    contestants.push(Contestant::new(target, proxy, Some(GOAL)).await?);
    let folder = TempDir::new()?;
    match nginx::start(upstream, folder.path()).await {
        Ok(None) => {}
        Ok(Some((process, address))) => {
            let target = Target::new("nginx", address, upstream::ITEM, body.to_owned());
            contestants.push(Contestant::new(target, process, None).await?);
        }
        // It is not ours to mend.
        Err(error) => eprintln!("  {error}"),
    }

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
    async fn new(target: Target, process: Process, goal: Option<f64>) -> Outcome<Self> {
        let name = target.name;
        let load = Load::open(target, CONNECTIONS).await?;
        Ok(Self { name, load, rounds: Vec::new(), goal, process })
    }

    async fn round(&mut self, time: Duration) -> Outcome<()> {
        let before = machine::cpu_seconds(self.process.id())?;
        let round = self.load.run(time).await?;
        let cpu = machine::cpu_seconds(self.process.id())? - before;
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
