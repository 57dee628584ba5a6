//! Adding, finding and ending agent sessions.

use std::time::{Duration, SystemTime};

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::{Value, values};

use super::{AgentSession, NewAgentSession};
use crate::audit::{self, Acting, AuditAction};
use crate::handles::AgentSessions;
use crate::keys::{KeyHash, KeyId};
use crate::{StoreError, Stored};

/// Sessions of one tenant that have not ended. Without the limit, one tenant could fill the
/// database.
const MAX_OPEN: u64 = 10_000;

/// Time after its expiry for which a session is kept: longer than the life of a link that an agent
/// makes, which ends with its session.
const KEPT_AFTER_EXPIRY: Duration = Duration::from_secs(3600);

const DELETE_EXPIRED: &str = "DELETE FROM agent_sessions WHERE expires_at <= now_ms() - $1";

/// A session that can be used. The key is looked at too, since a gateway of the previous release
/// may have revoked it.
const FIND: &str =
    "SELECT id, tenant, subject, account, tool_set, scopes, allowed, effects, confirm, expires_at FROM agent_sessions s
     WHERE ended_at IS NULL AND expires_at > now_ms()
         AND NOT EXISTS (SELECT 1 FROM api_keys WHERE api_keys.id = s.key_id AND revoked_at IS NOT NULL)";

impl AgentSessions<'_> {
    /// Adds a session, and returns it. Deletes those that expired a while ago. Returns `None` if the
    /// key that makes it was revoked, or has expired.
    ///
    /// # Errors
    /// Fails with [`StoreError::TooManyAgentSessions`] if the tenant has too many.
    pub async fn add(self, new: NewAgentSession) -> Stored<Option<AgentSession>> {
        let (by, quota) = (Acting::current(), self.0.quota);
        self.0
            .write(Durability::PowerLoss, move |connection| {
                quota.check(connection, &new.tenant)?;
                connection.execute(DELETE_EXPIRED, values![millis(KEPT_AFTER_EXPIRY)])?;
                let open: u64 = connection.one(
                "SELECT count(*) FROM agent_sessions WHERE tenant = $1 AND expires_at > now_ms() AND ended_at IS NULL",
                values![&new.tenant],
            )?;
                if open >= MAX_OPEN {
                    return Err(StoreError::TooManyAgentSessions { limit: MAX_OPEN });
                }
                let now: SystemTime = connection.one("SELECT now_ms()", &[])?;
                let of_key = match &new.maker {
                    Some(key) => {
                        let found: Option<Option<SystemTime>> = connection.optional(
                            "SELECT expires_at FROM api_keys WHERE id = $1 AND revoked_at IS NULL",
                            values![key],
                        )?;
                        let Some(end) = found else { return Ok(None) };
                        end
                    }
                    None => None,
                };
                let wanted = now + new.lifetime;
                let expires_at = [of_key, new.ends_by].into_iter().flatten().fold(wanted, SystemTime::min);
                if expires_at <= now {
                    return Ok(None);
                }
                insert(connection, &new, expires_at)?;
                let detail = new.subject.as_deref().map(|subject| format!("for {subject}")).unwrap_or_default();
                audit::note(connection, &by, AuditAction::AgentSessionCreated, &new.id.0, &new.tenant, &detail)?;
                find(connection, "id", Value::from(&new.id))
            })
            .await
    }

    /// Returns the session whose token has this hash, if it has not ended.
    pub async fn by_hash(self, hash: &KeyHash) -> Stored<Option<AgentSession>> {
        let hash = *hash;
        self.0.read(move |connection| find(connection, "hash", Value::from(&hash))).await
    }

    /// Returns the session with this id, if it has not ended.
    pub async fn get(self, id: &KeyId) -> Stored<Option<AgentSession>> {
        let id = id.clone();
        self.0.read(move |connection| find(connection, "id", Value::from(&id))).await
    }

    /// Ends a session of a tenant, and of a user if `subject` names one. Returns `false` if there is
    /// none that has not ended.
    pub async fn end(self, tenant: &str, subject: Option<&str>, id: &KeyId) -> Stored<bool> {
        let (tenant, subject, id) = (tenant.to_owned(), subject.map(str::to_owned), id.clone());
        let by = Acting::current();
        self.0
            .write(Durability::PowerLoss, move |connection| {
                let found = find(connection, "id", Value::from(&id))?;
                let is_own = |session: &AgentSession| {
                    session.tenant == tenant && (subject.is_none() || session.subject == subject)
                };
                if !found.as_ref().is_some_and(is_own) {
                    return Ok(false);
                }
                let ended = connection.execute(
                    "UPDATE agent_sessions SET ended_at = now_ms() WHERE id = $1 AND ended_at IS NULL",
                    values![&id],
                )?;
                if ended > 0 {
                    audit::note(connection, &by, AuditAction::AgentSessionDeleted, &id.0, &tenant, "")?;
                }
                Ok(ended > 0)
            })
            .await
    }

    /// Deletes the sessions that expired a while ago.
    pub async fn sweep(self) -> Stored<()> {
        let kept = millis(KEPT_AFTER_EXPIRY);
        self.0.execute(Durability::ProcessKill, DELETE_EXPIRED, values![kept]).await.map(drop)
    }
}

fn find(connection: &mut dyn Connection, column: &str, value: Value) -> Stored<Option<AgentSession>> {
    connection.optional(&format!("{FIND} AND s.{column} = $1"), &[value])
}

fn insert(connection: &mut dyn Connection, new: &NewAgentSession, expires_at: SystemTime) -> Stored<()> {
    let NewAgentSession { id, hash, tenant, subject, account, set, scopes, allow, effects, confirm, maker, .. } = new;
    connection.run(
        "INSERT INTO agent_sessions (id, hash, tenant, subject, account, tool_set, scopes, allowed, effects, confirm, key_id,
             created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now_ms(), $12)",
        values![id, hash, tenant, subject, account, set, scopes, allow, effects, *confirm, maker.as_ref(), expires_at],
    )
}
