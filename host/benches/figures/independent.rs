//! The thin operation under an independent load generator, `wrk`, compared with the bare proxy on
//! the same number of connections: on an idle machine, and beside a process that takes half of one
//! core.
//!
//! `wrk` has one thread in a separate process, and each of its connections makes one call after the
//! other. The generator of the other sections checks each answer, and takes more of the machine for
//! it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use support::process::{self, Process};
use support::programs;
use support::setup::KEY;
use tempfile::TempDir;

use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit, median};
use crate::{gateway, machine, proxy, role, upstream};

/// Numbers of connections.
const COUNTS: [usize; 4] = [16, 256, 2_000, 9_000];

/// Share of the bare proxy's requests per second that the gateway must reach.
const GOAL: f64 = 1.05;

/// The same for the latency of the slowest of a hundred calls, and of the slowest call.
const LATENCY_GOAL: f64 = 1.0;

/// The share of the process's file descriptors that the connections to one server may take. Both
/// servers have as many to the upstream.
const SHARE_OF_DESCRIPTORS: f64 = 0.45;

/// Name of the role of the process that takes half of one core.
pub(crate) const NEIGHBOUR: &str = "neighbour";

/// The time for which the neighbour computes, and then sleeps.
const HALF: Duration = Duration::from_millis(5);

/// Tells `wrk` the request, and how to print the result. Times are in microseconds.
const SCRIPT: &str = r#"
wrk.method = "POST"
wrk.body = '{"item_id":"17","view":"full"}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer KEY"
done = function(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  local percentiles = string.format("%d %d %d", latency:percentile(50), latency:percentile(75), latency:percentile(99))
  io.write(string.format("RESULT %d %d %d %s %d\n", summary.requests, failed, summary.duration, percentiles, latency.max))
end
"#;

/// The measured values of a round.
struct Round {
    per_second: f64,
    p50: f64,
    p75: f64,
    p99: f64,
    worst: f64,
    cpu: f64,
}

/// A server, and its rounds.
struct Server {
    name: &'static str,
    url: String,
    process_id: u32,
    rounds: Vec<Round>,
}

/// Measures the section.
pub(crate) fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    let most = (machine::raise_descriptors() as f64 * SHARE_OF_DESCRIPTORS) as usize;
    let upstream = upstream::start()?;
    let gateway = gateway::start(upstream.address)?;
    let proxy = proxy::start(upstream.address)?;
    // A profiler needs the process ids.
    eprintln!("  process ids: gateway {}, proxy {}", gateway.process_id(), proxy.process.id());
    let folder = TempDir::new()?;
    let script = folder.path().join("calls.lua");
    fs::write(&script, SCRIPT.replace("KEY", KEY))?;

    let mut figures = Vec::new();
    for has_neighbour in [false, true] {
        let _neighbour = if has_neighbour { Some(start_neighbour()?) } else { None };
        for connections in COUNTS.map(|connections| connections.min(most)) {
            let mut servers = [
                Server::new(
                    "gateway",
                    format!("http://{}/connectors/bench/get_item", gateway::address(&gateway)?),
                    gateway.process_id(),
                ),
                Server::new("bare proxy", format!("http://{}{}", proxy.address, upstream::ITEM), proxy.process.id()),
            ];
            for _ in 0..settings.pick(5, 1) {
                for server in &mut servers {
                    server.round(connections, settings.pick(3, 1), &script)?;
                }
            }
            let [ours, theirs] = &servers;
            figures.extend(figures_of(connections, has_neighbour, ours, theirs));
        }
    }
    Ok(figures)
}

fn figures_of(connections: usize, has_neighbour: bool, ours: &Server, proxy: &Server) -> [Figure; 6] {
    let neighbour = if has_neighbour { " beside a neighbour" } else { "" };
    let figure = |what: &str, unit, value: fn(&Round) -> f64| {
        ours.against(proxy, format!("wrk on {connections} connections{neighbour}: {what}"), unit, value)
    };
    [
        figure("requests", Unit::PerSecond, |round| round.per_second).goal(Goal::Ratio(GOAL)),
        figure("median latency", Unit::Seconds, |round| round.p50),
        figure("75% latency", Unit::Seconds, |round| round.p75),
        figure("99% latency", Unit::Seconds, |round| round.p99).goal(Goal::RatioAtMost(LATENCY_GOAL)),
        figure("worst latency", Unit::Seconds, |round| round.worst).goal(Goal::RatioAtMost(LATENCY_GOAL)),
        figure("CPU time a request", Unit::Seconds, |round| round.cpu),
    ]
}

impl Server {
    fn new(name: &'static str, url: String, process_id: u32) -> Self {
        Self { name, url, process_id, rounds: Vec::new() }
    }

    /// Calls for this time in seconds.
    fn round(&mut self, connections: usize, seconds: u32, script: &Path) -> Outcome<()> {
        let mut wrk: Command = programs::debian("bench", "wrk");
        wrk.args(["--threads", "1", "--timeout", "10s", "--connections", &connections.to_string()]);
        wrk.args(["--duration", &format!("{seconds}s"), "--script"]).arg(script).arg(&self.url);
        let before = machine::cpu_seconds(self.process_id)?;
        let said = process::run(&mut wrk).stdout;
        let cpu = machine::cpu_seconds(self.process_id)? - before;
        let line =
            said.lines().find_map(|line| line.strip_prefix("RESULT ")).ok_or_else(|| format!("wrk says: {said}"))?;
        let numbers = line.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        let &[calls, failed, duration, p50, p75, p99, worst] = numbers.as_slice() else {
            return Err(format!("wrk says: {line}").into());
        };
        if failed > 0.0 {
            return Err(format!("{failed} of {calls} calls of the {} failed", self.name).into());
        }
        let [duration, p50, p75, p99, worst] = [duration, p50, p75, p99, worst].map(|microseconds| microseconds / 1e6);
        self.rounds.push(Round { per_second: calls / duration, p50, p75, p99, worst, cpu: cpu / calls });
        Ok(())
    }

    /// A value of this server, compared with the same value of another one.
    fn against(&self, peer: &Self, name: String, unit: Unit, value: fn(&Round) -> f64) -> Figure {
        let values = |of: &Self| of.rounds.iter().map(value).collect::<Vec<_>>();
        let (ours, theirs) = (values(self), values(peer));
        let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
        Figure::new(name, unit, median(ours)).against_with_ratio(peer.name, median(theirs), median(ratios))
    }
}

/// Starts a process of this binary that takes half of the first core.
fn start_neighbour() -> Outcome<Process> {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0"]).arg(std::env::current_exe()?).args([role::ROLE, NEIGHBOUR]);
    Ok(Process::start(&mut command))
}

/// Computes for half of the time, until this process is ended.
pub(crate) fn run_neighbour() -> ! {
    loop {
        let began = Instant::now();
        while began.elapsed() < HALF {
            std::hint::spin_loop();
        }
        thread::sleep(HALF);
    }
}
