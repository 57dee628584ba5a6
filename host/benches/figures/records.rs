//! The thin operation in gateways that keep no records of calls, records of calls that failed, and
//! records of all calls.
//!
//! Two processes of one program differ by some per cent as long as they run, by where their memory
//! and their threads happen to be. The goals are finer than that, so there are several processes of
//! each kind.

use std::time::Duration;

use tokio::runtime::Runtime;

use crate::contest::{Contestant, take_rounds};
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::throughput::CONNECTIONS;
use crate::{gateway, upstream};

/// The kinds of gateways: what they keep, and the share of the requests per second of the first
/// kind that they must reach.
const KINDS: [(&str, &str, Option<f64>); 3] = [
    ("none", "without records", None),
    ("failed", "with records of failed calls", Some(0.99)),
    ("all", "with records of all calls", Some(0.95)),
];

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let upstream = upstream::start()?;
    let mut measured: Vec<Contestant> = Vec::new();
    for _ in 0..settings.pick(8, 2) {
        let gateways = KINDS.map(|(keep, ..)| {
            gateway::start_alone(upstream.address, |setup| setup.config(&format!("[calls]\nkeep = \"{keep}\"")))
        });
        runtime.block_on(async {
            let mut contestants = Vec::new();
            for (gateway, (_, name, _)) in gateways.iter().zip(KINDS) {
                let gateway = gateway.as_ref().map_err(ToString::to_string)?;
                let target = gateway::thin(gateway, "17")?.called(name);
                contestants.push(Contestant::new(target, CONNECTIONS, gateway.process_id()).await?);
            }
            take_rounds(&mut contestants, 4, Duration::from_millis(300), Duration::from_millis(500)).await?;
            let earlier = std::mem::replace(&mut measured, contestants);
            for (contestant, earlier) in measured.iter_mut().zip(earlier) {
                contestant.continue_from(earlier);
            }
            Outcome::Ok(())
        })?;
    }
    let (plain, others) = measured.split_first().ok_or("nothing was measured")?;
    let goals = KINDS.iter().filter_map(|(.., goal)| *goal);
    let figures = others.iter().zip(goals).flat_map(|(kind, goal)| {
        let name = |what: &str| format!("call {}: {what}", kind.name);
        let requests = kind.against(plain, name("requests"), Unit::PerSecond, |round| round.per_second);
        let cpu = kind.against(plain, name("CPU time a request"), Unit::Seconds, |round| round.cpu);
        [requests.goal(Goal::Ratio(goal)), cpu]
    });
    Ok(figures.collect())
}
