//! What is stored, on every database.

mod authorizations;
mod data_keys;
mod integrations;
mod leases;

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use super::testing::{Site, on_every_database};
use super::*;

fn holder() -> Holder {
    Holder { tenant: "acme".into(), subject: "ann".into(), connector: "calendar".into() }
}

fn millis_from(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7)
}

fn details() -> Details {
    Details {
        status: Status::Active,
        reason: Some(r#"{"owner":"user"}"#.into()),
        account: Account { id: Some("1".into()), email: Some("ann@example.com".into()), name: None },
        scopes: vec!["read".into(), "a \"scope\", too".into()],
        expires_at: Some(millis_from(3000)),
        last_refreshed_at: None,
        next_refresh_at: Some(millis_from(2000)),
        secret: None,
    }
}

async fn connect(store: &Store, user: &str) -> Integration {
    store.connect_integration(&holder(), user, AuthType::OAuth2, details()).await.unwrap()
}

async fn data_key(store: &Store, id: &str) -> bool {
    let wraps = vec![Wrap { master_id: "mk_1".into(), bytes: vec![1, 2, 3] }];
    store.create_first_data_key(id, wraps).await.unwrap()
}

fn sealed(key_id: &str) -> Sealed {
    Sealed { key_id: key_id.into(), bytes: vec![0, 1, 255] }
}
