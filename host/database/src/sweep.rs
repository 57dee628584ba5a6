//! Deleting rows that are too old.

use std::time::Duration;

use crate::connection::Durability;
use crate::time::millis;
use crate::value::values;
use crate::{Database, StoreError};

/// Rows that one transaction deletes, so that it does not delay other writes.
const BATCH: u32 = 500;

impl Database {
    /// Deletes the rows of a table with the columns `at` and `number` that are older than `keep`, and
    /// returns their number.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn delete_older(&self, table: &'static str, keep: Duration) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let batch = self
                .write(Durability::ProcessKill, move |connection| {
                    let oldest =
                        format!("SELECT number FROM {table} WHERE at < now_ms() - $1 ORDER BY at, number LIMIT $2");
                    connection.execute(
                        &format!("DELETE FROM {table} WHERE number IN ({oldest})"),
                        values![millis(keep), BATCH],
                    )
                })
                .await?;
            deleted += batch;
            if batch < u64::from(BATCH) {
                return Ok(deleted);
            }
        }
    }
}
