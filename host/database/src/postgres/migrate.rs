//! Migrations: bring the tables of a database to the current version.
//!
//! A released migration never changes. A later migration corrects it. All missing migrations run in
//! one transaction under a lock. A crash therefore leaves the database as it was. If two gateways
//! start at the same time, the second one finds nothing to do.
//!
//! During a roll-out, gateways of two releases share a database. A release adds tables and columns
//! that the previous release can do without, and a later release removes the unused ones. The row
//! of `gateway_version` therefore has a second number: the version of the tables that the previous
//! release knows ([`Tables::oldest`]). A gateway accepts a newer database if it knows at least that
//! version, and so refuses a database of the release after the next one.

use tokio_postgres::{Client, Error};

use super::SETTINGS;
use super::address::Address;
use super::connection::{CachedClient, LOCK_NUMBER, lock_name};
use super::error::of_statement;
use crate::time::from_millis;
use crate::{DatabaseState, StoreError, Tables};

/// Runs the missing migrations.
pub(super) async fn run_missing(
    client: &mut CachedClient,
    address: &Address,
    tables: &Tables,
) -> Result<(), StoreError> {
    run_all(&mut client.client, address, tables).await
}

async fn run_all(client: &mut Client, address: &Address, tables: &Tables) -> Result<(), StoreError> {
    let known = i64::try_from(tables.postgres.len()).unwrap_or(i64::MAX);
    let failed = |error: Error| of_statement(address, &error);
    // Most starts find nothing to do. This check needs no lock.
    let version = version(client).await.map_err(failed)?;
    if version.number == known || version.is_usable(known) {
        return Ok(());
    }
    // The lock is taken before the transaction begins, because the transaction sees only tables
    // that existed when it began. If a statement fails, the connection is dropped, and the server
    // releases the lock.
    let name = lock_name("migrations");
    client.batch_execute("SET statement_timeout = 0; SET lock_timeout = 0").await.map_err(failed)?;
    client.execute(&format!("SELECT pg_advisory_lock({LOCK_NUMBER})"), &[&name]).await.map_err(failed)?;
    let version = self::version(client).await.map_err(failed)?;
    let found = version.number;
    if found > known && !version.is_usable(known) {
        return Err(StoreError::Newer { database: address.shown.clone(), found, known });
    }
    if found < known {
        migrate(client, found, tables).await.map_err(failed)?;
    }
    client.execute(&format!("SELECT pg_advisory_unlock({LOCK_NUMBER})"), &[&name]).await.map_err(failed)?;
    client.batch_execute(SETTINGS).await.map_err(failed)
}

async fn migrate(client: &mut Client, found: i64, tables: &Tables) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    for migration in tables.postgres.iter().skip(usize::try_from(found).unwrap_or_default()) {
        transaction.batch_execute(migration).await?;
    }
    let replace = "CREATE TABLE IF NOT EXISTS gateway_version (number BIGINT NOT NULL); \
        ALTER TABLE gateway_version ADD COLUMN IF NOT EXISTS oldest BIGINT; DELETE FROM gateway_version";
    transaction.batch_execute(replace).await?;
    let known = i64::try_from(tables.postgres.len()).unwrap_or(i64::MAX);
    transaction
        .execute("INSERT INTO gateway_version (number, oldest) VALUES ($1, $2)", &[&known, &tables.oldest])
        .await?;
    transaction.commit().await
}

/// Reads the version of the tables, without changing them, and the time of the server.
pub(super) async fn inspect(
    client: &CachedClient,
    address: &Address,
    tables: &Tables,
) -> Result<DatabaseState, StoreError> {
    let failed = |error: Error| of_statement(address, &error);
    let known = i64::try_from(tables.postgres.len()).unwrap_or(i64::MAX);
    let version = version(&client.client).await.map_err(failed)?;
    let time = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let time: i64 = client.client.query_one(time, &[]).await.and_then(|row| row.try_get(0)).map_err(failed)?;
    Ok(DatabaseState {
        version: version.number,
        known,
        is_usable: version.number <= known || version.is_usable(known),
        server_time: Some(from_millis(time)),
    })
}

/// The versions in the database.
struct Version {
    /// The number of migrations that have run. 0 if there are no tables yet.
    number: i64,
    /// The version of the tables that a gateway must know at least. `None` in a database of a
    /// release that did not say so.
    oldest: Option<i64>,
}

impl Version {
    /// Returns `true` if the database is newer than a gateway that knows `known` migrations, and the
    /// gateway works with it.
    fn is_usable(&self, known: i64) -> bool {
        self.number > known && self.oldest.is_some_and(|oldest| oldest <= known)
    }
}

/// Reads the versions.
async fn version(client: &Client) -> Result<Version, Error> {
    let exists: bool = client.query_one("SELECT to_regclass('gateway_version') IS NOT NULL", &[]).await?.try_get(0)?;
    if !exists {
        return Ok(Version { number: 0, oldest: None });
    }
    // A database of an earlier release has no column `oldest`.
    let read = "SELECT number, (to_jsonb(gateway_version)->>'oldest')::bigint FROM gateway_version \
        ORDER BY number DESC LIMIT 1";
    match client.query_opt(read, &[]).await? {
        Some(row) => Ok(Version { number: row.try_get(0)?, oldest: row.try_get(1)? }),
        None => Ok(Version { number: 0, oldest: None }),
    }
}
