//! Authorizations, on every database.

use std::time::Duration;

use database::connection::Durability;

use super::queries::{insert_authorization, lock_name};
use super::*;
use crate::testing::{Site, data_key, holder, on_every_database, sealed};
use crate::{Holder, KeyId, NewApiKey, NewConnectLink, Sealed, Store, Stored};

on_every_database!(
    an_authorization_is_taken_once_by_many_that_ask,
    an_authorization_of_another_connector_is_not_used_up,
    an_expired_authorization_is_reported_and_deleted_a_day_later,
    an_authorization_that_cannot_be_taken_is_reported_without_waiting_for_writers,
    a_user_may_have_a_hundred_authorizations_under_way,
    an_application_may_have_ten_thousand_authorizations_under_way,
    one_gateway_at_a_time_asks_about_a_device_code_and_only_the_last_one_writes,
    a_device_code_ends_with_its_result_and_keeps_no_secret,
    a_request_about_a_device_code_is_due_at_the_end_of_the_code_at_the_latest,
    an_authorization_ends_with_its_key_and_with_its_link,
);

async fn authorization(store: &Store, verifier: Option<Sealed>) -> Authorization {
    Authorization {
        hash: [7; 32],
        holder: holder(),
        user_identifier: Some("ann".into()),
        replaces: true,
        confirms: false,
        callback_url: "https://app.example.com/back?a=1".into(),
        connect_link: None,
        redirect_uri: "https://gateway.example.com/callback".into(),
        verifier,
        labels: Some([("team".to_owned(), "blue".to_owned())].into()),
        address: [("subdomain".to_owned(), "acme".to_owned())].into(),
        key_id: None,
        oauth_client: Some("oac_1".into()),
        expires_at: store.database.now().await.unwrap() + Duration::from_secs(600),
    }
}

async fn an_authorization_is_taken_once_by_many_that_ask(site: Site) {
    data_key(&site.store, "dk_1").await;
    let begun = authorization(&site.store, Some(sealed("dk_1"))).await;
    site.store.authorizations().save(begun.clone(), None).await.unwrap();
    assert_eq!(site.store.authorizations().take("calendar", &[8; 32]).await.unwrap(), TakenAuthorization::Unknown);
    let other = site.open_again().await;
    let asking: Vec<_> = (0..10)
        .map(|number| {
            let store = if number % 2 == 0 { &site.store } else { &other }.clone();
            tokio::spawn(async move { store.authorizations().take("calendar", &[7; 32]).await.unwrap() })
        })
        .collect();
    let mut fresh = Vec::new();
    for answer in asking {
        match answer.await.unwrap() {
            TakenAuthorization::Fresh(authorization) => fresh.push(*authorization),
            taken => assert_eq!(taken, TakenAuthorization::Used),
        }
    }
    assert_eq!(fresh, [begun]);
    // The data key can be deleted, because the verifier is no longer stored.
    assert_eq!(site.execute("DELETE FROM data_keys").await, 1);
}

async fn an_authorization_of_another_connector_is_not_used_up(site: Site) {
    let begun = authorization(&site.store, None).await;
    site.store.authorizations().save(begun.clone(), None).await.unwrap();
    let elsewhere = site.store.authorizations().take("mail", &[7; 32]).await.unwrap();
    assert_eq!(elsewhere, TakenAuthorization::OtherConnector);
    let taken = site.store.authorizations().take("calendar", &[7; 32]).await.unwrap();
    assert_eq!(taken, TakenAuthorization::Fresh(Box::new(begun)));
}

async fn an_expired_authorization_is_reported_and_deleted_a_day_later(site: Site) {
    let store = &site.store;
    store.authorizations().save(authorization(store, None).await, None).await.unwrap();
    site.execute("UPDATE authorizations SET expires_at = expires_at - 600000").await;
    assert_eq!(store.authorizations().take("calendar", &[7; 32]).await.unwrap(), TakenAuthorization::Expired);
    site.execute("UPDATE authorizations SET expires_at = expires_at - 24 * 3600000").await;
    store
        .authorizations()
        .save(Authorization { hash: [8; 32], ..authorization(store, None).await }, None)
        .await
        .unwrap();
    assert_eq!(store.authorizations().take("calendar", &[7; 32]).await.unwrap(), TakenAuthorization::Unknown);
}

async fn an_authorization_that_cannot_be_taken_is_reported_without_waiting_for_writers(site: Site) {
    let store = &site.store;
    for hash in [[1; 32], [2; 32]] {
        store.authorizations().save(Authorization { hash, ..authorization(store, None).await }, None).await.unwrap();
    }
    store.authorizations().take("calendar", &[1; 32]).await.unwrap();
    site.execute("UPDATE authorizations SET expires_at = expires_at - 600000 WHERE NOT is_used").await;
    let (is_writing, writing) = tokio::sync::oneshot::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let writer = tokio::spawn(store.clone().write_until(is_writing, released));
    writing.await.unwrap();
    for (hash, expected) in [
        ([1; 32], TakenAuthorization::Used),
        ([2; 32], TakenAuthorization::Expired),
        ([3; 32], TakenAuthorization::Unknown),
    ] {
        let taking = tokio::time::timeout(Duration::from_secs(20), store.authorizations().take("calendar", &hash));
        assert_eq!(taking.await.unwrap().unwrap(), expected);
    }
    release.send(()).unwrap();
    writer.await.unwrap().unwrap();
}

impl Store {
    /// A transaction that holds the write lock until it is released.
    async fn write_until(
        self,
        is_writing: tokio::sync::oneshot::Sender<()>,
        released: std::sync::mpsc::Receiver<()>,
    ) -> Stored<()> {
        self.write(Durability::ProcessKill, move |connection| {
            for number in 1..=3_u8 {
                connection.lock(&lock_name(&[number; 32]))?;
            }
            is_writing.send(()).unwrap();
            released.recv().unwrap();
            Ok(())
        })
        .await
    }
}

/// Stores an authorization with the hash of this number.
async fn begin(store: &Store, holder: &Holder, number: u64) -> Stored<StateHash> {
    let hash = numbered(number);
    let begun = Authorization { hash, holder: holder.clone(), ..authorization(store, None).await };
    store.authorizations().save(begun, None).await.map(|()| hash)
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
    assert_eq!(over.to_string(), "the holder has 100 authorizations in progress and may not have more");
    assert_eq!(store.authorizations().take("calendar", &numbered(100)).await.unwrap(), TakenAuthorization::Unknown);
    for (number, other) in
        (200..).zip([Holder { subject: "bob".into(), ..holder() }, Holder { connector: "mail".into(), ..holder() }])
    {
        begin(store, &other, number).await.unwrap();
    }
    // A taken authorization no longer counts, and an expired one does not either.
    store.authorizations().take("calendar", &first).await.unwrap();
    begin(store, &holder(), 101).await.unwrap();
    assert!(begin(store, &holder(), 102).await.is_err());
    site.execute("UPDATE authorizations SET expires_at = expires_at - 600000").await;
    begin(store, &holder(), 103).await.unwrap();
}

async fn an_application_may_have_ten_thousand_authorizations_under_way(site: Site) {
    let application = Holder { subject: String::new(), ..holder() };
    let first = Authorization { holder: application.clone(), ..authorization(&site.store, None).await };
    let filling = site.store.write(Durability::ProcessKill, move |connection| {
        (1..10_000).try_for_each(|number| {
            insert_authorization(connection, &Authorization { hash: numbered(number), ..first.clone() }, None)
        })
    });
    filling.await.unwrap();
    begin(&site.store, &application, 10_000).await.unwrap();
    let over = begin(&site.store, &application, 10_001).await.unwrap_err();
    assert_eq!(over.to_string(), "the holder has 10000 authorizations in progress and may not have more");
}

/// An authorization by a device code whose first request is due.
async fn save_device(store: &Store) -> StateHash {
    data_key(store, "dk_1").await;
    let begun = authorization(store, Some(sealed("dk_1"))).await;
    store.authorizations().save(begun, Some(Duration::ZERO)).await.unwrap();
    [7; 32]
}

/// Takes the next request for this time.
async fn claim(store: &Store, life: Duration) -> Option<DevicePoll> {
    store.authorizations().claim_device(&[7; 32], life, "expired_token", "withdrawn").await.unwrap()
}

async fn one_gateway_at_a_time_asks_about_a_device_code_and_only_the_last_one_writes(site: Site) {
    let store = &site.store;
    let hash = save_device(store).await;
    let other = site.open_again().await;
    assert_eq!(other.authorizations().due_devices(10).await.unwrap(), [hash]);
    let asking: Vec<_> = (0..10)
        .map(|number| {
            let store = if number % 2 == 0 { store } else { &other }.clone();
            tokio::spawn(async move { claim(&store, Duration::from_secs(60)).await })
        })
        .collect();
    let mut claimed = Vec::new();
    for answer in asking {
        claimed.extend(answer.await.unwrap());
    }
    let [first] = &claimed[..] else { panic!("{} gateways ask", claimed.len()) };
    assert_eq!((first.number, first.interval), (1, Duration::ZERO));
    assert_eq!(first.authorization.verifier, Some(sealed("dk_1")));
    assert!(other.authorizations().due_devices(10).await.unwrap().is_empty());

    // The first gateway was too slow, and another one asks.
    store.authorizations().postpone_device(&hash, 1, Duration::from_secs(9), Duration::ZERO).await.unwrap();
    let second = claim(&other, Duration::from_secs(60)).await.unwrap();
    assert_eq!((second.number, second.interval), (2, Duration::from_secs(9)));
    store.authorizations().postpone_device(&hash, 1, Duration::ZERO, Duration::ZERO).await.unwrap();
    store.authorizations().end_device(&hash, 1, Err("access_denied".to_owned())).await.unwrap();
    assert!(!store.authorizations().take_device(&hash, 1).await.unwrap());
    assert!(store.authorizations().due_devices(10).await.unwrap().is_empty());
    assert_eq!(store.authorizations().device_progress(&holder(), &hash).await.unwrap(), Some(DeviceProgress::Pending));
    assert!(other.authorizations().take_device(&hash, 2).await.unwrap());
    assert!(!other.authorizations().take_device(&hash, 2).await.unwrap());
}

async fn a_device_code_ends_with_its_result_and_keeps_no_secret(site: Site) {
    let store = &site.store;
    let hash = save_device(store).await;
    let progress = || async { store.authorizations().device_progress(&holder(), &hash).await.unwrap() };
    assert_eq!(store.authorizations().take("calendar", &hash).await.unwrap(), TakenAuthorization::Unknown);
    let other_user = Holder { subject: "eve".to_owned(), ..holder() };
    assert_eq!(store.authorizations().device_progress(&other_user, &hash).await.unwrap(), None);
    claim(store, Duration::ZERO).await.unwrap();
    assert!(store.authorizations().take_device(&hash, 1).await.unwrap());
    // The device code is no longer stored.
    assert_eq!(site.execute("DELETE FROM data_keys").await, 1);
    assert_eq!(progress().await, Some(DeviceProgress::Pending));
    site.execute("UPDATE authorizations SET expires_at = expires_at - 721000").await;
    assert_eq!(progress().await, Some(DeviceProgress::Lost));
    store.authorizations().end_device(&hash, 1, Ok("ann".to_owned())).await.unwrap();
    store.authorizations().end_device(&hash, 1, Err("access_denied".to_owned())).await.unwrap();
    assert_eq!(progress().await, Some(DeviceProgress::Connected { user_identifier: "ann".to_owned() }));

    site.execute("DELETE FROM authorizations").await;
    save_device(store).await;
    site.execute("UPDATE authorizations SET expires_at = expires_at - 600001").await;
    assert_eq!(progress().await, Some(DeviceProgress::Pending));
    assert_eq!(claim(store, Duration::ZERO).await, None);
    assert_eq!(progress().await, Some(DeviceProgress::Failed("expired_token".to_owned())));
    assert_eq!(site.execute("DELETE FROM data_keys").await, 1);
}

async fn a_request_about_a_device_code_is_due_at_the_end_of_the_code_at_the_latest(site: Site) {
    let store = &site.store;
    let hash = save_device(store).await;
    claim(store, Duration::from_secs(60)).await.unwrap();
    // The provider wants to be asked again in a day.
    let (interval, delay) = (Duration::from_secs(5), Duration::from_secs(86_400));
    store.authorizations().postpone_device(&hash, 1, interval, delay).await.unwrap();
    assert!(store.authorizations().due_devices(10).await.unwrap().is_empty());
    assert_eq!(
        site.execute("UPDATE authorizations SET expires_at = expires_at WHERE next_poll_at = expires_at").await,
        1
    );
    store.authorizations().postpone_device(&hash, 1, interval, Duration::from_secs(60)).await.unwrap();
    assert_eq!(
        site.execute("UPDATE authorizations SET expires_at = expires_at WHERE next_poll_at < expires_at").await,
        1
    );
}

async fn an_authorization_ends_with_its_key_and_with_its_link(site: Site) {
    let store = &site.store;
    for (number, ended) in [
        (1, "UPDATE api_keys SET revoked_at = now_ms() WHERE id = 'key_1'"),
        (2, "UPDATE connect_links SET ended = 'done' WHERE id = 'lnk_2'"),
        (3, "UPDATE api_keys SET revoked_at = now_ms() WHERE id = 'key_3'"),
    ] {
        let (id, hash) = (KeyId(format!("key_{number}")), [number; 32]);
        let key = NewApiKey { id: id.clone(), tenant: "acme".into(), hash, ..NewApiKey::default() };
        store.keys().create(key).await.unwrap();
        let link = NewConnectLink {
            id: format!("lnk_{number}"),
            hash,
            tenant: "acme".into(),
            subject: String::new(),
            connectors: vec!["calendar".into()],
            user_identifier: None,
            callback_url: None,
            labels: None,
            key_id: Some(id.clone()),
            lifetime: Duration::from_secs(60),
        };
        store.connect_links().add(link).await.unwrap();
        let of_link = number > 1;
        let (key_id, connect_link) = ((!of_link).then_some(id), of_link.then(|| format!("lnk_{number}")));
        let begun = Authorization { hash, key_id, connect_link, ..authorization(store, None).await };
        store.authorizations().save(begun.clone(), None).await.unwrap();
        let device = [number + 100; 32];
        let of_device = Authorization { hash: device, ..begun };
        store.authorizations().save(of_device.clone(), Some(Duration::ZERO)).await.unwrap();
        assert!(!store.authorizations().is_withdrawn(&hash).await.unwrap());
        site.execute(ended).await;
        assert!(store.authorizations().is_withdrawn(&hash).await.unwrap());
        assert_eq!(store.authorizations().take("calendar", &hash).await.unwrap(), TakenAuthorization::Expired);
        let claimed = store
            .authorizations()
            .claim_device(&device, Duration::from_secs(60), "expired_token", "withdrawn")
            .await
            .unwrap();
        assert_eq!(claimed, None);
        let progress = store.authorizations().device_progress(&of_device.holder, &device).await.unwrap();
        assert_eq!(progress, Some(DeviceProgress::Failed("withdrawn".into())));
    }
}
