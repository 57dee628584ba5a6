//! Sessions of operators at the console. A session stands for the key that the operator signed in
//! with, at every gateway that shares the database.

use std::time::{Duration, SystemTime};

use crate::audit::{self, Acting, AuditAction};
use crate::connection::Durability;
use crate::keys::{KeyHash, KeyId};
use crate::time::millis;
use crate::value::{FromRow, Row, values};
use crate::{Store, StoreError};

/// SHA-256 of the cookie of a session.
pub type SessionHash = [u8; 32];

/// Time between two writes of the last use of a session. Without it, each request would write.
const NOTE_USE: Duration = Duration::from_secs(60);

/// A session that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleSession {
    /// The key that the operator signed in with.
    pub key_id: KeyId,
    /// The hash of the key.
    pub key_hash: KeyHash,
    /// The session ends then, even if it is used.
    pub expires_at: SystemTime,
}

impl FromRow for ConsoleSession {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self { key_id: KeyId(row.read()?), key_hash: row.read()?, expires_at: row.read()? })
    }
}

impl Store {
    /// Adds a session of a key, and returns it. Deletes those that have expired. Returns `None` if
    /// the key was revoked.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn add_console_session(
        &self,
        hash: &SessionHash,
        key_id: &KeyId,
        lifetime: Duration,
    ) -> Result<Option<ConsoleSession>, StoreError> {
        let (hash, key_id) = (*hash, key_id.clone());
        let by = Acting::current();
        self.write(Durability::ProcessKill, move |connection| {
            connection.execute("DELETE FROM console_sessions WHERE expires_at <= now_ms()", &[])?;
            let added = connection.execute(
                "INSERT INTO console_sessions (hash, key_id, expires_at, seen_at)
                 SELECT $1, id, now_ms() + $2, now_ms() FROM api_keys WHERE id = $3 AND revoked_at IS NULL",
                values![&hash, millis(lifetime), &key_id.0],
            )?;
            if added == 0 {
                return Ok(None);
            }
            let tenant: String = connection.one("SELECT tenant FROM api_keys WHERE id = $1", values![&key_id.0])?;
            audit::note(connection, &by, AuditAction::ConsoleSignedIn, &key_id.0, &tenant, "")?;
            connection.optional(FIND, values![&hash])
        })
        .await
    }

    /// Returns the session of a cookie, and notes its use. `None` if there is no such session, if it
    /// has expired or was not used for the time `idle`, or if its key was revoked.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn console_session(
        &self,
        hash: &SessionHash,
        idle: Duration,
    ) -> Result<Option<ConsoleSession>, StoreError> {
        let hash = *hash;
        let found = self
            .read(move |connection| {
                let open = format!("{FIND} AND s.seen_at > now_ms() - $2");
                let session: Option<ConsoleSession> = connection.optional(&open, values![&hash, millis(idle)])?;
                let is_noted: bool = connection.one(
                    "SELECT count(*) > 0 FROM console_sessions WHERE hash = $1 AND seen_at > now_ms() - $2",
                    values![&hash, millis(NOTE_USE)],
                )?;
                Ok(session.map(|session| (session, is_noted)))
            })
            .await?;
        let Some((session, is_noted)) = found else { return Ok(None) };
        if !is_noted {
            self.write(Durability::ProcessKill, move |connection| {
                connection.execute("UPDATE console_sessions SET seen_at = now_ms() WHERE hash = $1", values![&hash])
            })
            .await?;
        }
        Ok(Some(session))
    }

    /// Ends a session. Returns `false` if there is no such session.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn end_console_session(&self, hash: &SessionHash) -> Result<bool, StoreError> {
        let hash = *hash;
        let by = Acting::current();
        self.write(Durability::PowerLoss, move |connection| {
            let session: Option<ConsoleSession> = connection.optional(FIND, values![&hash])?;
            let Some(session) = session else { return Ok(false) };
            connection.execute("DELETE FROM console_sessions WHERE hash = $1", values![&hash])?;
            let key = session.key_id.0;
            let tenant: String = connection.one("SELECT tenant FROM api_keys WHERE id = $1", values![&key])?;
            audit::note(connection, &by, AuditAction::ConsoleSignedOut, &key, &tenant, "")?;
            Ok(true)
        })
        .await
    }
}

/// The session with the hash `$1`, if it has not expired and its key is not revoked.
const FIND: &str = "SELECT s.key_id, k.hash, s.expires_at FROM console_sessions s JOIN api_keys k ON k.id = s.key_id
     WHERE s.hash = $1 AND s.expires_at > now_ms() AND k.revoked_at IS NULL";

#[cfg(test)]
mod tests;
