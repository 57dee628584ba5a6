//! A connector is swapped many times for another version of itself while it is called without a
//! pause.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use support::module;
use tokio::runtime::Runtime;

use crate::connection::{Connection, Protocol};
use crate::load::{Load, Round, Target};
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit, median};
use crate::{gateway, upstream};

const SWAPS: usize = 100;

/// Number of connections. Each makes one call after the other.
const CONNECTIONS: usize = 16;

/// Time between two swaps, in which a version serves.
const PAUSE: Duration = Duration::from_millis(20);

/// Time after which no further swap is begun.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The goal for the 99% latency during swaps, compared with the latency without swaps. A tenth is
/// the noise of a run.
const P99_GOAL: f64 = 1.1;

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let upstream = upstream::start()?;
    let gateway = gateway::start(upstream.address)?;
    let target = gateway::thin(&gateway, "17")?;
    runtime.block_on(measure_at(target, settings))
}

async fn measure_at(target: Target, settings: &Settings) -> Outcome<Vec<Figure>> {
    let address = target.address;
    let mut load = Load::open(target, CONNECTIONS).await?;
    let module = gateway::guest();
    let versions = ["first", "second"].map(|note| Bytes::from(module::with_note(&module, note)));
    // Each version is compiled once before the measurement.
    swap(address, &versions, versions.len(), Duration::ZERO).await?;

    let undisturbed = load.run(settings.time(2.0, 1.0)).await?;
    undisturbed.check("before the swaps")?;
    let done = Arc::new(AtomicBool::new(false));
    let began = Instant::now();
    let proceed = {
        let done = Arc::clone(&done);
        move || !done.load(Ordering::Relaxed) && began.elapsed() < MAX_WAIT
    };
    let swapping = async {
        let swaps = swap(address, &versions, SWAPS, PAUSE).await;
        done.store(true, Ordering::Relaxed);
        swaps
    };
    let (swaps, disturbed) = tokio::join!(swapping, load.run_while(proceed));
    let (swaps, disturbed) = (swaps?, disturbed?);
    disturbed.check("during the swaps")?;
    if swaps.len() < SWAPS {
        return Err(format!("only {} swaps were done in {} s", swaps.len(), MAX_WAIT.as_secs()).into());
    }
    let latency = |what: &str, value: fn(&Round) -> f64| {
        Figure::new(format!("{SWAPS} swaps: {what}"), Unit::Seconds, value(&disturbed))
            .against("without swaps", value(&undisturbed))
    };
    Ok(vec![
        Figure::new(
            format!("{SWAPS} swaps under load: failed of {} calls", disturbed.succeeded),
            Unit::Count,
            disturbed.failures.len() as f64,
        )
        .goal(Goal::AtMost(0.0)),
        Figure::new(format!("{SWAPS} swaps: upload to live"), Unit::Seconds, median(swaps)),
        latency("99% latency of calls", |round| round.percentile(0.99)).goal(Goal::RatioAtMost(P99_GOAL)),
        latency("worst latency of calls", |round| round.percentile(1.0)),
    ])
}

/// Uploads the versions in turn, `times` times. Returns the duration of each swap in seconds.
async fn swap(address: SocketAddr, versions: &[Bytes; 2], times: usize, pause: Duration) -> Outcome<Vec<f64>> {
    let mut connection = Connection::open(address, Protocol::Http1).await?;
    let began = Instant::now();
    let mut swaps = Vec::with_capacity(times);
    for version in versions.iter().cycle().take(times) {
        if began.elapsed() > MAX_WAIT {
            break;
        }
        let sent = Instant::now();
        let record = connection.post("/admin/connectors", version.clone()).await?;
        swaps.push(sent.elapsed().as_secs_f64());
        let record: serde_json::Value = serde_json::from_slice(&record)?;
        if record["sha256"] != module::digest(version) {
            return Err(format!("another version is live than the one uploaded: {record}").into());
        }
        tokio::time::sleep(pause).await;
    }
    Ok(swaps)
}
