//! Three gateways on one PostgreSQL database are one service: connectors are swapped at a changing
//! gateway, each minute one gateway is killed and another one is added, the server is stopped and
//! then fails over to its standby, and all callers need more than a rate limit allows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use support::{Client, Cluster, Gateway, Reply, Setup, Store, Upstream, module};

use crate::report::{Report, Row};
use crate::tally::{NO_ANSWER, Tally, outcome};

/// The gateways that serve at the same time.
const GATEWAYS: usize = 3;

/// Calls that the rate limit allows in a period.
const LIMIT: usize = 60;

/// The period in seconds.
const PERIOD: u64 = 10;

/// Calls that start a period apart may arrive at the service closer together by this time.
const JITTER: Duration = Duration::from_millis(500);

/// Time between two calls of a caller.
const PAUSE: Duration = Duration::from_millis(40);

/// Time between two swaps.
const SWAP_EVERY: Duration = Duration::from_secs(2);

/// Time for which the server is stopped. Gateways use their part of a rate limit for longer.
const STOPPED: Duration = Duration::from_secs(10);

/// Longest time until all gateways serve the last module.
const SETTLING: Duration = Duration::from_secs(30);

/// Time between two events. Each minute a gateway is killed and another one is added, the server is
/// stopped, and it fails over.
const PAUSE_OF_EVENTS: Duration = Duration::from_secs(15);

/// Versions that swaps go through. They are compiled once.
const VERSIONS: usize = 4;

/// The service, and what happens to it.
struct Service {
    // In the order in which they have to end: the gateways use the rest.
    gateways: Mutex<Vec<Arc<Member>>>,
    /// The times at which requests came to the upstream.
    arrivals: Arc<Mutex<Vec<Instant>>>,
    tally: Tally,
    killed: AtomicUsize,
    swaps: AtomicUsize,
    failovers: AtomicUsize,
    is_over: AtomicBool,
    upstream: Upstream,
    /// The settings of the gateways that select the database.
    database: String,
}

/// A gateway, which may be killed while it is called.
struct Member {
    client: Client,
    address: String,
    is_killed: AtomicBool,
    gateway: Mutex<Gateway>,
}

impl Member {
    fn new(gateway: Gateway) -> Arc<Self> {
        let (client, address) = (gateway.client(), gateway.address());
        Arc::new(Self { client, address, is_killed: AtomicBool::new(false), gateway: Mutex::new(gateway) })
    }
}

/// Runs the service for this time, at least for one change of its gateways.
pub(crate) fn run(duration: Duration, report: &mut Report) {
    println!("starting the gateways of one service");
    // They end in the reverse order, so that each is there for those that use it.
    let store = Store::postgres();
    let mut cluster = Cluster::start();
    let service = Service::start(cluster.config(store.database()));
    thread::scope(|scope| {
        for caller in 0..GATEWAYS {
            let service = &service;
            scope.spawn(move || service.call_again_and_again("version", caller));
            scope.spawn(move || service.call_again_and_again("limited", caller));
        }
        scope.spawn(|| service.swap_again_and_again());
        service.change(duration, &mut cluster);
        service.is_over.store(true, Ordering::Relaxed);
    });
    service.tell(report);
}

impl Service {
    fn start(database: String) -> Self {
        let (upstream, arrivals) = (Upstream::start(), Arc::<Mutex<Vec<Instant>>>::default());
        let seen = Arc::clone(&arrivals);
        upstream.on("*", move |_| {
            seen.lock().push(Instant::now());
            Reply::json(json!({}))
        });
        let gateways = (0..GATEWAYS).map(|_| Member::new(setup(&database, &upstream).start())).collect();
        Self {
            gateways: Mutex::new(gateways),
            arrivals,
            tally: Tally::default(),
            killed: AtomicUsize::new(0),
            swaps: AtomicUsize::new(0),
            failovers: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            upstream,
            database,
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn members(&self) -> Vec<Arc<Member>> {
        self.gateways.lock().clone()
    }

    /// Calls one gateway after the other.
    fn call_again_and_again(&self, load: &'static str, first: usize) {
        let path = if load == "limited" { "/connectors/limited/composed" } else { "/connectors/liar/version" };
        for number in first.. {
            if self.is_over() {
                return;
            }
            let members = self.members();
            let member = &members[number % members.len()];
            let body = if load == "limited" { json!({"path": "/items"}) } else { json!({}) };
            let call = member.client.request("POST", path).json(&body);
            let (outcome, expected) = match call.try_send() {
                Ok(answer) => {
                    let outcome = outcome(&answer);
                    let expected = outcome == "200" || load == "limited" && outcome == "429 rate-limited";
                    (outcome, expected)
                }
                Err(_) => (NO_ANSWER.to_owned(), false),
            };
            let is_expected = expected || member.is_killed.load(Ordering::Relaxed);
            self.tally.note(load, &outcome, is_expected, || format!("at {}", member.address));
            thread::sleep(PAUSE);
        }
    }

    /// Swaps a connector at one gateway after the other. While the server is stopped, no change is
    /// made.
    fn swap_again_and_again(&self) {
        for number in 1.. {
            thread::sleep(SWAP_EVERY);
            if self.is_over() {
                return;
            }
            let members = self.members();
            let member = &members[number % members.len()];
            let module = module::liar(&format!("version=1.0.{}", number % VERSIONS));
            let call = member.client.request("POST", "/admin/connectors").header("content-type", "application/wasm");
            if call.body(module).try_send().is_ok_and(|answer| answer.status == 200) {
                self.swaps.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Changes the gateways and the server, again and again for this time.
    fn change(&self, duration: Duration, cluster: &mut Cluster) {
        let end = Instant::now() + duration;
        loop {
            thread::sleep(PAUSE_OF_EVENTS);
            println!("a gateway is killed, and another one is added");
            self.replace_a_gateway();
            thread::sleep(PAUSE_OF_EVENTS);
            println!("PostgreSQL is stopped for {} s", STOPPED.as_secs());
            cluster.stop();
            thread::sleep(STOPPED);
            cluster.start_again();
            thread::sleep(PAUSE_OF_EVENTS);
            println!("PostgreSQL fails over");
            cluster.fail_over();
            self.failovers.fetch_add(1, Ordering::Relaxed);
            if Instant::now() >= end {
                return;
            }
        }
    }

    /// Kills the oldest gateway, and adds another one.
    fn replace_a_gateway(&self) {
        let killed = self.gateways.lock().remove(0);
        killed.is_killed.store(true, Ordering::Relaxed);
        killed.gateway.lock().kill();
        self.killed.fetch_add(1, Ordering::Relaxed);
        let added = setup(&self.database, &self.upstream).start();
        self.gateways.lock().push(Member::new(added));
    }

    fn tell(&self, report: &mut Report) {
        let behind = self.gateways_behind();
        let window = Duration::from_secs(PERIOD) - JITTER;
        let (most, above) = windows(&self.arrivals.lock(), window, LIMIT);
        let counts = self.tally.counts();
        let failed: u64 = counts.iter().map(|(_, _, count)| count.unexpected).sum();
        let limited = |name: &str| {
            counts
                .iter()
                .filter(|(load, outcome, _)| *load == "limited" && outcome == name)
                .map(|(.., count)| count.calls)
                .sum::<u64>()
        };
        let swaps = self.swaps.load(Ordering::Relaxed);
        report.service.extend([
            Row::new("calls", self.tally.calls(), true),
            Row::new("calls that failed at a gateway that was not killed", failed, failed == 0),
            Row::new("gateways that were killed, and added", self.killed.load(Ordering::Relaxed), true),
            Row::new("failovers of the database", self.failovers.load(Ordering::Relaxed), true),
            Row::new("swaps", swaps, swaps > 0),
            Row::new("gateways that do not serve the last module in the end", behind, behind == 0),
            Row::new("calls that the rate limit has accepted", limited("200"), limited("200") > 0),
            Row::new("calls that it has refused", limited("429 rate-limited"), limited("429 rate-limited") > 0),
            Row::new(&format!("most calls in {PERIOD} s at the upstream (at most {LIMIT})"), most, most <= LIMIT),
            Row::new("windows with more calls", above, above == 0),
        ]);
        report.unexpected.extend(self.tally.unexpected());
    }

    /// The number of gateways that do not serve the module of the service in time.
    fn gateways_behind(&self) -> usize {
        let (began, mut behind) = (Instant::now(), usize::MAX);
        while behind > 0 && began.elapsed() < SETTLING {
            thread::sleep(Duration::from_millis(200));
            behind = self.members().iter().filter(|member| !is_present(member)).count();
        }
        behind
    }
}

/// Returns whether a gateway serves what it knows to be the module of the service.
fn is_present(member: &Member) -> bool {
    let digest_of = |path: &str| {
        let answer = member.client.request("GET", path).try_send().ok()?;
        let listed: Value = serde_json::from_slice(&answer.body).ok()?;
        let connectors = listed["connectors"].as_array()?;
        let liar = connectors.iter().find(|each| each["connector"] == "liar")?;
        liar.get("digest").or_else(|| liar.get("sha256")).cloned()
    };
    let (served, present) = (digest_of("/connectors"), digest_of("/admin/connectors"));
    served.is_some() && served == present
}

/// The settings of each gateway.
fn setup(database: &str, upstream: &Upstream) -> Setup {
    let limited = json!({"identifier": "limited", "auth": "none", "rate_limit": LIMIT, "rate_period": PERIOD});
    Setup::new()
        .general(database)
        .module("liar", module::liar("version=1.0.0"))
        .module("limited", module::account(&limited))
        .upstream("limited", "api", &upstream.url())
}

/// The most calls in a window of this length, and the number of windows with more calls than the
/// limit. A window begins with each call.
pub(crate) fn windows(arrivals: &[Instant], window: Duration, limit: usize) -> (usize, usize) {
    let mut sorted = arrivals.to_vec();
    sorted.sort();
    let counts = sorted
        .iter()
        .enumerate()
        .map(|(first, began)| sorted[first..].iter().take_while(|at| **at < *began + window).count());
    let counts: Vec<usize> = counts.collect();
    (counts.iter().copied().max().unwrap_or_default(), counts.iter().filter(|count| **count > limit).count())
}
