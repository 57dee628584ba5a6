//! The part of a trigger that only triggers of agents have.

use std::time::{Duration, SystemTime};

use database::digest::sha256_hex;

use crate::Sealed;

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
}

/// The receiver of a trigger of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentReceiver {
    /// The subscription, as the agent and its receiver know it.
    pub id: String,
    /// Its secrets, sealed with [`AgentPart::context`].
    pub secrets: Sealed,
}

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
