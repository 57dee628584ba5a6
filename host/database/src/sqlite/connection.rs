//! The trait [`Connection`] on SQLite.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, ToSql, params_from_iter};

use super::error::of_sqlite;
use crate::StoreError;
use crate::connection::Connection;
use crate::value::{Row, Value};

/// A connection that is in a transaction or only reads.
pub(crate) struct SqliteConnection<'a> {
    pub(crate) connection: &'a rusqlite::Connection,
    /// For error messages.
    pub(crate) path: &'a Path,
}

impl SqliteConnection<'_> {
    /// Prepares a statement, or takes it from the cache. In SQLite's own syntax, numbered
    /// parameters begin with a question mark.
    fn prepare(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.connection.prepare_cached(&sql.replace('$', "?"))
    }

    fn rows(&self, sql: &str, parameters: &[Value]) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.prepare(sql)?;
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            (0..columns).map(|column| row.get_ref(column).map(from_sqlite)).collect::<rusqlite::Result<_>>()
        };
        statement.query_map(params_from_iter(parameters), |found| row(found).map(Row::new))?.collect()
    }
}

impl Connection for SqliteConnection<'_> {
    fn execute(&mut self, sql: &str, parameters: &[Value]) -> Result<u64, StoreError> {
        self.prepare(sql)
            .and_then(|mut statement| statement.execute(params_from_iter(parameters)))
            .map(|rows| rows as u64)
            .map_err(|error| of_sqlite(self.path, error))
    }

    fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>, StoreError> {
        self.rows(sql, parameters).map_err(|error| of_sqlite(self.path, error))
    }

    /// Does nothing, because SQLite allows one write transaction at a time.
    fn lock(&mut self, _name: &str) -> Result<(), StoreError> {
        Ok(())
    }

    /// Empty, for the same reason.
    fn skip_locked(&self) -> &'static str {
        ""
    }

    /// The same.
    fn lock_rows(&self) -> &'static str {
        ""
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Bool(value) => ValueRef::Integer((*value).into()),
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
            Self::Bytes(value) => ValueRef::Blob(value),
        }))
    }
}

/// Converts a column. The tables are strict and have no column of floating point numbers, and all
/// text in them is UTF-8.
fn from_sqlite(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null | ValueRef::Real(_) => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Text(value) => Value::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(value) => Value::Bytes(value.to_vec()),
    }
}
