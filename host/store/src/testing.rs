//! Databases for tests: each test is run on SQLite and on PostgreSQL, with tables of its
//! own.
//!
//! The PostgreSQL server is the one that `TEST_POSTGRES_URL` names. Without it that half of a test fails.

use tempfile::TempDir;
use tokio_postgres::NoTls;

use super::{Settings, Store};

/// Makes two tests of each `async fn name(site: Site)`: `name::on_sqlite` and `name::on_postgres`.
macro_rules! on_every_database {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            use $crate::testing::Site;

            #[tokio::test]
            async fn on_sqlite() {
                super::$test(Site::sqlite().await).await;
            }

            #[tokio::test]
            async fn on_postgres() {
                super::$test(Site::postgres().await).await;
            }
        })*
    };
}
pub(crate) use on_every_database;

/// A database, and the folder of a gateway that uses it.
pub(crate) struct Site {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    _folder: TempDir,
    schema: Option<Schema>,
}

impl Site {
    pub(crate) async fn sqlite() -> Self {
        Self::new(None).await
    }

    pub(crate) async fn postgres() -> Self {
        let server = std::env::var("TEST_POSTGRES_URL")
            .expect("this test needs a PostgreSQL server: `tests/postgres.sh cargo test …` starts one");
        Self::new(Some(Schema::create(server).await)).await
    }

    async fn new(schema: Option<Schema>) -> Self {
        let folder = TempDir::new().unwrap();
        let database_url = schema.as_ref().map(|schema| schema.url().into());
        let settings = Settings { data_dir: folder.path().to_owned(), database_url };
        Self { store: Store::connect(&settings).await.unwrap(), settings, _folder: folder, schema }
    }

    /// As another process opens it.
    pub(crate) async fn open_again(&self) -> Store {
        Store::connect(&self.settings).await.unwrap()
    }

    /// Runs a statement that the store has no method for.
    pub(crate) async fn execute(&self, sql: &'static str) -> u64 {
        self.store.write(super::Durability::Process, move |session| session.execute(sql, &[])).await.unwrap()
    }

    /// Where it is on the server.
    pub(crate) fn schema(&self) -> &Schema {
        self.schema.as_ref().unwrap()
    }
}

/// A schema of the test's own on the server, dropped with this.
pub(crate) struct Schema {
    pub(crate) server: String,
    /// Also what connections to it call themselves.
    pub(crate) name: String,
}

impl Schema {
    async fn create(server: String) -> Self {
        let name = super::id::random_id("test_").unwrap();
        let schema = Self { server, name };
        schema.sql(&format!("CREATE SCHEMA {}", schema.name)).await;
        schema
    }

    /// What a gateway that is to use it has for its `database_url`.
    pub(crate) fn url(&self) -> String {
        let Self { server, name } = self;
        format!("{server}?options=-csearch_path%3D{name}&application_name={name}")
    }

    /// Runs statements on a connection of their own.
    pub(crate) async fn sql(&self, statements: &str) {
        sql(&self.server, statements).await;
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let (server, drop) = (self.server.clone(), format!("DROP SCHEMA {} CASCADE", self.name));
        // The test's own runtime is about to end.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(sql(&server, &drop));
        });
        // What stays behind ends with the server.
        let _ = dropping.join();
    }
}

async fn sql(server: &str, statements: &str) {
    let (client, connection) = tokio_postgres::connect(server, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(statements).await.unwrap();
}
