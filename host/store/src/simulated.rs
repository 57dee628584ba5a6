//! The store on a database for deterministic tests.

use std::sync::Arc;

pub use database::simulated::{Faults, Step};

use crate::migrations::TABLES;
use crate::{Store, Stored};

/// A simulated database with the tables of the store. Clones share it.
#[derive(Clone, Debug)]
pub struct SimulatedDatabase(database::simulated::SimulatedDatabase);

impl SimulatedDatabase {
    /// Opens an empty database whose clock is `now_ms`, in milliseconds since 1970.
    pub fn open(now_ms: impl Fn() -> i64 + Send + Sync + 'static) -> Stored<Self> {
        database::simulated::SimulatedDatabase::open(&TABLES, now_ms).map(Self)
    }

    /// The store as one process sees it.
    pub fn store(&self, faults: Arc<dyn Faults>) -> Store {
        Store::new(self.0.database(faults))
    }

    /// Runs statements without any delay, for checks of a test. Returns the columns of all rows, as
    /// text.
    pub fn look(&self, sql: &str) -> Stored<Vec<Vec<Option<String>>>> {
        self.0.look(sql)
    }

    /// Deletes all rows except for the audit, which the database keeps. The next test finds an empty
    /// database.
    pub fn clear(&self) -> Stored<()> {
        // A table refers only to tables that were created before it. The rows of `revisions` are
        // from the migrations, and entries of the audit cannot be deleted.
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' \
            AND name NOT IN ('audit', 'revisions') ORDER BY rowid DESC";
        let tables = self.look(tables)?;
        let delete = |table: String| format!("DELETE FROM {table};");
        let deletes: String = tables.into_iter().flatten().flatten().map(delete).collect();
        self.0.run(&format!("{deletes} UPDATE revisions SET number = 0"))
    }
}
