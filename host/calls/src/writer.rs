//! Writes records in batches, off the path of calls.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use store::{RecordedCall, Store};

/// Records that one transaction writes.
const BATCH: usize = 512;

/// Shortest time between two batches. Without it, each call of a quiet gateway would be a
/// transaction.
const PAUSE: Duration = Duration::from_millis(200);

/// The time between two batches, as a multiple of the time that the last one took. So records take
/// at most a fortieth of one core from the calls, and of the database from other writes. Records
/// that do not fit into this share are dropped.
const REST: u32 = 39;

/// The task that writes records.
pub(super) struct Writer {
    /// Each with the time at which its call arrived.
    records: mpsc::Receiver<(Instant, RecordedCall)>,
    store: Store,
    /// The most records that the store keeps.
    max: u32,
    dropped: Counter,
    stop: CancellationToken,
}

impl Writer {
    pub(super) fn new(
        records: mpsc::Receiver<(Instant, RecordedCall)>,
        store: Store,
        max: u32,
        dropped: Counter,
        stop: CancellationToken,
    ) -> Self {
        Self { records, store, max, dropped, stop }
    }

    /// Writes until the log is stopped and the queue is empty.
    pub(super) async fn run(mut self) {
        let mut is_failing = false;
        loop {
            let mut batch = Vec::new();
            tokio::select! {
                biased;
                _ = self.records.recv_many(&mut batch, BATCH) => {}
                () = self.stop.cancelled() => self.records.close(),
            }
            if batch.is_empty() {
                if self.records.is_closed() {
                    return;
                }
                continue;
            }
            let (records, began) = (batch.len() as u64, Instant::now());
            // The store has its own clock, so it gets ages.
            let aged = batch.into_iter().map(|(arrived, call)| (arrived.elapsed(), call)).collect();
            let written = self.store.calls().record(aged, self.max).await;
            let was_failing = std::mem::replace(&mut is_failing, written.is_err());
            if let Err(error) = written {
                self.dropped.inc_by(records);
                if !was_failing {
                    tracing::warn!(%error, "records of calls cannot be stored; they are lost until the store takes them");
                }
            }
            tokio::select! {
                () = sleep(PAUSE.max(began.elapsed() * REST)) => {}
                () = self.stop.cancelled() => {}
            }
        }
    }
}
