//! A database for deterministic tests of processes that share one. It is SQLite in memory, behind a
//! layer that the test controls: it delays statements, loses their answers, and sets the clock.
//!
//! Everything runs in the thread of the caller, on the clock of its runtime. The gateway itself
//! never opens such a database.

use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::TransactionBehavior;

use crate::connection::Connection;
use crate::sqlite::{SqliteConnection, of_sqlite, open_in_memory};
use crate::{Backend, Database, StoreError, Tables};

/// A step that takes time and may fail.
pub type Step = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// The path in messages of errors.
const PATH: &str = "simulated";

/// The way from one process to the database and back.
pub trait Faults: Send + Sync {
    /// The time until the database begins a use. If it fails, the database does not begin.
    fn before(&self, writes: bool) -> Step;

    /// The time until the process has the answer. If it fails, the database has done what it was
    /// told to do.
    fn after(&self, writes: bool) -> Step;
}

/// The database itself. Clones share it.
#[derive(Clone)]
pub struct SimulatedDatabase {
    connection: Arc<Mutex<rusqlite::Connection>>,
    tables: &'static Tables,
}

impl SimulatedDatabase {
    /// Opens a database with empty tables, whose clock is `now_ms`, in milliseconds since 1970.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn open(tables: &'static Tables, now_ms: impl Fn() -> i64 + Send + Sync + 'static) -> Result<Self, StoreError> {
        let connection = open_in_memory(Path::new(PATH), tables, now_ms)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)), tables })
    }

    /// The database as one process sees it.
    pub fn database(&self, faults: Arc<dyn Faults>) -> Database {
        Database::new(Backend::Simulated(Simulated { database: self.clone(), faults }), self.tables)
    }

    /// Runs statements without any delay, for checks of a test. Returns the columns of all rows, as
    /// text.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn look(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, StoreError> {
        let connection = self.connection.lock();
        let read = || {
            let mut statement = connection.prepare_cached(sql)?;
            let columns = statement.column_count();
            let row = |row: &rusqlite::Row<'_>| {
                (0..columns)
                    .map(|column| {
                        Ok(match row.get::<_, rusqlite::types::Value>(column)? {
                            rusqlite::types::Value::Integer(number) => Some(number.to_string()),
                            rusqlite::types::Value::Text(text) => Some(text),
                            _ => None,
                        })
                    })
                    .collect::<rusqlite::Result<Vec<_>>>()
            };
            statement.query_map([], row)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| of_sqlite(Path::new(PATH), error))
    }

    /// Runs statements in one transaction, without any delay.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn run(&self, statements: &str) -> Result<(), StoreError> {
        let connection = self.connection.lock();
        connection
            .execute_batch(&format!("BEGIN; {statements}; COMMIT"))
            .map_err(|error| of_sqlite(Path::new(PATH), error))
    }
}

impl fmt::Debug for SimulatedDatabase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SimulatedDatabase").finish_non_exhaustive()
    }
}

/// A [`SimulatedDatabase`] as one process sees it.
#[derive(Clone)]
pub(crate) struct Simulated {
    database: SimulatedDatabase,
    faults: Arc<dyn Faults>,
}

impl fmt::Debug for Simulated {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.database.fmt(formatter)
    }
}

impl Simulated {
    /// See [`Database::read`] and [`Database::write`]. As there, the work is finished even if the
    /// caller drops the future.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        writes: bool,
        work: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Self { database, faults } = self.clone();
        let run = async move {
            faults.before(writes).await?;
            let result = database.transaction(work);
            faults.after(writes).await?;
            result
        };
        tokio::spawn(run).await.unwrap_or(Err(StoreError::Closed))
    }
}

impl SimulatedDatabase {
    fn transaction<T>(&self, work: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let path = Path::new(PATH);
        let failed = |error| of_sqlite(path, error);
        let mut connection = self.connection.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let result = work(&mut SqliteConnection { connection: &transaction, path })?;
        transaction.commit().map_err(failed)?;
        Ok(result)
    }
}
