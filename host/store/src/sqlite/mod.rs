//! The store in one SQLite file.
//!
//! Reads go to a few connections, writes through one: SQLite has one writer at a time anyway, and callers then wait for their turn
//! here, in order, instead of polling for the file's lock. Every write is one `IMMEDIATE` transaction, so that it
//! never fails half way for want of the lock.

mod error;
mod migrate;
mod session;

use std::fs::{OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use self::session::SqliteSession;
use super::claim::Held;
use super::pool::{Pool, on_blocking_thread};
use super::session::{Durability, Session};
use super::{StoreError, to_millis};

/// How long another process may hold the lock. Writes take milliseconds; a backup tool takes longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connections for reading. Each keeps one thread busy while it reads, of which the machine has few.
const READERS: usize = 4;

/// The file and its connections. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Sqlite {
    path: Arc<Path>,
    readers: Arc<Pool<Connection>>,
    writer: Arc<Pool<Connection>>,
}

impl Sqlite {
    /// Opens the file, which is made if it is not there, and brings its tables up to date.
    pub(super) async fn open(path: &Path) -> Result<Self, StoreError> {
        let path: Arc<Path> = path.into();
        on_blocking_thread(move || {
            // Before SQLite does, which would let others read it. Its side files take over the mode.
            OpenOptions::new()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(&path)
                .map_err(|error| StoreError::NotWritable { path: path.to_path_buf(), reason: error.to_string() })?;
            let mut connection = connect(&path).map_err(|error| error::of_sqlite(&path, error))?;
            migrate::run(&mut connection, &path)?;
            let writer = Pool::new(1);
            writer.put(connection);
            Ok(Self { path, readers: Pool::new(READERS), writer })
        })
        .await
    }

    /// See [`super::Store::read`].
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(&self.readers, move |connection, path| Ok(read(&mut SqliteSession { connection, path }))).await
    }

    /// See [`super::Store::write`].
    pub(super) async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(&self.writer, move |connection, path| {
            let synchronous = match durability {
                Durability::Power => "FULL",
                Durability::Process => "NORMAL",
            };
            connection.pragma_update(None, "synchronous", synchronous)?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = write(&mut SqliteSession { connection: &transaction, path });
            if result.is_ok() {
                transaction.commit()?;
            }
            Ok(result)
        })
        .await
    }

    /// See [`super::Store::checkpoint`]. As much as can be done while other processes read.
    pub(super) async fn checkpoint(&self) -> Result<(), StoreError> {
        self.run(&self.writer, |connection, _| {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(Ok(())))
        })
        .await
    }

    /// Claims work by a lock on a file beside the database.
    pub(super) async fn try_claim(&self, name: &str) -> Result<Option<Held>, StoreError> {
        let path = self.path.with_file_name(format!("{name}.lock"));
        on_blocking_thread(move || {
            let failed = |error: io::Error| StoreError::NotWritable { path: path.clone(), reason: error.to_string() };
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => Ok(Some(Held::File(file))),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(error)) => Err(failed(error)),
            }
        })
        .await
    }

    /// The inner result is the work's own, the outer one that of the statements around it.
    async fn run<T: Send + 'static>(
        &self,
        pool: &Arc<Pool<Connection>>,
        work: impl FnOnce(&mut Connection, &Path) -> rusqlite::Result<Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = Arc::clone(&self.path);
        pool.run(move |pool| {
            let failed = |error| error::of_sqlite(&path, error);
            let mut connection = pool.take().map_or_else(|| connect(&path), Ok).map_err(failed)?;
            let result = work(&mut connection, &path);
            pool.put(connection);
            result.map_err(failed)?
        })
        .await
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    use_write_ahead_log(&connection)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // What was deleted is overwritten in the file.
    connection.pragma_update(None, "secure_delete", true)?;
    // The database's clock is the machine's.
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("now_ms", 0, flags, |_| Ok(to_millis(std::time::SystemTime::now())))?;
    Ok(connection)
}

/// With a write-ahead log, readers and the writer do not wait for each other. The first process to open the file switches it
/// over, and SQLite does not wait for a lock while doing so: it has to be asked again.
fn use_write_ahead_log(connection: &Connection) -> rusqlite::Result<()> {
    let started = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && started.elapsed() < PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests;
