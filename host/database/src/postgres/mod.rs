//! The database on a PostgreSQL server, which several gateways may share.
//!
//! Statements run on blocking threads, as on SQLite. Both databases therefore run the same code,
//! and a transaction is finished even if the caller drops its future.
//!
//! - `address`: `database_url`
//! - `tls`: encryption of connections
//! - `connection`: the trait [`Connection`] on PostgreSQL
//! - `migrate`: the versions of the tables
//! - `error`: [`PostgresError`]

mod address;
mod connection;
mod error;
mod migrate;
mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use secrecy::SecretString;
use tokio::runtime::Handle;
use tokio_postgres_rustls::MakeRustlsConnect;

use self::address::Address;
pub(crate) use self::connection::CachedClient;
use self::connection::{LOCK_NUMBER, PostgresConnection, lock_name};
pub use self::error::PostgresError;
use self::error::{of_connecting, of_statement};
use crate::connection::{Connection, Durability};
use crate::pool::Pool;
use crate::process_lock::LockHolder;
use crate::{DatabaseState, StoreError, Tables};

/// Maximum number of connections of one gateway. A server with the default settings can serve
/// several gateways.
const MAX_CONNECTIONS: usize = 10;

/// Maximum time for opening a connection. It is shorter than [`GRACE`](crate::health::GRACE).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Settings of each connection. The first two end statements that wait or run for far longer than
/// usual. The third ends the transaction of a gateway that was stopped in the middle, because the
/// transaction would block other gateways.
const SETTINGS: &str = "SET statement_timeout = '30s'; SET lock_timeout = '10s'; \
    SET idle_in_transaction_session_timeout = '60s'; SET client_min_messages = warning";

/// The server and the connections to it. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Postgres {
    server: Arc<Server>,
    pool: Arc<Pool<CachedClient>>,
}

/// Opens connections.
struct Server {
    address: Address,
    tables: &'static Tables,
    tls: MakeRustlsConnect,
    /// `true` once this process has seen the tables in a version that it works with.
    is_migrated: AtomicBool,
}

impl Postgres {
    /// Connects to the server and migrates the tables.
    pub(crate) async fn open(url: &SecretString, tables: &'static Tables) -> Result<Self, StoreError> {
        let postgres = Self::unconnected(url, tables)?;
        let client = postgres.server.connect().await?;
        postgres.pool.put_idle(client);
        Ok(postgres)
    }

    /// As [`Postgres::open`], but the first use connects and migrates the tables.
    pub(crate) fn unconnected(url: &SecretString, tables: &'static Tables) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let tls = MakeRustlsConnect::new(tls::config(&address)?);
        let server = Arc::new(Server { address, tables, tls, is_migrated: AtomicBool::new(false) });
        Ok(Self { server, pool: Pool::new(MAX_CONNECTIONS) })
    }

    /// See [`crate::Database::inspect`].
    pub(crate) async fn inspect(&self) -> Result<DatabaseState, StoreError> {
        // The connection must not migrate the tables.
        self.server.is_migrated.store(true, Ordering::Relaxed);
        let client = self.server.connect().await?;
        migrate::inspect(&client, &self.server.address, self.server.tables).await
    }

    /// See [`crate::Database::read`].
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let server = Arc::clone(&self.server);
        self.pool
            .run_blocking(move |pool| {
                let runtime = Handle::current();
                let mut client = runtime.block_on(server.ready_client(pool, None))?;
                let result = read(&mut PostgresConnection::new(&runtime, &mut client, &server.address));
                pool.put_idle(client);
                result
            })
            .await
    }

    /// See [`crate::Database::write`].
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let server = Arc::clone(&self.server);
        self.pool
            .run_blocking(move |pool| {
                let runtime = Handle::current();
                let begin = match durability {
                    Durability::PowerLoss => "BEGIN",
                    Durability::ProcessKill => "BEGIN; SET LOCAL synchronous_commit = off",
                };
                let mut client = runtime.block_on(server.ready_client(pool, Some(begin)))?;
                let result = write(&mut PostgresConnection::new(&runtime, &mut client, &server.address));
                let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
                match runtime.block_on(client.client.batch_execute(end)) {
                    Ok(()) => pool.put_idle(client),
                    // The client is dropped, and the server rolls back a transaction that is still
                    // open.
                    Err(error) => return result.and(Err(of_statement(&server.address, &error))),
                }
                result
            })
            .await
    }

    /// See [`crate::Database::try_process_lock`]. The lock is an advisory lock of the server, on a
    /// separate connection.
    pub(crate) async fn try_process_lock(&self, name: &'static str) -> Result<Option<LockHolder>, StoreError> {
        let client = self.server.connect().await?;
        let lock = format!("SELECT pg_try_advisory_lock({LOCK_NUMBER})");
        let is_locked = client.client.query_one(&lock, &[&lock_name(name)]).await.and_then(|row| row.try_get(0));
        let is_locked: bool = is_locked.map_err(|error| of_statement(&self.server.address, &error))?;
        Ok(is_locked.then_some(LockHolder::Client(Box::new(client))))
    }
}

impl Server {
    /// Takes a client from the pool, or connects, and runs `begin` on it.
    async fn ready_client(&self, pool: &Pool<CachedClient>, begin: Option<&str>) -> Result<CachedClient, StoreError> {
        loop {
            let pooled = pool.take_idle().filter(|client| !client.client.is_closed());
            let is_new = pooled.is_none();
            let client = match pooled {
                Some(client) => client,
                None => self.connect().await?,
            };
            let Some(begin) = begin else { return Ok(client) };
            match client.client.batch_execute(begin).await {
                Ok(()) => return Ok(client),
                // The server has ended the idle connection, for example because it was restarted.
                Err(_) if !is_new && client.client.is_closed() => {}
                Err(error) => return Err(of_statement(&self.address, &error)),
            }
        }
    }

    async fn connect(&self) -> Result<CachedClient, StoreError> {
        let address = &self.address;
        let connecting = async {
            let (client, connection) = address.config.connect(self.tls.clone()).await?;
            // The task ends when the client is dropped. An error of the connection appears as the
            // error of a statement.
            tokio::spawn(connection);
            client.batch_execute(SETTINGS).await?;
            Ok(CachedClient::new(client))
        };
        let mut client = match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(result) => result.map_err(|error| of_connecting(address, &error))?,
            Err(_) => return Err(PostgresError::unreachable(address, "it did not answer in time").into()),
        };
        if !self.is_migrated.load(Ordering::Relaxed) {
            migrate::run_missing(&mut client, address, self.tables).await?;
            self.is_migrated.store(true, Ordering::Relaxed);
        }
        Ok(client)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.address.shown)
    }
}

#[cfg(test)]
mod tests;
