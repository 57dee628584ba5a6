//! Migrations: bring the tables of a database to the current version.
//!
//! A released migration never changes. A later migration corrects it. All missing migrations run in
//! one transaction under a lock. A crash therefore leaves the database as it was. If two gateways
//! start at the same time, the second one finds nothing to do.

use tokio_postgres::{Client, Error};

use super::SETTINGS;
use super::address::Address;
use super::connection::{CachedClient, LOCK_NUMBER, lock_name};
use super::error::of_statement;
use crate::StoreError;

/// In order. The version of a database is the number of migrations that have run on it.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/postgres/0001_initial.sql"),
    include_str!("../migrations/postgres/0002_integrations.sql"),
    include_str!("../migrations/postgres/0003_webhooks.sql"),
    include_str!("../migrations/postgres/0004_jobs.sql"),
    include_str!("../migrations/postgres/0005_accounts.sql"),
    include_str!("../migrations/postgres/0006_idempotency.sql"),
    include_str!("../migrations/postgres/0007_former_grants.sql"),
    include_str!("../migrations/postgres/0008_connector_changes.sql"),
    include_str!("../migrations/postgres/0009_sealed_storage.sql"),
    include_str!("../migrations/postgres/0010_modules.sql"),
];

/// Runs the missing migrations.
pub(super) async fn run_missing(client: &mut CachedClient, address: &Address) -> Result<(), StoreError> {
    run_all(&mut client.client, address, MIGRATIONS).await
}

async fn run_all(client: &mut Client, address: &Address, migrations: &[&str]) -> Result<(), StoreError> {
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    let failed = |error: Error| of_statement(address, &error);
    // Most starts find nothing to do. This check needs no lock.
    if version(client).await.map_err(failed)? == known {
        return Ok(());
    }
    // The lock is taken before the transaction begins, because the transaction sees only tables
    // that existed when it began. If a statement fails, the connection is dropped, and the server
    // releases the lock.
    let name = lock_name("migrations");
    client.batch_execute("SET statement_timeout = 0; SET lock_timeout = 0").await.map_err(failed)?;
    client.execute(&format!("SELECT pg_advisory_lock({LOCK_NUMBER})"), &[&name]).await.map_err(failed)?;
    let found = version(client).await.map_err(failed)?;
    if found > known {
        return Err(StoreError::Newer { database: address.shown.clone(), found, known });
    }
    migrate(client, found, migrations).await.map_err(failed)?;
    client.execute(&format!("SELECT pg_advisory_unlock({LOCK_NUMBER})"), &[&name]).await.map_err(failed)?;
    client.batch_execute(SETTINGS).await.map_err(failed)
}

async fn migrate(client: &mut Client, found: i64, migrations: &[&str]) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    for migration in migrations.iter().skip(usize::try_from(found).unwrap_or_default()) {
        transaction.batch_execute(migration).await?;
    }
    let replace = "CREATE TABLE IF NOT EXISTS gateway_version (number BIGINT NOT NULL); DELETE FROM gateway_version";
    transaction.batch_execute(replace).await?;
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    transaction.execute("INSERT INTO gateway_version VALUES ($1)", &[&known]).await?;
    transaction.commit().await
}

/// Reads the version, which is 0 if there are no tables yet.
async fn version(client: &Client) -> Result<i64, Error> {
    let exists: bool = client.query_one("SELECT to_regclass('gateway_version') IS NOT NULL", &[]).await?.try_get(0)?;
    if !exists {
        return Ok(0);
    }
    client.query_one("SELECT max(number) FROM gateway_version", &[]).await?.try_get(0)
}
