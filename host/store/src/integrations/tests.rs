//! Integrations, on every database.

use std::collections::HashSet;

use database::connection::Durability;
use database::value::values;

use super::*;
use crate::testing::{Site, connect, data_key, details, holder, on_every_database, sealed};
use crate::{StorageScope, Store, StoreError};

on_every_database!(
    an_integration_comes_back_as_it_was_connected,
    connecting_again_overwrites_the_integration_and_keeps_its_id_and_selection,
    another_account_under_the_same_user_identifier_does_not_see_the_stored_values,
    accounts_without_an_id_are_told_apart_by_their_email_addresses,
    the_integrations_that_may_be_of_an_account_are_found_by_its_id_else_by_its_email_address,
    an_account_is_stored_only_in_the_place_of_what_was_read,
    a_user_may_have_a_thousand_integrations_and_connect_them_again,
    an_application_may_have_a_hundred_thousand_integrations,
    a_holder_sees_only_its_own_integrations,
    a_list_comes_in_pages_and_can_be_filtered,
    one_integration_of_a_holder_is_selected_after_many_selections_at_once,
    of_two_updates_from_one_version_one_succeeds,
    deleting_an_integration_deletes_what_its_connector_stored_for_it,
);

async fn an_integration_comes_back_as_it_was_connected(site: Site) {
    let store = &site.store;
    data_key(store, "dk_1").await;
    let details = Details { secret: Some(sealed("dk_1")), ..details() };
    let connected = store
        .integrations()
        .connect(&holder(), "ann@example.com", Connected::new(AuthType::OAuth2, details.clone()), Vec::new(), None)
        .await
        .unwrap();
    assert_eq!((&connected.holder, connected.auth_type, connected.selected), (&holder(), AuthType::OAuth2, false));
    assert_eq!((&connected.details, connected.version), (&details, 1));
    assert_eq!(connected.created_at, connected.updated_at);
    assert_eq!(store.integrations().get(&holder(), "ann@example.com").await.unwrap().as_ref(), Some(&connected));
    assert_eq!(store.integrations().by_id(&connected.id).await.unwrap().as_ref(), Some(&connected));
    assert_eq!(store.integrations().of(&holder()).await.unwrap(), [connected]);
}

async fn connecting_again_overwrites_the_integration_and_keeps_its_id_and_selection(site: Site) {
    let store = &site.store;
    let first = connect(store, "ann").await;
    store.integrations().select(&holder(), "ann").await.unwrap();
    let changed = Details { status: Status::Revoked, scopes: vec![], reason: None, ..details() };
    let second = store
        .integrations()
        .connect(&holder(), "ann", Connected::new(AuthType::ApiKey, changed.clone()), Vec::new(), None)
        .await
        .unwrap();
    assert_eq!((second.id, second.created_at), (first.id, first.created_at));
    assert_eq!((second.auth_type, second.selected, second.version), (AuthType::ApiKey, true, 2));
    assert_eq!(second.details, changed);
}

async fn another_account_under_the_same_user_identifier_does_not_see_the_stored_values(site: Site) {
    let store = &site.store;
    let vault = site.vault().await;
    let reconnect = async |id: Option<&str>| {
        let details = Details { account: Account { id: id.map(str::to_owned), ..Account::default() }, ..details() };
        store
            .integrations()
            .connect(&holder(), "work", Connected::new(AuthType::OAuth2, details), Vec::new(), None)
            .await
            .unwrap()
            .id
    };
    let other = connect(store, "home").await.id;
    let id = reconnect(None).await;
    let scope = |id: &str| StorageScope { connector: "calendar".into(), partition: id.to_owned() };
    store.storage().set(&vault, &scope(&other), "key", vec![1], None).await.unwrap();
    // The previous account was unknown; the same account; an unknown account; another account.
    for (account, is_kept) in [(Some("1"), false), (Some("1"), true), (None, true), (Some("2"), false)] {
        store.storage().set(&vault, &scope(&id), "key", vec![2], None).await.unwrap();
        assert_eq!(reconnect(account).await, id);
        let kept = store.storage().get(&vault, &scope(&id), "key").await.unwrap();
        assert_eq!(kept.is_some(), is_kept, "{account:?}");
    }
    assert!(store.storage().get(&vault, &scope(&other), "key").await.unwrap().is_some());
}

async fn accounts_without_an_id_are_told_apart_by_their_email_addresses(site: Site) {
    let store = &site.store;
    let vault = site.vault().await;
    let reconnect = async |email: Option<&str>| {
        let account = Account { email: email.map(str::to_owned), ..Account::default() };
        let details = Details { account, ..details() };
        store
            .integrations()
            .connect(&holder(), "work", Connected::new(AuthType::OAuth2, details), Vec::new(), None)
            .await
            .unwrap()
            .id
    };
    let id = reconnect(Some("ann@example.com")).await;
    let scope = StorageScope { connector: "calendar".into(), partition: id };
    let bob = Some("bob@example.com");
    for (email, is_kept) in [(Some("ann@example.com"), true), (bob, false), (None, true), (bob, false)] {
        store.storage().set(&vault, &scope, "key", vec![1], None).await.unwrap();
        reconnect(email).await;
        let kept = store.storage().get(&vault, &scope, "key").await.unwrap();
        assert_eq!(kept.is_some(), is_kept, "{email:?}");
    }
}

async fn the_integrations_that_may_be_of_an_account_are_found_by_its_id_else_by_its_email_address(site: Site) {
    let store = &site.store;
    let account = |id: Option<&str>, email: Option<&str>| Account {
        id: id.map(str::to_owned),
        email: email.map(str::to_owned),
        ..Account::default()
    };
    let connected = [
        ("a", account(Some("1"), None)),
        ("b", account(Some("2"), Some("x@example.com"))),
        ("c", account(None, Some("y@example.com"))),
        ("d", account(None, None)),
    ];
    for (name, account) in connected {
        let connected = Connected::new(AuthType::OAuth2, Details { account, ..details() });
        store.integrations().connect(&holder(), name, connected, Vec::new(), None).await.unwrap();
    }
    let found = async |holder: Holder, account: Account, after: &str, limit: u32| {
        let found = store.integrations().possibly_of(&holder, &account, after, limit).await.unwrap();
        found.into_iter().map(|integration| integration.user_identifier).collect::<Vec<_>>()
    };
    assert_eq!(found(holder(), account(Some("1"), Some("x@example.com")), "", 9).await, ["a", "c", "d"]);
    assert_eq!(found(holder(), account(None, Some("x@example.com")), "", 9).await, ["a", "b", "d"]);
    assert_eq!(found(holder(), account(None, None), "", 2).await, ["a", "b"]);
    assert_eq!(found(holder(), account(None, None), "b", 9).await, ["c", "d"]);
    let other = Holder { subject: "someone else".to_owned(), ..holder() };
    assert!(found(other, account(None, None), "", 9).await.is_empty());
}

async fn an_account_is_stored_only_in_the_place_of_what_was_read(site: Site) {
    let store = &site.store;
    let connect_over = async |read: Option<&Integration>| {
        let connected = Connected { overwrites: Overwrites::read(read), ..Connected::new(AuthType::OAuth2, details()) };
        store.integrations().connect(&holder(), "work", connected, Vec::new(), None).await
    };
    let first = connect_over(None).await.unwrap();
    assert!(matches!(connect_over(None).await, Err(StoreError::IntegrationChanged)));
    let second = connect_over(Some(&first)).await.unwrap();
    assert!(matches!(connect_over(Some(&first)).await, Err(StoreError::IntegrationChanged)), "it has a newer version");
    assert!(store.integrations().delete(&second.id, second.version, Vec::new()).await.unwrap());
    assert!(matches!(connect_over(Some(&second)).await, Err(StoreError::IntegrationChanged)));
    assert!(store.integrations().of(&holder()).await.unwrap().is_empty());
}

/// Stores this many integrations of a user, or of the tenant itself if `subject` is empty.
async fn fill(store: &Store, subject: &'static str, rows: u64) {
    let filling = store.write(Durability::ProcessKill, move |connection| {
        connection.execute(
            "INSERT INTO integrations (id, tenant, subject, connector, user_identifier, auth_type, created_at, updated_at,
                 status, scopes)
             WITH RECURSIVE numbers (n) AS
                 (SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
             SELECT 'int_' || n, 'acme', $2, 'calendar', 'u' || n, 'none', 1, 1, 'active', '[]' FROM numbers",
            values![i64::try_from(rows).unwrap(), subject],
        )
    });
    assert_eq!(filling.await.unwrap(), rows);
}

async fn a_user_may_have_a_thousand_integrations_and_connect_them_again(site: Site) {
    let store = &site.store;
    fill(store, "ann", 999).await;
    let last = connect(store, "last").await;
    let over = store
        .integrations()
        .connect(&holder(), "over", Connected::new(AuthType::None, details()), Vec::new(), None)
        .await
        .unwrap_err();
    assert_eq!(over.to_string(), "the holder has 1000 integrations and may not have more");
    assert_eq!(store.integrations().of(&holder()).await.unwrap().len(), 1000);
    connect(store, "u1").await;
    for other in [Holder { subject: "bob".into(), ..holder() }, Holder { connector: "mail".into(), ..holder() }] {
        store
            .integrations()
            .connect(&other, "over", Connected::new(AuthType::None, details()), Vec::new(), None)
            .await
            .unwrap();
    }
    store.integrations().delete(&last.id, last.version, Vec::new()).await.unwrap();
    connect(store, "over").await;
}

async fn an_application_may_have_a_hundred_thousand_integrations(site: Site) {
    let store = &site.store;
    fill(store, "", 99_999).await;
    let application = Holder { subject: String::new(), ..holder() };
    store
        .integrations()
        .connect(&application, "last", Connected::new(AuthType::None, details()), Vec::new(), None)
        .await
        .unwrap();
    let over = store
        .integrations()
        .connect(&application, "over", Connected::new(AuthType::None, details()), Vec::new(), None)
        .await
        .unwrap_err();
    assert_eq!(over.to_string(), "the holder has 100000 integrations and may not have more");
}

async fn a_holder_sees_only_its_own_integrations(site: Site) {
    let store = &site.store;
    connect(store, "ann").await;
    let others = [
        Holder { tenant: "other".into(), ..holder() },
        Holder { subject: String::new(), ..holder() },
        Holder { connector: "mail".into(), ..holder() },
    ];
    for other in &others {
        assert_eq!(store.integrations().get(other, "ann").await.unwrap(), None);
        assert!(store.integrations().of(other).await.unwrap().is_empty());
        assert_eq!(store.integrations().select(other, "ann").await.unwrap(), None);
        store
            .integrations()
            .connect(other, "ann", Connected::new(AuthType::None, details()), Vec::new(), None)
            .await
            .unwrap();
    }
    let connectors: Vec<_> = store
        .integrations()
        .of_subject("acme", "ann", page(10))
        .await
        .unwrap()
        .into_iter()
        .map(|integration| integration.holder.connector)
        .collect();
    assert_eq!(HashSet::<&str>::from_iter(connectors.iter().map(String::as_str)), ["calendar", "mail"].into());
    assert_eq!(store.integrations().of_subject("acme", "", page(10)).await.unwrap().len(), 1);
}

fn page(limit: u32) -> IntegrationFilter {
    IntegrationFilter { limit, ..IntegrationFilter::default() }
}

async fn a_list_comes_in_pages_and_can_be_filtered(site: Site) {
    let store = &site.store;
    let connect = async |connector: &str, user: &str, details: Details| {
        let holder = Holder { connector: connector.to_owned(), ..holder() };
        store
            .integrations()
            .connect(&holder, user, Connected::new(AuthType::OAuth2, details), Vec::new(), None)
            .await
            .unwrap();
    };
    let late = || Details { expires_at: Some(crate::testing::at_second(1)), next_refresh_at: None, ..details() };
    connect("mail", "bob", details()).await;
    connect("calendar", "eve", Details { status: Status::Expired, ..details() }).await;
    connect("calendar", "ann", details()).await;
    connect("calendar", "late", late()).await;
    let listed = async |filter: IntegrationFilter| {
        let found = store.integrations().of_subject("acme", "ann", filter).await.unwrap();
        found.into_iter().map(|found| (found.holder.connector, found.user_identifier)).collect::<Vec<_>>()
    };
    let row = |connector: &str, user: &str| (connector.to_owned(), user.to_owned());
    let (ann, eve, late, bob) =
        (row("calendar", "ann"), row("calendar", "eve"), row("calendar", "late"), row("mail", "bob"));
    assert_eq!(listed(page(2)).await, [ann.clone(), eve.clone()]);
    let next = IntegrationFilter { after: Some(eve.clone()), ..page(2) };
    assert_eq!(listed(next).await, [late.clone(), bob.clone()]);
    assert_eq!(
        listed(IntegrationFilter { connector: Some("mail".into()), ..page(9) }).await,
        std::slice::from_ref(&bob)
    );
    let among = |connectors: &[&str]| Some(connectors.iter().copied().map(str::to_owned).collect());
    assert_eq!(
        listed(IntegrationFilter { among: among(&["mail", "chat"]), ..page(1) }).await,
        std::slice::from_ref(&bob)
    );
    assert!(listed(IntegrationFilter { among: among(&[]), ..page(9) }).await.is_empty());
    assert_eq!(
        listed(IntegrationFilter { user_identifier: Some("bob".into()), ..page(1) }).await,
        std::slice::from_ref(&bob)
    );
    assert_eq!(listed(IntegrationFilter { status: Some(Status::Expired), ..page(9) }).await, [eve, late]);
    assert_eq!(listed(IntegrationFilter { status: Some(Status::Active), ..page(9) }).await, [ann, bob]);
}

async fn one_integration_of_a_holder_is_selected_after_many_selections_at_once(site: Site) {
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
                tokio::spawn(async move { store.integrations().select(&holder(), &user).await })
            })
            .collect();
        for selection in selecting {
            assert!(selection.await.unwrap().unwrap().unwrap().selected);
        }
        let integrations = other.integrations().of(&holder()).await.unwrap();
        assert_eq!(integrations.iter().filter(|integration| integration.selected).count(), 1);
    }
    assert_eq!(other.integrations().select(&holder(), "nobody").await.unwrap(), None);
    let integrations = other.integrations().of(&holder()).await.unwrap();
    assert_eq!(integrations.iter().filter(|integration| integration.selected).count(), 1);
}

async fn of_two_updates_from_one_version_one_succeeds(site: Site) {
    let store = &site.store;
    let integration = connect(store, "ann").await;
    let (first, second) = tokio::join!(
        store.integrations().update(
            &integration.id,
            integration.version,
            Details { status: Status::Expired, ..details() },
            Vec::new()
        ),
        store.integrations().update(
            &integration.id,
            integration.version,
            Details { status: Status::Revoked, ..details() },
            Vec::new()
        ),
    );
    let written: Vec<_> = [first.unwrap(), second.unwrap()].into_iter().flatten().collect();
    assert_eq!(written.len(), 1);
    assert_eq!(written[0].version, 2);
    assert_eq!(store.integrations().by_id(&integration.id).await.unwrap().as_ref(), written.first());
    assert_eq!(store.integrations().update("int_x", 1, details(), Vec::new()).await.unwrap(), None);
}

async fn deleting_an_integration_deletes_what_its_connector_stored_for_it(site: Site) {
    let store = &site.store;
    let vault = site.vault().await;
    let (first, second) = (connect(store, "ann").await, connect(store, "bob").await);
    let scope = |id: &str| StorageScope { connector: "calendar".into(), partition: id.to_owned() };
    for id in [&first.id, &second.id] {
        store.storage().set(&vault, &scope(id), "key", vec![1], None).await.unwrap();
    }
    assert!(!store.integrations().delete(&first.id, first.version + 1, Vec::new()).await.unwrap(), "another version");
    assert!(store.integrations().delete(&first.id, first.version, Vec::new()).await.unwrap());
    assert!(!store.integrations().delete(&first.id, first.version, Vec::new()).await.unwrap());
    assert_eq!(store.storage().get(&vault, &scope(&first.id), "key").await.unwrap(), None);
    assert!(store.storage().get(&vault, &scope(&second.id), "key").await.unwrap().is_some());
    assert_eq!(store.integrations().of(&holder()).await.unwrap(), [second]);
}
