use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tempfile::TempDir;
use tokio::sync::oneshot;

use super::*;

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
