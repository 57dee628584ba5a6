//! Idempotency keys, on every database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use database::connection::Durability;

use super::*;
use crate::simulated::{Faults, SimulatedDatabase, Step};
use crate::testing::{Site, data_key, on_every_database, sealed};

on_every_database!(
    a_key_belongs_to_one_call_of_one_caller,
    the_answer_of_a_call_is_kept_and_expires,
    of_two_calls_at_once_one_gets_the_key,
    a_call_whose_gateway_has_died_is_lost,
    a_key_that_was_given_back_is_new,
    a_key_whose_call_runs_outlives_a_jump_of_the_clock,
);

const LONG: Duration = Duration::from_secs(60);

fn call(subject: &str, key: &str, body: &str) -> IdempotentCall {
    IdempotentCall::new("acme", subject, key, &[b"POST", b"/a", body.as_bytes()])
}

async fn begin(site: &Site, call: &IdempotentCall) -> KeyState {
    site.store.idempotency().begin(call, LONG, LONG).await.unwrap()
}

async fn is_new(site: &Site, call: &IdempotentCall) -> bool {
    matches!(begin(site, call).await, KeyState::New(_))
}

async fn take(site: &Site, call: &IdempotentCall) -> TakenKey {
    let KeyState::New(taken) = begin(site, call).await else { panic!("the key is not new") };
    taken
}

async fn a_key_belongs_to_one_call_of_one_caller(site: Site) {
    let first = call("ann", "k", "{}");
    assert!(is_new(&site, &first).await);
    assert_eq!(begin(&site, &first).await, KeyState::Running);
    assert_eq!(begin(&site, &call("ann", "k", "[]")).await, KeyState::OfOtherRequest);
    assert!(is_new(&site, &call("bob", "k", "{}")).await);
    assert!(is_new(&site, &call("ann", "k2", "{}")).await);
    let other_tenant = IdempotentCall::new("acmea", "nn", "k", &[b"POST", b"/a", b"{}"]);
    assert!(is_new(&site, &other_tenant).await);
}

async fn the_answer_of_a_call_is_kept_and_expires(site: Site) {
    data_key(&site.store, "dk_1").await;
    let (kept, large) = (call("ann", "kept", "{}"), call("ann", "large", "{}"));
    let taken = take(&site, &kept).await;
    assert!(is_new(&site, &large).await);
    for (call, answer) in [(&kept, Some(sealed("dk_1"))), (&large, None)] {
        site.store.idempotency().end(&call.id, answer).await.unwrap();
    }
    assert_eq!(begin(&site, &kept).await, KeyState::Ended(sealed("dk_1")));
    assert_eq!(begin(&site, &large).await, KeyState::EndedWithoutAnswer);
    site.store.idempotency().release(&kept.id, taken).await.unwrap();
    assert_eq!(begin(&site, &kept).await, KeyState::Ended(sealed("dk_1")), "a call that has ended keeps its key");
    assert_eq!(site.store.idempotency().sweep().await.unwrap(), 0);
    site.execute("UPDATE idempotency_keys SET expires_at = expires_at - 60000").await;
    assert!(is_new(&site, &kept).await, "it has expired, though nothing has removed it yet");
    assert_eq!(site.store.idempotency().sweep().await.unwrap(), 1);
}

async fn of_two_calls_at_once_one_gets_the_key(site: Site) {
    let (call, other) = (call("ann", "k", "{}"), site.open_again().await);
    let (one, two) =
        tokio::join!(site.store.idempotency().begin(&call, LONG, LONG), other.idempotency().begin(&call, LONG, LONG));
    let mut states = [one.unwrap(), two.unwrap()];
    states.sort_by_key(|state| *state == KeyState::Running);
    assert!(matches!(states, [KeyState::New(_), KeyState::Running]));
}

async fn a_call_whose_gateway_has_died_is_lost(site: Site) {
    data_key(&site.store, "dk_1").await;
    let call = call("ann", "k", "{}");
    site.store.idempotency().begin(&call, Duration::ZERO, LONG).await.unwrap();
    assert_eq!(begin(&site, &call).await, KeyState::Running, "its gateway may be about to store the end");
    site.store.database.health().pass_grace();
    assert_eq!(begin(&site, &call).await, KeyState::Lost);
    site.store.idempotency().renew(&call.id, LONG).await.unwrap();
    assert_eq!(begin(&site, &call).await, KeyState::Running, "the gateway was only slow");
    site.store.idempotency().end(&call.id, Some(sealed("dk_1"))).await.unwrap();
    site.store.idempotency().renew(&call.id, LONG).await.unwrap();
    assert_eq!(begin(&site, &call).await, KeyState::Ended(sealed("dk_1")));
}

async fn a_key_whose_call_runs_outlives_a_jump_of_the_clock(site: Site) {
    let call = call("ann", "k", "{}");
    assert!(is_new(&site, &call).await);
    // All times of the row lie a day back, as if the clock had jumped by two.
    let day =
        "UPDATE idempotency_keys SET expires_at = expires_at - 172800000, leased_until = leased_until - 172800000";
    site.execute(day).await;
    assert_eq!(site.store.idempotency().sweep().await.unwrap(), 0);
    assert_eq!(begin(&site, &call).await, KeyState::Running);
    site.store.idempotency().renew(&call.id, LONG).await.unwrap();
    site.store.database.health().pass_grace();
    assert_eq!(begin(&site, &call).await, KeyState::Running);
}

async fn a_key_that_was_given_back_is_new(site: Site) {
    let call = call("ann", "k", "{}");
    let first = take(&site, &call).await;
    site.store.idempotency().release(&call.id, first).await.unwrap();
    // The keys of two calls differ in the time until which they are kept.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let second = take(&site, &call).await;
    // The gateway of the first call has not got the answer, and releases the key once more.
    site.store.idempotency().release(&call.id, first).await.unwrap();
    assert_eq!(begin(&site, &call).await, KeyState::Running);
    site.store.idempotency().release(&call.id, second).await.unwrap();
    assert!(is_new(&site, &call).await);
}

/// Counts the transactions that write.
#[derive(Default)]
struct Writes(AtomicU64);

impl Faults for Writes {
    fn before(&self, writes: bool) -> Step {
        self.0.fetch_add(writes.into(), Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(())))
    }

    fn after(&self, _writes: bool) -> Step {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn many_keys_that_have_expired_are_deleted_in_several_transactions() {
    let writes = Arc::<Writes>::default();
    let faults: Arc<dyn Faults> = Arc::<Writes>::clone(&writes);
    let store = SimulatedDatabase::open(|| 1_800_000_000_000).unwrap().store(faults);
    let add = "INSERT INTO idempotency_keys (id, tenant, fingerprint, expires_at)
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1200)
         SELECT 'key ' || n, 'acme', zeroblob(32), 1 FROM numbers";
    store.write(Durability::ProcessKill, move |connection| connection.execute(add, &[])).await.unwrap();
    let before = writes.0.load(Ordering::SeqCst);
    assert_eq!(store.idempotency().sweep().await.unwrap(), 1200);
    assert_eq!(writes.0.load(Ordering::SeqCst) - before, 3, "other writes come in between");
}

#[tokio::test]
async fn a_gateway_on_sqlite_knows_that_calls_of_a_killed_one_are_lost() {
    let site = Site::sqlite().await;
    let killed = site.store.begin_serving().await.unwrap();
    let call = call("ann", "k", "{}");
    assert!(is_new(&site, &call).await);
    drop(killed);
    let next = site.open_again().await;
    let _serving = next.begin_serving().await.unwrap();
    assert_eq!(begin(&site, &call).await, KeyState::Lost);
}
