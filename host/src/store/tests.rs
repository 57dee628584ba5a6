//! Integrations, their leases, authorizations and data keys, on every database.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use super::testing::{Site, on_every_database};
use super::*;

on_every_database!(
    an_integration_comes_back_as_it_was_connected,
    connecting_again_writes_over_the_former_one_and_keeps_its_id_and_selection,
    another_account_under_a_former_name_finds_nothing_that_was_stored_for_the_former_one,
    a_user_may_have_a_thousand_integrations_and_connect_those_again,
    an_application_may_have_a_hundred_thousand_integrations,
    nobody_sees_the_integrations_of_another,
    one_integration_of_a_holder_is_selected_whoever_selects_at_once,
    of_two_who_update_from_one_version_one_succeeds,
    deleting_an_integration_takes_along_what_its_connector_stored_for_it,
    due_are_those_that_are_active_and_late_and_that_nobody_refreshes,
    one_of_many_gets_the_lease_and_the_next_after_it_was_given_back_or_ran_out,
    a_holder_of_a_lease_that_ran_out_writes_nothing_over_the_next_one,
    an_authorization_is_completed_once_whoever_asks,
    an_authorization_that_came_too_late_is_told_and_later_forgotten,
    what_cannot_be_completed_is_told_while_others_write,
    a_user_may_have_a_hundred_authorizations_under_way,
    an_application_may_have_ten_thousand_authorizations_under_way,
    of_many_first_data_keys_one_is_stored,
    nothing_is_sealed_under_a_data_key_that_is_gone,
    work_that_is_claimed_is_free_again_once_it_is_given_back,
);

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

async fn an_integration_comes_back_as_it_was_connected(site: Site) {
    let store = &site.store;
    data_key(store, "dk_1").await;
    let details = Details { secret: Some(sealed("dk_1")), ..details() };
    let connected =
        store.connect_integration(&holder(), "ann@example.com", AuthType::OAuth2, details.clone()).await.unwrap();
    assert_eq!((&connected.holder, connected.auth_type, connected.selected), (&holder(), AuthType::OAuth2, false));
    assert_eq!((&connected.details, connected.version), (&details, 1));
    assert_eq!(connected.created_at, connected.updated_at);
    assert_eq!(store.integration(&holder(), "ann@example.com").await.unwrap().as_ref(), Some(&connected));
    assert_eq!(store.integration_by_id(&connected.id).await.unwrap().as_ref(), Some(&connected));
    assert_eq!(store.integrations_of(&holder()).await.unwrap(), [connected]);
}

async fn connecting_again_writes_over_the_former_one_and_keeps_its_id_and_selection(site: Site) {
    let store = &site.store;
    let first = connect(store, "ann").await;
    store.select_integration(&holder(), "ann").await.unwrap();
    let changed = Details { status: Status::Revoked, scopes: vec![], reason: None, ..details() };
    let second = store.connect_integration(&holder(), "ann", AuthType::ApiKey, changed.clone()).await.unwrap();
    assert_eq!((second.id, second.created_at), (first.id, first.created_at));
    assert_eq!((second.auth_type, second.selected, second.version), (AuthType::ApiKey, true, 2));
    assert_eq!(second.details, changed);
}

async fn another_account_under_a_former_name_finds_nothing_that_was_stored_for_the_former_one(site: Site) {
    let store = &site.store;
    let reconnect = async |id: Option<&str>| {
        let details = Details { account: Account { id: id.map(str::to_owned), ..Account::default() }, ..details() };
        store.connect_integration(&holder(), "work", AuthType::OAuth2, details).await.unwrap().id
    };
    let other = connect(store, "home").await.id;
    let id = reconnect(None).await;
    let scope = |id: &str| StorageScope { connector: "calendar".into(), integration: Some(id.to_owned()) };
    store.storage_set(&scope(&other), "key", vec![1], None).await.unwrap();
    // Nothing tells whose it was; the same account; one that nobody names; another one.
    for (account, is_kept) in [(Some("1"), false), (Some("1"), true), (None, true), (Some("2"), false)] {
        store.storage_set(&scope(&id), "key", vec![2], None).await.unwrap();
        assert_eq!(reconnect(account).await, id);
        let kept = store.storage_get(&scope(&id), "key").await.unwrap();
        assert_eq!(kept.is_some(), is_kept, "{account:?}");
    }
    assert!(store.storage_get(&scope(&other), "key").await.unwrap().is_some());
}

/// So many integrations of a user's, or of the tenant itself.
async fn fill(store: &Store, subject: &'static str, rows: u64) {
    let filling = store.write(Durability::Process, move |session| {
        session.execute(
            "INSERT INTO integrations (id, tenant, subject, connector, user_identifier, auth_type, created_at, updated_at,
                 status, scopes)
             WITH RECURSIVE numbers (n) AS
                 (SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
             SELECT 'int_' || n, 'acme', $2, 'calendar', 'u' || n, 'none', 1, 1, 'active', '[]' FROM numbers",
            session::values![i64::try_from(rows).unwrap(), subject],
        )
    });
    assert_eq!(filling.await.unwrap(), rows);
}

async fn a_user_may_have_a_thousand_integrations_and_connect_those_again(site: Site) {
    let store = &site.store;
    fill(store, "ann", 999).await;
    let last = connect(store, "last").await;
    let over = store.connect_integration(&holder(), "over", AuthType::None, details()).await.unwrap_err();
    assert_eq!(over.to_string(), "the holder has 1000 integrations, and may have no more");
    assert_eq!(store.integrations_of(&holder()).await.unwrap().len(), 1000);
    connect(store, "u1").await;
    for other in [Holder { subject: "bob".into(), ..holder() }, Holder { connector: "mail".into(), ..holder() }] {
        store.connect_integration(&other, "over", AuthType::None, details()).await.unwrap();
    }
    store.delete_integration(&last.id, last.version).await.unwrap();
    connect(store, "over").await;
}

async fn an_application_may_have_a_hundred_thousand_integrations(site: Site) {
    let store = &site.store;
    fill(store, "", 99_999).await;
    let application = Holder { subject: String::new(), ..holder() };
    store.connect_integration(&application, "last", AuthType::None, details()).await.unwrap();
    let over = store.connect_integration(&application, "over", AuthType::None, details()).await.unwrap_err();
    assert_eq!(over.to_string(), "the holder has 100000 integrations, and may have no more");
}

async fn nobody_sees_the_integrations_of_another(site: Site) {
    let store = &site.store;
    connect(store, "ann").await;
    let others = [
        Holder { tenant: "other".into(), ..holder() },
        Holder { subject: String::new(), ..holder() },
        Holder { connector: "mail".into(), ..holder() },
    ];
    for other in &others {
        assert_eq!(store.integration(other, "ann").await.unwrap(), None);
        assert!(store.integrations_of(other).await.unwrap().is_empty());
        assert_eq!(store.select_integration(other, "ann").await.unwrap(), None);
        store.connect_integration(other, "ann", AuthType::None, details()).await.unwrap();
    }
    let connectors: Vec<_> = store
        .integrations_of_subject("acme", "ann")
        .await
        .unwrap()
        .into_iter()
        .map(|integration| integration.holder.connector)
        .collect();
    assert_eq!(HashSet::<&str>::from_iter(connectors.iter().map(String::as_str)), ["calendar", "mail"].into());
    assert_eq!(store.integrations_of_subject("acme", "").await.unwrap().len(), 1);
}

async fn one_integration_of_a_holder_is_selected_whoever_selects_at_once(site: Site) {
    let users: Vec<_> = (0..6).map(|number| format!("user {number}")).collect();
    for user in &users {
        connect(&site.store, user).await;
    }
    let other = site.open_again().await;
    for _ in 0..5 {
        let selecting: Vec<_> = users
            .iter()
            .enumerate()
            .map(|(number, user)| {
                let (store, user) = (if number % 2 == 0 { &site.store } else { &other }.clone(), user.clone());
                tokio::spawn(async move { store.select_integration(&holder(), &user).await })
            })
            .collect();
        for selection in selecting {
            assert!(selection.await.unwrap().unwrap().unwrap().selected);
        }
        let integrations = other.integrations_of(&holder()).await.unwrap();
        assert_eq!(integrations.iter().filter(|integration| integration.selected).count(), 1);
    }
    assert_eq!(other.select_integration(&holder(), "nobody").await.unwrap(), None);
    let integrations = other.integrations_of(&holder()).await.unwrap();
    assert_eq!(integrations.iter().filter(|integration| integration.selected).count(), 1);
}

async fn of_two_who_update_from_one_version_one_succeeds(site: Site) {
    let store = &site.store;
    let integration = connect(store, "ann").await;
    let (first, second) = tokio::join!(
        store.update_integration(
            &integration.id,
            integration.version,
            Details { status: Status::Expired, ..details() }
        ),
        store.update_integration(
            &integration.id,
            integration.version,
            Details { status: Status::Revoked, ..details() }
        ),
    );
    let written: Vec<_> = [first.unwrap(), second.unwrap()].into_iter().flatten().collect();
    assert_eq!(written.len(), 1);
    assert_eq!(written[0].version, 2);
    assert_eq!(store.integration_by_id(&integration.id).await.unwrap().as_ref(), written.first());
    assert_eq!(store.update_integration("int_x", 1, details()).await.unwrap(), None);
}

async fn deleting_an_integration_takes_along_what_its_connector_stored_for_it(site: Site) {
    let store = &site.store;
    let (first, second) = (connect(store, "ann").await, connect(store, "bob").await);
    let scope = |id: &str| StorageScope { connector: "calendar".into(), integration: Some(id.to_owned()) };
    for id in [&first.id, &second.id] {
        store.storage_set(&scope(id), "key", vec![1], None).await.unwrap();
    }
    assert!(!store.delete_integration(&first.id, first.version + 1).await.unwrap(), "it is another by now");
    assert!(store.delete_integration(&first.id, first.version).await.unwrap());
    assert!(!store.delete_integration(&first.id, first.version).await.unwrap());
    assert_eq!(store.storage_get(&scope(&first.id), "key").await.unwrap(), None);
    assert!(store.storage_get(&scope(&second.id), "key").await.unwrap().is_some());
    assert_eq!(store.integrations_of(&holder()).await.unwrap(), [second]);
}

async fn due_are_those_that_are_active_and_late_and_that_nobody_refreshes(site: Site) {
    let store = &site.store;
    let at = |user: &'static str, auth_type, status, next: Option<u64>| async move {
        let details = Details { status, next_refresh_at: next.map(millis_from), ..details() };
        store.connect_integration(&holder(), user, auth_type, details).await.unwrap().id
    };
    let late = at("late", AuthType::OAuth2, Status::Active, Some(20)).await;
    let later = at("later", AuthType::OAuth2, Status::Active, Some(10)).await;
    let leased = at("leased", AuthType::OAuth2, Status::Active, Some(10)).await;
    at("early", AuthType::OAuth2, Status::Active, Some(40)).await;
    at("never", AuthType::OAuth2, Status::Active, None).await;
    at("expired", AuthType::OAuth2, Status::Expired, Some(10)).await;
    at("key", AuthType::ApiKey, Status::Active, Some(10)).await;
    store.lease_refresh(&leased, Duration::from_secs(60)).await.unwrap().unwrap();
    assert_eq!(store.due_for_refresh(millis_from(30), 10).await.unwrap(), [later.clone(), late]);
    assert_eq!(store.due_for_refresh(millis_from(30), 1).await.unwrap(), [later]);
}

async fn one_of_many_gets_the_lease_and_the_next_after_it_was_given_back_or_ran_out(site: Site) {
    let integration = connect(&site.store, "ann").await;
    let other = site.open_again().await;
    let asking: Vec<_> = (0..10)
        .map(|number| {
            let store = if number % 2 == 0 { &site.store } else { &other }.clone();
            let id = integration.id.clone();
            tokio::spawn(async move { store.lease_refresh(&id, Duration::from_secs(60)).await.unwrap() })
        })
        .collect();
    let mut fences = Vec::new();
    for answer in asking {
        fences.extend(answer.await.unwrap());
    }
    let [fence] = fences[..] else { panic!("{} have the lease", fences.len()) };

    other.release_refresh(&integration.id, fence + 1).await.unwrap();
    assert_eq!(other.lease_refresh(&integration.id, Duration::ZERO).await.unwrap(), None);
    other.release_refresh(&integration.id, fence).await.unwrap();
    // A lease that is over as soon as it is given.
    assert_eq!(other.lease_refresh(&integration.id, Duration::ZERO).await.unwrap(), Some(fence + 1));
    assert_eq!(other.lease_refresh(&integration.id, Duration::from_secs(60)).await.unwrap(), Some(fence + 2));
    assert_eq!(other.lease_refresh("int_x", Duration::from_secs(60)).await.unwrap(), None);
}

async fn a_holder_of_a_lease_that_ran_out_writes_nothing_over_the_next_one(site: Site) {
    let store = &site.store;
    let Integration { id, version, .. } = connect(store, "ann").await;
    let late = store.lease_refresh(&id, Duration::ZERO).await.unwrap().unwrap();
    let next = store.lease_refresh(&id, Duration::from_secs(60)).await.unwrap().unwrap();
    assert_eq!(store.update_leased(&id, version, late, details()).await.unwrap(), None);
    store.release_refresh(&id, late).await.unwrap();
    assert_eq!(store.lease_refresh(&id, Duration::from_secs(60)).await.unwrap(), None);

    assert_eq!(store.update_leased(&id, version + 1, next, details()).await.unwrap(), None);
    let written = store.update_leased(&id, version, next, details()).await.unwrap().unwrap();
    assert_eq!(written.version, version + 1);
    // And the lease is free again.
    assert_eq!(store.lease_refresh(&id, Duration::from_secs(60)).await.unwrap(), Some(next + 1));
}

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
                session.lock(&authorizations::turn(&[number; 32]))?;
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
                authorizations::insert(session, &begun)
            })
        }
    });
    filling.await.unwrap();
    begin(&site.store, &application, 10_000).await.unwrap();
    let over = begin(&site.store, &application, 10_001).await.unwrap_err();
    assert_eq!(over.to_string(), "the holder has 10000 authorizations under way, and may have no more");
}

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

async fn nothing_is_sealed_under_a_data_key_that_is_gone(site: Site) {
    let store = &site.store;
    data_key(store, "dk_1").await;
    let details = Details { secret: Some(sealed("dk_1")), ..details() };
    let integration = store.connect_integration(&holder(), "ann", AuthType::OAuth2, details.clone()).await.unwrap();
    store.replace_data_key("dk_2", vec![Wrap { master_id: "mk_1".into(), bytes: vec![4] }]).await.unwrap();
    assert_eq!(store.data_keys().await.unwrap()[0].id, "dk_2");
    // In use, then not yet long enough out of use.
    assert_eq!(store.drop_retired_data_keys(Duration::ZERO).await.unwrap(), 0);
    store.delete_integration(&integration.id, integration.version).await.unwrap();
    assert_eq!(store.drop_retired_data_keys(Duration::from_secs(60)).await.unwrap(), 0);
    assert_eq!(store.drop_retired_data_keys(Duration::ZERO).await.unwrap(), 1);
    let late = store.connect_integration(&holder(), "ann", AuthType::OAuth2, details).await;
    assert!(matches!(late, Err(StoreError::DataKeyInUse)), "{late:?}");
}

async fn work_that_is_claimed_is_free_again_once_it_is_given_back(site: Site) {
    let other = site.open_again().await;
    let claim = site.store.try_claim("test").await.unwrap().unwrap();
    assert!(other.try_claim("test").await.unwrap().is_none());
    assert!(other.try_claim("other").await.unwrap().is_some());
    drop(claim);
    // The server takes a moment to notice.
    let mut tries = 0;
    while other.try_claim("test").await.unwrap().is_none() {
        tries += 1;
        assert!(tries < 1000);
    }
}
