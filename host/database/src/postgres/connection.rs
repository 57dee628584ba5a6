//! The trait [`Connection`] on PostgreSQL.

use std::collections::HashMap;
use std::error::Error;

use bytes::BytesMut;
use tokio::runtime::Handle;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};

use super::address::Address;
use super::error::{ZeroByte, of_statement};
use crate::StoreError;
use crate::connection::Connection;
use crate::digest::sha256_hex;
use crate::value::{Row, Value};

/// A client of the server, with a cache of its prepared statements.
pub(crate) struct CachedClient {
    pub(super) client: Client,
    /// By their SQL. The store has a fixed number of statements, so that the cache does not grow
    /// without limit.
    statements: HashMap<String, Statement>,
}

impl CachedClient {
    pub(super) fn new(client: Client) -> Self {
        Self { client, statements: HashMap::new() }
    }

    async fn prepare(&mut self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    async fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, tokio_postgres::Error> {
        let statement = self.prepare(sql).await?;
        self.client.execute(&statement, &as_parameters(values)).await
    }

    async fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, tokio_postgres::Error> {
        let statement = self.prepare(sql).await?;
        let rows = self.client.query(&statement, &as_parameters(values)).await?;
        rows.iter().map(from_postgres).collect()
    }
}

impl std::fmt::Debug for CachedClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CachedClient")
    }
}

/// A connection that is in a transaction or only reads.
pub(super) struct PostgresConnection<'a> {
    /// Runs the asynchronous client while this thread blocks.
    runtime: &'a Handle,
    client: &'a mut CachedClient,
    /// For error messages.
    address: &'a Address,
}

impl<'a> PostgresConnection<'a> {
    pub(super) fn new(runtime: &'a Handle, client: &'a mut CachedClient, address: &'a Address) -> Self {
        Self { runtime, client, address }
    }
}

impl Connection for PostgresConnection<'_> {
    fn execute(&mut self, sql: &str, parameters: &[Value]) -> Result<u64, StoreError> {
        let result = self.runtime.block_on(self.client.execute(sql, parameters));
        result.map_err(|error| of_statement(self.address, &error))
    }

    fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>, StoreError> {
        let result = self.runtime.block_on(self.client.query(sql, parameters));
        result.map_err(|error| of_statement(self.address, &error))
    }

    fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        self.query(&format!("SELECT pg_advisory_xact_lock({LOCK_NUMBER})"), &[lock_name(name).into()])?;
        Ok(())
    }

    fn skip_locked(&self) -> &'static str {
        "FOR UPDATE SKIP LOCKED"
    }

    fn lock_rows(&self) -> &'static str {
        "FOR NO KEY UPDATE"
    }
}

/// SQL for the number of an advisory lock. The numbers are shared by all schemas of a database, so
/// the name of the schema is part of the hash. If two names have the same hash, their transactions
/// wait for each other without need.
pub(super) const LOCK_NUMBER: &str =
    "hashtextextended(concat('connector-gateway ', current_schema(), ' ', $1::text), 0)";

/// A lock's name in a form that the server accepts: short, and without zero bytes.
pub(super) fn lock_name(name: &str) -> String {
    sha256_hex(name.as_bytes())
}

fn as_parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl ToSql for Value {
    fn to_sql(&self, of: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Bool(value) if *of == Type::BOOL => value.to_sql(of, out),
            Self::Integer(value) if *of == Type::INT8 => value.to_sql(of, out),
            // Text on the server cannot contain zero bytes. Columns for text that may contain them
            // are of type bytes.
            Self::Text(value) if *of == Type::TEXT && value.contains('\0') => Err(Box::new(ZeroByte)),
            Self::Text(value) if *of == Type::TEXT => value.to_sql(of, out),
            Self::Text(value) if *of == Type::BYTEA => value.as_bytes().to_sql(of, out),
            Self::Bytes(value) if *of == Type::BYTEA => value.to_sql(of, out),
            _ => Err("a parameter is of another type than its column".into()),
        }
    }

    fn accepts(of: &Type) -> bool {
        [Type::BOOL, Type::INT8, Type::TEXT, Type::BYTEA].contains(of)
    }

    to_sql_checked!();
}

fn from_postgres(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let columns = row.columns().iter().enumerate().map(|(index, column)| {
        let value = match *column.type_() {
            Type::BOOL => row.try_get::<_, Option<bool>>(index)?.into(),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.as_ref().into(),
            Type::TEXT => row.try_get::<_, Option<String>>(index)?.into(),
            // The result of the function that takes a lock.
            Type::VOID => Value::Null,
            _ => row.try_get::<_, Option<i64>>(index)?.into(),
        };
        Ok(value)
    });
    columns.collect::<Result<_, _>>().map(Row::new)
}
