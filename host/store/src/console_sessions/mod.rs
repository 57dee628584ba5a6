//! Sessions of operators at the console. A session stands for the key that the operator signed in
//! with, or for a person who signed in at an OpenID provider, at every gateway that shares the
//! database.

use std::time::{Duration, SystemTime};

use database::connection::Durability;
use database::time::millis;
use database::value::{FromRow, Row, values};

use crate::Stored;
use crate::audit::{self, Acting, AuditAction};
use crate::handles::ConsoleSessions;
use crate::keys::{KeyHash, KeyId};

/// SHA-256 of the cookie of a session.
pub type SessionHash = [u8; 32];

/// Time between two writes of the last use of a session. Without it, each request would write.
const NOTE_USE: Duration = Duration::from_secs(60);

/// A session that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleSession {
    /// The user or key that has signed in.
    pub holder: SessionHolder,
    /// The session ends then, even if it is used.
    pub expires_at: SystemTime,
}

/// The user or key that has signed in to the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionHolder {
    /// The holder of a key that is not revoked.
    Key {
        /// The key.
        id: KeyId,
        /// The hash of the key.
        hash: KeyHash,
    },
    /// A person who has signed in at an OpenID provider.
    Person(SessionPerson),
}

/// A person who has signed in at an OpenID provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPerson {
    /// The provider's name for itself.
    pub issuer: String,
    /// The provider's id of the person.
    pub subject: String,
    /// A name for people. May be empty.
    pub name: String,
}

impl SessionHolder {
    /// The target of entries in the audit about the session.
    fn target(&self) -> &str {
        match self {
            Self::Key { id, .. } => &id.0,
            Self::Person(person) => &person.subject,
        }
    }
}

impl FromRow for ConsoleSession {
    fn from_row(row: &mut Row) -> Stored<Self> {
        let (key_id, hash) = (row.read()?, row.read()?);
        // Each of them is null for the session of a key.
        let mut text = || row.read::<Option<String>>().map(Option::unwrap_or_default);
        let person = SessionPerson { issuer: text()?, subject: text()?, name: text()? };
        let holder = match hash {
            Some(hash) => SessionHolder::Key { id: KeyId(key_id), hash },
            None => SessionHolder::Person(person),
        };
        Ok(Self { holder, expires_at: row.read()? })
    }
}

impl ConsoleSessions<'_> {
    /// Adds a session of a key, and returns it. Deletes those that have expired. Returns `None` if
    /// the key was revoked.
    pub async fn add(self, hash: &SessionHash, key_id: &KeyId, lifetime: Duration) -> Stored<Option<ConsoleSession>> {
        let (hash, key_id) = (*hash, key_id.clone());
        let by = Acting::current();
        self.0
            .write(Durability::ProcessKill, move |connection| {
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

    /// Adds a session of a person, and returns it. Deletes those that have expired.
    pub async fn add_of_person(self, hash: &SessionHash, person: &SessionPerson, lifetime: Duration) -> Stored<()> {
        let (hash, person) = (*hash, person.clone());
        let by = Acting::current();
        self.0
            .write(Durability::ProcessKill, move |connection| {
                connection.execute("DELETE FROM console_sessions WHERE expires_at <= now_ms()", &[])?;
                let SessionPerson { issuer, subject, name } = &person;
                connection.execute(
                    "INSERT INTO console_sessions (hash, key_id, issuer, subject, person, expires_at, seen_at)
                 VALUES ($1, '', $2, $3, $4, now_ms() + $5, now_ms())",
                    values![&hash, issuer, subject, name, millis(lifetime)],
                )?;
                audit::note(connection, &by, AuditAction::ConsoleSignedIn, subject, "", name)
            })
            .await
    }

    /// Returns the session of a cookie, and notes its use. `None` if there is no such session, if
    /// it has expired or was not used for the time `idle`, or if its key was revoked.
    pub async fn get(self, hash: &SessionHash, idle: Duration) -> Stored<Option<ConsoleSession>> {
        let hash = *hash;
        let found = self
            .0
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
            let note_use = "UPDATE console_sessions SET seen_at = now_ms() WHERE hash = $1";
            self.0.execute(Durability::ProcessKill, note_use, values![&hash]).await?;
        }
        Ok(Some(session))
    }

    /// Ends a session. Returns `false` if there is no such session.
    pub async fn end(self, hash: &SessionHash) -> Stored<bool> {
        let hash = *hash;
        let by = Acting::current();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let session: Option<ConsoleSession> = connection.optional(FIND, values![&hash])?;
                let Some(session) = session else { return Ok(false) };
                connection.execute("DELETE FROM console_sessions WHERE hash = $1", values![&hash])?;
                let tenant = match &session.holder {
                    SessionHolder::Key { id, .. } => {
                        connection.one("SELECT tenant FROM api_keys WHERE id = $1", values![&id.0])?
                    }
                    SessionHolder::Person(_) => String::new(),
                };
                audit::note(connection, &by, AuditAction::ConsoleSignedOut, session.holder.target(), &tenant, "")?;
                Ok(true)
            })
            .await
    }
}

/// The session with the hash `$1`, if it has not expired and its key is not revoked.
const FIND: &str = "SELECT s.key_id, k.hash, s.issuer, s.subject, s.person, s.expires_at FROM console_sessions s
     LEFT JOIN api_keys k ON k.id = s.key_id AND k.revoked_at IS NULL
     WHERE s.hash = $1 AND s.expires_at > now_ms() AND (k.hash IS NOT NULL OR s.subject IS NOT NULL)";

#[cfg(test)]
mod tests;
