//! A thin operation, compared with a bare proxy that makes the same call, with nginx, and with
//! `wasmtime serve`.

use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::contest::{Contestant, take_turns};
use crate::load::Target;
use crate::role::Peer;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::{gateway, nginx, proxy, upstream, wasmtime_serve};

/// Share of the bare proxy's requests per second that the gateway must reach.
const GOAL: f64 = 1.0;

/// The same for the latency of the slowest of a hundred calls.
const P99_GOAL: f64 = 1.0;

/// Share of nginx's requests per second that the gateway must reach.
const GOAL_BESIDE_NGINX: f64 = 0.6;

/// The same, compared with `wasmtime serve`.
const GOAL_BESIDE_WASMTIME_SERVE: f64 = 3.0;

/// Number of connections. Each makes one call after the other.
pub(crate) const CONNECTIONS: usize = 16;

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let upstream = upstream::start()?;
    let gateway = gateway::start(upstream.address)?;
    let proxy = proxy::start(upstream.address)?;
    let folder = TempDir::new()?;
    // These are optional, so the section continues without them.
    let optional = |started: Outcome<Option<Peer>>| {
        started.unwrap_or_else(|error| {
            eprintln!("  {error}");
            None
        })
    };
    let nginx = optional(nginx::start(upstream.address, folder.path()));
    let wasmtime = optional(wasmtime_serve::start(upstream.address, folder.path()));
    // A profiler needs the process ids.
    eprintln!("  process ids: gateway {}, proxy {}", gateway.process_id(), proxy.process.id());

    let target = |name, peer: &Peer| {
        Target::new(name, peer.address, upstream::ITEM, r#"{"item_id":"17","view":"full"}"#.to_owned())
    };
    runtime.block_on(async {
        let ours = Contestant::new(gateway::thin(&gateway, "17")?, CONNECTIONS, gateway.process_id()).await?;
        let mut contestants = vec![ours];
        let mut goals = Vec::new();
        let peers = [
            ("bare proxy", Some(&proxy), GOAL, Some(P99_GOAL)),
            ("nginx", nginx.as_ref(), GOAL_BESIDE_NGINX, None),
            ("wasmtime serve", wasmtime.as_ref(), GOAL_BESIDE_WASMTIME_SERVE, None),
        ];
        for (name, peer, goal, p99_goal) in peers {
            let Some(peer) = peer else { continue };
            contestants.push(Contestant::new(target(name, peer), CONNECTIONS, peer.process.id()).await?);
            goals.push((goal, p99_goal));
        }
        take_turns(&mut contestants, settings).await?;
        let (ours, peers) = contestants.split_first().ok_or("nothing was measured")?;
        Ok(peers.iter().zip(goals).flat_map(|(peer, (goal, p99_goal))| figures(ours, peer, goal, p99_goal)).collect())
    })
}

fn figures(ours: &Contestant, peer: &Contestant, goal: f64, p99_goal: Option<f64>) -> [Figure; 4] {
    let name = |what: &str| format!("thin operation: {what}");
    let p99 = ours.against(peer, name("99% latency"), Unit::Seconds, |round| round.p99);
    [
        ours.against(peer, name("requests"), Unit::PerSecond, |round| round.per_second).goal(Goal::Ratio(goal)),
        ours.against(peer, name("median latency"), Unit::Seconds, |round| round.p50),
        match p99_goal {
            Some(most) => p99.goal(Goal::RatioAtMost(most)),
            None => p99,
        },
        ours.against(peer, name("CPU time a request"), Unit::Seconds, |round| round.cpu),
    ]
}
