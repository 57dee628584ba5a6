//! Migrations: bring the tables of a file to the current version.
//!
//! A released migration never changes. A later migration corrects it. All missing migrations run in
//! one exclusive transaction. A crash therefore leaves the file as it was. If two processes start
//! at the same time, the second one finds nothing to do.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::error::of_sqlite;
use crate::{StoreError, Tables};

/// Marks the file as a database of the gateway: "cgw1" in ASCII.
const APPLICATION_ID: i64 = 0x6367_7731;

/// Runs the missing migrations.
pub(super) fn run_missing(connection: &mut Connection, path: &Path, tables: &Tables) -> Result<(), StoreError> {
    run_all(connection, path, tables.sqlite)
}

fn run_all(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<(), StoreError> {
    let failed = |error| of_sqlite(path, error);
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    // Most starts find nothing to do. This check needs no lock.
    if version(connection).map_err(failed)? == (APPLICATION_ID, known) {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(failed)?;
    let (application, found) = version(&transaction).map_err(failed)?;
    let is_empty = transaction
        .query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get::<_, bool>(0))
        .map_err(failed)?;
    if application != APPLICATION_ID && !is_empty {
        return Err(StoreError::OtherProgram { path: path.to_owned() });
    }
    if found > known {
        return Err(StoreError::Newer { database: path.display().to_string(), found, known });
    }
    let done = usize::try_from(found).unwrap_or_default();
    for migration in migrations.iter().skip(done) {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction.pragma_update(None, "user_version", known).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// The version of a file, and the version that this release knows. `None` if the file belongs to
/// another program.
pub(super) fn found_and_known(connection: &Connection, tables: &Tables) -> rusqlite::Result<Option<(i64, i64)>> {
    let (application, found) = version(connection)?;
    let is_empty: bool = connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    let known = i64::try_from(tables.sqlite.len()).unwrap_or(i64::MAX);
    Ok((application == APPLICATION_ID || is_empty).then_some((found, known)))
}

/// Reads the application id and the version.
fn version(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0));
    Ok((pragma("application_id")?, pragma("user_version")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE one (a TEXT); INSERT INTO one VALUES ('kept');";

    fn migrate(connection: &mut Connection, migrations: &[&str]) -> Result<(), StoreError> {
        run_all(connection, Path::new("test.db"), migrations)
    }

    #[test]
    fn only_missing_migrations_are_run() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &[FIRST]).unwrap();
        migrate(&mut connection, &[FIRST]).unwrap();
        migrate(&mut connection, &[FIRST, "ALTER TABLE one ADD COLUMN b TEXT"]).unwrap();
        assert_eq!(version(&connection).unwrap(), (APPLICATION_ID, 2));
        let kept: String = connection.query_row("SELECT a FROM one WHERE b IS NULL", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, "kept");
    }

    #[test]
    fn a_migration_that_fails_leaves_the_file_as_it_was() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &[FIRST]).unwrap();
        let failing = "CREATE TABLE two (a TEXT); CREATE TABLE one (a TEXT);";
        assert!(migrate(&mut connection, &[FIRST, failing]).is_err());
        assert_eq!(version(&connection).unwrap(), (APPLICATION_ID, 1));
        assert!(connection.prepare("SELECT * FROM two").is_err());
    }
}
