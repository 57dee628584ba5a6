//! Confirmations, on every database.

use super::*;
use crate::testing::{Site, on_every_database};

on_every_database!(a_confirmation_serves_once, an_expired_confirmation_serves_no_more, open_confirmations_are_limited);

const MINUTE: Duration = Duration::from_secs(60);

async fn a_confirmation_serves_once(site: Site) {
    let store = &site.store;
    store.confirmations().add("acme", &[1; 32], MINUTE).await.unwrap();
    let other = site.open_again().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..10 {
        let store = if number % 2 == 0 { store } else { &other }.clone();
        tasks.spawn(async move { store.confirmations().take(&[1; 32]).await.unwrap() });
    }
    let taken = tasks.join_all().await;
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 1, "{taken:?}");
    assert!(!store.confirmations().take(&[2; 32]).await.unwrap());
}

async fn an_expired_confirmation_serves_no_more(site: Site) {
    let store = &site.store;
    store.confirmations().add("acme", &[1; 32], MINUTE).await.unwrap();
    site.execute("UPDATE confirmations SET expires_at = expires_at - 60000").await;
    assert!(!store.confirmations().take(&[1; 32]).await.unwrap());
    // The next one sweeps it.
    store.confirmations().add("acme", &[2; 32], MINUTE).await.unwrap();
    assert_eq!(site.execute("DELETE FROM confirmations").await, 1);
}

async fn open_confirmations_are_limited(site: Site) {
    let store = &site.store;
    let filling = store.write(Durability::ProcessKill, |connection| {
        (0..10_000_u32).try_for_each(|number| {
            let hash = database::digest::sha256(&number.to_be_bytes());
            let row = "INSERT INTO confirmations (hash, tenant, expires_at) VALUES ($1, 'acme', now_ms() + 60000)";
            connection.execute(row, values![&hash]).map(drop)
        })
    });
    filling.await.unwrap();
    let over = store.confirmations().add("acme", &[1; 32], MINUTE).await.unwrap_err();
    assert!(matches!(over, StoreError::TooManyConfirmations { limit: 10_000 }), "{over}");
    store.confirmations().add("other", &[1; 32], MINUTE).await.unwrap();
}
