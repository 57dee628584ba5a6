use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use tempfile::TempDir;
use tokio::sync::oneshot;

use super::*;
use store::simulated::{Faults, SimulatedDatabase, Step};

/// The next writes do not reach the database, or their answers are lost, or neither.
#[derive(Default)]
struct Losing(AtomicU32);

const NOTHING: u32 = 0;
const WRITES: u32 = 1;
const ANSWERS: u32 = 2;

impl Losing {
    fn step(&self, writes: bool, what: u32) -> Step {
        let is_lost = writes && self.0.load(Ordering::SeqCst) == what;
        Box::pin(std::future::ready(if is_lost { Err(StoreError::Closed) } else { Ok(()) }))
    }
}

impl Faults for Losing {
    fn before(&self, writes: bool) -> Step {
        self.step(writes, WRITES)
    }

    fn after(&self, writes: bool) -> Step {
        self.step(writes, ANSWERS)
    }
}

async fn opened(folder: &TempDir) -> Arc<Idempotency> {
    let store = Store::open(folder.path()).await.unwrap();
    let vault = Vault::open(&folder.path().join("master.key"), &store).await.unwrap();
    Arc::new(Idempotency::new(store, vault))
}

fn call() -> IdempotentCall {
    IdempotentCall::new("acme", "ann", "key", &[b"request"])
}

#[tokio::test]
async fn a_call_that_does_not_end_within_the_drain_is_cut_off_and_keeps_its_key() {
    let folder = TempDir::new().unwrap();
    let calls = opened(&folder).await;
    let KeyStatus::New(taken) = calls.begin(&call()).await.unwrap() else { panic!("the key is not new") };
    let (end, ended) = oneshot::channel::<()>();
    let running = calls.run(call(), taken, async move { (ended.await, KeyOutcome::TooLarge) });
    calls.shut_down(Instant::now()).await;
    assert!(!running.is_finished());
    assert!(matches!(calls.begin(&call()).await.unwrap(), KeyStatus::Running));
    drop(end);
}

#[tokio::test]
async fn the_end_of_a_call_that_has_ended_is_stored_after_the_drain() {
    let folder = TempDir::new().unwrap();
    let calls = opened(&folder).await;
    let KeyStatus::New(taken) = calls.begin(&call()).await.unwrap() else { panic!("the key is not new") };
    let (tell, told) = oneshot::channel();
    let work = async move {
        let _ = tell.send(());
        ((), KeyOutcome::TooLarge)
    };
    let running = calls.run(call(), taken, work);
    told.await.unwrap();
    calls.shut_down(Instant::now()).await;
    assert!(matches!(calls.begin(&call()).await.unwrap(), KeyStatus::EndedWithoutAnswer));
    running.await.unwrap();
}

#[tokio::test]
async fn a_call_whose_caller_leaves_while_its_key_is_taken_still_runs() {
    let folder = TempDir::new().unwrap();
    let calls = opened(&folder).await;
    let starting = Arc::clone(&calls);
    let mut answering = calls.spawn(async move {
        let KeyStatus::New(taken) = starting.begin(&call()).await.unwrap() else { panic!("the key is not new") };
        starting.run(call(), taken, async { ((), KeyOutcome::TooLarge) }).await.unwrap();
    });
    // The caller waits, and leaves before the key is taken.
    assert!(poll_fn(|context| Poll::Ready(Pin::new(&mut answering).poll(context).is_pending())).await);
    drop(answering);
    calls.shut_down(Instant::now() + LEASE).await;
    assert!(matches!(calls.begin(&call()).await.unwrap(), KeyStatus::EndedWithoutAnswer));
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_beginning_has_failed_is_released_if_it_was_taken() {
    let (folder, losing) = (TempDir::new().unwrap(), Arc::<Losing>::default());
    let faults: Arc<dyn Faults> = Arc::<Losing>::clone(&losing);
    let store = SimulatedDatabase::open(|| 1_800_000_000_000).unwrap().store(faults);
    let vault = Vault::open(&folder.path().join("master.key"), &store).await.unwrap();
    let calls = Arc::new(Idempotency::new(store, vault));
    let fail = async |what: u32| {
        losing.0.store(what, Ordering::SeqCst);
        assert!(calls.begin(&call()).await.is_err());
        losing.0.store(NOTHING, Ordering::SeqCst);
    };

    fail(ANSWERS).await;
    assert!(matches!(calls.begin(&call()).await.unwrap(), KeyStatus::Running), "the key was taken");
    sleep(2 * RETRY_DELAY).await;
    fail(WRITES).await;
    assert!(matches!(calls.begin(&call()).await.unwrap(), KeyStatus::New(_)));
    // The key belongs to another attempt, which has not renewed its lease yet.
    sleep(2 * LOOKS * RETRY_DELAY).await;
    assert!(matches!(calls.begin(&call()).await.unwrap(), KeyStatus::Running));
}
