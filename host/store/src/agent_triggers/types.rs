//! The part of a trigger that only triggers of agents have.

use std::time::{Duration, SystemTime};

use database::connection::Connection;
use database::digest::sha256_hex;
use database::time::millis;
use database::value::{Row, values};

use crate::records::record;
use crate::{Sealed, StoreError, Stored};

/// The part of a new trigger that an agent makes.
#[derive(Clone, Debug)]
pub struct NewAgentPart {
    /// The subscription, as the agent and its receiver know it.
    pub id: String,
    /// Time until the trigger ends, unless it is renewed.
    pub life: Duration,
    /// `true` if the receiver also gets messages about the trigger itself.
    pub takes_control: bool,
    /// The secrets of the receiver, sealed with [`AgentPart::context`]. `None` if the agent polls.
    pub secrets: Option<Sealed>,
}

/// The part of a trigger that an agent has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPart {
    /// The subscription, as the agent and its receiver know it.
    pub id: String,
    /// Time at which the trigger ends, unless it is renewed.
    pub expires_at: SystemTime,
    /// `true` if the receiver also gets messages about the trigger itself.
    pub takes_control: bool,
}

impl AgentPart {
    /// The context in which the secrets of the receiver of a trigger are sealed.
    pub fn context(trigger: &str) -> [&str; 2] {
        ["agent_trigger", trigger]
    }

    /// The columns of the part in a statement on triggers. They are `NULL` for a trigger that no
    /// agent has made.
    pub(crate) const COLUMNS: &'static str =
        "(SELECT agent_triggers.id FROM agent_triggers WHERE trigger_id = triggers.id) AS agent_id,
         (SELECT expires_at FROM agent_triggers WHERE trigger_id = triggers.id) AS agent_expires_at,
         (SELECT takes_control FROM agent_triggers WHERE trigger_id = triggers.id) AS agent_takes_control";

    /// Reads the columns [`AgentPart::COLUMNS`].
    pub(crate) fn read(row: &mut Row) -> Stored<Option<Self>> {
        let (id, expires_at, takes_control): (Option<String>, Option<SystemTime>, Option<bool>) =
            (row.read()?, row.read()?, row.read()?);
        Ok(id.zip(expires_at).map(|(id, expires_at)| Self {
            id,
            expires_at,
            takes_control: takes_control.unwrap_or_default(),
        }))
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

record! {
    /// The receiver of a trigger of an agent.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AgentReceiver {
        /// The subscription, as the agent and its receiver know it.
        pub id: String,
        /// Its secrets, sealed with [`AgentPart::context`].
        pub secrets: Sealed,
    }
}

record! {
    /// The deliveries to the receiver of an agent.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DeliveryReport {
        /// Time of the last one that was received.
        pub last_delivery_at: Option<SystemTime>,
        /// Why the last attempt failed. `None` if it succeeded.
        pub last_error: Option<String>,
        /// Time of the first failed attempt since the last one that was received.
        pub failed_since: Option<SystemTime>,
    }
}

/// A place among the events of a trigger, which agents keep. A cursor of a trigger that has ended
/// is none of the trigger that follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCursor {
    /// The trigger.
    pub trigger: String,
    /// The number of the last event before this place.
    pub sequence: i64,
}

impl AgentCursor {
    /// The text that an agent gets.
    pub fn to_text(&self) -> String {
        format!("{}.{}", self.trigger, self.sequence)
    }

    /// Reads the text of an agent. `None` if it is no cursor.
    pub fn read(text: &str) -> Option<Self> {
        let (trigger, sequence) = text.split_once('.')?;
        let sequence = sequence.parse().ok().filter(|sequence| *sequence >= 0)?;
        trigger.starts_with("trg_").then(|| Self { trigger: trigger.to_owned(), sequence })
    }
}

/// The hash of a caller and a URL of its receiver.
pub(super) fn hash_of_receiver(tenant: &str, subject: &str, url: &str) -> String {
    sha256_hex(format!("{tenant}\0{subject}\0{url}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is_one() {
        let cursor = AgentCursor { trigger: "trg_1".to_owned(), sequence: 17 };
        assert_eq!(AgentCursor::read(&cursor.to_text()), Some(cursor));
        for wrong in ["", "17", "trg_1", "trg_1.", "trg_1.-1", "evt_1.1", "trg_1.x"] {
            assert_eq!(AgentCursor::read(wrong), None, "{wrong}");
        }
    }
}
