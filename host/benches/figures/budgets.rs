//! The thin operation with a rate limit that gateways share on PostgreSQL, beside the same on
//! SQLite, where one gateway has the whole limit.

use support::Store;
use tokio::runtime::Runtime;

use crate::contest::{Started, compare_processes};
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
    let upstream = upstream::start()?;
    let start = |name, store: Store| {
        let gateway = gateway::start_alone(upstream.address, |setup| setup.on(&store))?;
        let target = gateway::limited(&gateway, "17")?.called(name);
        Outcome::Ok(Started { gateway, target, _store: store })
    };
    let contestants = compare_processes(runtime, settings, CONNECTIONS, || {
        let alone = start("with its own rate limit", Store::Sqlite)?;
        Ok([alone, start("with a shared rate limit", Store::postgres())?])
    })?;
    let [alone, sharing] = contestants.as_slice() else { return Err("nothing was measured".into()) };
    let name = format!("call {}: requests", sharing.name);
    let figure = sharing.against(alone, name, Unit::PerSecond, |round| round.per_second);
    Ok(vec![figure.goal(Goal::Ratio(GOAL))])
}
