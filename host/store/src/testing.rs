//! Databases and records for tests.

use std::time::{Duration, SystemTime};

use database::connection::Durability;
use database::testing::Place;
pub(crate) use database::testing::on_every_database;
use database::value::values;
use tokio::sync::OnceCell;

use crate::{Account, AuthType, Connected, Details, Holder, Integration, Sealed, Status, Store};

/// A database, and the data directory of a gateway that uses it.
pub(crate) struct Site {
    pub(crate) store: Store,
    pub(crate) place: Place,
}

impl Site {
    pub(crate) async fn sqlite() -> Self {
        Self::on(Place::with_file(tables().await)).await
    }

    pub(crate) async fn postgres() -> Self {
        Self::on(Place::postgres().await).await
    }

    async fn on(place: Place) -> Self {
        Self { store: Store::connect(&place.settings).await.unwrap(), place }
    }

    /// A vault with a master key in the data directory.
    pub(crate) async fn vault(&self) -> vault::Vault {
        vault::Vault::open_new(&self.place.settings.data_dir.join("master.key"), &self.store).await.unwrap()
    }

    /// Opens the database once more, as another process does.
    pub(crate) async fn open_again(&self) -> Store {
        Store::connect(&self.place.settings).await.unwrap()
    }

    /// Runs a statement for which the store has no method.
    pub(crate) async fn execute(&self, sql: &'static str) -> u64 {
        let durability = Durability::ProcessKill;
        self.store.write(durability, move |connection| connection.execute(sql, &[])).await.unwrap()
    }
}

/// The content of a SQLite file that has the tables, and nothing in them. The migrations would take
/// most of the time of a test.
async fn tables() -> &'static [u8] {
    static CONTENT: OnceCell<Vec<u8>> = OnceCell::const_new();
    let making = CONTENT.get_or_init(|| async {
        let site = Site::on(Place::sqlite()).await;
        site.store.database().checkpoint_at_end().await.unwrap();
        site.place.content()
    });
    making.await
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
    store
        .integrations()
        .connect(&holder(), user_identifier, Connected::new(AuthType::OAuth2, details()), Vec::new(), None)
        .await
        .unwrap()
}

/// Stores a data key if there is none.
pub(crate) async fn data_key(store: &Store, id: &str) {
    let id = id.to_owned();
    let insert = "INSERT INTO data_keys (id, created_at) VALUES ($1, now_ms()) ON CONFLICT DO NOTHING";
    let adding = store.write(Durability::PowerLoss, move |connection| connection.execute(insert, values![id]));
    adding.await.unwrap();
}

/// Bytes that the store treats like sealed ones.
pub(crate) fn sealed(key_id: &str) -> Sealed {
    Sealed { key_id: key_id.into(), bytes: vec![0, 1, 255] }
}
