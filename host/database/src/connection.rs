//! The trait that both databases implement.
//!
//! Everything outside of this crate uses this trait, in SQL that both databases understand:
//! parameters are `$1`, `$2`…, and `now_ms()` is the clock of the database. The modules
//! [`sqlite`](crate::sqlite) and [`postgres`](crate::postgres) contain everything that differs:
//! connections, types of columns, locks and migrations.

use crate::StoreError;
use crate::value::{FromRow, Row, Value};

/// The failures that a committed write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A kill of the process, and a power loss of the machine. For data that the gateway could not
    /// restore. Costs a flush to disk.
    PowerLoss,
    /// A kill of the process. A power loss may undo the last writes, but always whole transactions.
    ProcessKill,
}

/// A connection to the database, which is in a transaction or only reads. Its methods block the
/// thread.
pub trait Connection {
    /// Runs a statement, and returns the number of rows that it changed.
    ///
    /// # Errors
    /// Fails if the database does.
    fn execute(&mut self, sql: &str, parameters: &[Value]) -> Result<u64, StoreError>;

    /// Runs a statement, and returns its rows.
    ///
    /// # Errors
    /// Fails if the database does.
    fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>, StoreError>;

    /// Takes a named lock until the transaction ends. Use it for read-modify-write.
    ///
    /// # Errors
    /// Fails if the database does.
    fn lock(&mut self, name: &str) -> Result<(), StoreError>;

    /// The end of a `SELECT` that locks its rows until the transaction ends, and skips rows that
    /// another transaction has locked.
    fn skip_locked(&self) -> &'static str;

    /// The end of a `SELECT` that locks its rows until the transaction ends, as a change of them does,
    /// and waits for other transactions.
    fn lock_rows(&self) -> &'static str;
}

impl dyn Connection + '_ {
    /// Runs a statement, whatever the number of rows that it changes.
    ///
    /// # Errors
    /// Fails if the database does.
    pub fn run(&mut self, sql: &str, parameters: &[Value]) -> Result<(), StoreError> {
        self.execute(sql, parameters).map(drop)
    }

    /// Returns all rows.
    ///
    /// # Errors
    /// Fails if the database does, or if a column has another type than the record.
    pub fn all<T: FromRow>(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<T>, StoreError> {
        self.query(sql, parameters)?.into_iter().map(|mut row| T::from_row(&mut row)).collect()
    }

    /// Returns the row of a statement that has at most one.
    ///
    /// # Errors
    /// Fails as `all` does.
    pub fn optional<T: FromRow>(&mut self, sql: &str, parameters: &[Value]) -> Result<Option<T>, StoreError> {
        self.query(sql, parameters)?.pop().map(|mut row| T::from_row(&mut row)).transpose()
    }

    /// Returns the row of a statement that always has exactly one.
    ///
    /// # Errors
    /// Fails as `all` does, and if there is no row.
    pub fn one<T: FromRow>(&mut self, sql: &str, parameters: &[Value]) -> Result<T, StoreError> {
        self.optional(sql, parameters)?.ok_or(StoreError::Unexpected("a statement returned no row"))
    }
}
