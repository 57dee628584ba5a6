//! Records of calls, on every database.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::*;
use crate::testing::{Site, on_every_database};

on_every_database!(
    records_are_listed_by_page_and_filter,
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
        subject: String::new(),
        key_id: Some("key_1".into()),
        connector: "demo".into(),
        operation: "run".into(),
        version: Some("1.0.0".into()),
        status: Some(502),
        problem: Some("upstream-failed".into()),
        owner: Some("provider".into()),
        detail: Some("The upstream failed.".into()),
        pointers: Some(r#"["/a"]"#.into()),
        user_identifier: Some("ann@example.com".into()),
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
    site.store.calls(filter).await.unwrap().into_iter().map(|call| call.request_id).collect()
}

async fn records_are_listed_by_page_and_filter(site: Site) {
    // More than one statement adds, so that both kinds of statements do.
    site.store.record_calls((0..40).map(aged).collect(), 1000).await.unwrap();
    let all = ids(&site, filter()).await;
    let expected: Vec<_> = (0..40).rev().map(|number| format!("req-{number}")).collect();
    assert_eq!(all, expected);
    let page = site.store.calls(CallFilter { limit: 3, ..filter() }).await.unwrap();
    let last = page.last().unwrap();
    let place = (last.at, last.number);
    assert_eq!(ids(&site, CallFilter { before: Some(place), limit: 2, ..filter() }).await, ["req-36", "req-35"]);
    assert_eq!(RecordedCall { number: 0, at: UNIX_EPOCH, ..page[0].clone() }, call(39));
    let gone = RecordedCall { request_id: "left".into(), status: None, problem: None, owner: None, ..call(99) };
    site.store.record_calls(vec![(Duration::from_secs(901), gone)], 1000).await.unwrap();
    let count = async |filter| ids(&site, filter).await.len();
    assert_eq!(count(CallFilter { status: Some(502), ..filter() }).await, 40);
    assert_eq!(count(CallFilter { problem: Some("upstream-failed".into()), ..filter() }).await, 40);
    assert_eq!(count(CallFilter { owner: Some("caller".into()), ..filter() }).await, 0);
    assert_eq!(count(CallFilter { tenant: Some("acme".into()), ..filter() }).await, 20);
    let named = CallFilter { connector: Some("demo".into()), operation: Some("run".into()), ..filter() };
    assert_eq!(count(named).await, 41);
    let later = SystemTime::now() - Duration::from_secs(500);
    assert_eq!(count(CallFilter { since: Some(later), ..filter() }).await, 0);
    assert_eq!(count(CallFilter { until: Some(later), ..filter() }).await, 41);
}

async fn a_record_is_found_by_the_id_of_its_request(site: Site) {
    let again = RecordedCall { operation: "again".into(), ..call(1) };
    site.store.record_calls(vec![aged(1), (Duration::from_secs(999), again), aged(2)], 1000).await.unwrap();
    assert_eq!(site.store.call("req-1").await.unwrap().unwrap().operation, "again");
    assert_eq!(site.store.call("req-9").await.unwrap(), None);
}

async fn the_oldest_records_make_room_for_new_ones(site: Site) {
    site.store.record_calls((0..20).map(aged).collect(), 10).await.unwrap();
    assert_eq!(ids(&site, filter()).await.last().unwrap(), "req-10");
    // With a smaller limit, the others go in small parts.
    site.store.record_calls(vec![aged(20)], 5).await.unwrap();
    assert_eq!(ids(&site, filter()).await.len(), 9);
}

async fn records_are_deleted_once_they_are_old(site: Site) {
    let old = RecordedCall { request_id: "old".into(), ..call(0) };
    site.store.record_calls(vec![(Duration::from_secs(7200), old), aged(1)], 1000).await.unwrap();
    assert_eq!(site.store.delete_old_calls(Duration::from_secs(3600)).await.unwrap(), 1);
    assert_eq!(ids(&site, filter()).await, ["req-1"]);
}
