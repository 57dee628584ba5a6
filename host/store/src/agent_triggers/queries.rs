//! Finding, renewing and ending triggers of agents.

use std::time::{Duration, SystemTime};

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::{Value, values};

use super::types::{AgentPart, NewAgentPart};
use crate::audit::Acting;
use crate::handles::AgentTriggers;
use crate::triggers::{find_trigger, remove_in};
use crate::{Removed, Sealed, StoreError, Stored, Trigger};

/// Triggers that one turn ends.
const ENDED: u32 = 100;

impl AgentTriggers<'_> {
    /// Returns the trigger of a subscription of an agent.
    pub async fn get(self, id: &str) -> Stored<Option<Trigger>> {
        let id = id.to_owned();
        self.0
            .read(move |connection| {
                let trigger: Option<String> =
                    connection.optional("SELECT trigger_id FROM agent_triggers WHERE id = $1", values![&id])?;
                trigger.map_or(Ok(None), |trigger| find_trigger(connection, &trigger))
            })
            .await
    }

    /// Lets a trigger live for the time `life` from now on. Returns its end, and `None` if it has
    /// ended.
    pub async fn renew(self, trigger: &str, life: Duration) -> Stored<Option<SystemTime>> {
        self.renewed(
            "UPDATE agent_triggers SET expires_at = now_ms() + $1 WHERE trigger_id = $2 RETURNING expires_at",
            values![millis(life), trigger],
        )
        .await
    }

    /// The same, with other secrets of the receiver.
    pub async fn resubscribe(
        self,
        trigger: &str,
        life: Duration,
        takes_control: bool,
        secrets: Sealed,
    ) -> Stored<Option<SystemTime>> {
        self.renewed(
            "UPDATE agent_triggers SET expires_at = now_ms() + $1, takes_control = $2, data_key = $3, secrets = $4
             WHERE trigger_id = $5 RETURNING expires_at",
            values![millis(life), takes_control, &secrets.key_id, &secrets.bytes, trigger],
        )
        .await
    }

    async fn renewed(self, sql: &'static str, parameters: &[Value]) -> Stored<Option<SystemTime>> {
        let parameters = parameters.to_vec();
        self.0.write(Durability::PowerLoss, move |connection| connection.optional(sql, &parameters)).await
    }

    /// Returns the ids of triggers whose agents have not renewed them in time.
    pub async fn expired(self) -> Stored<Vec<String>> {
        let expired = "SELECT trigger_id FROM agent_triggers WHERE expires_at <= now_ms() ORDER BY expires_at LIMIT $1";
        self.0.read_all(expired, values![ENDED]).await
    }

    /// Deletes a trigger whose agent has not renewed it in time. Its subscription ends at once if it
    /// has no other trigger. Returns `None` if it was renewed or has ended.
    pub async fn end(self, trigger: &str) -> Stored<Option<Removed>> {
        let (trigger, by) = (trigger.to_owned(), Acting::current());
        self.0
            .write(Durability::PowerLoss, move |connection| {
                // A renewal that comes at the same time is before this or after it.
                let ended = connection.execute(
                    "DELETE FROM agent_triggers WHERE trigger_id = $1 AND expires_at <= now_ms()",
                    values![&trigger],
                )?;
                match ended {
                    0 => Ok(None),
                    _ => remove_in(connection, &by, &trigger, Duration::ZERO),
                }
            })
            .await
    }
}

/// Adds the part of a trigger that an agent makes.
pub(crate) fn insert_part(connection: &mut dyn Connection, trigger: &str, part: &NewAgentPart) -> Stored<()> {
    let NewAgentPart { id, life, takes_control, secrets } = part;
    let is_known: bool = connection.one("SELECT EXISTS (SELECT 1 FROM agent_triggers WHERE id = $1)", values![id])?;
    if is_known {
        return Err(StoreError::Duplicate);
    }
    let (data_key, bytes) = secrets.as_ref().map(|sealed| (&sealed.key_id, &sealed.bytes)).unzip();
    connection.run(
        "INSERT INTO agent_triggers (trigger_id, id, expires_at, takes_control, data_key, secrets)
         VALUES ($1, $2, now_ms() + $3, $4, $5, $6)",
        values![trigger, id, millis(*life), *takes_control, data_key, bytes],
    )
}

impl AgentPart {
    /// The columns of the part in a statement on triggers. They are `NULL` for a trigger that no
    /// agent has made.
    pub(crate) const COLUMNS: &'static str =
        "(SELECT agent_triggers.id FROM agent_triggers WHERE trigger_id = triggers.id) AS agent_id,
         (SELECT expires_at FROM agent_triggers WHERE trigger_id = triggers.id) AS agent_expires_at,
         (SELECT takes_control FROM agent_triggers WHERE trigger_id = triggers.id) AS agent_takes_control";

    /// Reads the columns [`AgentPart::COLUMNS`].
    pub(crate) fn read(row: &mut database::value::Row) -> Stored<Option<Self>> {
        let (id, expires_at, takes_control): (Option<String>, Option<SystemTime>, Option<bool>) =
            (row.read()?, row.read()?, row.read()?);
        Ok(id.zip(expires_at).map(|(id, expires_at)| Self {
            id,
            expires_at,
            takes_control: takes_control.unwrap_or_default(),
        }))
    }
}
