//! The share of each stage in a thin operation, from the gateway's own metrics.

use support::Gateway;
use tokio::runtime::Runtime;

use crate::load::Load;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Unit};
use crate::{gateway, upstream};

/// The stages that the metrics know, in the order of a call. They leave out the time between them,
/// and the writing of the answer.
const STAGES: [&str; 7] = ["validate", "account", "admit", "credential", "invoke", "forward", "shape"];

/// Measures the section. Only one call is in progress at a time, so that no stage waits for another
/// call.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let upstream = upstream::start()?;
    let gateway = gateway::start(upstream.address)?;
    let target = gateway::thin(&gateway, "17")?;
    let mut load = runtime.block_on(Load::open(target, 1))?;
    runtime.block_on(load.run(settings.time(1.0, 0.5)))?.check("warm-up")?;
    let before = seconds(&gateway);
    let round = runtime.block_on(load.run(settings.time(4.0, 1.0)))?;
    round.check("one connection")?;
    let calls = round.succeeded as f64;
    let spent: Vec<f64> =
        seconds(&gateway).iter().zip(&before).map(|(after, before)| (after - before) / calls).collect();
    let whole = round.latencies.iter().sum::<f64>() / calls;
    let figure = |name: &str, seconds| {
        Figure::new(format!("thin operation, stage: {name}"), Unit::Seconds, seconds)
            .against("whole call, as its caller sees it", whole)
    };
    let mut figures: Vec<Figure> = STAGES.iter().zip(&spent).map(|(stage, seconds)| figure(stage, *seconds)).collect();
    figures.push(figure("connection, head, body, key and answer", whole - spent.iter().sum::<f64>()));
    Ok(figures)
}

/// Seconds that all calls so far have spent in each stage.
fn seconds(gateway: &Gateway) -> [f64; 7] {
    STAGES.map(|stage| gateway.metric(&format!("gateway_stage_seconds_sum{{connector=\"bench\",stage=\"{stage}\"}}")))
}
