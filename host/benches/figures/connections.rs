//! The thin operation on few and on many connections, compared with the bare proxy on the same
//! number of connections.

use tokio::runtime::Runtime;

use crate::contest::{Contestant, take_turns};
use crate::load::Target;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::throughput::CONNECTIONS;
use crate::{gateway, machine, proxy, upstream};

/// Numbers of connections. The first one is compared with the bare proxy in the section
/// `throughput`.
const COUNTS: [Count; 5] = [
    Count { connections: CONNECTIONS, gateway: "on 16 connections", proxy: "bare proxy", has_goals: false },
    Count { connections: 1, gateway: "on 1 connection", proxy: "bare proxy", has_goals: false },
    Count { connections: 256, gateway: "on 256 connections", proxy: "bare proxy", has_goals: true },
    Count { connections: 2000, gateway: "on 2000 connections", proxy: "bare proxy", has_goals: true },
    Count { connections: 10_000, gateway: "on 10000 connections", proxy: "bare proxy", has_goals: false },
];

/// Share of the bare proxy's requests per second that the gateway must reach.
const GOAL: f64 = 1.0;

/// The same for the latency of the slowest of a hundred calls.
const P99_GOAL: f64 = 1.0;

/// The same for the latency of the slowest call.
const WORST_GOAL: f64 = 2.0;

/// The CPU time of a call, compared with 16 connections.
const CPU_GOAL: f64 = 1.1;

/// A number of connections, and the names of the contestants.
struct Count {
    connections: usize,
    gateway: &'static str,
    proxy: &'static str,
    has_goals: bool,
}

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    machine::raise_descriptors();
    let upstream = upstream::start()?;
    let gateway = gateway::start(upstream.address)?;
    let proxy = proxy::start(upstream.address)?;
    // A profiler needs the process ids.
    eprintln!("  process ids: gateway {}, proxy {}", gateway.process_id(), proxy.process.id());
    runtime.block_on(async {
        let mut contestants = Vec::with_capacity(2 * COUNTS.len());
        for Count { connections, gateway: name, proxy: proxy_name, .. } in COUNTS {
            let ours = gateway::thin(&gateway, "17")?.called(name);
            let theirs = Target::new(proxy_name, proxy.address, upstream::ITEM, ours.text());
            contestants.push(Contestant::new(ours, connections, gateway.process_id()).await?);
            contestants.push(Contestant::new(theirs, connections, proxy.process.id()).await?);
        }
        take_turns(&mut contestants, settings).await?;
        let few = &contestants[0];
        let pairs = contestants.chunks_exact(2).zip(COUNTS).skip(1);
        let mut figures: Vec<Figure> =
            pairs.flat_map(|(pair, count)| figures(&pair[0], &pair[1], few, count.has_goals)).collect();
        for (pair, count) in contestants.chunks_exact_mut(2).zip(COUNTS).filter(|(_, count)| count.has_goals) {
            let time = settings.time(10.0, 2.0);
            let [ours, proxy] = [pair[0].unfairness(time).await?, pair[1].unfairness(time).await?];
            let name = format!("call {}: most calls of a connection, by the fewest", count.gateway);
            figures.push(Figure::new(name, Unit::Count, ours).against(count.proxy, proxy).goal(Goal::RatioAtMost(1.0)));
        }
        Ok(figures)
    })
}

/// The figures of the gateway, compared with the bare proxy and with the gateway on few
/// connections.
fn figures(ours: &Contestant, proxy: &Contestant, few: &Contestant, has_goals: bool) -> [Figure; 5] {
    let name = |what: &str| format!("call {}: {what}", ours.name);
    let goal = |figure: Figure, goal: Goal| if has_goals { figure.goal(goal) } else { figure };
    [
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
    ]
}
