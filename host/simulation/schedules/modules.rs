//! The modules that gateways serve as one service.
//!
//! Invariants, whatever happens: no gateway goes back to an earlier generation, all of them serve
//! the same module of a generation, two changes never get the same generation, and a change
//! replaces no other generation than the one that its operator named, or that it was compared with.
//! When nothing is wrong, all gateways serve the last generation of each connector.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;

use super::gateways;
use super::world::{NoFaults, Process, Way, World};
use clock::SimulatedClock;
use clock::random::Random;
use registry::simulated::{Machine, Serving, SimulatedRegistry};
use store::ModuleOutcome;

/// The connectors of the service.
const CONNECTORS: [&str; 3] = ["one", "two", "three"];

/// The modules of a connector that operators have. They are more than the database keeps.
const MODULES: u64 = 14;

/// The longest time of a compilation.
const LONGEST_COMPILATION: u64 = 4_000;

/// Time without faults after which all gateways serve the last change: they try again every 10
/// seconds, and compile up to twice.
const SETTLED: Duration = Duration::from_secs(25);

struct Site {
    world: Arc<World>,
    /// `true` until the operators have stopped making changes.
    is_changing: Mutex<bool>,
    /// The digests of generations, as the gateways have served them.
    served: Mutex<HashMap<(String, i64), Option<String>>>,
    /// The generations that changes have got.
    made: Mutex<HashMap<(String, i64), String>>,
    /// The present process of each gateway.
    present: Mutex<BTreeMap<usize, Arc<SimulatedRegistry<Gateway>>>>,
}

pub(super) async fn run(world: &Arc<World>, count: usize, random: &mut Random) {
    let clock = SimulatedClock::new(world.began, 0, 0);
    clock.scope(run_in(world, count, random)).await;
}

async fn run_in(world: &Arc<World>, count: usize, random: &mut Random) {
    let site = Arc::new(Site {
        world: Arc::clone(world),
        is_changing: Mutex::new(true),
        served: Mutex::default(),
        made: Mutex::default(),
        present: Mutex::default(),
    });
    for gateway in 0..count {
        let (serving, killed) = (Arc::clone(&site), Arc::clone(&site));
        let serve = move |process, random| Arc::clone(&serving).serve(process, random);
        let forget = move |process: Arc<Process>| {
            killed.present.lock().remove(&process.gateway);
            std::future::ready(())
        };
        tokio::spawn(gateways::run(Arc::clone(world), gateway, random.fork(), serve, forget));
    }
    tokio::spawn(super::world::turn_clocks(Arc::clone(world)));
    world.wait_until(world.weather.calm_from).await;
    *site.is_changing.lock() = false;
    sleep(SETTLED).await;
    site.check_end(count).await;
}

/// One process.
struct Gateway {
    site: Arc<Site>,
    process: Arc<Process>,
    /// The generations that it serves.
    serving: Mutex<HashMap<String, i64>>,
}

impl Machine for Gateway {
    async fn compile(&self) -> bool {
        let time = self.process.draw(|random| random.ms(50..LONGEST_COMPILATION));
        sleep(time).await;
        self.process.live().await;
        let (world, drawn) = (&self.site.world, self.process.draw(|random| random.permille(50)));
        // A failure is a fault, so there is none when nothing is wrong.
        let fails = drawn && world.now() < world.weather.calm_from;
        if fails {
            world.log(format_args!("{} fails to compile", self.process.name()));
        }
        !fails
    }

    fn swapped(&self, connector: &str, generation: i64, digest: Option<&str>) {
        let (world, name) = (&self.site.world, self.process.name());
        world.log(format_args!("{name} serves {connector} {generation}: {digest:?}"));
        let before = self.serving.lock().insert(connector.to_owned(), generation).unwrap_or_default();
        if before >= generation {
            world.violated(format_args!("{name} goes from {connector} {before} to {generation}"));
        }
        let digest = digest.map(str::to_owned);
        let mut served = self.site.served.lock();
        if *served.entry((connector.to_owned(), generation)).or_insert_with(|| digest.clone()) != digest {
            world.violated(format_args!("{name} serves another module as {connector} {generation}"));
        }
    }
}

impl Site {
    /// One process, and the operators who use it.
    async fn serve(self: Arc<Self>, process: Arc<Process>, mut random: Random) {
        let store = self.world.database.store(Arc::new(Way(Arc::clone(&process))));
        let gateway = Gateway { site: Arc::clone(&self), process: Arc::clone(&process), serving: Mutex::default() };
        let registry = SimulatedRegistry::new(store, gateway);
        self.present.lock().insert(process.gateway, Arc::clone(&registry));
        tokio::select! {
            biased;
            () = registry.follow_modules() => {}
            () = self.operate(&process, &registry, &mut random) => {}
        }
    }

    /// Changes modules at one gateway, now and then and often at the time of a fault.
    async fn operate(&self, process: &Process, registry: &SimulatedRegistry<Gateway>, random: &mut Random) {
        loop {
            let pause = random.ms(500..12_000);
            let at = self.world.next_event(random, pause);
            self.world.wait_until(at).await;
            process.live().await;
            if !*self.is_changing.lock() {
                return std::future::pending().await;
            }
            let connector = CONNECTORS[random.within(0..CONNECTORS.len() as u64) as usize];
            let digest = (!random.permille(150)).then(|| format!("{connector} {}", random.within(0..MODULES)));
            let replaces = random.permille(400).then(|| registry.generation(connector));
            let name = process.name();
            match registry.change(connector, digest.as_deref(), replaces).await {
                Ok((compared, ModuleOutcome::Changed(generation))) => {
                    if let Some(other) = self.made.lock().insert((connector.to_owned(), generation), name.clone()) {
                        self.world.violated(format_args!("{name} and {other} have both made {connector} {generation}"));
                    }
                    if generation != compared + 1 {
                        self.world.violated(format_args!(
                            "{name} has replaced another generation of {connector} than {compared} with {generation}"
                        ));
                    }
                }
                Ok((_, ModuleOutcome::Unchanged(present))) => {
                    self.world.log(format_args!("{name} is told that {connector} is {present}"));
                }
                Err(error) => self.world.log(format_args!("{name} cannot change {connector}: {error}")),
            }
        }
    }

    /// All gateways serve what the database says.
    async fn check_end(&self, count: usize) {
        let live = self.world.database.store(Arc::new(NoFaults)).modules().live().await.unwrap();
        let present = self.present.lock().clone();
        if present.len() < count {
            self.world.violated(format_args!("only {} gateways are there", present.len()));
        }
        for live in live {
            let expected: Serving = (live.generation, live.digest);
            for (gateway, registry) in &present {
                let serving = registry.serving(&live.connector);
                if serving.as_ref() != Some(&expected) {
                    self.world.violated(format_args!(
                        "gateway {gateway} serves {serving:?} of {}, and the service {expected:?}",
                        live.connector
                    ));
                }
            }
        }
    }
}
