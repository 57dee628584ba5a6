//! Links, on every database.

use std::time::Duration;

use database::connection::Durability;

use super::queries::insert_link;
use super::*;
use crate::testing::{Site, on_every_database};
use crate::{AuditFilter, KeyId, NewApiKey, StoreError};

on_every_database!(
    a_link_is_found_by_its_id_and_by_its_secret,
    the_first_browser_gets_a_link,
    a_link_knows_the_accounts_that_it_has_connected,
    a_link_ends_once_and_expires,
    a_link_ends_with_the_key_that_made_it,
    a_tenant_has_a_limited_number_of_links,
    links_are_listed_by_tenant_and_user_with_the_accounts_that_they_have_connected,
);

fn new(number: u8) -> NewConnectLink {
    NewConnectLink {
        id: format!("lnk_{number}"),
        hash: [number; 32],
        tenant: "acme".into(),
        subject: "ann".into(),
        connectors: vec!["mail".into(), "calendar".into()],
        user_identifier: None,
        callback_url: Some("https://app.example.com/".into()),
        labels: Some([("team".to_owned(), "blue".to_owned())].into()),
        key_id: None,
        lifetime: Duration::from_secs(60),
    }
}

async fn a_link_is_found_by_its_id_and_by_its_secret(site: Site) {
    let store = &site.store;
    let added = store.connect_links().add(new(1)).await.unwrap();
    assert_eq!((&*added.tenant, &*added.subject, &added.hash), ("acme", "ann", &[1; 32]));
    assert_eq!((added.connectors.join(","), added.browser, added.end), ("mail,calendar".to_owned(), None, None));
    assert_eq!((&added.labels, added.has_expired), (&new(1).labels, false));
    assert_eq!(store.connect_links().get("lnk_1").await.unwrap().as_ref(), Some(&added));
    assert_eq!(store.connect_links().by_hash(&[1; 32]).await.unwrap().as_ref(), Some(&added));
    assert_eq!(store.connect_links().get("lnk_2").await.unwrap(), None);
    assert_eq!(store.connect_links().by_hash(&[2; 32]).await.unwrap(), None);
}

async fn the_first_browser_gets_a_link(site: Site) {
    let store = &site.store;
    store.connect_links().add(new(1)).await.unwrap();
    let other = site.open_again().await;
    let claims = (10..20_u8).map(|browser| {
        let store = if browser % 2 == 0 { store } else { &other }.clone();
        async move { (browser, store.connect_links().claim("lnk_1", &[browser; 32]).await.unwrap()) }
    });
    let mut tasks = tokio::task::JoinSet::new();
    claims.for_each(|claim| drop(tasks.spawn(claim)));
    let claims = tasks.join_all().await;
    let first: Vec<_> = claims.iter().filter(|(_, has)| *has).map(|(browser, _)| *browser).collect();
    assert_eq!(first.len(), 1, "{claims:?}");
    assert!(store.connect_links().claim("lnk_1", &[first[0]; 32]).await.unwrap(), "it keeps the link");
    assert_eq!(store.connect_links().get("lnk_1").await.unwrap().unwrap().browser, Some([first[0]; 32]));
    assert!(!store.connect_links().claim("lnk_2", &[1; 32]).await.unwrap());
}

async fn a_link_knows_the_accounts_that_it_has_connected(site: Site) {
    let store = &site.store;
    store.connect_links().add(new(1)).await.unwrap();
    for (link, connector, name) in
        [("lnk_1", "mail", "a@example.com"), ("lnk_1", "mail", "b@example.com"), ("lnk_9", "mail", "c@example.com")]
    {
        store.connect_links().note_account(link, connector, name).await.unwrap();
    }
    let link = store.connect_links().get("lnk_1").await.unwrap().unwrap();
    assert_eq!((link.account("mail"), link.account("calendar")), (Some("b@example.com"), None));
}

async fn a_link_ends_once_and_expires(site: Site) {
    let store = &site.store;
    for number in 1..=3 {
        store.connect_links().add(new(number)).await.unwrap();
    }
    assert!(store.connect_links().end("lnk_1", LinkEnd::Deleted).await.unwrap());
    assert!(!store.connect_links().end("lnk_1", LinkEnd::Done).await.unwrap());
    assert!(store.connect_links().end("lnk_2", LinkEnd::Done).await.unwrap());
    let end = async |id| store.connect_links().get(id).await.unwrap().unwrap().end;
    assert_eq!((end("lnk_1").await, end("lnk_2").await), (Some(LinkEnd::Deleted), Some(LinkEnd::Done)));
    site.execute("UPDATE connect_links SET expires_at = expires_at - 60000 WHERE id = 'lnk_3'").await;
    assert!(store.connect_links().get("lnk_3").await.unwrap().unwrap().has_expired);
    assert!(!store.connect_links().end("lnk_3", LinkEnd::Deleted).await.unwrap());
    let entries = store.audit().list(AuditFilter { limit: 10, ..AuditFilter::default() }).await.unwrap();
    let seen: Vec<_> = entries.iter().map(|entry| (&*entry.action, &*entry.target)).collect();
    assert_eq!(
        seen,
        [
            ("connect_link.deleted", "lnk_1"),
            ("connect_link.created", "lnk_3"),
            ("connect_link.created", "lnk_2"),
            ("connect_link.created", "lnk_1"),
        ]
    );
    // A week later it is gone.
    site.execute("UPDATE connect_links SET expires_at = expires_at - 7 * 24 * 3600000 WHERE id = 'lnk_3'").await;
    store.connect_links().add(new(4)).await.unwrap();
    assert_eq!(store.connect_links().get("lnk_3").await.unwrap(), None);
}

async fn a_link_ends_with_the_key_that_made_it(site: Site) {
    let store = &site.store;
    for number in 1..=2 {
        let id = KeyId(format!("key_{number}"));
        let key = NewApiKey { id: id.clone(), tenant: "acme".into(), hash: [number; 32], ..NewApiKey::default() };
        store.keys().create(key).await.unwrap();
        let link = store.connect_links().add(NewConnectLink { key_id: Some(id.clone()), ..new(number) }).await.unwrap();
        assert_eq!((link.key_id, link.end), (Some(id), None));
    }
    site.execute("UPDATE api_keys SET revoked_at = now_ms() WHERE id = 'key_1'").await;
    let end = async |id| store.connect_links().get(id).await.unwrap().unwrap().end;
    assert_eq!((end("lnk_1").await, end("lnk_2").await), (Some(LinkEnd::Deleted), None));
}

async fn a_tenant_has_a_limited_number_of_links(site: Site) {
    let store = &site.store;
    let filling = store.write(Durability::ProcessKill, |connection| {
        (1..=10_000_u32).try_for_each(|number| {
            let mut hash = LinkHash::default();
            hash[..4].copy_from_slice(&number.to_be_bytes());
            insert_link(connection, &NewConnectLink { id: format!("x{number}"), hash, ..new(1) })
        })
    });
    filling.await.unwrap();
    let over = store.connect_links().add(new(1)).await.unwrap_err();
    assert!(matches!(over, StoreError::TooManyLinks { limit: 10_000 }), "{over}");
    store.connect_links().add(NewConnectLink { tenant: "other".into(), ..new(2) }).await.unwrap();
    site.execute("UPDATE connect_links SET ended = 'deleted' WHERE id = 'x1'").await;
    store.connect_links().add(new(3)).await.unwrap();
}

async fn links_are_listed_by_tenant_and_user_with_the_accounts_that_they_have_connected(site: Site) {
    let store = &site.store;
    for (number, tenant, subject) in [(1, "acme", "ann"), (2, "acme", "bob"), (3, "globex", "ann"), (4, "acme", "")] {
        let lifetime = Duration::from_secs(60 * u64::from(number));
        let new = NewConnectLink { tenant: tenant.into(), subject: subject.into(), lifetime, ..new(number) };
        store.connect_links().add(new).await.unwrap();
    }
    store.connect_links().note_account("lnk_1", "mail", "a@example.com").await.unwrap();
    store.connect_links().note_account("lnk_3", "mail", "b@example.com").await.unwrap();
    let page = async |filter: ConnectLinkFilter| store.connect_links().page(filter).await.unwrap();
    let of = async |tenant: Option<&str>, subject: Option<&str>| {
        let [tenant, subject] = [tenant, subject].map(|name| name.map(str::to_owned));
        let found = page(ConnectLinkFilter { tenant, subject, limit: 9, ..ConnectLinkFilter::default() }).await;
        found.into_iter().map(|link| link.id).collect::<Vec<_>>()
    };
    assert_eq!(of(None, None).await, ["lnk_4", "lnk_3", "lnk_2", "lnk_1"]);
    assert_eq!(of(Some("acme"), None).await, ["lnk_4", "lnk_2", "lnk_1"]);
    assert_eq!(of(None, Some("ann")).await, ["lnk_3", "lnk_1"]);
    assert_eq!(of(Some("acme"), Some("ann")).await, ["lnk_1"]);
    assert_eq!(of(None, Some("")).await, ["lnk_4"]);

    let first = page(ConnectLinkFilter { limit: 2, ..ConnectLinkFilter::default() }).await;
    let before = Some((first[1].expires_at, first[1].id.clone()));
    let second = page(ConnectLinkFilter { before, limit: 2, ..ConnectLinkFilter::default() }).await;
    let accounts = |link: &ConnectLink| link.account("mail").map(str::to_owned);
    assert_eq!(first.iter().map(accounts).collect::<Vec<_>>(), [None, Some("b@example.com".to_owned())]);
    assert_eq!(second.iter().map(accounts).collect::<Vec<_>>(), [None, Some("a@example.com".to_owned())]);
}
