//! The errors of the PostgreSQL server, with messages for the operator.
//!
//! Only the primary message of a server error is kept. The other parts may quote data of the
//! statement.

use std::error::Error as _;

use thiserror::Error;
use tokio_postgres::error::SqlState;

use super::address::Address;
use crate::StoreError;

/// A text for a column of text has a zero byte. The statement is not sent, so that the transaction
/// stays usable and the server logs no error.
#[derive(Clone, Copy, Debug, Error)]
#[error("a text has a zero byte")]
pub(super) struct ZeroByte;
/// A failure of the PostgreSQL server. `server` is its host, port and database, never the user or
/// the password.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// `database_url` is malformed.
    #[error("`database_url` is not understood: {reason}")]
    Address {
        /// The mistake, and the correct form.
        reason: &'static str,
    },
    /// The connection cannot be encrypted as `database_url` requires.
    #[error("the connection to the database cannot be encrypted: {reason}")]
    Encryption {
        /// The error of the TLS library or of the certificate file.
        reason: String,
    },
    /// The server did not accept a connection.
    #[error("cannot reach the PostgreSQL server {server}: {reason}; start it, or correct `database_url`")]
    Unreachable {
        /// The address of the server.
        server: String,
        /// The error of the connection.
        reason: String,
    },
    /// The server does not accept the user or the password.
    #[error(
        "the PostgreSQL server {server} refuses the connection: {reason}; correct the user and password in `database_url`"
    )]
    Refused {
        /// The address of the server.
        server: String,
        /// The message of the server.
        reason: String,
    },
    /// The server has no such database.
    #[error(
        "the PostgreSQL server {server} has no such database: {reason}; create it with CREATE DATABASE, or correct `database_url`"
    )]
    NoDatabase {
        /// The address of the server.
        server: String,
        /// The message of the server.
        reason: String,
    },
    /// The user may not create or use the tables.
    #[error(
        "the PostgreSQL server {server} does not permit this: {reason}; make the user of `database_url` the owner of the database, or grant it CREATE and USAGE on its schema"
    )]
    NotPermitted {
        /// The address of the server.
        server: String,
        /// The message of the server.
        reason: String,
    },
    /// The server has its maximum number of connections.
    #[error(
        "the PostgreSQL server {server} accepts no more connections: {reason}; raise its max_connections, or run fewer gateways on it"
    )]
    TooManyConnections {
        /// The address of the server.
        server: String,
        /// The message of the server.
        reason: String,
    },
    /// The server is a read-only replica.
    #[error("the PostgreSQL server {server} is read-only: {reason}; name the primary server in `database_url`")]
    ReadOnly {
        /// The address of the server.
        server: String,
        /// The message of the server.
        reason: String,
    },
    /// The server's disk is full.
    #[error("the disk of the PostgreSQL server {server} is full; free some space")]
    Full {
        /// The address of the server.
        server: String,
    },
    /// A statement waited too long for a lock, or ran too long.
    #[error(
        "the PostgreSQL server {server} did not finish in time: {reason}; end the transaction that blocks it, or try again"
    )]
    TimedOut {
        /// The address of the server.
        server: String,
        /// The message of the server.
        reason: String,
    },
    /// The server works, and refuses a statement because of the values in it.
    #[error("the database {server} refuses a statement: {reason}")]
    Rejected {
        /// The address of the server.
        server: String,
        /// The message of the server.
        reason: String,
    },
    /// Any other failure.
    #[error("the database {server} failed: {reason}")]
    Failed {
        /// The address of the server.
        server: String,
        /// The message of the server, or the error of the connection.
        reason: String,
    },
}

impl PostgresError {
    pub(super) fn unreachable(address: &Address, reason: &str) -> Self {
        Self::Unreachable { server: address.shown.clone(), reason: reason.to_owned() }
    }
}

/// The error of a failed attempt to connect. An error that does not come from the server means that
/// it was not reached.
pub(super) fn of_connecting(address: &Address, error: &tokio_postgres::Error) -> PostgresError {
    reported_by_server(address, error).unwrap_or_else(|| PostgresError::unreachable(address, &causes(error)))
}

/// The error of a failed statement.
pub(super) fn of_statement(address: &Address, error: &tokio_postgres::Error) -> StoreError {
    if error.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION) {
        return StoreError::DataKeyInUse;
    }
    if error.source().is_some_and(|cause| cause.is::<ZeroByte>()) {
        return StoreError::ZeroByte;
    }
    let reported = reported_by_server(address, error);
    reported.unwrap_or_else(|| PostgresError::Failed { server: address.shown.clone(), reason: causes(error) }).into()
}

/// The error that the server itself reported, if it did.
fn reported_by_server(address: &Address, error: &tokio_postgres::Error) -> Option<PostgresError> {
    let reported = error.as_db_error()?;
    let (server, reason) = (address.shown.clone(), reported.message().replace('\n', " "));
    let code = reported.code();
    Some(if [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(code) {
        PostgresError::Refused { server, reason }
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        PostgresError::NoDatabase { server, reason }
    } else if [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::INVALID_SCHEMA_NAME].contains(code) {
        PostgresError::NotPermitted { server, reason }
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        PostgresError::TooManyConnections { server, reason }
    } else if *code == SqlState::CANNOT_CONNECT_NOW {
        // The server starts, or recovers after a crash.
        PostgresError::Unreachable { server, reason }
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        PostgresError::ReadOnly { server, reason }
    } else if *code == SqlState::DISK_FULL {
        PostgresError::Full { server }
    } else if [SqlState::LOCK_NOT_AVAILABLE, SqlState::QUERY_CANCELED].contains(code) {
        PostgresError::TimedOut { server, reason }
    } else if is_of_statement(code) {
        PostgresError::Rejected { server, reason }
    } else {
        PostgresError::Failed { server, reason }
    })
}

/// Returns `true` if an error comes from the values or the text of one statement: a value that its
/// column cannot have (class 22), a broken constraint (class 23), or wrong SQL (class 42). Tables
/// and rights that are missing are missing for every statement, so they are failures of the
/// database.
fn is_of_statement(code: &SqlState) -> bool {
    let is_missing = [
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::UNDEFINED_TABLE,
        SqlState::UNDEFINED_COLUMN,
        SqlState::UNDEFINED_FUNCTION,
        SqlState::UNDEFINED_OBJECT,
    ]
    .contains(code);
    !is_missing && ["22", "23", "42"].iter().any(|class| code.code().starts_with(class))
}

/// Joins the causes of an error in one line. The outermost text, which only names the driver's
/// step, is left out.
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
