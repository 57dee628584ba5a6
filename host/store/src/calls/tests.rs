//! Records of calls, on every database.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::*;
use crate::testing::{Site, details, on_every_database};
use crate::{Account, AuthType, Connected, Details, Holder};

on_every_database!(
    records_are_listed_by_page_and_filter,
    calls_of_an_account_are_found_by_what_its_user_knows_of_it,
    a_record_is_found_by_the_id_of_its_request,
    the_oldest_records_make_room_for_new_ones,
    records_are_deleted_once_they_are_old,
);

/// A call that arrived between 1000 and 900 seconds ago, and its age.
fn aged(number: u64) -> (Duration, RecordedCall) {
    (Duration::from_secs(1000 - number), call(number))
}

fn call(number: u64) -> RecordedCall {
    RecordedCall {
        number: 0,
        request_id: format!("req-{number}"),
        at: UNIX_EPOCH,
        gateway: "one".into(),
        tenant: if number.is_multiple_of(2) { "acme" } else { "other" }.into(),
        subject: if number.is_multiple_of(2) { "ann" } else { "bob" }.into(),
        key_id: Some("key_1".into()),
        connector: "demo".into(),
        operation: "run".into(),
        version: Some("1.0.0".into()),
        status: Some(502),
        problem: Some("upstream-failed".into()),
        owner: Some("provider".into()),
        detail: Some("The upstream failed.".into()),
        pointers: Some(r#"["/a"]"#.into()),
        user_identifier: Some("work".into()),
        duration_us: 1500,
        stages: "{}".into(),
        upstream: "[]".into(),
        idempotency: None,
        job_id: Some("job_1".into()),
    }
}

fn filter() -> CallFilter {
    CallFilter { limit: 1000, ..CallFilter::default() }
}

async fn ids(site: &Site, filter: CallFilter) -> Vec<String> {
    site.store.calls().list(filter).await.unwrap().into_iter().map(|call| call.request_id).collect()
}

async fn records_are_listed_by_page_and_filter(site: Site) {
    // More than one statement adds, so that both kinds of statements do.
    site.store.calls().record((0..40).map(aged).collect(), 1000).await.unwrap();
    let all = ids(&site, filter()).await;
    let expected: Vec<_> = (0..40).rev().map(|number| format!("req-{number}")).collect();
    assert_eq!(all, expected);
    let page = site.store.calls().list(CallFilter { limit: 3, ..filter() }).await.unwrap();
    let last = page.last().unwrap();
    let place = (last.at, last.number);
    assert_eq!(ids(&site, CallFilter { before: Some(place), limit: 2, ..filter() }).await, ["req-36", "req-35"]);
    assert_eq!(RecordedCall { number: 0, at: UNIX_EPOCH, ..page[0].clone() }, call(39));
    let gone = RecordedCall { request_id: "left".into(), status: None, problem: None, owner: None, ..call(99) };
    site.store.calls().record(vec![(Duration::from_secs(901), gone)], 1000).await.unwrap();
    let count = async |filter| ids(&site, filter).await.len();
    assert_eq!(count(CallFilter { status: Some(502), ..filter() }).await, 40);
    assert_eq!(count(CallFilter { failed: true, ..filter() }).await, 40);
    assert_eq!(count(CallFilter { problem: Some("upstream-failed".into()), ..filter() }).await, 40);
    assert_eq!(count(CallFilter { owner: Some("caller".into()), ..filter() }).await, 0);
    assert_eq!(count(CallFilter { tenant: Some("acme".into()), ..filter() }).await, 20);
    assert_eq!(count(CallFilter { subject: Some("ann".into()), ..filter() }).await, 20);
    assert_eq!(count(CallFilter { user_identifier: Some("work".into()), ..filter() }).await, 41);
    assert_eq!(count(CallFilter { user_identifier: Some("ann@example.com".into()), ..filter() }).await, 0);
    let named = CallFilter { connector: Some("demo".into()), operation: Some("run".into()), ..filter() };
    assert_eq!(count(named).await, 41);
    let later = SystemTime::now() - Duration::from_secs(500);
    assert_eq!(count(CallFilter { since: Some(later), ..filter() }).await, 0);
    assert_eq!(count(CallFilter { until: Some(later), ..filter() }).await, 41);
}

/// Two users of the same tenant have named their accounts alike, and a third account was deleted.
async fn calls_of_an_account_are_found_by_what_its_user_knows_of_it(site: Site) {
    let mut ids_of_accounts = Vec::new();
    for (subject, email) in [("ann", "Ann@example.com"), ("bob", "bob@example.com")] {
        let holder = Holder { tenant: "acme".into(), subject: subject.into(), connector: "demo".into() };
        let account = Account { id: Some(format!("{subject}-42")), email: Some(email.into()), ..Account::default() };
        let details = Details { account, ..details() };
        let connected = site.store.integrations().connect(
            &holder,
            "work",
            Connected::new(AuthType::OAuth2, details),
            Vec::new(),
            None,
        );
        ids_of_accounts.push(connected.await.unwrap().id);
    }
    let of =
        |number: u64, subject: &str| RecordedCall { tenant: "acme".into(), subject: subject.into(), ..call(number) };
    let deleted = RecordedCall { user_identifier: Some("old".into()), ..of(3, "ann") };
    let none = RecordedCall { user_identifier: None, ..of(4, "ann") };
    let calls = [of(1, "ann"), of(2, "bob"), deleted, none];
    let calls = calls.into_iter().map(|call| (Duration::from_secs(100), call)).collect();
    site.store.calls().record(calls, 1000).await.unwrap();
    for (account, expected) in [
        ("ann@example.com", &["req-1"][..]),
        ("BOB@example.com", &["req-2"]),
        ("ann-42", &["req-1"]),
        (&*ids_of_accounts[1], &["req-2"]),
        ("work", &["req-2", "req-1"]),
        ("old", &["req-3"]),
        ("zoe@example.com", &[]),
    ] {
        assert_eq!(ids(&site, CallFilter { account: Some(account.into()), ..filter() }).await, expected, "{account}");
    }
}

async fn a_record_is_found_by_the_id_of_its_request(site: Site) {
    let again = RecordedCall { operation: "again".into(), ..call(1) };
    site.store.calls().record(vec![aged(1), (Duration::from_secs(999), again), aged(2)], 1000).await.unwrap();
    assert_eq!(site.store.calls().get("req-1").await.unwrap().unwrap().operation, "again");
    assert_eq!(site.store.calls().get("req-9").await.unwrap(), None);
}

async fn the_oldest_records_make_room_for_new_ones(site: Site) {
    site.store.calls().record((0..20).map(aged).collect(), 10).await.unwrap();
    assert_eq!(ids(&site, filter()).await.last().unwrap(), "req-10");
    // With a smaller limit, the others go in small parts.
    site.store.calls().record(vec![aged(20)], 5).await.unwrap();
    assert_eq!(ids(&site, filter()).await.len(), 9);
}

async fn records_are_deleted_once_they_are_old(site: Site) {
    let old = RecordedCall { request_id: "old".into(), ..call(0) };
    site.store.calls().record(vec![(Duration::from_secs(7200), old), aged(1)], 1000).await.unwrap();
    assert_eq!(site.store.calls().delete_old(Duration::from_secs(3600)).await.unwrap(), 1);
    assert_eq!(ids(&site, filter()).await, ["req-1"]);
}
