//! `make dist` builds the gateway twice. The first one counts how often each part of its code runs.
//! This calls it in the ways of the section [`variants`](crate::variants), and for large answers
//! that it shapes or compresses. The compiler optimises the second one by the counts, which the
//! first one writes when it stops.

use std::time::Duration;

use tokio::runtime::Runtime;

use crate::gateway;
use crate::load::{Load, Target};
use crate::settings::Outcome;
use crate::throughput::CONNECTIONS;
use crate::variants::Scene;

/// The argument that starts the training.
pub(crate) const NAME: &str = "train";

/// Time for each kind of call.
const TIME: Duration = Duration::from_secs(3);

/// Large answers as they are, and shaped.
const LARGE: [&str; 2] = [
    r#"{"item_id":"events","view":"full"}"#,
    r#"{"item_id":"events","view":"full","response_fields":["items.id","items.start.dateTime","items.attendees.email","timeZone"],
        "response_filters":[{"type":"string_list","root":"items","field_name":"status","values":["confirmed"]}]}"#,
];

/// Calls the gateway, and stops it.
pub(crate) fn run(runtime: &Runtime) -> Outcome<()> {
    let scene = Scene::start()?;
    let address = gateway::address(scene.gateway())?;
    let large = LARGE.map(|body| {
        Target::new("large answers", address, "/connectors/bench/get_item", body.to_owned()).with_any_answer()
    });
    let compressed = large.clone().map(|target| target.compressed());
    let calls = scene.calls()?.into_iter().map(|(target, _)| target);
    runtime.block_on(async {
        for target in calls.chain(large).chain(compressed) {
            let name = target.name;
            Load::open(target, CONNECTIONS).await?.run(TIME).await?.check(name)?;
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    })?;
    scene.stop()
}
