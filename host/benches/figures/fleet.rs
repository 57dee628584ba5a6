//! The load of gateways on the PostgreSQL database that they share: at rest, with calls far from
//! their rate limit, with a rate limit that all of them use up, and for a swap. And the time of an
//! exchange of rate limits among many gateways, which are made one after the other.

use std::time::{Duration, Instant};

use serde_json::json;
use support::{Database, Gateway, Setup, Store, module};

use ::store::{Budget, ShareReport};

use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::upstream;

/// The gateways that share the database.
const GATEWAYS: usize = 3;

/// Transactions in a second that a gateway may make without calls.
const AT_REST: f64 = 10.0;

/// Transactions in a second that a gateway may make in addition while a rate limit is used up.
const NEAR_LIMITS: f64 = 2.5;

/// Transactions of a call far from its limits.
const OF_CALL: f64 = 0.01;

/// Seconds until a swap is live on all gateways.
const SWAP: f64 = 2.0;

/// Rate limits that each gateway has units of in the measurement of exchanges.
const BUDGETS: usize = 20;

/// Gateways that share them. The page about scaling computes with the times of these numbers.
const SHARING: [usize; 3] = [3, 30, 300];

/// Exchanges that are measured.
const EXCHANGES: usize = 51;

/// Time after which PostgreSQL has counted everything that ended before. A connection that becomes
/// idle may tell its last transactions ten seconds later.
const COUNTED: Duration = Duration::from_secs(11);

/// Measures the section. Empty without the PostgreSQL server of `tests/postgres.sh`.
pub(crate) fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    if std::env::var_os("TEST_POSTGRES_URL").is_none() {
        return Ok(Vec::new());
    }
    let (upstream, store) = (upstream::start()?, Store::postgres());
    let url = format!("http://{}", upstream.address);
    let database = store.database();
    let limited = json!({"identifier": "limited", "auth": "none", "rate_limit": 60});
    let setup = || {
        let setup = Setup::new().on(&store).every_shipped().guest("bench").upstream("bench", "api", &url);
        setup.module("limited", module::account(&limited)).upstream("limited", "api", &url)
    };
    let first = setup().start();
    let key = format!("master_key_file = {:?}", first.home().data().join("master.key"));
    let mut first = Some(first);
    let gateways: [Gateway; GATEWAYS] =
        std::array::from_fn(|_| first.take().unwrap_or_else(|| setup().general(&key).start()));

    let time = settings.time(30.0, 5.0);
    let (rest, _) = rate(database, || std::thread::sleep(time))?;
    let calls = settings.pick(3_000, 300);
    let (busy, seconds) = rate(database, || {
        let client = gateways[0].client();
        (0..calls).for_each(|_| drop(client.call("bench/get_limited_item", json!({"item_id": "17"})).ok()));
    })?;
    let of_call = (busy - rest).max(0.0) * seconds / f64::from(calls);
    let (near, _) = rate(database, || {
        let end = Instant::now() + time;
        while Instant::now() < end {
            gateways.iter().for_each(|gateway| drop(gateway.call("limited/composed", json!({"path": "/items/17"}))));
        }
    })?;
    let swap = swap(&gateways)?;
    let each = |rate: f64| rate / GATEWAYS as f64;
    let mut figures = vec![
        Figure::new("database transactions of a gateway at rest, in a second", Unit::Count, each(rest))
            .goal(Goal::AtMost(AT_REST)),
        Figure::new("database transactions of a call far from its limits", Unit::Count, of_call)
            .goal(Goal::AtMost(OF_CALL)),
        Figure::new(
            "further database transactions of a gateway while a rate limit is used up, in a second",
            Unit::Count,
            each(near - rest).max(0.0),
        )
        .goal(Goal::AtMost(NEAR_LIMITS)),
        Figure::new(format!("swap on {GATEWAYS} gateways: live everywhere after the first one"), Unit::Seconds, swap)
            .goal(Goal::AtMost(SWAP)),
    ];
    for sharing in SHARING {
        let name = format!("exchange of {BUDGETS} rate limits among {sharing} gateways: time");
        figures.push(Figure::new(name, Unit::Seconds, exchange(sharing)?));
    }
    Ok(figures)
}

/// The median time of an exchange of a gateway whose rate limits have units of so many gateways.
fn exchange(sharing: usize) -> Outcome<f64> {
    let database = Store::postgres();
    let url = Some(database.database().url().into());
    let settings = ::store::Settings { data_dir: std::env::temp_dir(), database_url: url };
    let reports = |units: u32, turn: usize| -> Vec<ShareReport> {
        let report = |number: usize| {
            // Its calls differ from one exchange to the next.
            let needed = 20 + ((number + turn) % 7) as u32;
            ShareReport {
                budget: Budget {
                    connector: format!("connector-{number}"),
                    quota: "calls".to_owned(),
                    requests: 10_000,
                    period: Duration::from_secs(60),
                },
                units,
                used: needed.min(units),
                needed,
                wanted: needed,
                tenants: Vec::new(),
                waited: None,
                is_known: false,
                free_in: None,
                gone_after: Duration::from_secs(80),
            }
        };
        (0..BUDGETS).map(report).collect()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = ::store::Store::connect(&settings).await?;
        for gateway in 0..sharing {
            store.exchange_budgets(&format!("gateway-{gateway}"), 1, reports(0, 0), Vec::new()).await?;
        }
        let mut times = Vec::with_capacity(EXCHANGES);
        for turn in 0..EXCHANGES {
            let began = Instant::now();
            store.exchange_budgets("gateway-1", 2 + turn as i64, reports(20, turn), Vec::new()).await?;
            times.push(began.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        Ok(times[EXCHANGES / 2])
    })
}

/// Transactions in a second while `work` runs, and the seconds that it took.
pub(crate) fn rate(database: &Database, work: impl FnOnce()) -> Outcome<(f64, f64)> {
    std::thread::sleep(COUNTED);
    let (before, began) = (transactions(database)?, Instant::now());
    work();
    std::thread::sleep(COUNTED);
    let seconds = began.elapsed().as_secs_f64();
    Ok(((transactions(database)? - before) / seconds, seconds))
}

fn transactions(database: &Database) -> Outcome<f64> {
    let counted =
        database.query("select xact_commit + xact_rollback from pg_stat_database where datname = current_database()");
    Ok(counted.parse()?)
}

/// Adds a module to the first gateway, and returns the seconds from its answer until all serve it.
fn swap(gateways: &[Gateway]) -> Outcome<f64> {
    let bytes = module::with_note(&module::guest("bench"), "another version");
    let client = gateways[0].client();
    let added = client.request("POST", "/admin/connectors").header("content-type", "application/wasm").body(bytes);
    let digest = added.send().ok()["digest"].clone();
    let (began, mut waiting) = (Instant::now(), gateways.iter().collect::<Vec<_>>());
    while !waiting.is_empty() {
        waiting.retain(|gateway| gateway.connector("bench").is_none_or(|connector| connector["sha256"] != digest));
        if began.elapsed() > Duration::from_secs(60) {
            return Err("a gateway does not serve the new version".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(began.elapsed().as_secs_f64())
}
