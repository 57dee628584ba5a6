//! Agent sessions: bearer tokens for one address of agents. An application makes them for its
//! agents, so that no agent has the application's own key.
//!
//! - [`types`]: a session as it is stored
//! - [`queries`]: adding, finding and ending sessions

mod queries;
mod types;

pub use self::types::{AgentSession, NewAgentSession};

#[cfg(test)]
mod tests;
