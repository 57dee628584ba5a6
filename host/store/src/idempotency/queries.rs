//! Beginning and ending a call with an idempotency key.

use std::time::Duration;

use super::{IdempotentCall, KeyState};
use crate::connection::{Connection, Durability};
use crate::time::millis;
use crate::value::{FromRow, Row, values};
use crate::{Sealed, Store, StoreError};

/// The columns that give the state of a key.
struct Found {
    fingerprint: Vec<u8>,
    is_running: Option<bool>,
    sealed: Option<Sealed>,
}

impl Store {
    /// Begins a call: takes its key if it is new or has expired. The call then runs under a lease
    /// of the time `lease`, and the key is kept for the time `keep`.
    ///
    /// # Errors
    /// Fails if the database does not answer. The call must then not run.
    pub async fn begin_idempotent(
        &self,
        call: &IdempotentCall,
        lease: Duration,
        keep: Duration,
    ) -> Result<KeyState, StoreError> {
        let call = call.clone();
        // The call may do something that cannot be undone. After a power loss, the key must still
        // say that the call has begun.
        self.write(Durability::PowerLoss, move |connection| {
            connection
                .execute("DELETE FROM idempotency_keys WHERE id = $1 AND expires_at <= now_ms()", values![&call.id])?;
            let inserted = connection.execute(
                "INSERT INTO idempotency_keys (id, tenant, fingerprint, leased_until, expires_at)
                 VALUES ($1, $2, $3, now_ms() + $4, now_ms() + $5) ON CONFLICT (id) DO NOTHING",
                values![&call.id, &call.tenant, &call.fingerprint, millis(lease), millis(keep)],
            )?;
            if inserted == 1 {
                return Ok(KeyState::New);
            }
            state(connection, &call)
        })
        .await
    }

    /// Extends the lease of a running call to the time `lease` from now.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn renew_idempotent(&self, id: &str, lease: Duration) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.write(Durability::ProcessKill, move |connection| {
            connection.execute(
                "UPDATE idempotency_keys SET leased_until = now_ms() + $1 WHERE id = $2 AND leased_until IS NOT NULL",
                values![millis(lease), &id],
            )?;
            Ok(())
        })
        .await
    }

    /// Ends a call, and keeps its answer if there is one.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn end_idempotent(&self, id: &str, answer: Option<Sealed>) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.write(Durability::PowerLoss, move |connection| {
            let (data_key, bytes) = answer.map(|sealed| (sealed.key_id, sealed.bytes)).unzip();
            connection.execute(
                "UPDATE idempotency_keys SET leased_until = NULL, data_key = $1, answer = $2
                 WHERE id = $3 AND leased_until IS NOT NULL",
                values![data_key, bytes.as_deref(), &id],
            )?;
            Ok(())
        })
        .await
    }

    /// Releases the key of a call that has done nothing, so that the next call with the key runs.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn release_idempotent(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.write(Durability::ProcessKill, move |connection| {
            connection
                .execute("DELETE FROM idempotency_keys WHERE id = $1 AND leased_until IS NOT NULL", values![&id])?;
            Ok(())
        })
        .await
    }

    /// Deletes expired keys, and returns their number.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn sweep_idempotency(&self) -> Result<u64, StoreError> {
        self.write(Durability::ProcessKill, |connection| {
            connection.execute("DELETE FROM idempotency_keys WHERE expires_at <= now_ms()", &[])
        })
        .await
    }
}

/// The state of an existing key.
fn state(connection: &mut dyn Connection, call: &IdempotentCall) -> Result<KeyState, StoreError> {
    let found: Option<Found> = connection.optional(
        "SELECT fingerprint, leased_until > now_ms(), data_key, answer FROM idempotency_keys WHERE id = $1",
        values![&call.id],
    )?;
    Ok(match found {
        // Another call has just released it.
        None => KeyState::Running,
        Some(found) if found.fingerprint != call.fingerprint => KeyState::OfOtherRequest,
        Some(Found { is_running: Some(true), .. }) => KeyState::Running,
        Some(Found { is_running: Some(false), .. }) => KeyState::Lost,
        Some(Found { sealed: Some(sealed), .. }) => KeyState::Ended(sealed),
        Some(Found { sealed: None, .. }) => KeyState::EndedWithoutAnswer,
    })
}

impl FromRow for Found {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        let (fingerprint, is_running) = (row.read()?, row.read()?);
        let (key_id, bytes) = (row.read::<Option<String>>()?, row.read::<Option<Vec<u8>>>()?);
        Ok(Self { fingerprint, is_running, sealed: key_id.zip(bytes).map(|(key_id, bytes)| Sealed { key_id, bytes }) })
    }
}
