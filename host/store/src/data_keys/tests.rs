//! Data keys, on every database.

use std::time::Duration;

use super::*;
use crate::testing::{Site, data_key, details, holder, on_every_database, sealed};
use crate::{AuthType, Details, StoreError};

#[tokio::test]
async fn every_column_with_a_sealed_secret_is_known_to_rotations() {
    let site = Site::sqlite().await;
    let referring = site.store.database.read(|connection| {
        connection.all::<(String, String)>(
            "SELECT tables.name, keys.\"from\" FROM sqlite_schema AS tables, pragma_foreign_key_list(tables.name) AS keys
             WHERE keys.\"table\" = 'data_keys' AND tables.name <> 'data_key_wraps' ORDER BY 1, 2",
            &[],
        )
    });
    let mut known: Vec<_> = sealed_rows::SEALED_COLUMNS
        .iter()
        .map(|column| (column.table.to_owned(), column.data_key.to_owned()))
        .collect();
    known.sort();
    assert_eq!(referring.await.unwrap(), known);
}

on_every_database!(of_many_first_data_keys_one_is_stored, a_secret_under_a_deleted_data_key_cannot_be_stored);

async fn of_many_first_data_keys_one_is_stored(site: Site) {
    let other = site.open_again().await;
    let storing: Vec<_> = (0..8)
        .map(|number| {
            let store = if number % 2 == 0 { &site.store } else { &other }.clone();
            tokio::spawn(async move { data_key(&store, &format!("dk_{number}")).await })
        })
        .collect();
    let mut stored = 0;
    for answer in storing {
        stored += usize::from(answer.await.unwrap());
    }
    let keys = other.data_keys().await.unwrap();
    assert_eq!((stored, keys.len()), (1, 1));
    assert_eq!(keys[0].wraps, [Wrap { master_id: "mk_1".into(), bytes: vec![1, 2, 3] }]);
}

async fn a_secret_under_a_deleted_data_key_cannot_be_stored(site: Site) {
    let store = &site.store;
    data_key(store, "dk_1").await;
    let details = Details { secret: Some(sealed("dk_1")), ..details() };
    let integration =
        store.connect_integration(&holder(), "ann", AuthType::OAuth2, details.clone(), Vec::new(), None).await.unwrap();
    store.replace_data_key("dk_2", vec![Wrap { master_id: "mk_1".into(), bytes: vec![4] }]).await.unwrap();
    assert_eq!(store.data_keys().await.unwrap()[0].id, "dk_2");
    // First the key is in use. Then it has not been retired for long enough.
    assert_eq!(store.drop_retired_data_keys(Duration::ZERO).await.unwrap(), 0);
    store.delete_integration(&integration.id, integration.version, Vec::new()).await.unwrap();
    assert_eq!(store.drop_retired_data_keys(Duration::from_secs(60)).await.unwrap(), 0);
    assert_eq!(store.drop_retired_data_keys(Duration::ZERO).await.unwrap(), 1);
    let late = store.connect_integration(&holder(), "ann", AuthType::OAuth2, details, Vec::new(), None).await;
    assert!(matches!(late, Err(StoreError::DataKeyInUse)), "{late:?}");
}
