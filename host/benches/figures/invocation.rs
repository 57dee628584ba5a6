//! One invocation of a thin operation that is no row: a new instance, its answer, and its end. The
//! library is called directly, and the request of the outcome is not sent.
//!
//! A second pair are the frozen components of two versions of the contract, which have the same
//! source otherwise: a later version may not make an invocation slower.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use connector_gateway::Config;
use sandbox::{Call, Limits, Module, Outcome as Answer, Sandbox};
use store::Store;
use store::vault::Vault;
use support::Gateway;
use support::module::{self, digest};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit, median};
use crate::{gateway, machine};

const GOAL: f64 = 5e-6;

/// The goal while all cores invoke at the same time.
const GOAL_OF_ALL: f64 = 6e-6;

/// The goal of the later version of the contract, compared with the earlier one.
const GOAL_OF_VERSIONS: f64 = 1.05;

/// The versions of the contract that are compared, the later one first.
const VERSIONS: [&str; 2] = ["1.1.0", "1.0.0"];

/// Number of invocations between two looks at the clock.
const BATCH: u32 = 100;

/// The sandbox of this process, with the modules that a gateway has compiled.
pub(crate) struct Compiled {
    pub(crate) runtime: Runtime,
    sandbox: Sandbox,
    /// It has ended, and its data directory has the compiled modules.
    _gateway: Gateway,
}

impl Compiled {
    /// Takes the modules of a gateway, and ends it.
    pub(crate) fn by(mut gateway: Gateway) -> Outcome<Self> {
        gateway.stop();
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        let config = Config { data_dir: gateway.home().data(), ..Config::default() };
        let key = runtime.block_on(async {
            let store = Store::connect(&config.store()).await?;
            Outcome::Ok(Vault::open(&config.master_key_path(), &store).await?.derive("compiled modules")?)
        })?;
        let sandbox = Sandbox::start(config.sandbox_setup(), &key)?;
        Ok(Self { runtime, sandbox, _gateway: gateway })
    }

    /// Loads a module, which the gateway has compiled.
    pub(crate) fn load(&self, bytes: &[u8]) -> Outcome<Arc<Module>> {
        let loaded = self.runtime.block_on(self.sandbox.load(bytes, &digest(bytes)))?;
        match loaded.compiled.took {
            None => Ok(Arc::new(loaded.module)),
            Some(_) => Err("a module is not in the gateway's cache".into()),
        }
    }
}

/// An operation that is invoked again and again.
#[derive(Clone)]
pub(crate) struct Invoked {
    pub(crate) module: Arc<Module>,
    pub(crate) operation: &'static str,
    pub(crate) input: &'static str,
    pub(crate) immediate: bool,
}

/// Measures the section.
pub(crate) fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    // The gateway is started only because it compiles the modules into its data directory.
    let gateway = gateway::start(gateway::NOWHERE)?;
    let frozen = compiled_by(&gateway)?;
    let compiled = Compiled::by(gateway)?;
    let runtime = &compiled.runtime;
    let mut modules = Vec::new();
    for component in &frozen {
        modules.push(compiled.load(component)?);
    }
    let [later, earlier] = &modules[..] else { return Err("two versions are compared".into()) };
    let invoked = |immediate| forwarding(later, immediate);
    let all = machine::cores();
    let mut figures = Vec::new();
    for (what, tasks, goal) in
        [("sequential".to_owned(), 1, GOAL), (format!("on {all} cores in parallel"), all, GOAL_OF_ALL)]
    {
        let [at_once, on_fiber] = take_turns(runtime, settings, tasks, &[true, false].map(invoked))?;
        figures.push(
            Figure::new(format!("invocation, {what}"), Unit::Seconds, median(at_once))
                .against("on a fiber", median(on_fiber))
                .goal(Goal::AtMost(goal)),
        );
    }

    let invoked = |module| forwarding(module, true);
    let [later, earlier] = take_turns(runtime, settings, 1, &[later, earlier].map(invoked))?;
    let ratios = later.iter().zip(&earlier).map(|(later, earlier)| later / earlier).collect();
    figures.push(
        Figure::new("invocation of a component for contract 1.1", Unit::Seconds, median(later))
            .against_with_ratio("for 1.0", median(earlier), median(ratios))
            .goal(Goal::RatioAtMost(GOAL_OF_VERSIONS)),
    );
    Ok(figures)
}

/// The thin operation of a frozen component. In a later version of the contract it would be a row,
/// which is not invoked.
pub(crate) fn forwarding(module: &Arc<Module>, immediate: bool) -> Invoked {
    Invoked { module: Arc::clone(module), operation: "forward", input: r#"{"id":"17"}"#, immediate }
}

/// The frozen components of [`VERSIONS`], after the gateway has compiled them.
pub(crate) fn compiled_by(gateway: &Gateway) -> Outcome<[Vec<u8>; 2]> {
    let mut components = [Vec::new(), Vec::new()];
    for (component, version) in components.iter_mut().zip(VERSIONS) {
        *component = fs::read(module::root().join("wit/frozen").join(version).join("rust.wasm"))?;
        gateway.home().put("frozen", component);
        gateway.wait_for_version("frozen", version);
    }
    Ok(components)
}

/// Lets two operations take turns, each for some rounds. Returns the seconds of an invocation, a
/// value for each round.
fn take_turns(runtime: &Runtime, settings: &Settings, tasks: usize, invoked: &[Invoked; 2]) -> Outcome<[Vec<f64>; 2]> {
    let time = settings.time(0.4, 0.2);
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..settings.pick(5, 3) {
        for (invoked, seconds) in invoked.iter().zip(&mut seconds) {
            seconds.push(round(runtime, invoked, tasks, time)?);
        }
    }
    Ok(seconds)
}

/// Time of a core that one invocation takes, in seconds, when this many tasks invoke without a
/// pause.
pub(crate) fn round(runtime: &Runtime, invoked: &Invoked, tasks: usize, time: Duration) -> Outcome<f64> {
    let started = Instant::now();
    let count = runtime.block_on(async {
        let mut under_way = JoinSet::new();
        for _ in 0..tasks {
            under_way.spawn(invoke_for(invoked.clone(), started, time));
        }
        let mut count = 0;
        while let Some(done) = under_way.join_next().await {
            count += done??;
        }
        Outcome::Ok(count)
    })?;
    Ok(started.elapsed().as_secs_f64() * tasks as f64 / f64::from(count))
}

async fn invoke_for(invoked: Invoked, started: Instant, time: Duration) -> Outcome<u32> {
    let mut count = 0;
    while started.elapsed() < time {
        for _ in 0..BATCH {
            invoke(&invoked).await?;
            count += 1;
        }
    }
    Ok(count)
}

/// Invokes an operation once.
pub(crate) async fn invoke(invoked: &Invoked) -> Outcome<()> {
    let limits = Limits {
        memory_bytes: 32 << 20,
        cpu: Duration::from_secs(1),
        output_bytes: 32 << 20,
        response_bytes: 32 << 20,
        download_bytes: 50 << 20,
        requests: 256,
    };
    let deadline = (Instant::now() + Duration::from_secs(30)).into();
    let Invoked { module, operation, input, immediate } = invoked;
    let make_call = |_| Call::for_description(deadline, limits.cpu);
    match module.invoke(make_call, limits, operation, input, *immediate).await? {
        Ok(Answer::Forward(_) | Answer::Reply(_)) => Ok(()),
        Ok(Answer::File(_)) => Err("the operation's answer is a file".into()),
        Err(fault) => Err(format!("the operation answered {fault:?}").into()),
    }
}
