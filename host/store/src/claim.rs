//! Work that one process at a time may do.

use std::fs::File;

use super::postgres::Connection;
use super::{Backend, Store, StoreError};

/// Keeps others from the same work, until it is dropped or the process ends, however it does.
#[derive(Debug)]
pub struct Claim {
    _held: Held,
}

/// What is held for as long as the work is claimed.
#[derive(Debug)]
#[expect(dead_code, reason = "held, and never looked at")]
pub(super) enum Held {
    /// A lock on a file.
    File(File),
    /// A lock that the server gives back when the connection ends.
    Connection(Box<Connection>),
}

impl Store {
    /// Claims the work of that name; none while another process has it.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn try_claim(&self, name: &'static str) -> Result<Option<Claim>, StoreError> {
        let held = match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.try_claim(name).await?,
            Backend::Postgres(postgres) => postgres.try_claim(name).await?,
        };
        Ok(held.map(|held| Claim { _held: held }))
    }
}
