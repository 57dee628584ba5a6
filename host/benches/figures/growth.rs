//! The thin operation in gateways with more and with fewer connectors.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use support::{Gateway, module};
use tokio::runtime::Runtime;

use crate::contest::{Contestant, take_turns};
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Unit};
use crate::throughput::CONNECTIONS;
use crate::{gateway, machine, upstream};

/// Number of connectors in the largest gateway.
const MANY: usize = 200;

/// Time after which the modules that are not live count as lost.
const MAX_WAIT: Duration = Duration::from_secs(180);

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let upstream = upstream::start()?;
    let usual = gateway::start(upstream.address)?;
    let one = gateway::start_alone(upstream.address, |setup| setup)?;
    let many = gateway::start(upstream.address)?;
    add_strangers(&many)?;
    let memory = |gateway: &Gateway| machine::resident_bytes(gateway.process_id());
    let idle = [memory(&usual)?, memory(&one)?, memory(&many)?];
    runtime.block_on(async {
        let contestant = async |gateway, name| {
            Contestant::new(gateway::thin(gateway, "17")?.called(name), CONNECTIONS, gateway.process_id()).await
        };
        let mut contestants = vec![
            contestant(&usual, "plain").await?,
            contestant(&one, "in a gateway with 1 connector").await?,
            contestant(&many, "in a gateway with 200 connectors").await?,
        ];
        take_turns(&mut contestants, settings).await?;
        let (plain, others) = contestants.split_first().ok_or("nothing was measured")?;
        let mut figures: Vec<Figure> = others
            .iter()
            .flat_map(|other| {
                let name = |what: &str| format!("call {}: {what}", other.name);
                [
                    other.against(plain, name("requests"), Unit::PerSecond, |round| round.per_second),
                    other.against(plain, name("99% latency"), Unit::Seconds, |round| round.p99),
                ]
            })
            .collect();
        let [usual, one, many] = idle;
        for (name, bytes) in [("1 connector", one), ("200 connectors", many)] {
            figures.push(Figure::new(format!("ready, {name}: memory"), Unit::Bytes, bytes).against("plain", usual));
        }
        Ok(figures)
    })
}

/// Adds connectors, each of another module, until there are [`MANY`].
fn add_strangers(gateway: &Gateway) -> Outcome<()> {
    for number in gateway::connectors()..MANY {
        let identifier = format!("foreign_{number}");
        gateway.home().put(&identifier, &module::account(&json!({"identifier": identifier, "auth": "none"})));
    }
    let began = Instant::now();
    loop {
        let list = gateway.client().get("/connectors").ok();
        let live = list["connectors"].as_array().map_or(0, Vec::len);
        if live == MANY {
            return Ok(());
        }
        if began.elapsed() > MAX_WAIT {
            return Err(format!("{live} of {MANY} connectors are live; refused: {}", list["refused"]).into());
        }
        thread::sleep(Duration::from_millis(200));
    }
}
