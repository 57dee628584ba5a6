//! The thin operation in gateways with more and with fewer connectors.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use support::{Gateway, module};
use tokio::runtime::Runtime;

use crate::contest::{Contestant, take_turns};
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::throughput::CONNECTIONS;
use crate::{gateway, machine, upstream};

/// Number of connectors in a large gateway.
const MANY: usize = 200;

/// Bytes of memory that a gateway with [`MANY`] connectors may have above one with one connector.
const MEMORY_OF_MANY: f64 = 80e6;

/// Number of connectors in the largest gateway.
const THOUSANDS: usize = 2_000;

/// Seconds in which it starts from a warm cache.
const START_OF_THOUSANDS: f64 = 10.0;

/// Time after which the modules that are not live count as lost.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let upstream = upstream::start()?;
    let usual = gateway::start(upstream.address)?;
    let one = gateway::start_alone(upstream.address, |setup| setup)?;
    let many = gateway::start(upstream.address)?;
    add_strangers(&many, MANY)?;
    let thousands = gateway::start(upstream.address)?;
    let count = settings.pick(THOUSANDS, MANY);
    add_strangers(&thousands, count)?;
    let thousands = thousands.start_again();
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
            contestant(&thousands, "in a gateway with 2000 connectors").await?,
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
        let above = Figure::new("ready, 200 connectors: memory above one", Unit::Bytes, many - one);
        figures.push(above.goal(Goal::AtMost(MEMORY_OF_MANY)));
        let started = thousands.ready_after().as_secs_f64();
        let name = format!("start-up, {count} connectors, warm cache");
        figures.push(Figure::new(name, Unit::Seconds, started).goal(Goal::AtMost(START_OF_THOUSANDS)));
        Ok(figures)
    })
}

/// Adds connectors, each of another module, until there are so many.
fn add_strangers(gateway: &Gateway, count: usize) -> Outcome<()> {
    for number in gateway::connectors()..count {
        let identifier = format!("foreign_{number}");
        gateway.home().put(&identifier, &module::account(&json!({"identifier": identifier, "auth": "none"})));
    }
    let began = Instant::now();
    loop {
        let list = gateway.client().get("/connectors").ok();
        let live = list["connectors"].as_array().map_or(0, Vec::len);
        if live == count {
            return Ok(());
        }
        if began.elapsed() > MAX_WAIT {
            return Err(format!("{live} of {count} connectors are live; refused: {}", list["refused"]).into());
        }
        thread::sleep(Duration::from_millis(200));
    }
}
