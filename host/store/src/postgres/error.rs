//! What can go wrong with the server, in words for the operator. Of what the server says only its message is kept: further
//! parts may quote what was to be stored.

use std::error::Error as _;

use thiserror::Error;
use tokio_postgres::error::SqlState;

use super::address::Address;
use crate::StoreError;

/// Why the PostgreSQL server did not do what it was asked. `server` is host, port and database, never user or password.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The address is no address.
    #[error("`database_url` is not understood: {reason}")]
    Address {
        /// What is wrong.
        reason: &'static str,
    },
    /// The connection cannot be encrypted as `database_url` demands.
    #[error("the connection to the database cannot be encrypted: {reason}")]
    Encryption {
        /// What is wrong.
        reason: String,
    },
    /// There is no connection.
    #[error("cannot reach the PostgreSQL server {server}: {reason}; start it, or correct `database_url`")]
    Unreachable {
        /// Which server.
        server: String,
        /// Why.
        reason: String,
    },
    /// The server does not accept the user or the password.
    #[error(
        "the PostgreSQL server {server} refuses the connection: {reason}; correct user and password in `database_url`"
    )]
    Refused {
        /// Which server.
        server: String,
        /// In its words.
        reason: String,
    },
    /// The server has no such database.
    #[error(
        "the PostgreSQL server {server} has no such database: {reason}; make it by CREATE DATABASE, or correct `database_url`"
    )]
    NoDatabase {
        /// Which server.
        server: String,
        /// In its words.
        reason: String,
    },
    /// The user may not make or use the tables.
    #[error(
        "the PostgreSQL server {server} does not permit it: {reason}; let the user of `database_url` own the database, or grant it CREATE and USAGE on its schema"
    )]
    NotPermitted {
        /// Which server.
        server: String,
        /// In its words.
        reason: String,
    },
    /// The server serves too many others.
    #[error(
        "the PostgreSQL server {server} has no connection left: {reason}; raise its max_connections, or run fewer gateways on it"
    )]
    Crowded {
        /// Which server.
        server: String,
        /// In its words.
        reason: String,
    },
    /// The server is a copy that cannot be written.
    #[error("the PostgreSQL server {server} cannot be written: {reason}; name the primary server in `database_url`")]
    ReadOnly {
        /// Which server.
        server: String,
        /// In its words.
        reason: String,
    },
    /// The server's disk is full.
    #[error("the disk of the PostgreSQL server {server} is full; make room")]
    Full {
        /// Which server.
        server: String,
    },
    /// A lock was not given, or a statement took too long.
    #[error("the PostgreSQL server {server} did not answer in time: {reason}; end what keeps it busy, or try again")]
    Slow {
        /// Which server.
        server: String,
        /// In its words.
        reason: String,
    },
    /// Anything else.
    #[error("the database {server} failed: {reason}")]
    Failed {
        /// Which server.
        server: String,
        /// In its words.
        reason: String,
    },
}

impl PostgresError {
    pub(super) fn unreachable(address: &Address, reason: &str) -> Self {
        Self::Unreachable { server: address.shown.clone(), reason: reason.to_owned() }
    }
}

/// While connecting: what the server did not say itself means that it was not reached.
pub(super) fn of_connecting(address: &Address, error: &tokio_postgres::Error) -> PostgresError {
    said_by_server(address, error).unwrap_or_else(|| PostgresError::unreachable(address, &causes(error)))
}

/// Once connected.
pub(super) fn of_statement(address: &Address, error: &tokio_postgres::Error) -> StoreError {
    if error.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION) {
        return StoreError::DataKeyInUse;
    }
    let said = said_by_server(address, error);
    said.unwrap_or_else(|| PostgresError::Failed { server: address.shown.clone(), reason: causes(error) }).into()
}

fn said_by_server(address: &Address, error: &tokio_postgres::Error) -> Option<PostgresError> {
    let said = error.as_db_error()?;
    let (server, reason) = (address.shown.clone(), said.message().replace('\n', " "));
    let code = said.code();
    Some(if [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(code) {
        PostgresError::Refused { server, reason }
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        PostgresError::NoDatabase { server, reason }
    } else if [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::INVALID_SCHEMA_NAME].contains(code) {
        PostgresError::NotPermitted { server, reason }
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        PostgresError::Crowded { server, reason }
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        PostgresError::ReadOnly { server, reason }
    } else if *code == SqlState::DISK_FULL {
        PostgresError::Full { server }
    } else if [SqlState::LOCK_NOT_AVAILABLE, SqlState::QUERY_CANCELED].contains(code) {
        PostgresError::Slow { server, reason }
    } else {
        PostgresError::Failed { server, reason }
    })
}

/// The error's causes, the first of which says what the driver was about.
fn causes(error: &tokio_postgres::Error) -> String {
    let mut texts = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        texts.push(error.to_string().replace('\n', " "));
        cause = error.source();
    }
    texts.dedup();
    if texts.is_empty() { error.to_string() } else { texts.join(": ") }
}
