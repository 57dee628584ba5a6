//! Servers, or operations of one server, that are measured in turns.
//!
//! They take turns in short rounds, so that other load of the machine affects all of them alike.
//! The printed values are the medians of the rounds. A ratio is the median of the ratios of
//! neighbouring rounds. It need not be the ratio of the two printed medians.

use std::time::Duration;

use support::{Gateway, Store};
use tokio::runtime::Runtime;

use crate::load::{Load, Target};
use crate::machine;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Unit, median};

/// A contestant and its rounds.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    load: Load,
    rounds: Vec<Round>,
    /// The process whose CPU time is measured.
    process_id: u32,
}

/// The measured values of a round.
#[derive(Clone, Copy)]
pub(crate) struct Round {
    pub(crate) per_second: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) worst: f64,
    pub(crate) cpu: f64,
}

/// Lets the contestants take turns.
pub(crate) async fn take_turns(contestants: &mut [Contestant], settings: &Settings) -> Outcome<()> {
    take_rounds(contestants, settings.pick(7, 3), settings.time(2.0, 0.5), settings.time(2.0, 1.0)).await
}

/// A gateway of one kind, and the calls for it.
pub(crate) struct Started {
    pub(crate) gateway: Gateway,
    pub(crate) target: Target,
    /// The gateway's store, which is dropped after it.
    pub(crate) _store: Store,
}

/// Compares kinds of gateways whose difference may be a hundredth. Two processes of one program
/// differ by some hundredths as long as they run, by where their memory and their threads happen to
/// be. So each round has a new process of each kind. `start` starts one of each.
pub(crate) fn compare_processes<const KINDS: usize>(
    runtime: &Runtime,
    settings: &Settings,
    connections: usize,
    start: impl Fn() -> Outcome<[Started; KINDS]>,
) -> Outcome<Vec<Contestant>> {
    let mut measured: Vec<Contestant> = Vec::new();
    for _ in 0..settings.pick(32, 2) {
        // The gateways run until the round is over.
        let started = start()?;
        runtime.block_on(async {
            let mut contestants = Vec::new();
            for Started { gateway, target, .. } in &started {
                contestants.push(Contestant::new(target.clone(), connections, gateway.process_id()).await?);
            }
            take_rounds(&mut contestants, 1, Duration::from_millis(300), Duration::from_millis(600)).await?;
            let earlier = std::mem::replace(&mut measured, contestants);
            for (contestant, earlier) in measured.iter_mut().zip(earlier) {
                contestant.rounds.splice(0..0, earlier.rounds);
            }
            Outcome::Ok(())
        })?;
    }
    Ok(measured)
}

/// As [`take_turns`], with this number of rounds, a time before the first of them, and a time for
/// each.
async fn take_rounds(contestants: &mut [Contestant], rounds: usize, before: Duration, time: Duration) -> Outcome<()> {
    for contestant in &mut *contestants {
        contestant.load.run(before).await?.check(contestant.name)?;
    }
    for _ in 0..rounds {
        for contestant in &mut *contestants {
            contestant.round(time).await?;
        }
    }
    Ok(())
}

impl Contestant {
    /// Opens this number of connections. Each makes one call after the other.
    pub(crate) async fn new(target: Target, connections: usize, process_id: u32) -> Outcome<Self> {
        let name = target.name;
        let load = Load::open(target, connections).await?;
        Ok(Self { name, load, rounds: Vec::new(), process_id })
    }

    /// As [`Self::new`], over HTTP/2 with this number of streams on each connection.
    pub(crate) async fn with_streams(
        target: Target,
        connections: usize,
        streams: usize,
        process_id: u32,
    ) -> Outcome<Self> {
        let name = target.name;
        let load = Load::open_streams(target, connections, streams).await?;
        Ok(Self { name, load, rounds: Vec::new(), process_id })
    }

    /// Calls for this time, and returns how unfairly the connections were served: see
    /// [`crate::load::Round::unfairness`].
    pub(crate) async fn unfairness(&mut self, time: Duration) -> Outcome<f64> {
        let round = self.load.run(time).await?;
        round.check(self.name)?;
        Ok(round.unfairness)
    }

    async fn round(&mut self, time: Duration) -> Outcome<()> {
        let before = machine::cpu_seconds(self.process_id)?;
        let round = self.load.run(time).await?;
        let cpu = machine::cpu_seconds(self.process_id)? - before;
        round.check(self.name)?;
        let calls = round.succeeded as f64;
        self.rounds.push(Round {
            per_second: calls / round.seconds,
            p50: round.percentile(0.5),
            p99: round.percentile(0.99),
            worst: round.percentile(1.0),
            cpu: cpu / calls,
        });
        Ok(())
    }

    /// A value of this contestant, compared with the same value of another one.
    pub(crate) fn against(&self, peer: &Self, name: String, unit: Unit, value: impl Fn(&Round) -> f64) -> Figure {
        let values = |of: &Self| of.rounds.iter().map(&value).collect::<Vec<_>>();
        let (ours, theirs) = (values(self), values(peer));
        let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
        Figure::new(name, unit, median(ours)).against_with_ratio(peer.name, median(theirs), median(ratios))
    }
}
