//! The bytes that each tenant has stored in all tables together, and their limit.
//!
//! Triggers of the database count them. On PostgreSQL, each session counts in separate rows, so
//! that transactions of one tenant do not wait for each other ([`Store::fold_stored_bytes`] adds
//! them up). A limit is checked where a caller begins something that is stored. What has begun is
//! stored to its end, such as the result of a job, so a tenant may exceed the limit by a little.

use database::connection::{Connection, Durability};
use database::value::values;

use crate::{Store, StoreError, Stored};

/// Rows that one transaction adds up.
const BATCH: u32 = 1_000;

/// The most bytes that a tenant may store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota(pub(crate) u64);

impl Quota {
    /// Fails if the tenant has stored as much as it may.
    pub(crate) fn check(self, connection: &mut dyn Connection, tenant: &str) -> Stored<()> {
        if stored_by(connection, tenant)? < self.0 { Ok(()) } else { Err(StoreError::TenantFull { limit: self.0 }) }
    }
}

/// The bytes that tenants have stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBytes {
    /// All tenants.
    pub total: u64,
    /// The tenant that has stored most.
    pub largest: u64,
}

impl Store {
    /// Lets a tenant store at most this number of bytes. Without it, there is no limit.
    #[must_use]
    pub fn with_quota(self, bytes: u64) -> Self {
        Self { quota: Quota(bytes), ..self }
    }

    /// Returns what tenants have stored.
    pub async fn stored_bytes(&self) -> Stored<StoredBytes> {
        self.read(|connection| {
            let of_all = |function: &str| {
                format!(
                    "SELECT CAST(coalesce({function}(bytes), 0) AS BIGINT)
                     FROM (SELECT sum(bytes) AS bytes FROM stored_bytes GROUP BY tenant) AS tenants"
                )
            };
            let mut one = |function: &str| connection.one::<i64>(&of_all(function), &[]).map(positive);
            Ok(StoredBytes { total: one("sum")?, largest: one("max")? })
        })
        .await
    }

    /// Adds up what sessions have counted, so that a tenant has few rows.
    pub async fn fold_stored_bytes(&self) -> Stored<()> {
        loop {
            let folded = self.write(Durability::ProcessKill, |connection| fold(connection)).await?;
            if folded < BATCH as usize {
                return Ok(());
            }
        }
    }
}

fn fold(connection: &mut dyn Connection) -> Stored<usize> {
    // Only this function changes rows of part 0, one gateway after the other.
    connection.lock("stored_bytes")?;
    let parts: Vec<(String, i64, i64)> = connection.all(
        &format!(
            "SELECT tenant, part, bytes FROM stored_bytes WHERE part <> 0 ORDER BY tenant, part LIMIT $1 {}",
            connection.skip_locked()
        ),
        values![BATCH],
    )?;
    for (tenant, part, bytes) in &parts {
        connection.execute("DELETE FROM stored_bytes WHERE tenant = $1 AND part = $2", values![tenant, *part])?;
        connection.execute(
            "INSERT INTO stored_bytes (tenant, part, bytes) VALUES ($1, 0, $2)
             ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes",
            values![tenant, *bytes],
        )?;
    }
    Ok(parts.len())
}

fn stored_by(connection: &mut dyn Connection, tenant: &str) -> Stored<u64> {
    let bytes: i64 = connection
        .one("SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM stored_bytes WHERE tenant = $1", values![tenant])?;
    Ok(positive(bytes))
}

fn positive(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests;
