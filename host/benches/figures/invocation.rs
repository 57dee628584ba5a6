//! One invocation of the thin operation: a new instance, its answer, and its end. The library is
//! called directly, and the request of the outcome is not sent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use connector_gateway::Config;
use sandbox::{Call, Limits, Module, Outcome as Answer, Sandbox};
use store::Store;
use store::vault::Vault;
use support::module::digest;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit, median};
use crate::{gateway, machine};

const GOAL: f64 = 5e-6;

/// The goal while all cores invoke at the same time.
const GOAL_OF_ALL: f64 = 6e-6;

/// Number of invocations between two looks at the clock.
const BATCH: u32 = 100;

const INPUT: &str = r#"{"item_id":"17","view":"full"}"#;

/// Measures the section.
pub(crate) fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    // The gateway is started only because it compiles the module into its data directory.
    let mut gateway = gateway::start(gateway::NOWHERE)?;
    gateway.stop();
    let config = Config { data_dir: gateway.home().data(), ..Config::default() };
    let key = runtime.block_on(async {
        let store = Store::connect(&config.store()).await?;
        Outcome::Ok(Vault::open(&config.master_key_path(), &store).await?.derive("compiled modules")?)
    })?;
    let sandbox = Sandbox::start(config.sandbox_setup(), &key)?;
    let bytes = gateway::guest();
    let loaded = runtime.block_on(sandbox.load(&bytes, &digest(&bytes)))?;
    if loaded.compiled.took.is_some() {
        return Err("the gateway's data directory has no compiled module".into());
    }
    let module = Arc::new(loaded.module);

    let rounds = settings.pick(5, 3);
    let time = settings.time(0.4, 0.2);
    let mut figures = Vec::new();
    let all = machine::cores();
    for (what, tasks, goal) in
        [("sequential".to_owned(), 1, GOAL), (format!("on {all} cores in parallel"), all, GOAL_OF_ALL)]
    {
        let mut seconds = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (immediate, seconds) in [true, false].into_iter().zip(&mut seconds) {
                seconds.push(round(&runtime, &module, tasks, immediate, time)?);
            }
        }
        let [at_once, on_fiber] = seconds.map(median);
        figures.push(
            Figure::new(format!("invocation, {what}"), Unit::Seconds, at_once)
                .against("on a fiber", on_fiber)
                .goal(Goal::AtMost(goal)),
        );
    }
    Ok(figures)
}

/// Time of a core that one invocation takes, in seconds, when this many tasks invoke without a
/// pause.
fn round(runtime: &Runtime, module: &Arc<Module>, tasks: usize, immediate: bool, time: Duration) -> Outcome<f64> {
    let started = Instant::now();
    let count = runtime.block_on(async {
        let mut under_way = JoinSet::new();
        for _ in 0..tasks {
            under_way.spawn(invoke_for(Arc::clone(module), immediate, started, time));
        }
        let mut count = 0;
        while let Some(done) = under_way.join_next().await {
            count += done??;
        }
        Outcome::Ok(count)
    })?;
    Ok(started.elapsed().as_secs_f64() * tasks as f64 / f64::from(count))
}

async fn invoke_for(module: Arc<Module>, immediate: bool, started: Instant, time: Duration) -> Outcome<u32> {
    let limits = Limits {
        memory_bytes: 32 << 20,
        cpu: Duration::from_secs(1),
        output_bytes: 32 << 20,
        response_bytes: 32 << 20,
        download_bytes: 50 << 20,
        requests: 256,
    };
    let deadline = (started + time + Duration::from_secs(30)).into();
    let mut count = 0;
    while started.elapsed() < time {
        for _ in 0..BATCH {
            let make_call = |_| Call::for_description(deadline, limits.cpu);
            match module.invoke(make_call, limits, "get_item", INPUT, immediate).await? {
                Ok(Answer::Forward(_)) => count += 1,
                Ok(_) => return Err("the thin operation's answer is not a request".into()),
                Err(fault) => return Err(format!("the thin operation answered {fault:?}").into()),
            }
        }
    }
    Ok(count)
}
