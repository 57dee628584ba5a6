//! The store in a PostgreSQL database, which several gateways may share.
//!
//! Statements are waited for on threads that may block, as with SQLite: so both run the same code, and a transaction goes on to
//! its end even if the caller goes away.

mod address;
mod error;
mod migrate;
mod session;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::runtime::Handle;
use tokio_postgres_rustls::MakeRustlsConnect;

use self::address::Address;
pub use self::error::PostgresError;
use self::error::{of_connecting, of_statement};
pub(super) use self::session::Connection;
use self::session::{LOCK_NUMBER, PostgresSession, lock_name};
use super::StoreError;
use super::claim::Held;
use super::pool::Pool;
use super::session::{Durability, Session};

/// Connections of one gateway: few enough that a server of default size serves several.
const CONNECTIONS: usize = 10;

/// How long a server may take to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// A statement that waits for a lock or works for longer than this has gone wrong; and a gateway that stops in the middle
/// of a transaction must not keep the others waiting.
const SETTINGS: &str = "SET statement_timeout = '30s'; SET lock_timeout = '10s'; \
    SET idle_in_transaction_session_timeout = '60s'; SET client_min_messages = warning";

/// The server and the connections to it. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Postgres {
    server: Arc<Server>,
    pool: Arc<Pool<Connection>>,
}

/// What is needed to connect.
struct Server {
    address: Address,
    tls: MakeRustlsConnect,
}

impl Postgres {
    /// Connects, and brings the tables up to date.
    pub(super) async fn open(url: &SecretString) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let tls = MakeRustlsConnect::new(tls::config(&address)?);
        let server = Arc::new(Server { address, tls });
        let pool = Pool::new(CONNECTIONS);
        let mut connection = server.connect().await?;
        migrate::run(&mut connection, &server.address).await?;
        pool.put(connection);
        Ok(Self { server, pool })
    }

    /// See [`super::Store::read`].
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let server = Arc::clone(&self.server);
        self.pool
            .run(move |pool| {
                let runtime = Handle::current();
                let mut connection = runtime.block_on(server.take(pool, ""))?;
                let result = read(&mut PostgresSession::new(&runtime, &mut connection, &server.address));
                pool.put(connection);
                result
            })
            .await
    }

    /// See [`super::Store::write`].
    pub(super) async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let server = Arc::clone(&self.server);
        self.pool
            .run(move |pool| {
                let runtime = Handle::current();
                let begin = match durability {
                    Durability::Power => "BEGIN",
                    Durability::Process => "BEGIN; SET LOCAL synchronous_commit = off",
                };
                let mut connection = runtime.block_on(server.take(pool, begin))?;
                let result = write(&mut PostgresSession::new(&runtime, &mut connection, &server.address));
                let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
                match runtime.block_on(connection.client.batch_execute(end)) {
                    Ok(()) => pool.put(connection),
                    // What is still open is given up with the connection.
                    Err(error) => return result.and(Err(of_statement(&server.address, &error))),
                }
                result
            })
            .await
    }

    /// Claims work by a lock of the server's, on a connection of its own.
    pub(super) async fn try_claim(&self, name: &'static str) -> Result<Option<Held>, StoreError> {
        let connection = self.server.connect().await?;
        let lock = format!("SELECT pg_try_advisory_lock({LOCK_NUMBER})");
        let is_locked = connection.client.query_one(&lock, &[&lock_name(name)]).await.and_then(|row| row.try_get(0));
        let is_locked: bool = is_locked.map_err(|error| of_statement(&self.server.address, &error))?;
        Ok(is_locked.then_some(Held::Connection(Box::new(connection))))
    }
}

impl Server {
    /// A connection from the pool on which `begin` was run, or a new one.
    async fn take(&self, pool: &Pool<Connection>, begin: &str) -> Result<Connection, StoreError> {
        loop {
            let pooled = pool.take().filter(|connection| !connection.client.is_closed());
            let is_new = pooled.is_none();
            let connection = match pooled {
                Some(connection) => connection,
                None => self.connect().await?,
            };
            if begin.is_empty() {
                return Ok(connection);
            }
            match connection.client.batch_execute(begin).await {
                Ok(()) => return Ok(connection),
                // The server has restarted since it was used last.
                Err(_) if !is_new && connection.client.is_closed() => {}
                Err(error) => return Err(of_statement(&self.address, &error)),
            }
        }
    }

    async fn connect(&self) -> Result<Connection, StoreError> {
        let address = &self.address;
        let connecting = async {
            let (client, connection) = address.config.connect(self.tls.clone()).await?;
            // Ends when the client is dropped. What goes wrong is told by the statement that fails.
            tokio::spawn(connection);
            client.batch_execute(SETTINGS).await?;
            Ok(Connection::new(client))
        };
        match tokio::time::timeout(CONNECT_WITHIN, connecting).await {
            Ok(result) => result.map_err(|error| of_connecting(address, &error).into()),
            Err(_) => Err(PostgresError::unreachable(address, "it does not answer").into()),
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.address.shown)
    }
}

#[cfg(test)]
mod tests;
