//! The thin operation on few and on many connections, compared with the bare proxy on the same
//! number of connections.

use tokio::runtime::Runtime;

use crate::contest::{Contestant, take_turns};
use crate::load::Target;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::throughput::CONNECTIONS;
use crate::{gateway, machine, proxy, upstream};

/// Numbers of connections that are compared with the bare proxy. [`CONNECTIONS`] are compared with
/// it in the section `throughput`.
const COUNTS: [Count; 4] = [
    Count { connections: 1, has_goals: false },
    Count { connections: 256, has_goals: true },
    Count { connections: 2000, has_goals: true },
    Count { connections: 10_000, has_goals: false },
];

/// The share of the process's file descriptors that the connections to one server may take. Both
/// servers have theirs open, and each server has as many to the upstream.
const SHARE_OF_DESCRIPTORS: f64 = 0.45;

/// Share of the bare proxy's requests per second that the gateway must reach.
const GOAL: f64 = 1.0;

/// The same for the latency of the slowest of a hundred calls.
const P99_GOAL: f64 = 1.0;

/// The same for the latency of the slowest call.
const WORST_GOAL: f64 = 2.0;

/// The CPU time of a call, compared with 16 connections.
const CPU_GOAL: f64 = 1.1;

/// A number of connections.
struct Count {
    connections: usize,
    has_goals: bool,
}

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let most = (machine::raise_descriptors() as f64 * SHARE_OF_DESCRIPTORS) as usize;
    let upstream = upstream::start()?;
    let gateway = gateway::start(upstream.address)?;
    let proxy = proxy::start(upstream.address)?;
    // A profiler needs the process ids.
    eprintln!("  process ids: gateway {}, proxy {}", gateway.process_id(), proxy.process.id());
    runtime.block_on(async {
        let mut figures = Vec::new();
        for Count { connections, has_goals } in COUNTS {
            let connections = connections.min(most);
            let few = gateway::thin(&gateway, "17")?.called("on 16 connections");
            let ours = gateway::thin(&gateway, "17")?;
            let theirs = Target::new("bare proxy", proxy.address, upstream::ITEM, ours.text());
            let mut contestants = [
                Contestant::new(few, CONNECTIONS, gateway.process_id()).await?,
                Contestant::new(ours, connections, gateway.process_id()).await?,
                Contestant::new(theirs, connections, proxy.process.id()).await?,
            ];
            take_turns(&mut contestants, settings).await?;
            let [few, ours, proxy] = &mut contestants;
            let time = settings.time(10.0, 2.0);
            let unfairness = match has_goals {
                true => Some([ours.unfairness(time).await?, proxy.unfairness(time).await?]),
                false => None,
            };
            figures.extend(figures_of(connections, few, ours, proxy, unfairness));
        }
        Ok(figures)
    })
}

/// The figures of the gateway, compared with the bare proxy and with the gateway on few
/// connections. A number of connections has goals if its fairness was measured.
fn figures_of(
    connections: usize,
    few: &Contestant,
    ours: &Contestant,
    proxy: &Contestant,
    unfairness: Option<[f64; 2]>,
) -> Vec<Figure> {
    let name = |what: &str| format!("call on {connections} connections: {what}");
    let goal = |figure: Figure, goal: Goal| if unfairness.is_some() { figure.goal(goal) } else { figure };
    let mut figures = vec![
        goal(ours.against(proxy, name("requests"), Unit::PerSecond, |round| round.per_second), Goal::Ratio(GOAL)),
        goal(ours.against(proxy, name("99% latency"), Unit::Seconds, |round| round.p99), Goal::RatioAtMost(P99_GOAL)),
        goal(
            ours.against(proxy, name("worst latency"), Unit::Seconds, |round| round.worst),
            Goal::RatioAtMost(WORST_GOAL),
        ),
        ours.against(proxy, name("CPU time a request"), Unit::Seconds, |round| round.cpu),
        goal(
            ours.against(few, name("CPU time a request"), Unit::Seconds, |round| round.cpu),
            Goal::RatioAtMost(CPU_GOAL),
        ),
    ];
    if let Some([ours, proxy]) = unfairness {
        let name = name("most calls of a connection, by the fewest");
        figures.push(Figure::new(name, Unit::Count, ours).against("bare proxy", proxy).goal(Goal::RatioAtMost(1.0)));
    }
    figures
}
