//! A table for the tests of this crate.

use super::{Place, Schema};
use crate::connection::Durability;
use crate::value::values;
use crate::{Database, StoreError, Tables};

/// A table of numbers, whose ids are unique.
pub(crate) static NOTES: Tables = Tables {
    sqlite: &["CREATE TABLE notes (id TEXT NOT NULL PRIMARY KEY, number INTEGER NOT NULL) STRICT;
        INSERT INTO notes VALUES ('first', 0)"],
    postgres: &["CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql STABLE AS
            $$ SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint $$;
        CREATE TABLE notes (id TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL);
        INSERT INTO notes VALUES ('first', 0)"],
    oldest: 1,
    probe: [
        "UPDATE notes SET number = number + 1 WHERE id = 'first'",
        "UPDATE notes SET number = number - 1 WHERE id = 'first'",
    ],
};

/// A database with the table.
pub(crate) struct Site {
    pub(crate) database: Database,
    pub(crate) place: Place,
}

impl Site {
    pub(crate) async fn sqlite() -> Self {
        Self::on(Place::sqlite()).await
    }

    pub(crate) async fn postgres() -> Self {
        Self::on(Place::postgres().await).await
    }

    async fn on(place: Place) -> Self {
        Self { database: Database::connect(&place.settings, &NOTES).await.unwrap(), place }
    }

    /// Opens the database once more, as another process does.
    pub(crate) async fn open_again(&self) -> Database {
        Database::connect(&self.place.settings, &NOTES).await.unwrap()
    }

    pub(crate) async fn execute(&self, sql: &'static str) -> u64 {
        self.database.write(Durability::ProcessKill, move |connection| connection.execute(sql, &[])).await.unwrap()
    }

    pub(crate) fn schema(&self) -> &Schema {
        self.place.schema()
    }
}

/// Adds a row. Two rows of the same number are an error.
pub(crate) async fn add_note(database: &Database, number: u32) -> Result<(), StoreError> {
    let insert = "INSERT INTO notes VALUES ($1, $2)";
    let id = format!("note {number}");
    database.write(Durability::PowerLoss, move |to| to.execute(insert, values![id, number]).map(drop)).await
}

/// The number of rows that [`add_note`] has added.
pub(crate) async fn count_notes(database: &Database) -> usize {
    let count = "SELECT count(*) FROM notes WHERE id <> 'first'";
    let count: u64 = database.read(|connection| connection.one(count, &[])).await.unwrap();
    usize::try_from(count).unwrap()
}
