//! The database in one SQLite file.
//!
//! Reads use a few connections, writes use one. SQLite allows one writer at a time, so a second
//! connection could only poll for the file's lock. With one connection, writes wait in order, and
//! those that wait share a transaction. Every transaction is `IMMEDIATE`: it takes the write lock
//! at its beginning and cannot fail in the middle because another process has it.
//!
//! - `connection`: the trait [`Connection`] on SQLite
//! - `group`: the writes that wait, and their transaction
//! - `migrate`: the versions of the tables
//! - `error`: errors of SQLite as [`StoreError`]

mod connection;
mod error;
mod group;
mod migrate;

use std::ffi::c_int;
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::backup::Backup;
use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use rusqlite::{ErrorCode, OpenFlags};
use tokio::time::sleep;

pub(crate) use self::connection::SqliteConnection;
pub(crate) use self::error::of_sqlite;

use self::group::{Queue, Queued};

use crate::connection::{Connection, Durability};
use crate::pool::{Pool, on_blocking_thread};
use crate::process_lock::LockHolder;
use crate::time::to_millis;
use crate::{StoreError, Tables};

/// Maximum wait for a lock of another process. Writes of a gateway take milliseconds. Backup tools
/// take longer.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Pages of a copy in one step: all of them. A copy in several steps begins again if another
/// process writes between them.
const ALL_PAGES: c_int = c_int::MAX;

/// Time between two attempts to begin a copy while the file is locked.
const COPY_PAUSE: Duration = Duration::from_millis(10);

/// Time in which a write of which many come waits for others. It is far below the time in which
/// services want an answer to a notification.
const GATHERING: Duration = Duration::from_millis(20);

/// Number of connections for reading. Each occupies a thread and a CPU core while it reads.
const READERS: usize = 4;

/// Statements that a connection keeps prepared. A notification of a service alone takes twenty.
const STATEMENTS: usize = 128;

/// The file and its connections. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Sqlite {
    path: Arc<Path>,
    readers: Arc<Pool<rusqlite::Connection>>,
    writer: Arc<Pool<rusqlite::Connection>>,
    queue: Arc<Queue>,
}

impl Sqlite {
    /// Opens the file and migrates its tables. Creates the file if it is missing.
    pub(crate) async fn open(path: &Path, tables: &'static Tables) -> Result<Self, StoreError> {
        let path: Arc<Path> = path.into();
        on_blocking_thread(move || {
            // SQLite would create a file that other users can read. The files that it creates next
            // to this one get the same mode.
            files::open_or_create(&path)
                .map_err(|error| StoreError::NotWritable { path: path.to_path_buf(), reason: error.to_string() })?;
            let mut connection = open(&path).map_err(|error| error::of_sqlite(&path, error))?;
            migrate::run_missing(&mut connection, &path, tables)?;
            let writer = Pool::new(1);
            writer.put_idle(connection);
            Ok(Self { path, readers: Pool::new(READERS), writer, queue: Arc::default() })
        })
        .await
    }

    /// See [`crate::Database::read`].
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.with_connection(&self.readers, move |connection, path| {
            Ok(read(&mut SqliteConnection { connection, path }))
        })
        .await
    }

    /// See [`crate::Database::write`].
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.finish(self.queue.add(durability, write)).await
    }

    /// See [`crate::Database::write_together`]. A write that comes alone does not wait.
    pub(crate) async fn write_together<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let has_company = self.queue.has_company();
        let mut queued = self.queue.add(durability, write);
        if has_company {
            tokio::select! {
                biased;
                // Another write has run this one too.
                ended = &mut queued.ended => {
                    ended.unwrap_or(Err(StoreError::Closed))?;
                    return queued.result();
                }
                () = sleep(GATHERING) => {}
            }
        }
        self.finish(queued).await
    }

    /// Waits until a write that is queued has ended.
    async fn finish<T: Send + 'static>(&self, mut queued: Queued<T>) -> Result<T, StoreError> {
        loop {
            tokio::select! {
                biased;
                ended = &mut queued.ended => {
                    ended.unwrap_or(Err(StoreError::Closed))?;
                    return queued.result();
                }
                // Runs this write and those that wait behind it.
                run = self.run_queue() => if let Err(error) = run && queued.give_up() {
                    return Err(error);
                },
            }
        }
    }

    async fn run_queue(&self) -> Result<(), StoreError> {
        let queue = Arc::clone(&self.queue);
        self.with_connection(&self.writer, move |connection, path| queue.run(connection, path).map(Ok)).await
    }

    /// See [`crate::Database::checkpoint`]. Moves only as much as possible while other processes read.
    pub(crate) async fn checkpoint(&self, statement: &'static str) -> Result<(), StoreError> {
        self.with_connection(&self.writer, move |connection, _| connection.query_row(statement, [], |_| Ok(Ok(()))))
            .await
    }

    /// See [`crate::Database::copy_to`]. Readers and writers continue: a copy in one step reads one
    /// snapshot of the write-ahead log.
    pub(crate) async fn copy_to(&self, target: PathBuf) -> Result<(), StoreError> {
        let path = Arc::clone(&self.path);
        on_blocking_thread(move || {
            files::create_atomically(&target, |_| Ok(()))
                .map_err(|error| StoreError::NotWritable { path: target.clone(), reason: error.to_string() })?;
            let copy = || {
                let source = open(&path)?;
                let mut copy = rusqlite::Connection::open(&target)?;
                Backup::new(&source, &mut copy)?.run_to_completion(ALL_PAGES, COPY_PAUSE, None)?;
                // The copy is one file, without a write-ahead log next to it.
                copy.pragma_update(None, "journal_mode", "DELETE")
            };
            copy().map_err(|error| error::of_sqlite(&path, error))
        })
        .await
    }

    /// See [`crate::Database::try_process_lock`]. The lock is a lock on a file next to the database.
    pub(crate) async fn try_process_lock(&self, name: &str) -> Result<Option<LockHolder>, StoreError> {
        let path = self.path.with_file_name(format!("{name}.lock"));
        on_blocking_thread(move || {
            let failed = |error: io::Error| StoreError::NotWritable { path: path.clone(), reason: error.to_string() };
            let file = files::open_or_create(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => Ok(Some(LockHolder::File(file))),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(error)) => Err(failed(error)),
            }
        })
        .await
    }

    /// Runs `work` on a connection of the pool. The inner result belongs to the caller's
    /// statements, the outer one to the transaction around them.
    async fn with_connection<T: Send + 'static>(
        &self,
        pool: &Arc<Pool<rusqlite::Connection>>,
        work: impl FnOnce(&mut rusqlite::Connection, &Path) -> rusqlite::Result<Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = Arc::clone(&self.path);
        pool.run_blocking(move |pool| {
            // If the file was removed, the open connections would still write to it, and the data
            // would be lost.
            if !path.try_exists().unwrap_or(true) {
                return Err(StoreError::Missing { path: path.to_path_buf() });
            }
            let failed = |error| error::of_sqlite(&path, error);
            let mut connection = pool.take_idle().map_or_else(|| open(&path), Ok).map_err(failed)?;
            let result = work(&mut connection, &path);
            pool.put_idle(connection);
            result.map_err(failed)?
        })
        .await
    }
}

/// Reads the version of an existing file, and the version that this release knows. Changes nothing.
pub(crate) async fn version_of_file(path: PathBuf, tables: &'static Tables) -> Result<(i64, i64), StoreError> {
    on_blocking_thread(move || {
        let read = || {
            // A file with a write-ahead log can be read only by a connection that may write.
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = rusqlite::Connection::open_with_flags(&path, flags)?;
            connection.busy_timeout(LOCK_TIMEOUT)?;
            migrate::found_and_known(&connection, tables)
        };
        read().map_err(|error| error::of_sqlite(&path, error))?.ok_or_else(|| StoreError::OtherProgram { path })
    })
    .await
}

/// Opens a connection with the settings that all connections have.
fn open(path: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let connection = rusqlite::Connection::open(path)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    use_write_ahead_log(&connection)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // The queue of writes relies on it.
    connection.pragma_update(None, "synchronous", "FULL")?;
    // SQLite overwrites deleted data in the file, so that previous secrets do not remain there.
    connection.pragma_update(None, "secure_delete", true)?;
    keep_statements(&connection)?;
    set_clock(&connection, steady_now)?;
    Ok(connection)
}

/// Keeps prepared statements as they are. Otherwise SQLite prepares a statement anew for each
/// parameter that is compared with a column of an index on some rows.
fn keep_statements(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Opens a new database in memory with this clock.
pub(crate) fn open_in_memory(
    path: &Path,
    tables: &Tables,
    now_ms: impl Fn() -> i64 + Send + Sync + 'static,
) -> Result<rusqlite::Connection, StoreError> {
    let open = || {
        let connection = rusqlite::Connection::open_in_memory()?;
        connection.pragma_update(None, "foreign_keys", true)?;
        keep_statements(&connection)?;
        set_clock(&connection, now_ms)?;
        Ok(connection)
    };
    let mut connection = open().map_err(|error| of_sqlite(path, error))?;
    migrate::run_missing(&mut connection, path, tables)?;
    Ok(connection)
}

fn set_clock(
    connection: &rusqlite::Connection,
    now_ms: impl Fn() -> i64 + Send + Sync + 'static,
) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("now_ms", 0, flags, move |_| Ok(now_ms()))
}

/// The clock of a SQLite database, in milliseconds since 1970. It starts with the clock of the
/// machine when the process first asks, and then runs evenly: if someone sets the machine's clock,
/// no lease ends and no key expires.
fn steady_now() -> i64 {
    static START: OnceLock<(SystemTime, Instant)> = OnceLock::new();
    let (at, instant) = START.get_or_init(|| (SystemTime::now(), Instant::now()));
    to_millis(*at + instant.elapsed())
}

/// Switches the file to a write-ahead log, with which readers and the writer do not wait for each
/// other. While another process switches a new file, SQLite fails immediately instead of waiting
/// for the lock. This function therefore tries again.
fn use_write_ahead_log(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    let started = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && started.elapsed() < LOCK_TIMEOUT =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests;
