//! Authorizations under way.

use super::*;
use crate::authorizations::{insert, turn};

on_every_database!(
    an_authorization_is_completed_once_whoever_asks,
    an_authorization_that_came_too_late_is_told_and_later_forgotten,
    what_cannot_be_completed_is_told_while_others_write,
    a_user_may_have_a_hundred_authorizations_under_way,
    an_application_may_have_ten_thousand_authorizations_under_way,
);

fn authorization(verifier: Option<Sealed>) -> Authorization {
    Authorization {
        hash: [7; 32],
        holder: holder(),
        user_identifier: Some("ann".into()),
        callback_url: "https://app.example.com/back?a=1".into(),
        redirect_uri: "https://gateway.example.com/callback".into(),
        verifier,
        expires_at: from_millis(to_millis(SystemTime::now()) + 600_000),
    }
}

async fn an_authorization_is_completed_once_whoever_asks(site: Site) {
    data_key(&site.store, "dk_1").await;
    let begun = authorization(Some(sealed("dk_1")));
    site.store.save_authorization(begun.clone()).await.unwrap();
    assert_eq!(site.store.take_authorization(&[8; 32]).await.unwrap(), Taken::Unknown);
    let other = site.open_again().await;
    let asking: Vec<_> = (0..10)
        .map(|number| {
            let store = if number % 2 == 0 { &site.store } else { &other }.clone();
            tokio::spawn(async move { store.take_authorization(&[7; 32]).await.unwrap() })
        })
        .collect();
    let mut fresh = Vec::new();
    for answer in asking {
        match answer.await.unwrap() {
            Taken::Fresh(authorization) => fresh.push(*authorization),
            taken => assert_eq!(taken, Taken::Used),
        }
    }
    assert_eq!(fresh, [begun]);
    // Nothing is left of the secret.
    assert_eq!(site.execute("DELETE FROM data_keys").await, 1);
}

async fn an_authorization_that_came_too_late_is_told_and_later_forgotten(site: Site) {
    let store = &site.store;
    store.save_authorization(authorization(None)).await.unwrap();
    site.execute("UPDATE authorizations SET expires_at = expires_at - 600000").await;
    assert_eq!(store.take_authorization(&[7; 32]).await.unwrap(), Taken::Expired);
    site.execute("UPDATE authorizations SET expires_at = expires_at - 24 * 3600000").await;
    store.save_authorization(Authorization { hash: [8; 32], ..authorization(None) }).await.unwrap();
    assert_eq!(store.take_authorization(&[7; 32]).await.unwrap(), Taken::Unknown);
}

async fn what_cannot_be_completed_is_told_while_others_write(site: Site) {
    let store = &site.store;
    for hash in [[1; 32], [2; 32]] {
        store.save_authorization(Authorization { hash, ..authorization(None) }).await.unwrap();
    }
    store.take_authorization(&[1; 32]).await.unwrap();
    site.execute("UPDATE authorizations SET expires_at = expires_at - 600000 WHERE NOT is_used").await;
    let (is_writing, writing) = tokio::sync::oneshot::channel();
    let (go_on, told) = std::sync::mpsc::channel::<()>();
    let writer = tokio::spawn(store.clone().write_until(is_writing, told));
    writing.await.unwrap();
    for (hash, expected) in [([1; 32], Taken::Used), ([2; 32], Taken::Expired), ([3; 32], Taken::Unknown)] {
        let taking = tokio::time::timeout(Duration::from_secs(20), store.take_authorization(&hash));
        assert_eq!(taking.await.unwrap().unwrap(), expected);
    }
    go_on.send(()).unwrap();
    writer.await.unwrap().unwrap();
}

impl Store {
    /// A transaction that has written and goes on until it is told.
    async fn write_until(
        self,
        is_writing: tokio::sync::oneshot::Sender<()>,
        told: std::sync::mpsc::Receiver<()>,
    ) -> Result<(), StoreError> {
        self.write(Durability::Process, move |session| {
            for number in 1..=3_u8 {
                session.lock(&turn(&[number; 32]))?;
            }
            is_writing.send(()).unwrap();
            told.recv().unwrap();
            Ok(())
        })
        .await
    }
}

/// Begins one after the other; none is like the one before.
async fn begin(store: &Store, holder: &Holder, number: u64) -> Result<StateHash, StoreError> {
    let hash = numbered(number);
    let begun = Authorization { hash, holder: holder.clone(), ..authorization(None) };
    store.save_authorization(begun).await.map(|()| hash)
}

fn numbered(number: u64) -> StateHash {
    let mut hash = StateHash::default();
    hash[..8].copy_from_slice(&number.to_be_bytes());
    hash
}

async fn a_user_may_have_a_hundred_authorizations_under_way(site: Site) {
    let store = &site.store;
    let first = begin(store, &holder(), 0).await.unwrap();
    for number in 1..100 {
        begin(store, &holder(), number).await.unwrap();
    }
    let over = begin(store, &holder(), 100).await.unwrap_err();
    assert_eq!(over.to_string(), "the holder has 100 authorizations under way, and may have no more");
    assert_eq!(store.take_authorization(&numbered(100)).await.unwrap(), Taken::Unknown);
    for (number, other) in
        (200..).zip([Holder { subject: "bob".into(), ..holder() }, Holder { connector: "mail".into(), ..holder() }])
    {
        begin(store, &other, number).await.unwrap();
    }
    // One that was completed makes room, and so do those that nobody came back from.
    store.take_authorization(&first).await.unwrap();
    begin(store, &holder(), 101).await.unwrap();
    assert!(begin(store, &holder(), 102).await.is_err());
    site.execute("UPDATE authorizations SET expires_at = expires_at - 600000").await;
    begin(store, &holder(), 103).await.unwrap();
}

async fn an_application_may_have_ten_thousand_authorizations_under_way(site: Site) {
    let application = Holder { subject: String::new(), ..holder() };
    let filling = site.store.write(Durability::Process, {
        let application = application.clone();
        move |session| {
            (1..10_000).try_for_each(|number| {
                let begun =
                    Authorization { hash: numbered(number), holder: application.clone(), ..authorization(None) };
                insert(session, &begun)
            })
        }
    });
    filling.await.unwrap();
    begin(&site.store, &application, 10_000).await.unwrap();
    let over = begin(&site.store, &application, 10_001).await.unwrap_err();
    assert_eq!(over.to_string(), "the holder has 10000 authorizations under way, and may have no more");
}
