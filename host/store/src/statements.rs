//! Uses of the store that are a single statement.

use std::borrow::Cow;

use database::connection::Durability;
use database::value::{FromRow, Value};

use crate::{Store, Stored};

/// Rows that one transaction of [`Store::delete_in_batches`] deletes.
const BATCH: u32 = 500;

impl Store {
    /// Returns all rows of a statement that only reads.
    pub(crate) async fn read_all<T: FromRow + Send + 'static>(
        &self,
        sql: impl Into<Cow<'static, str>>,
        parameters: &[Value],
    ) -> Stored<Vec<T>> {
        let (sql, parameters) = (sql.into(), parameters.to_vec());
        self.read(move |connection| connection.all(&sql, &parameters)).await
    }

    /// Returns the row of a statement that only reads and has at most one.
    pub(crate) async fn read_optional<T: FromRow + Send + 'static>(
        &self,
        sql: impl Into<Cow<'static, str>>,
        parameters: &[Value],
    ) -> Stored<Option<T>> {
        let (sql, parameters) = (sql.into(), parameters.to_vec());
        self.read(move |connection| connection.optional(&sql, &parameters)).await
    }

    /// Returns the row of a statement that only reads and always has exactly one.
    pub(crate) async fn read_one<T: FromRow + Send + 'static>(
        &self,
        sql: impl Into<Cow<'static, str>>,
        parameters: &[Value],
    ) -> Stored<T> {
        let (sql, parameters) = (sql.into(), parameters.to_vec());
        self.read(move |connection| connection.one(&sql, &parameters)).await
    }

    /// Runs a statement that writes, and returns the number of rows that it changed.
    pub(crate) async fn execute(
        &self,
        durability: Durability,
        sql: impl Into<Cow<'static, str>>,
        parameters: &[Value],
    ) -> Stored<u64> {
        let (sql, parameters) = (sql.into(), parameters.to_vec());
        self.write(durability, move |connection| connection.execute(&sql, &parameters)).await
    }

    /// Deletes rows in several transactions, so that none of them delays other writes, or takes longer
    /// than a database server permits. Returns the number of rows. The last parameter of the statement
    /// is the most rows that it deletes.
    pub(crate) async fn delete_in_batches(
        &self,
        sql: impl Into<Cow<'static, str>>,
        parameters: &[Value],
    ) -> Stored<u64> {
        let (sql, mut parameters) = (sql.into(), parameters.to_vec());
        parameters.push(BATCH.into());
        let mut deleted = 0;
        loop {
            let batch = self.execute(Durability::ProcessKill, sql.clone(), &parameters).await?;
            deleted += batch;
            if batch < u64::from(BATCH) {
                return Ok(deleted);
            }
        }
    }
}
