//! Writes that wait at the same time share one transaction, and so its flush to disk. Each of them
//! is in a savepoint, so that one that fails does not undo the others.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::ffi::{self, SQLITE_ABORT_ROLLBACK, SQLITE_FULL};
use rusqlite::{Transaction, TransactionBehavior};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::connection::SqliteConnection;
use super::error::of_sqlite;
use crate::StoreError;
use crate::connection::{Connection, Durability};

/// The most writes of one transaction. The first of them waits for the last.
const MAX_WRITES: usize = 32;

/// Writes of which many come at the same time come at least so often.
const COMPANY: Duration = Duration::from_millis(20);

/// The writes that wait for the connection.
#[derive(Default)]
pub(super) struct Queue {
    /// In the order in which they came.
    waiting: Mutex<VecDeque<Waiting>>,
    /// Time of the last write of which many may come.
    last_of_many: Mutex<Option<Instant>>,
    /// `true` once the connection was told not to flush. A new connection flushes.
    skips_flush: AtomicBool,
}

type Run = Box<dyn FnOnce(&mut dyn Connection) -> Effect + Send>;

/// The effect of a write that has run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Its changes are a part of the transaction.
    Stored,
    /// It has failed, so its changes are undone.
    Nothing,
    /// The same, because the disk is full. SQLite has undone the whole transaction.
    DiskFull,
}

/// A write that waits.
struct Waiting {
    /// Is set by the one who runs it, or by its caller, who gives it up.
    is_taken: Arc<AtomicBool>,
    durability: Durability,
    /// Runs its statements, and keeps the result for its caller.
    run: Run,
    /// Tells its caller that the transaction has ended, or why it was not committed. A write that
    /// has failed is told at the same time: it may have failed because of what another write of the
    /// transaction has stored.
    ended: oneshot::Sender<Result<(), StoreError>>,
}

/// The result of a write that has run, or its panic.
type Ran<T> = thread::Result<Result<T, StoreError>>;

/// A write in the queue, as its caller sees it.
pub(super) struct Queued<T> {
    result: Arc<Mutex<Option<Ran<T>>>>,
    is_taken: Arc<AtomicBool>,
    /// Receives a value once the transaction has ended.
    pub(super) ended: oneshot::Receiver<Result<(), StoreError>>,
}

impl<T> Queued<T> {
    /// Gives the write up. Returns `false` if it has run or runs at the moment, so that its caller
    /// has to wait for its result.
    pub(super) fn give_up(&self) -> bool {
        !self.is_taken.swap(true, Ordering::Relaxed)
    }

    /// The result of a write whose transaction has ended.
    ///
    /// # Errors
    /// If the write has failed, or if its transaction was not committed.
    ///
    /// # Panics
    /// If the write did.
    pub(super) fn result(self) -> Result<T, StoreError> {
        match self.result.lock().take() {
            Some(Ok(result)) => result,
            Some(Err(panic)) => resume_unwind(panic),
            None => Err(StoreError::Closed),
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Queue({})", self.waiting.lock().len())
    }
}

impl Queue {
    /// Notes a write of which many may come. Returns `true` if another one came a moment ago, so that
    /// more will probably follow.
    pub(super) fn has_company(&self) -> bool {
        let now = Instant::now();
        let before = self.last_of_many.lock().replace(now);
        before.is_some_and(|before| now.saturating_duration_since(before) < COMPANY)
    }

    /// Adds a write. If its caller gives up before its turn, it is not run.
    pub(super) fn add<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Queued<T> {
        let result = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&result);
        let run = Box::new(move |connection: &mut dyn Connection| {
            let result = catch_unwind(AssertUnwindSafe(|| write(connection)));
            let effect = match &result {
                Ok(Ok(_)) => Effect::Stored,
                Ok(Err(StoreError::Full { .. })) => Effect::DiskFull,
                _ => Effect::Nothing,
            };
            *kept.lock() = Some(result);
            effect
        });
        let (sender, ended) = oneshot::channel();
        let is_taken = Arc::new(AtomicBool::new(false));
        self.waiting.lock().push_back(Waiting { is_taken: Arc::clone(&is_taken), durability, run, ended: sender });
        Queued { result, is_taken, ended }
    }

    /// Runs the writes that wait, in one transaction. Only the holder of the connection calls this.
    ///
    /// # Errors
    /// If the transaction cannot begin. The writes still wait then.
    pub(super) fn run(&self, connection: &mut rusqlite::Connection, path: &Path) -> rusqlite::Result<()> {
        let (count, is_flushed) = {
            let mut waiting = self.waiting.lock();
            waiting.retain(|write| !write.ended.is_closed());
            let count = waiting.len().min(MAX_WRITES);
            (count, waiting.iter().take(count).any(|write| write.durability == Durability::PowerLoss))
        };
        if count == 0 {
            return Ok(());
        }
        // The statement costs as much as a small write.
        if self.skips_flush.load(Ordering::Relaxed) == is_flushed {
            connection.pragma_update(None, "synchronous", if is_flushed { "FULL" } else { "NORMAL" })?;
            self.skips_flush.store(!is_flushed, Ordering::Relaxed);
        }
        let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut callers = Vec::with_capacity(count);
        let (mut is_changed, mut undone_by) = (false, None);
        for _ in 0..count {
            let Some(Waiting { is_taken, run, ended, .. }) = self.waiting.lock().pop_front() else { break };
            if is_taken.swap(true, Ordering::Relaxed) || ended.is_closed() {
                continue;
            }
            let effect = match count {
                // Without a savepoint, SQLite keeps no copies of the pages that it changes.
                1 => Ok(run(&mut SqliteConnection { connection: &transaction, path })),
                _ => run_in_savepoint(&mut transaction, path, run),
            };
            is_changed |= matches!(effect, Ok(Effect::Stored));
            if transaction.is_autocommit() {
                // SQLite has undone everything, because the disk is full, for example. The other
                // writes still wait.
                undone_by =
                    Some(if matches!(effect, Ok(Effect::DiskFull)) { SQLITE_FULL } else { SQLITE_ABORT_ROLLBACK });
            }
            callers.push((ended, effect));
            if undone_by.is_some() {
                break;
            }
        }
        let committed = match undone_by {
            Some(code) => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
            None if is_changed => transaction.commit(),
            None => Ok(()),
        };
        for (caller, effect) in callers {
            let _ = caller.send(match (&committed, effect) {
                (_, Err(error)) => Err(of_sqlite(path, error)),
                // Nothing has changed for it, whatever becomes of the others.
                (Err(_), Ok(Effect::DiskFull)) | (Ok(()), Ok(_)) => Ok(()),
                (Err(error), Ok(_)) => Err(of_sqlite(path, copied(error))),
            });
        }
        Ok(())
    }
}

/// Runs a write that is undone if it fails.
fn run_in_savepoint(
    transaction: &mut Transaction<'_>,
    path: &Path,
    run: impl FnOnce(&mut dyn Connection) -> Effect,
) -> rusqlite::Result<Effect> {
    let savepoint = transaction.savepoint()?;
    let effect = run(&mut SqliteConnection { connection: &savepoint, path });
    if effect == Effect::Stored {
        savepoint.commit()?;
    }
    Ok(effect)
}

/// The same error, for a further caller.
fn copied(error: &rusqlite::Error) -> rusqlite::Error {
    let code = error.sqlite_error().copied().unwrap_or_else(|| ffi::Error::new(ffi::SQLITE_ERROR));
    rusqlite::Error::SqliteFailure(code, Some(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::values;

    const PATH: &str = "gateway.db";

    fn database() -> rusqlite::Connection {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "PRAGMA foreign_keys = ON;
                 CREATE TABLE notes (number INTEGER PRIMARY KEY) STRICT;
                 CREATE TABLE copies (number INTEGER REFERENCES notes DEFERRABLE INITIALLY DEFERRED) STRICT",
            )
            .unwrap();
        connection
    }

    fn insert(connection: &mut dyn Connection, number: i64) -> Result<u64, StoreError> {
        connection.execute("INSERT INTO notes VALUES ($1)", values![number])
    }

    fn note(queue: &Queue, number: i64) -> Queued<u64> {
        queue.add(Durability::ProcessKill, move |connection| insert(connection, number))
    }

    fn notes(connection: &rusqlite::Connection) -> Vec<i64> {
        let mut statement = connection.prepare("SELECT number FROM notes ORDER BY number").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    fn result<T>(mut queued: Queued<T>) -> Result<T, StoreError> {
        queued.ended.try_recv().expect("the transaction has ended")?;
        queued.result()
    }

    #[test]
    fn writes_that_wait_share_a_transaction_and_fail_alone() {
        let (queue, mut connection) = (Queue::default(), database());
        let first = note(&queue, 1);
        let failing = queue.add(Durability::PowerLoss, |connection| {
            insert(connection, 2)?;
            Err::<(), _>(StoreError::Duplicate)
        });
        let panicking = queue.add(Durability::PowerLoss, |connection| {
            insert(connection, 3)?;
            if insert(connection, 4).is_ok() { panic!("a write panics") } else { Ok(()) }
        });
        drop(note(&queue, 5));
        let last = note(&queue, 6);
        queue.run(&mut connection, Path::new(PATH)).unwrap();
        assert_eq!(result(first).unwrap(), 1);
        assert!(matches!(result(failing), Err(StoreError::Duplicate)));
        assert!(catch_unwind(AssertUnwindSafe(|| result(panicking))).is_err());
        assert_eq!(result(last).unwrap(), 1);
        assert_eq!(notes(&connection), [1, 6]);
    }

    #[test]
    fn a_write_alone_has_no_effect_if_it_fails() {
        let (queue, mut connection) = (Queue::default(), database());
        let failing = queue.add(Durability::PowerLoss, |connection| {
            insert(connection, 1)?;
            Err::<(), _>(StoreError::Duplicate)
        });
        queue.run(&mut connection, Path::new(PATH)).unwrap();
        assert!(matches!(result(failing), Err(StoreError::Duplicate)));
        assert_eq!(notes(&connection), []);
    }

    #[test]
    fn a_transaction_that_is_undone_fails_those_that_it_has_run_and_no_other() {
        let (queue, mut connection) = (Queue::default(), database());
        let undone = note(&queue, 1);
        let failing = queue.add(Durability::PowerLoss, |connection| connection.execute("ROLLBACK", &[]));
        let waiting = note(&queue, 2);
        queue.run(&mut connection, Path::new(PATH)).unwrap();
        assert!(matches!(result(undone), Err(StoreError::Database(_))));
        assert!(matches!(result(failing), Err(StoreError::Database(_))));
        queue.run(&mut connection, Path::new(PATH)).unwrap();
        assert_eq!(result(waiting).unwrap(), 1);
        assert_eq!(notes(&connection), [2]);
    }

    #[test]
    fn a_full_disk_is_the_reason_of_each_write_that_it_undid() {
        let (queue, mut connection) = (Queue::default(), database());
        let undone = note(&queue, 1);
        let failing = queue.add(Durability::PowerLoss, |connection| {
            connection.execute("ROLLBACK", &[])?;
            Err::<(), _>(StoreError::Full { path: PATH.into() })
        });
        queue.run(&mut connection, Path::new(PATH)).unwrap();
        assert!(matches!(result(undone), Err(StoreError::Full { .. })));
        assert!(matches!(result(failing), Err(StoreError::Full { .. })));
    }

    #[test]
    fn a_write_that_its_caller_has_given_up_is_not_run() {
        let (queue, mut connection) = (Queue::default(), database());
        let (first, given_up) = (note(&queue, 1), note(&queue, 2));
        assert!(given_up.give_up());
        queue.run(&mut connection, Path::new(PATH)).unwrap();
        assert!(!first.give_up());
        assert_eq!(result(first).unwrap(), 1);
        assert_eq!(notes(&connection), [1]);
    }

    #[test]
    fn a_write_that_fails_because_of_another_one_is_not_told_so_if_that_one_is_undone() {
        let (queue, mut connection) = (Queue::default(), database());
        let first = note(&queue, 1);
        let same = queue.add(Durability::PowerLoss, |connection| match insert(connection, 1) {
            Ok(_) => Ok(()),
            Err(_) => Err(StoreError::Duplicate),
        });
        let dangling =
            queue.add(Durability::PowerLoss, |connection| connection.execute("INSERT INTO copies VALUES (9)", &[]));
        queue.run(&mut connection, Path::new(PATH)).unwrap();
        assert!(matches!(result(same), Err(StoreError::DataKeyInUse)));
        for queued in [first, dangling] {
            assert!(matches!(result(queued), Err(StoreError::DataKeyInUse)));
        }
    }

    #[test]
    fn every_caller_is_told_that_a_commit_has_failed() {
        let (queue, mut connection) = (Queue::default(), database());
        let first = note(&queue, 1);
        let dangling =
            queue.add(Durability::PowerLoss, |connection| connection.execute("INSERT INTO copies VALUES (9)", &[]));
        queue.run(&mut connection, Path::new(PATH)).unwrap();
        for queued in [first, dangling] {
            assert!(matches!(result(queued), Err(StoreError::DataKeyInUse)));
        }
        assert_eq!(notes(&connection), []);
    }
}
