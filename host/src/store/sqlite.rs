//! Connections to the SQLite file, and the threads they are used on.
//!
//! Reads go to a few connections, writes through one: SQLite has one writer at a time anyway, and callers then wait for their turn
//! here, in order, instead of polling for the file's lock. Every write is one `IMMEDIATE` transaction, so that it
//! never fails half way for want of the lock.

mod session;

use std::fs::{OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use tokio::sync::Semaphore;

use self::session::SqliteSession;
use super::claim::Held;
use super::session::Session;
use super::{StoreError, migrate, now};

/// How long another process may hold the lock. Writes take milliseconds; a backup tool takes longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connections for reading. Each keeps one thread busy while it reads, of which the machine has few.
const READERS: usize = 4;

/// What a committed write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// The process being killed, and the machine losing power: for what nobody can make again. Costs a flush of the disk.
    Power,
    /// The process being killed; a power loss may undo the last writes, but never leaves half of one.
    Process,
}

/// The file and its connections. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Sqlite {
    path: Arc<Path>,
    readers: Arc<Pool>,
    writer: Arc<Pool>,
}

/// Connections that are not in use. One that was lost to a panic is opened anew.
#[derive(Debug)]
struct Pool {
    turns: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    fn new(size: usize) -> Arc<Self> {
        Arc::new(Self { turns: Arc::new(Semaphore::new(size)), idle: Mutex::default() })
    }

    fn take(&self) -> Option<Connection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

impl Sqlite {
    /// Opens the file, which is made if it is not there, and brings its tables up to date.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        // Before SQLite does, which would let others read it. Its side files take over the mode.
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| StoreError::NotWritable { path: path.to_owned(), reason: error.to_string() })?;
        let mut connection = connect(path).map_err(|error| StoreError::new(path, error))?;
        migrate::run(&mut connection, path)?;
        let writer = Pool::new(1);
        writer.put(connection);
        Ok(Self { path: path.into(), readers: Pool::new(READERS), writer })
    }

    /// Reads, on a thread that may block. What one call reads may change before its next statement, unless `read` is one.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(&self.readers, |connection| read(connection)).await
    }

    /// Runs a transaction: all of it is done once this returns `Ok`, and nothing of it otherwise.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(&self.writer, move |connection| {
            set_durability(connection, durability)?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = write(&transaction)?;
            transaction.commit()?;
            Ok(result)
        })
        .await
    }

    pub(super) async fn read_session<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = Arc::clone(&self.path);
        self.read(move |connection| Ok(read(&mut SqliteSession { connection, path: &path }))).await?
    }

    pub(super) async fn write_session<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = Arc::clone(&self.path);
        self.run(&self.writer, move |connection| {
            set_durability(connection, durability)?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = write(&mut SqliteSession { connection: &transaction, path: &path });
            if result.is_ok() {
                transaction.commit()?;
            }
            Ok(result)
        })
        .await?
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

    async fn run<T: Send + 'static>(
        &self,
        pool: &Arc<Pool>,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = Arc::clone(&pool.turns).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let path = Arc::clone(&self.path);
        let pool = Arc::clone(pool);
        on_blocking_thread(move || {
            // Held here rather than by the caller, who may be cancelled while the work goes on.
            let _turn = turn;
            let mut connection =
                pool.take().map_or_else(|| connect(&path), Ok).map_err(|error| StoreError::new(&path, error))?;
            let result = work(&mut connection);
            pool.put(connection);
            result.map_err(|error| StoreError::new(&path, error))
        })
        .await
    }
}

/// Runs what may block where it may.
pub(super) async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Closed),
        },
    }
}

fn set_durability(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let synchronous = match durability {
        Durability::Power => "FULL",
        Durability::Process => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    use_write_ahead_log(&connection)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // What was deleted is overwritten in the file.
    connection.pragma_update(None, "secure_delete", true)?;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("now_ms", 0, flags, |_| Ok(now()))?;
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
