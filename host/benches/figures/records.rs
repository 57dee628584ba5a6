//! The thin operation in gateways that keep no records of calls, records of calls that failed, and
//! records of all calls.

use support::Store;
use tokio::runtime::Runtime;

use crate::contest::{Started, compare_processes};
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
    let start = |(keep, name, _)| {
        let gateway =
            gateway::start_alone(upstream.address, |setup| setup.config(&format!("[calls]\nkeep = \"{keep}\"")))?;
        let target = gateway::thin(&gateway, "17")?.called(name);
        Outcome::Ok(Started { gateway, target, _store: Store::Sqlite })
    };
    let measured = compare_processes(runtime, settings, CONNECTIONS, || {
        let [none, failed, all] = KINDS;
        Ok([start(none)?, start(failed)?, start(all)?])
    })?;
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
