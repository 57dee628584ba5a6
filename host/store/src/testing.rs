//! Databases and records for tests. Each test runs on SQLite and on PostgreSQL, with separate
//! tables.
//!
//! `TEST_POSTGRES_URL` names the PostgreSQL server. Without it the tests on PostgreSQL fail.

use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use tokio_postgres::NoTls;

use crate::data_keys::Wrap;
use crate::{Account, AuthType, Details, Holder, Integration, Sealed, Settings, Status, Store};

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

/// A database, and the data directory of a gateway that uses it.
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

    /// A vault with a master key in the data directory.
    pub(crate) async fn vault(&self) -> crate::vault::Vault {
        crate::vault::Vault::open_new(&self.settings.data_dir.join("master.key"), &self.store).await.unwrap()
    }

    /// Opens the database once more, as another process does.
    pub(crate) async fn open_again(&self) -> Store {
        Store::connect(&self.settings).await.unwrap()
    }

    /// Runs a statement for which the store has no method.
    pub(crate) async fn execute(&self, sql: &'static str) -> u64 {
        let executing =
            self.store.write(crate::Durability::ProcessKill, move |connection| connection.execute(sql, &[]));
        executing.await.unwrap()
    }

    /// The schema of a site on PostgreSQL.
    pub(crate) fn schema(&self) -> &Schema {
        self.schema.as_ref().unwrap()
    }
}

/// A schema on the PostgreSQL server for one test. It is deleted when this value is dropped.
pub(crate) struct Schema {
    pub(crate) server: String,
    /// Also the application name of connections that use the schema.
    pub(crate) name: String,
}

impl Schema {
    async fn create(server: String) -> Self {
        let name = crate::id::random_id("test_").unwrap();
        let schema = Self { server, name };
        schema.sql(&format!("CREATE SCHEMA {}", schema.name)).await;
        schema
    }

    /// The `database_url` of a gateway that uses the schema.
    pub(crate) fn url(&self) -> String {
        let Self { server, name } = self;
        format!("{server}?options=-csearch_path%3D{name}&application_name={name}")
    }

    /// Runs statements on a separate connection.
    pub(crate) async fn sql(&self, statements: &str) {
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

/// The holder of [`connect`]'s integrations.
pub(crate) fn holder() -> Holder {
    Holder { tenant: "acme".into(), subject: "ann".into(), connector: "calendar".into() }
}

/// A time in 1970, with milliseconds that a column must keep.
pub(crate) fn at_second(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7)
}

/// Details without a secret, with most of the other fields.
pub(crate) fn details() -> Details {
    Details {
        status: Status::Active,
        reason: Some(r#"{"owner":"user"}"#.into()),
        account: Account {
            id: Some("1".into()),
            email: Some("ann@example.com".into()),
            address: [("subdomain".to_owned(), "acme".to_owned())].into(),
            ..Account::default()
        },
        scopes: vec!["read".into(), "a \"scope\", too".into()],
        expires_at: Some(at_second(3000)),
        last_refreshed_at: None,
        next_refresh_at: Some(at_second(2000)),
        refresh_failing_since: None,
        secret: None,
    }
}

/// Stores an integration with [`details`].
pub(crate) async fn connect(store: &Store, user_identifier: &str) -> Integration {
    store.connect_integration(&holder(), user_identifier, AuthType::OAuth2, details(), Vec::new(), None).await.unwrap()
}

/// Stores a data key if there is none.
pub(crate) async fn data_key(store: &Store, id: &str) -> bool {
    let wraps = vec![Wrap { master_id: "mk_1".into(), bytes: vec![1, 2, 3] }];
    store.create_first_data_key(id, wraps).await.unwrap()
}

/// Bytes that the store treats like sealed ones.
pub(crate) fn sealed(key_id: &str) -> Sealed {
    Sealed { key_id: key_id.into(), bytes: vec![0, 1, 255] }
}
