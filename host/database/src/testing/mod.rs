//! Databases for tests. Each test runs on SQLite and on PostgreSQL, with separate tables.
//!
//! `TEST_POSTGRES_URL` names the PostgreSQL server. Without it the tests on PostgreSQL fail.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that has no database fails")]

#[cfg(test)]
mod notes;

use std::io::Write;
use std::path::PathBuf;

use tempfile::TempDir;
use tokio_postgres::NoTls;

#[cfg(test)]
pub(crate) use self::notes::{NOTES, Site, add_note, count_notes};
pub use crate::on_every_database;

use crate::{FILE, Settings};

/// Makes two tests of each `async fn name(site: Site)`: `name::on_sqlite` and `name::on_postgres`.
/// The module has a `Site` with the functions `sqlite` and `postgres`.
#[macro_export]
macro_rules! on_every_database {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            #[tokio::test]
            async fn on_sqlite() {
                super::$test(super::Site::sqlite().await).await;
            }

            #[tokio::test]
            async fn on_postgres() {
                super::$test(super::Site::postgres().await).await;
            }
        })*
    };
}

/// The place of an empty database, and the data directory of a gateway that uses it. Both are
/// deleted when this value is dropped.
pub struct Place {
    /// The settings that select the database.
    pub settings: Settings,
    schema: Option<Schema>,
    _folder: TempDir,
}

impl Place {
    /// A place for a SQLite database.
    pub fn sqlite() -> Self {
        Self::new(None)
    }

    /// A place with a SQLite file of this content.
    pub fn with_file(content: &[u8]) -> Self {
        let place = Self::sqlite();
        files::create_regular(&place.file()).and_then(|mut file| file.write_all(content)).unwrap();
        place
    }

    /// The content of the SQLite file, without its write-ahead log.
    pub fn content(&self) -> Vec<u8> {
        files::read_regular(&self.file(), u64::MAX).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.settings.data_dir.join(FILE)
    }

    /// A place on the PostgreSQL server of the tests.
    pub async fn postgres() -> Self {
        let server = std::env::var("TEST_POSTGRES_URL")
            .expect("this test needs a PostgreSQL server: `tests/postgres.sh cargo test …` starts one");
        Self::new(Some(Schema::create(server).await))
    }

    fn new(schema: Option<Schema>) -> Self {
        let folder = TempDir::new().unwrap();
        let database_url = schema.as_ref().map(|schema| schema.url().into());
        let settings = Settings { data_dir: folder.path().to_owned(), database_url };
        Self { settings, schema, _folder: folder }
    }

    /// The schema of a place on PostgreSQL.
    pub fn schema(&self) -> &Schema {
        self.schema.as_ref().unwrap()
    }
}

/// A schema on the PostgreSQL server for one test. It is deleted when this value is dropped.
pub struct Schema {
    server: String,
    /// Also the application name of connections that use the schema.
    pub name: String,
}

impl Schema {
    async fn create(server: String) -> Self {
        let name = crate::id::random_id("test_").unwrap();
        let schema = Self { server, name };
        schema.sql(&format!("CREATE SCHEMA {}", schema.name)).await;
        schema
    }

    /// The `database_url` of a gateway that uses the schema.
    pub fn url(&self) -> String {
        let Self { server, name } = self;
        format!("{server}?options=-csearch_path%3D{name}&application_name={name}")
    }

    /// Runs statements on a separate connection.
    pub async fn sql(&self, statements: &str) {
        sql(&self.server, statements).await;
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let (server, drop) = (self.server.clone(), format!("DROP SCHEMA {} CASCADE", self.name));
        // The runtime of the test is about to end, so this needs a separate one.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(sql(&server, &drop));
        });
        // If this fails, the schema is deleted together with the server.
        let _ = dropping.join();
    }
}

async fn sql(server: &str, statements: &str) {
    let (client, connection) = tokio_postgres::connect(server, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(statements).await.unwrap();
}
