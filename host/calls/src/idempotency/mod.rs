//! Calls with an idempotency key: each runs once, and its first answer is kept for a day.
//!
//! A call runs in a separate task, so that its answer is kept even if the caller disconnects: a
//! caller whose connection broke is the one who sends the call again. For the same reason its key
//! is taken in a separate task: a key that was taken for a call that never runs would be lost.
//! While the call runs, its key is under a lease. If the gateway dies, the lease ends, and the
//! outcome of the call is unknown. Such a call is never run a second time.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use store::vault::{Vault, VaultError};
use store::{IdempotentCall, KeyState, Store, StoreError, TakenKey, inherit_acting};

/// Time for which a key and its answer are kept, without the mark of the attempt that took the key.
const KEEP: Duration = Duration::from_secs(24 * 3600);

/// Life of a lease.
const LEASE: Duration = Duration::from_secs(30);

/// Time between two renewals. It is shorter than the time for which another gateway sees a lease
/// ended before it takes the call for lost (`database::health`), because the lease of a call that
/// runs may end early: the database was away, or its clock has jumped.
const RENEWAL: Duration = Duration::from_secs(2);

/// Time between two attempts to store the end of a call while the database is away. It is so short
/// that the end is stored before another gateway may take the call for lost (`database::health`).
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A key whose beginning has failed is looked for so often, because the database may still commit
/// the transaction for a moment.
const LOOKS: u32 = 3;

/// Longest time for which a database that does not answer is asked for such a key.
const LOOKING: Duration = Duration::from_secs(600);

/// Longest time between two such questions.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// Such keys that are looked for at a time. Further ones end by themselves, as lost calls do.
const MAX_LOOKING: usize = 256;

/// Longest wait at shutdown for the ends of calls to be stored. A busy database answers within
/// seconds.
const STORING: Duration = Duration::from_secs(5);

/// Why a key cannot be used.
#[derive(Debug, Error)]
pub enum IdempotencyError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A kept answer cannot be unsealed.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// The state of a key when a call with it arrives.
pub enum KeyStatus {
    /// The call runs now. [`Idempotency::run`] must follow.
    New(TakenKey),
    /// The key belongs to another request.
    OfOtherRequest,
    /// The first call still runs.
    Running,
    /// It is unknown what the first call did.
    Lost,
    /// The first answer, as it was given to [`KeyOutcome::Kept`].
    Ended(Vec<u8>),
    /// The first call has ended, and its answer was too large to keep.
    EndedWithoutAnswer,
}

/// The result that is stored with a key at the end of its call.
pub enum KeyOutcome {
    /// The answer.
    Kept(Vec<u8>),
    /// Only that the call has ended: its answer is too large.
    TooLarge,
    /// Nothing: the call has done nothing, and the key can be used again.
    Released,
}

/// Calls with an idempotency key.
pub struct Idempotency {
    store: Store,
    vault: Vault,
    /// Work that takes the key of a call and then waits for the call.
    answering: TaskTracker,
    /// Calls in progress. They continue if their caller disconnects.
    running: TaskTracker,
    /// Ends of calls that are being stored.
    storing: TaskTracker,
    /// Places for keys whose beginning has failed.
    looking: Arc<Semaphore>,
}

impl Idempotency {
    /// Answers are kept in `store`, and sealed by `vault`.
    pub fn new(store: Store, vault: Vault) -> Self {
        let [answering, running, storing] = [(); 3].map(|()| TaskTracker::new());
        Self { store, vault, answering, running, storing, looking: Arc::new(Semaphore::new(MAX_LOOKING)) }
    }

    /// Runs work to its end, even if the handle is dropped. [`Idempotency::shut_down`] waits for it
    /// as for a call.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.answering.spawn(inherit_acting(clock::inherit(work)).in_current_span())
    }

    /// Takes the key of a call, or finds out about the first call with it. If the future is dropped,
    /// the key may be taken nevertheless, so callers use [`Idempotency::spawn`].
    ///
    /// # Errors
    /// If the store fails, or a kept answer cannot be unsealed. The call must then not run.
    pub async fn begin(&self, call: &IdempotentCall) -> Result<KeyStatus, IdempotencyError> {
        let keep = KEEP + IdempotentCall::new_mark()?;
        let begun = self.store.idempotency().begin(call, LEASE, keep).await;
        // The database may have given the key to this call, which does not run.
        if begun.as_ref().is_err_and(StoreError::may_have_written)
            && let Ok(turn) = Arc::clone(&self.looking).try_acquire_owned()
        {
            let (store, call) = (self.store.clone(), call.clone());
            let release = async move {
                release_later(store, call, keep).await;
                drop(turn);
            };
            tokio::spawn(clock::inherit(release).in_current_span());
        }
        Ok(match begun? {
            KeyState::New(taken) => KeyStatus::New(taken),
            KeyState::OfOtherRequest => KeyStatus::OfOtherRequest,
            KeyState::Running => KeyStatus::Running,
            KeyState::Lost => KeyStatus::Lost,
            KeyState::EndedWithoutAnswer => KeyStatus::EndedWithoutAnswer,
            KeyState::Ended(sealed) => {
                let context = call.answer_context();
                let unsealing = self.vault.unseal_content(&context, &sealed);
                KeyStatus::Ended(compute::drive(sealed.bytes.len(), unsealing).await?)
            }
        })
    }

    /// Runs a call whose key was taken, and stores its end. The call runs to its end even if the
    /// handle is dropped.
    pub fn run<T: Send + 'static>(
        self: &Arc<Self>,
        call: IdempotentCall,
        taken: TakenKey,
        work: impl Future<Output = (T, KeyOutcome)> + Send + 'static,
    ) -> JoinHandle<T> {
        let this = Arc::clone(self);
        let is_running = self.running.token();
        let running = async move {
            let (result, ending) = tokio::select! {
                biased;
                ended = work => ended,
                never = this.keep_lease(&call) => match never {},
            };
            let _storing = this.storing.token();
            // Only now, so that `shut_down` never overlooks a call between the two.
            drop(is_running);
            if let Err(error) = this.end(&call, taken, &ending).await {
                tracing::warn!(%error, "the end of a call with an idempotency key is not stored yet; trying again");
                let end = Arc::clone(&this).end_later(call, taken, ending);
                this.storing.spawn(clock::inherit(end).in_current_span());
            }
            result
        };
        tokio::spawn(inherit_acting(clock::inherit(running)).in_current_span())
    }

    async fn keep_lease(&self, call: &IdempotentCall) -> Infallible {
        loop {
            sleep(RENEWAL).await;
            if let Err(error) = self.store.idempotency().renew(&call.id, LEASE).await {
                tracing::warn!(%error, "the lease of an idempotency key could not be renewed");
            }
        }
    }

    /// Stores the end of a call as soon as the database takes it, however long that is. The end is
    /// lost only if the gateway ends.
    async fn end_later(self: Arc<Self>, call: IdempotentCall, taken: TakenKey, ending: KeyOutcome) {
        loop {
            sleep(RETRY_DELAY).await;
            match self.end(&call, taken, &ending).await {
                Ok(()) => return,
                Err(error) => tracing::debug!(%error, "the end of a call with an idempotency key is not stored yet"),
            }
        }
    }

    async fn end(&self, call: &IdempotentCall, taken: TakenKey, ending: &KeyOutcome) -> Result<(), IdempotencyError> {
        match ending {
            KeyOutcome::Released => self.store.idempotency().release(&call.id, taken).await?,
            KeyOutcome::TooLarge => self.store.idempotency().end(&call.id, None).await?,
            KeyOutcome::Kept(answer) => {
                let context = call.answer_context();
                let sealing = self.vault.seal(&context, answer);
                let sealed = compute::drive(answer.len(), sealing).await?;
                self.store.idempotency().end(&call.id, Some(sealed)).await?;
            }
        }
        Ok(())
    }

    /// Waits for calls in progress until `deadline`. Then waits a little longer, until the ends of
    /// finished calls are stored. A call that is cut off leaves its key under the lease, as if the
    /// gateway had died.
    pub async fn shut_down(&self, deadline: Instant) {
        self.answering.close();
        self.running.close();
        self.storing.close();
        let ended = async {
            self.answering.wait().await;
            self.running.wait().await;
        };
        if timeout_at(deadline, ended).await.is_err() && !self.running.is_empty() {
            tracing::warn!(
                calls = self.running.len(),
                "some calls with an idempotency key did not end within `drain_s` and were cut off"
            );
        }
        if timeout(STORING, self.storing.wait()).await.is_err() {
            tracing::warn!(
                "the ends of some calls with an idempotency key could not be stored before the gateway ended"
            );
        }
    }
}

/// Releases the key of a call whose beginning has failed, if the key was taken nevertheless.
/// Otherwise it would be unknown what the call has done.
async fn release_later(store: Store, call: IdempotentCall, keep: Duration) {
    let (end, mut looks, mut delay) = (Instant::now() + LOOKING, 0, RETRY_DELAY);
    while looks < LOOKS && Instant::now() < end {
        sleep(delay).await;
        match store.idempotency().release_unanswered(&call, LEASE, keep).await {
            Ok(true) => return,
            Ok(false) => (looks, delay) = (looks + 1, RETRY_DELAY),
            Err(error) => {
                tracing::debug!(%error, "an idempotency key is not released yet");
                delay = (2 * delay).min(LONGEST_DELAY);
            }
        }
    }
}

#[cfg(test)]
mod tests;
