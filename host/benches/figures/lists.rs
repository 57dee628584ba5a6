//! The operator's lists with a million rows, on SQLite and, if `tests/postgres.sh` started a
//! server, on PostgreSQL.

use std::time::Instant;

use support::{Client, Setup, Store};

use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};

/// The longest time for a page, in seconds.
const GOAL: f64 = 0.05;

/// Queries of the lists. Each has a filter that an operator uses.
const QUERIES: [&str; 16] = [
    "integrations?limit=200",
    "integrations?tenant=t7&limit=200",
    "integrations?user_identifier=user500000",
    "integrations?status=expired&limit=200",
    "integrations?overdue=true&limit=200",
    "integrations?connector=none",
    "audit?limit=200",
    "audit?tenant=t7&action=key.created&limit=200",
    "calls?limit=200",
    "calls?tenant=t7&problem=upstream-failed&limit=200",
    "calls?owner=operator&limit=200",
    "calls?connector=mail&operation=send&limit=200",
    "webhooks?status=failed&limit=200",
    "webhooks?tenant=t7&limit=200",
    "jobs?status=failed&limit=200",
    "tenants?limit=200",
];

/// Measures the section.
pub(crate) fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    let rows = settings.pick(1_000_000, 20_000);
    let mut figures = of_store(Store::Sqlite, "SQLite", rows)?;
    if std::env::var_os("TEST_POSTGRES_URL").is_some() {
        figures.extend(of_store(Store::postgres(), "PostgreSQL", rows)?);
    }
    Ok(figures)
}

fn of_store(store: Store, name: &str, rows: u32) -> Outcome<Vec<Figure>> {
    let gateway = Setup::new().on(&store).start();
    fill(&store, &gateway.home().data().join("gateway.db"), rows)?;
    let client = gateway.client();
    let mut worst = (0.0, "");
    for query in QUERIES {
        let time = page_time(&client, query)?;
        if time > GOAL {
            eprintln!("  {name}, {query}: {:.1} ms", time * 1000.0);
        }
        if time > worst.0 {
            worst = (time, query);
        }
    }
    let (time, query) = worst;
    Ok(vec![
        Figure::new(format!("operator's lists, {rows} rows, {name}: slowest page ({query})"), Unit::Seconds, time)
            .goal(Goal::AtMost(GOAL)),
    ])
}

/// The median time of a page, also of the second one.
fn page_time(client: &Client, query: &str) -> Outcome<f64> {
    let mut times = Vec::new();
    let mut path = format!("/admin/{query}");
    for _ in 0..11 {
        let began = Instant::now();
        let page = client.get(&path).ok();
        times.push(began.elapsed().as_secs_f64());
        if let Some(cursor) = page["next_cursor"].as_str() {
            path = format!("/admin/{query}&cursor={cursor}");
        }
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().ok_or_else(|| "nothing was measured".into())
}

/// Adds accounts of 100 tenants, a few of them expired or overdue, and as many entries of the
/// audit, records of calls, webhooks and jobs.
fn fill(store: &Store, file: &std::path::Path, rows: u32) -> Outcome<()> {
    let numbers = numbers(rows);
    let audit = format!(
        "{numbers} INSERT INTO audit (at, actor, action, target, tenant, request_id, detail)
         SELECT 4000000000000 + n, 'key_' || (n % 50), CASE WHEN n % 3 = 0 THEN 'key.created' ELSE 'key.revoked' END,
             'x' || n, 't' || (n % 100), '', ''
         FROM numbers"
    );
    let webhooks = format!(
        "{numbers} INSERT INTO webhook_deliveries (webhook_id, tenant, kind, receiver, size, status, attempts, next_attempt_at,
             created_at, expires_at)
         SELECT 'msg_' || n, 't' || (n % 100), 'event', 'https://h' || (n % 50) || '.example', 100,
             CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'delivered' END, '[]', 0, 1000000000000 + n, 4000000000000
         FROM numbers"
    );
    let jobs = format!(
        "{numbers} INSERT INTO jobs (id, tenant, subject, connector, operation, changes_data, status, attempts, fence, created_at,
             finished_at, expires_at, due_at)
         SELECT 'job_' || (100000000 + n), 't' || (n % 100), '', 'mail', 'collect', n % 2 = 0,
             CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'succeeded' END, 1, 2, n, n, 4000000000000, 0
         FROM numbers"
    );
    execute(store, file, &[integrations(rows), audit, calls(rows), webhooks, jobs])
}

/// The beginning of a statement that makes rows from numbers.
pub(crate) fn numbers(rows: u32) -> String {
    format!("WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {rows})")
}

/// The statement that adds accounts.
pub(crate) fn integrations(rows: u32) -> String {
    let numbers = numbers(rows);
    format!(
        "{numbers} INSERT INTO integrations (id, tenant, subject, connector, user_identifier, auth_type, created_at, updated_at,
             status, scopes, expires_at, next_refresh_at)
         SELECT 'int_' || n, 't' || (n % 100), 's' || (n % 1000), 'mail', 'user' || n, 'oauth2', n, n,
             CASE WHEN n % 1000 = 0 THEN 'expired' ELSE 'active' END, '[]', 4000000000000,
             CASE WHEN n % 1000 = 1 THEN 1 ELSE 4000000000000 END
         FROM numbers"
    )
}

/// The statement that adds records of calls.
pub(crate) fn calls(rows: u32) -> String {
    let numbers = numbers(rows);
    format!(
        "{numbers} INSERT INTO calls (request_id, at, gateway, tenant, subject, connector, operation, version, status, problem, owner,
             duration_us, stages, upstream)
         SELECT 'r' || n, 4000000000000 + n, 'one', 't' || (n % 100), 's' || (n % 1000), 'mail',
             CASE WHEN n % 10 = 0 THEN 'send' ELSE 'list' END, '1.0.0', CASE WHEN n % 10 = 0 THEN 502 ELSE 422 END,
             CASE WHEN n % 10 = 0 THEN 'upstream-failed' ELSE 'validation' END,
             CASE WHEN n % 10 = 0 THEN 'provider' WHEN n % 1000 = 1 THEN 'operator' ELSE 'caller' END, 1000, '{{}}', '[]'
         FROM numbers"
    )
}

/// Executes statements in the database of a gateway.
pub(crate) fn execute(store: &Store, file: &std::path::Path, statements: &[String]) -> Outcome<()> {
    match store {
        Store::Sqlite => {
            let connection = rusqlite::Connection::open(file)?;
            connection.execute_batch(&format!("PRAGMA busy_timeout = 60000; {};", statements.join(";")))?;
        }
        Store::Postgres(database) => {
            for statement in statements.iter().map(String::as_str).chain(["VACUUM ANALYZE"]) {
                database.sql(statement);
            }
        }
    }
    Ok(())
}
