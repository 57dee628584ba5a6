//! Finding, renewing and ending triggers of agents.

use std::time::{Duration, SystemTime};

use database::connection::Durability;
use database::time::millis;
use database::value::{Value, values};

use crate::audit::Acting;
use crate::handles::AgentTriggers;
use crate::triggers::{find_trigger, remove_in};
use crate::{Removed, Sealed, Stored, Trigger};

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
