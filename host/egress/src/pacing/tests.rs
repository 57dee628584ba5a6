//! Tests of the queue.

use super::{Arc, Duration, EgressError, Instant, Notify, PacedQueue, Pacer, Pacing, Permit, QUEUE_LEASE, QueueGrant};

const INTERVAL: Duration = Duration::from_secs(3);

fn pacer(concurrency: u32, max_wait: u64) -> Arc<Pacer> {
    Arc::new(Pacer::new(Pacing { interval: INTERVAL, concurrency, max_wait: Duration::from_secs(max_wait) }))
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

async fn enter(pacer: &Arc<Pacer>) -> Result<Permit, EgressError> {
    pacer.enter(later(), false).await
}

#[tokio::test(start_paused = true)]
async fn calls_start_in_the_order_of_arrival_an_interval_apart() {
    let pacer = pacer(10, 60);
    let begin = Instant::now();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..5 {
        let (pacer, sender) = (Arc::clone(&pacer), sender.clone());
        tokio::spawn(async move {
            let _permit = enter(&pacer).await.unwrap();
            sender.send((number, begin.elapsed())).unwrap();
        });
        tokio::task::yield_now().await;
    }
    for number in 0..5_u32 {
        let (arrived, after) = receiver.recv().await.unwrap();
        assert_eq!(arrived, number);
        assert!(after >= INTERVAL * number && after < INTERVAL * (number + 1), "{number} after {after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_would_wait_too_long_is_refused_immediately() {
    let pacer = pacer(10, 5);
    let begin = Instant::now();
    let _first = enter(&pacer).await.unwrap();
    let waiting = tokio::spawn({
        let pacer = Arc::clone(&pacer);
        async move { enter(&pacer).await }
    });
    tokio::task::yield_now().await;
    let refused = enter(&pacer).await.err().unwrap();
    assert_eq!(begin.elapsed(), Duration::ZERO);
    assert_eq!(refused, EgressError::RateLimited { retry_after: Duration::from_secs(1) });
    assert!(waiting.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn no_call_waits_beyond_its_deadline() {
    let pacer = pacer(10, 60);
    let _first = enter(&pacer).await.unwrap();
    let refused = pacer.enter(Instant::now() + Duration::from_secs(1), false).await.err().unwrap();
    assert!(matches!(refused, EgressError::RateLimited { .. }), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_are_limited_until_one_ends() {
    let pacer = pacer(1, 10);
    let first = enter(&pacer).await.unwrap();
    assert!(enter(&pacer).await.is_err());
    drop(first);
    assert!(enter(&pacer).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_leaves_the_queue_intact() {
    let pacer = pacer(1, 60);
    let first = enter(&pacer).await.unwrap();
    let wait = |_| {
        let pacer = Arc::clone(&pacer);
        tokio::spawn(async move { enter(&pacer).await.map(drop) })
    };
    let mut queue: Vec<_> = (0..3).map(wait).collect();
    tokio::task::yield_now().await;
    queue.remove(0).abort();
    queue.remove(0).abort();
    tokio::task::yield_now().await;
    drop(first);
    let begin = Instant::now();
    queue.remove(0).await.unwrap().unwrap();
    assert!(begin.elapsed() <= INTERVAL, "a cancelled call keeps no start time");
    assert!(pacer.state.lock().waiting.is_empty() && pacer.state.lock().running == 0);
}

#[tokio::test(start_paused = true)]
async fn calls_that_give_way_start_at_most_every_second_time_while_others_wait() {
    let pacer = pacer(1, 3600);
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let begin = |gives_way: bool| {
        let (pacer, sender) = (Arc::clone(&pacer), sender.clone());
        tokio::spawn(async move {
            let _permit = pacer.enter(later(), gives_way).await.unwrap();
            sender.send(gives_way).unwrap();
        })
    };
    for _ in 0..6 {
        begin(true);
    }
    tokio::task::yield_now().await;
    for _ in 0..3 {
        begin(false);
    }
    let mut started = Vec::new();
    for _ in 0..9 {
        started.push(receiver.recv().await.unwrap());
        // Two callers, one after the other.
        if started.len() == 6 {
            begin(false);
            begin(false);
        }
        tokio::task::yield_now().await;
    }
    let last = started.iter().rposition(|gives_way| !gives_way).unwrap();
    let giving_way = started[..=last].iter().filter(|gives_way| **gives_way).count();
    assert!(giving_way * 2 <= last + 2, "{started:?}");
}

/// The queue of one of the gateways that share it.
fn shared(concurrency: u32) -> (Arc<Pacer>, PacedQueue, Arc<Notify>) {
    let (pacer, wake) = (pacer(concurrency, 60), Arc::<Notify>::default());
    pacer.share(&wake);
    (Arc::clone(&pacer), PacedQueue::of(pacer), wake)
}

fn grant(holds: bool, may_start: bool) -> QueueGrant {
    QueueGrant { holds, may_start, others_waited: None, is_stuck: false, until: later() }
}

fn spawn(pacer: &Arc<Pacer>) -> tokio::task::JoinHandle<Permit> {
    let pacer = Arc::clone(pacer);
    tokio::spawn(async move { enter(&pacer).await.unwrap() })
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_does_not_hold_the_queue_asks_each_second_and_starts_nothing() {
    let (pacer, queue, wake) = shared(1);
    let waiting = spawn(&pacer);
    wake.notified().await;
    let begin = Instant::now();
    // However many calls come and go meanwhile.
    for _ in 0..100 {
        assert!(pacer.enter(begin + Duration::from_millis(1), false).await.is_err());
    }
    wake.notified().await;
    assert_eq!(begin.elapsed(), Duration::from_secs(1));
    let report = queue.report();
    assert_eq!((report.waited, report.is_known), (Some(Duration::from_secs(1)), false));
    queue.grant(grant(true, false));
    assert!(queue.report().is_known, "the others know of this call");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!waiting.is_finished(), "another gateway is first");
    queue.grant(grant(true, true));
    waiting.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_returned_when_no_call_runs_and_the_interval_has_passed() {
    let (pacer, queue, _wake) = shared(1);
    queue.grant(grant(true, true));
    let first = enter(&pacer).await.unwrap();
    let second = spawn(&pacer);
    tokio::time::sleep(INTERVAL * 2).await;
    // Another gateway is first from now on.
    queue.grant(grant(true, false));
    assert!(queue.report().holds, "a call runs");
    drop(first);
    tokio::task::yield_now().await;
    let report = queue.report();
    assert!(!report.holds && report.waited.is_some());
    queue.grant(grant(true, true));
    let second = second.await.unwrap();
    drop(second);
    let report = queue.report();
    assert_eq!((report.holds, report.free_in), (true, Some(INTERVAL)));
    tokio::time::sleep(INTERVAL).await;
    assert!(!queue.report().holds, "no call waits");
}

#[tokio::test(start_paused = true)]
async fn a_call_starts_within_the_lease_and_ends_with_the_last_one() {
    let (pacer, queue, _wake) = shared(1);
    let until = Instant::now() + QUEUE_LEASE;
    queue.grant(QueueGrant { until, ..grant(true, true) });
    // Its deadline is later than anything that the others know of.
    let calling = tokio::spawn({
        let queue = queue.clone();
        async move { queue.run(later(), std::future::pending::<()>()).await }
    });
    tokio::time::sleep(QUEUE_LEASE / 2).await;
    assert!(queue.report().holds, "a call runs");
    let renewed = Instant::now() + QUEUE_LEASE;
    queue.grant(QueueGrant { until: renewed, ..grant(true, true) });
    tokio::time::sleep_until(renewed - Duration::from_millis(1)).await;
    assert!(!calling.is_finished(), "the lease was renewed");
    assert_eq!(calling.await.unwrap(), Err(EgressError::QueueUnknown));
    assert_eq!(Instant::now(), renewed);
    let refused = pacer.enter(renewed + INTERVAL, false).await.err().unwrap();
    assert_eq!(refused, EgressError::QueueUnknown, "the lease is over");
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_when_the_others_have_taken_the_queue() {
    let (_pacer, queue, _wake) = shared(1);
    let until = Instant::now() + QUEUE_LEASE;
    queue.grant(QueueGrant { until, ..grant(true, true) });
    let calling = tokio::spawn({
        let queue = queue.clone();
        async move { queue.run(later(), std::future::pending::<()>()).await }
    });
    tokio::time::sleep(QUEUE_LEASE / 2).await;
    queue.grant(grant(false, true));
    assert_eq!(calling.await.unwrap(), Err(EgressError::QueueUnknown));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_in_vain_says_whether_the_holder_of_the_queue_responds() {
    let (pacer, queue, _wake) = shared(1);
    let refused = async || pacer.enter(Instant::now() + INTERVAL, false).await.err().unwrap();
    queue.grant(grant(false, true));
    assert_eq!(refused().await, EgressError::RateLimited { retry_after: INTERVAL });
    queue.grant(QueueGrant { is_stuck: true, ..grant(false, true) });
    assert_eq!(refused().await, EgressError::QueueStuck { retry_after: QUEUE_LEASE + INTERVAL });
}

#[tokio::test(start_paused = true)]
async fn the_next_call_takes_the_turn_of_one_that_has_given_up() {
    let (pacer, queue, _wake) = shared(1);
    let first = spawn(&pacer);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = spawn(&pacer);
    tokio::task::yield_now().await;
    queue.report();
    first.abort();
    tokio::task::yield_now().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let others_waited = Some(Duration::from_millis(1_500));
    queue.grant(QueueGrant { others_waited, ..grant(true, true) });
    let second = second.await.unwrap();
    let third = spawn(&pacer);
    tokio::time::sleep(INTERVAL * 2).await;
    assert!(!third.is_finished(), "the other gateways are next");
    drop(second);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_puts_no_call_before_one_that_arrived_earlier() {
    let (pacer, queue, _wake) = shared(1);
    queue.grant(grant(true, true));
    let running = pacer.enter(later(), false).await.unwrap();
    queue.report();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let own = spawn(&pacer);
    tokio::time::sleep(Duration::from_secs(2)).await;
    // The call of another gateway had waited for half a second when the report arrived.
    let others_waited = Some(Duration::from_millis(500));
    queue.grant(QueueGrant { others_waited, ..grant(true, true) });
    drop(running);
    tokio::time::sleep(INTERVAL * 2).await;
    assert!(!own.is_finished(), "the other gateway is next");
}
