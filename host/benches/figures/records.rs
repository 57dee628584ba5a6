//! The thin operation in gateways that keep no records of calls, records of calls that failed, and
//! records of all calls.

use tokio::runtime::Runtime;

use crate::contest::{Contestant, take_turns};
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::throughput::CONNECTIONS;
use crate::{gateway, upstream};

/// The kinds of calls that are recorded, and the share of the requests per second without records
/// that a gateway must reach.
const KEPT: [(&str, &str, f64); 2] =
    [("failed", "with records of failed calls", 0.99), ("all", "with records of all calls", 0.95)];

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let upstream = upstream::start()?;
    let start = |keep: &str| {
        gateway::start_alone(upstream.address, |setup| setup.config(&format!("[calls]\nkeep = \"{keep}\"")))
    };
    let without = start("none")?;
    let with = KEPT.map(|(keep, ..)| start(keep));
    runtime.block_on(async {
        let plain = gateway::thin(&without, "17")?.called("without records");
        let mut contestants = vec![Contestant::new(plain, CONNECTIONS, without.process_id()).await?];
        for ((_, name, _), gateway) in KEPT.iter().zip(&with) {
            let gateway = gateway.as_ref().map_err(ToString::to_string)?;
            let target = gateway::thin(gateway, "17")?.called(name);
            contestants.push(Contestant::new(target, CONNECTIONS, gateway.process_id()).await?);
        }
        take_turns(&mut contestants, settings).await?;
        let (plain, others) = contestants.split_first().ok_or("nothing was measured")?;
        let figures = others.iter().zip(KEPT).map(|(other, (.., goal))| {
            let requests = other
                .against(plain, format!("call {}: requests", other.name), Unit::PerSecond, |round| round.per_second);
            requests.goal(Goal::Ratio(goal))
        });
        Ok(figures.collect())
    })
}
