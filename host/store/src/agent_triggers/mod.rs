//! Triggers of agents: each ends at a time unless its agent renews it, and may have a receiver with
//! separate secrets.
//!
//! - [`types`]: the part of a trigger that only triggers of agents have, and cursors
//! - [`queries`]: finding, renewing and ending them
//! - [`receivers`]: the receivers of agents, and those that have answered a challenge

mod queries;
mod receivers;
mod types;

pub(crate) use self::types::insert_part;
pub use self::types::{AgentCursor, AgentPart, AgentReceiver, DeliveryReport, NewAgentPart};

#[cfg(test)]
mod tests;
