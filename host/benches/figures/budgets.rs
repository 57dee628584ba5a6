//! The thin operation with a rate limit that gateways share on PostgreSQL, beside the same on
//! SQLite, where one gateway has the whole limit.

use support::Store;
use tokio::runtime::Runtime;

use crate::contest::{Contestant, take_turns};
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::throughput::CONNECTIONS;
use crate::{gateway, upstream};

/// The share of the requests per second on SQLite that a gateway on PostgreSQL must reach.
const GOAL: f64 = 0.98;

/// Measures the section. Empty without the PostgreSQL server of `tests/postgres.sh`.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    if std::env::var_os("TEST_POSTGRES_URL").is_none() {
        return Ok(Vec::new());
    }
    let (upstream, store) = (upstream::start()?, Store::postgres());
    let alone = gateway::start_alone(upstream.address, |setup| setup)?;
    let sharing = gateway::start_alone(upstream.address, |setup| setup.on(&store))?;
    runtime.block_on(async {
        let mut contestants = Vec::new();
        for (name, gateway) in [("with its own rate limit", &alone), ("with a shared rate limit", &sharing)] {
            let target = gateway::limited(gateway, "17")?.called(name);
            contestants.push(Contestant::new(target, CONNECTIONS, gateway.process_id()).await?);
        }
        take_turns(&mut contestants, settings).await?;
        let [alone, sharing] = contestants.as_slice() else { return Err("nothing was measured".into()) };
        let name = format!("call {}: requests", sharing.name);
        let figure = sharing.against(alone, name, Unit::PerSecond, |round| round.per_second);
        Ok(vec![figure.goal(Goal::Ratio(GOAL))])
    })
}
