//! The numbers of what waits, on every database.

use std::time::{Duration, SystemTime};

use database::connection::Durability;

use super::{Backlog, SUBSCRIPTION_STATES};
use crate::testing::{Site, at_second, connect, on_every_database};
use crate::triggers::testing::{LONG, add};
use crate::{KeyId, NewApiKey, Store};

on_every_database!(
    what_waits_is_counted,
    a_subscription_that_no_gateway_takes_is_told_by_its_wait,
    subscriptions_are_counted_by_their_state,
);

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn key(store: &Store, id: &str, life: Duration, age: Duration) {
    let key = NewApiKey {
        id: KeyId(id.into()),
        name: "test".into(),
        tenant: "default".into(),
        scopes: "operate".into(),
        hash: [id.as_bytes()[0]; 32],
        prefix: "cgw_test".into(),
        expires_at: Some(SystemTime::now() + life),
        ..NewApiKey::default()
    };
    store.keys().create(key).await.unwrap();
    let older = format!("UPDATE api_keys SET created_at = created_at - {} WHERE id = '{id}'", age.as_millis());
    store.write(Durability::ProcessKill, move |connection| connection.execute(&older, &[])).await.unwrap();
}

async fn what_waits_is_counted(site: Site) {
    let store = &site.store;
    let nothing = Backlog {
        overdue_refreshes: 0,
        pending_webhooks: 0,
        expiring_keys: 0,
        trigger_lag: Duration::ZERO,
        subscriptions: [0; 5],
    };
    assert_eq!(store.backlog(at_second(9000), 14 * DAY).await.unwrap(), nothing);
    // Its refresh is due at second 2000.
    connect(store, "ann").await;
    key(store, "long", DAY, 90 * DAY).await;
    key(store, "a life of a day", DAY, Duration::ZERO).await;
    key(store, "next year", 300 * DAY, 90 * DAY).await;
    let found = store.backlog(at_second(1000), 14 * DAY).await.unwrap();
    assert_eq!(found, Backlog { expiring_keys: 1, ..nothing });
    let found = store.backlog(at_second(9000), 14 * DAY).await.unwrap();
    assert_eq!(found, Backlog { expiring_keys: 1, overdue_refreshes: 1, ..nothing });
}

async fn a_subscription_that_no_gateway_takes_is_told_by_its_wait(site: Site) {
    let store = &site.store;
    let lag = async || store.backlog(at_second(1000), DAY).await.unwrap().trigger_lag.as_secs();
    let (_, id) = add(store, "acme", "a").await;
    let earlier = format!("UPDATE subscriptions SET due_at = due_at - 3600000 WHERE id = '{id}'");
    store.write(Durability::ProcessKill, move |connection| connection.execute(&earlier, &[])).await.unwrap();
    assert!((3600..3660).contains(&lag().await), "{}", lag().await);
    store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    assert_eq!(lag().await, 0, "a gateway works on it");
}

async fn subscriptions_are_counted_by_their_state(site: Site) {
    let store = &site.store;
    let changes = [
        "standing = 'new'",
        "standing = 'active'",
        "standing = 'active'",
        "standing = 'none'",
        "standing = 'lost'",
        "blocked = 'user'",
        "blocked = 'final'",
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (_, id) = add(store, "acme", &number.to_string()).await;
        let changed = format!("UPDATE subscriptions SET {change} WHERE id = '{id}'");
        store.write(Durability::ProcessKill, move |connection| connection.execute(&changed, &[])).await.unwrap();
    }
    let counted = store.backlog(at_second(1000), DAY).await.unwrap().subscriptions;
    assert_eq!(
        SUBSCRIPTION_STATES.iter().zip(counted).collect::<Vec<_>>(),
        [(&"pending", 1), (&"push", 2), (&"poll", 2), (&"needs-user", 1), (&"failed", 1),]
    );
}
