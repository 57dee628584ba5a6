//! Looks at a database without changing it, for the command `doctor`.

use std::time::SystemTime;

use crate::postgres::Postgres;
use crate::{Database, FILE, Settings, StoreError, Tables, sqlite};

/// The state of a database that this process has not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseState {
    /// The number of migrations that have run on it. 0 if it is empty.
    pub version: i64,
    /// The number of migrations that this release knows.
    pub known: i64,
    /// `true` if this release works with it, perhaps after it has run the missing migrations.
    pub is_usable: bool,
    /// The time of the database server. `None` for SQLite, whose clock is the one of this machine.
    pub server_time: Option<SystemTime>,
}

impl Database {
    /// Reads the version of a database. It runs no migration and creates nothing. `None` if
    /// there is no SQLite file yet.
    ///
    /// # Errors
    /// If the file is locked, damaged or of another program, or if the PostgreSQL server cannot be
    /// reached or refuses the connection.
    pub async fn inspect(settings: &Settings, tables: &'static Tables) -> Result<Option<DatabaseState>, StoreError> {
        if let Some(url) = &settings.database_url {
            return Postgres::unconnected(url, tables)?.inspect().await.map(Some);
        }
        let path = settings.data_dir.join(FILE);
        if !path.is_file() {
            return Ok(None);
        }
        let (version, known) = sqlite::version_of_file(path, tables).await?;
        Ok(Some(DatabaseState { version, known, is_usable: version <= known, server_time: None }))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use tempfile::TempDir;

    use super::*;
    use crate::testing::{NOTES, Site};

    #[tokio::test]
    async fn a_database_is_inspected_without_being_made() {
        let folder = TempDir::new().unwrap();
        let settings = Settings { data_dir: folder.path().to_owned(), database_url: None };
        assert_eq!(Database::inspect(&settings, &NOTES).await.unwrap(), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        drop(Database::connect(&settings, &NOTES).await.unwrap());
        let state = Database::inspect(&settings, &NOTES).await.unwrap().unwrap();
        assert!(state.is_usable && state.version == state.known && state.known > 0, "{state:?}");
    }

    #[tokio::test]
    async fn a_file_of_another_program_is_told_apart() {
        let folder = TempDir::new().unwrap();
        std::fs::write(
            folder.path().join(FILE),
            "a text that is no database, and longer than a header of one hundred bytes, as this one",
        )
        .unwrap();
        let settings = Settings { data_dir: folder.path().to_owned(), database_url: None };
        assert!(matches!(Database::inspect(&settings, &NOTES).await, Err(StoreError::Damaged { .. })));
    }

    #[tokio::test]
    async fn a_server_tells_its_time_and_the_version_of_the_tables() {
        let site = Site::postgres().await;
        let state = Database::inspect(&site.place.settings, &NOTES).await.unwrap().unwrap();
        assert!(state.is_usable && state.version == state.known, "{state:?}");
        assert!(state.server_time.unwrap() > UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    }
}
