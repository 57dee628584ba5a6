//! Writes records in batches, off the path of calls.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use store::{RecordedCall, Store};

/// Records that one transaction writes.
const BATCH: usize = 512;

/// Time between two batches. Without it, each call of a quiet gateway would be a transaction.
const PAUSE: Duration = Duration::from_millis(200);

/// The task that writes records.
pub struct Writer {
    records: mpsc::Receiver<RecordedCall>,
    store: Store,
    /// The most records that the store keeps.
    max: u32,
    dropped: Counter,
    stop: CancellationToken,
}

impl Writer {
    pub(super) fn new(
        records: mpsc::Receiver<RecordedCall>,
        store: Store,
        max: u32,
        dropped: Counter,
        stop: CancellationToken,
    ) -> Self {
        Self { records, store, max, dropped, stop }
    }

    /// Writes until the log is stopped and the queue is empty.
    pub async fn run(mut self) {
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
            let (records, is_full) = (batch.len() as u64, batch.len() == BATCH);
            let written = self.store.record_calls(batch, self.max).await;
            let was_failing = std::mem::replace(&mut is_failing, written.is_err());
            if let Err(error) = written {
                self.dropped.inc_by(records);
                if !was_failing {
                    tracing::warn!(%error, "records of calls cannot be stored; they are lost until the store takes them");
                }
            }
            if !is_full {
                tokio::select! {
                    () = tokio::time::sleep(PAUSE) => {}
                    () = self.stop.cancelled() => {}
                }
            }
        }
    }
}
