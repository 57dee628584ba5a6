//! The bytes that tenants have stored, on every database.

use std::time::Duration;

use super::*;
use crate::testing::{Site, data_key, on_every_database, sealed};
use crate::{FullShares, IdempotentCall, JobValue, KeyState, NewJob, NewToolSet, StorageScope, new_job_id};

on_every_database!(
    what_is_stored_is_counted_until_it_is_deleted,
    a_value_of_a_connector_without_accounts_counts_for_its_tenant,
    triggers_and_their_subscriptions_count_until_they_are_deleted,
    a_tenant_over_its_quota_stores_nothing_more_and_others_do,
    parts_of_sessions_are_added_up,
);

const HOUR: Duration = Duration::from_secs(3600);

async fn stored(store: &Store, tenant: &'static str) -> u64 {
    store.read(move |connection| stored_by(connection, tenant)).await.unwrap()
}

fn job(tenant: &str) -> NewJob {
    NewJob {
        id: new_job_id().unwrap(),
        tenant: tenant.into(),
        subject: String::new(),
        connector: "calendar".into(),
        operation: "search".into(),
        user_identifier: None,
        key_id: None,
        changes_data: false,
        values: vec![(JobValue::Input, sealed("dk_1"))],
    }
}

fn call(tenant: &str, key: &str) -> IdempotentCall {
    IdempotentCall::new(tenant, "", key, &[b"POST"])
}

fn set(tenant: &str, name: &str) -> NewToolSet {
    NewToolSet { tenant: tenant.into(), name: name.into(), definition: "{}".into() }
}

async fn what_is_stored_is_counted_until_it_is_deleted(site: Site) {
    let store = &site.store;
    data_key(store, "dk_1").await;
    let bytes = sealed("dk_1").bytes.len() as u64;
    store.jobs().add(job("acme"), 10).await.unwrap();
    assert_eq!(stored(store, "acme").await, 500 + bytes);
    let taken = store.jobs().take("one", HOUR, FullShares::default()).await.unwrap().unwrap();
    store.jobs().save_progress(&taken.id, taken.fence, sealed("dk_1")).await.unwrap();
    assert_eq!(stored(store, "acme").await, 500 + 2 * bytes);
    store.jobs().save_progress(&taken.id, taken.fence, sealed("dk_1")).await.unwrap();
    assert_eq!(stored(store, "acme").await, 500 + 2 * bytes, "a value that is replaced counts once");
    site.execute("DELETE FROM jobs").await;
    assert_eq!(stored(store, "acme").await, 0);

    let kept = call("acme", "k");
    assert!(matches!(store.idempotency().begin(&kept, HOUR, HOUR).await.unwrap(), KeyState::New(_)));
    store.idempotency().end(&kept.id, Some(sealed("dk_1"))).await.unwrap();
    assert_eq!(stored(store, "acme").await, 300 + bytes);
    site.execute("DELETE FROM idempotency_keys").await;
    assert_eq!(stored(store, "acme").await, 0);

    // The audit keeps what a pair of changes leaves.
    store.tool_sets().add(set("acme", "reports")).await.unwrap();
    store.tool_sets().delete("acme", "reports").await.unwrap();
    let of_pair = stored(store, "acme").await;
    assert!(of_pair >= 400, "{of_pair}");
    assert_eq!(store.stored_bytes().await.unwrap(), StoredBytes { total: of_pair, largest: of_pair });
    assert_eq!(stored(store, "other").await, 0);
}

async fn a_value_of_a_connector_without_accounts_counts_for_its_tenant(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    let scope = StorageScope { connector: "calendar".into(), partition: "acme".into() };
    for value in [vec![1; 10], vec![1; 1000]] {
        store.storage().set(&vault, &scope, "key", value, None).await.unwrap();
    }
    let with_value = stored(store, "acme").await;
    assert!((1200..1300).contains(&with_value), "{with_value}");
    store.storage().delete(&scope, "key").await.unwrap();
    assert_eq!(stored(store, "acme").await, 0);
}

async fn triggers_and_their_subscriptions_count_until_they_are_deleted(site: Site) {
    let store = &site.store;
    crate::triggers::testing::add(store, "acme", "a").await;
    let sealed_bytes = sealed("dk_1").bytes.len() as u64;
    let labels = r#"{"team":"blue"}"#.len() as u64;
    // The audit keeps that the trigger was made.
    let of_audit = stored(store, "acme").await - (500 + sealed_bytes + labels) - (1000 + sealed_bytes);
    assert!((200..400).contains(&of_audit), "{of_audit}");
    let change = async |statement: &'static str| {
        let before = stored(store, "acme").await;
        site.execute(statement).await;
        i64::try_from(stored(store, "acme").await).unwrap() - i64::try_from(before).unwrap()
    };
    let bytes = i64::try_from(sealed_bytes).unwrap();
    assert_eq!(change("UPDATE subscriptions SET cursor_key = data_key, cursor = secret").await, bytes);
    assert_eq!(change("UPDATE subscriptions SET cursor = secret").await, 0, "a cursor that is replaced counts once");
    assert_eq!(change("UPDATE subscriptions SET cursor_key = NULL, cursor = NULL").await, -bytes);
    assert_eq!(change("UPDATE triggers SET labels = '{}'").await, -13);
    assert_eq!(change("DELETE FROM triggers").await, -(500 + bytes + 2));
    assert_eq!(change("DELETE FROM subscriptions").await, -(1000 + bytes));
    assert_eq!(stored(store, "acme").await, of_audit);
}

async fn a_tenant_over_its_quota_stores_nothing_more_and_others_do(site: Site) {
    let vault = site.vault().await;
    let store = &site.store.clone().with_quota(1500);
    data_key(store, "dk_2").await;
    let scope = |tenant: &str| StorageScope { connector: "calendar".into(), partition: tenant.into() };
    store.storage().set(&vault, &scope("acme"), "key", vec![1; 2000], None).await.unwrap();
    let is_full = |result: Stored<()>| matches!(result, Err(StoreError::TenantFull { limit: 1500 }));
    assert!(is_full(store.jobs().add(NewJob { values: vec![], ..job("acme") }, 10).await));
    assert!(is_full(store.idempotency().begin(&call("acme", "k"), HOUR, HOUR).await.map(drop)));
    assert!(is_full(store.tool_sets().add(set("acme", "reports")).await.map(drop)));
    let more = store.storage().set(&vault, &scope("acme"), "more", vec![1], None).await;
    assert!(matches!(more, Err(crate::StorageError::Full)), "{more:?}");
    store.storage().set(&vault, &scope("other"), "key", vec![1], None).await.unwrap();
    store.tool_sets().add(set("other", "reports")).await.unwrap();
    store.storage().delete(&scope("acme"), "key").await.unwrap();
    store.tool_sets().add(set("acme", "reports")).await.unwrap();
}

async fn parts_of_sessions_are_added_up(site: Site) {
    let store = &site.store;
    site.execute(
        "INSERT INTO stored_bytes (tenant, part, bytes) VALUES ('acme', 0, 100), ('acme', 7, 20), ('acme', 8, -5)",
    )
    .await;
    store.fold_stored_bytes().await.unwrap();
    assert_eq!(stored(store, "acme").await, 115);
    assert_eq!(site.execute("DELETE FROM stored_bytes").await, 1);
}
