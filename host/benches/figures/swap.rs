//! A connector is swapped for another version of itself, over and over, while it is called without a pause.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::client::Connection;
use crate::gateway::{self, Gateway, Home};
use crate::load::{Load, Round};
use crate::table::{Figure, Goal, Unit, median};
use crate::{Outcome, Settings, role};

const SWAPS: usize = 100;

/// Calls at once.
const CONNECTIONS: usize = 16;

/// Between two swaps, so that each version serves for a while.
const PAUSE: Duration = Duration::from_millis(20);

/// Swaps that are not done after this long are given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Measures the section.
pub(crate) async fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    let (_upstream, upstream) = role::start_upstream()?;
    let home = Home::new(upstream)?;
    let gateway = home.start().await?;
    let mut load = Load::open(gateway.thin("17"), CONNECTIONS).await?;
    let module = gateway::guest()?;
    let versions = [with_note(&module, b"note"), with_note(&module, b"edit")];
    // Compiled once each, before anything is measured.
    swap(&gateway, &versions, versions.len(), Duration::ZERO).await?;

    let undisturbed = load.run(settings.time(2.0, 1.0)).await?;
    undisturbed.check("before the swaps")?;
    let done = Arc::new(AtomicBool::new(false));
    let began = Instant::now();
    let goes_on = {
        let done = Arc::clone(&done);
        move || !done.load(Ordering::Relaxed) && began.elapsed() < PATIENCE
    };
    let swapping = async {
        let swaps = swap(&gateway, &versions, SWAPS, PAUSE).await;
        done.store(true, Ordering::Relaxed);
        swaps
    };
    let (swaps, disturbed) = tokio::join!(swapping, load.run_while(goes_on));
    let (swaps, disturbed) = (swaps?, disturbed?);
    disturbed.check("during the swaps")?;
    if swaps.len() < SWAPS {
        return Err(format!("only {} swaps were done in {} s", swaps.len(), PATIENCE.as_secs()).into());
    }
    let latency = |what: &str, value: fn(&Round) -> f64| {
        Figure::new(format!("{SWAPS} swaps: {what}"), Unit::Seconds, value(&disturbed))
            .beside("without swaps", value(&undisturbed))
    };
    Ok(vec![
        Figure::new(
            format!("{SWAPS} swaps under load: failed of {} calls", disturbed.succeeded),
            Unit::Count,
            disturbed.failures.len() as f64,
        )
        .goal(Goal::AtMost(0.0)),
        Figure::new(format!("{SWAPS} swaps: upload to live"), Unit::Seconds, median(swaps)),
        latency("99% latency of calls", |round| round.percentile(0.99)),
        latency("worst latency of calls", |round| round.percentile(1.0)),
    ])
}

/// Uploads the versions in turn, as often as told. Gives back how long each took, in seconds.
async fn swap(gateway: &Gateway, versions: &[Bytes; 2], times: usize, pause: Duration) -> Outcome<Vec<f64>> {
    let mut connection = Connection::open(gateway.address).await?;
    let began = Instant::now();
    let mut swaps = Vec::with_capacity(times);
    for version in versions.iter().cycle().take(times) {
        if began.elapsed() > PATIENCE {
            break;
        }
        let sent = Instant::now();
        let record = connection.post("/admin/connectors", version.clone()).await?;
        swaps.push(sent.elapsed().as_secs_f64());
        let record: serde_json::Value = serde_json::from_slice(&record)?;
        if record["sha256"] != gateway::digest(version) {
            return Err(format!("another version is live than the one uploaded: {record}").into());
        }
        tokio::time::sleep(pause).await;
    }
    Ok(swaps)
}

/// The same component with other bytes: a custom section at its end, named by four letters and empty.
fn with_note(module: &[u8], name: &[u8; 4]) -> Bytes {
    let mut module = module.to_vec();
    // Its id, the length of what follows, and the name with its length before it.
    module.extend([0, 5, 4]);
    module.extend(name);
    module.into()
}
