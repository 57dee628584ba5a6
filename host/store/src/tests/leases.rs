//! Who refreshes a credential, and who does what one process at a time may do.

use super::*;

on_every_database!(
    due_are_those_that_are_active_and_late_and_that_nobody_refreshes,
    one_of_many_gets_the_lease_and_the_next_after_it_was_given_back_or_ran_out,
    a_holder_of_a_lease_that_ran_out_writes_nothing_over_the_next_one,
    work_that_is_claimed_is_free_again_once_it_is_given_back,
);

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
