use std::sync::mpsc;

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use super::*;

/// The permits belong to the process, so one test at a time uses them.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock()
}

/// A runtime with one thread that serves.
fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).build().unwrap()
}

#[test]
fn other_tasks_of_the_thread_run_during_a_long_computation() {
    let (_alone, runtime) = (alone(), runtime());
    let (served, is_served) = mpsc::channel();
    let (begun, is_begun) = mpsc::channel();
    let computation = runtime.spawn(async move {
        run(LARGE_BYTES, move || {
            begun.send(()).unwrap();
            is_served.recv().unwrap()
        })
        .await
    });
    is_begun.recv().unwrap();
    assert_eq!(running(), 1);
    runtime.spawn(async move { served.send("served").unwrap() });
    assert_eq!(runtime.block_on(computation).unwrap(), "served");
    assert_eq!(running(), 0);
}

#[test]
fn a_computation_without_a_permit_waits_and_can_be_given_up() {
    let (_alone, runtime) = (alone(), runtime());
    let permits = PERMITS.try_acquire_many(u32::try_from(*PERMIT_COUNT).unwrap()).unwrap();
    let given_up = runtime.spawn(run(LARGE_BYTES, || ()));
    let waits = runtime.spawn(run(LARGE_BYTES, || "computed"));
    while waiting() < 2 {
        std::thread::yield_now();
    }
    given_up.abort();
    assert!(runtime.block_on(given_up).unwrap_err().is_cancelled());
    assert_eq!(waiting(), 1);
    assert_eq!(runtime.block_on(runtime.spawn(run(LARGE_BYTES - 1, || "small"))).unwrap(), "small");
    drop(permits);
    assert_eq!(runtime.block_on(waits).unwrap(), "computed");
    assert_eq!((running(), waiting()), (0, 0));
}

#[test]
fn work_that_waits_holds_no_permit() {
    let (_alone, runtime) = (alone(), runtime());
    let (open, gate) = oneshot::channel();
    let (waits, is_waiting) = mpsc::channel();
    let work = runtime.spawn(drive(LARGE_BYTES, async move {
        waits.send(()).unwrap();
        gate.await.unwrap()
    }));
    is_waiting.recv().unwrap();
    while running() > 0 {
        std::thread::yield_now();
    }
    open.send(7).unwrap();
    assert_eq!(runtime.block_on(work).unwrap(), 7);
}

#[test]
fn a_runtime_with_one_thread_computes_too() {
    let _alone = alone();
    let runtime = Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(run(LARGE_BYTES, || 1)) + runtime.block_on(drive(LARGE_BYTES, async { 2 })), 3);
}
