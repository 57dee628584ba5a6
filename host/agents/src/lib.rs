//! The door of agents: operations as tools, and the routes of applications that prepare them.
//!
//! - [`mcp`]: operations as tools of agents
//! - [`tool_sets`]: the operations that agents get at one address
//! - [`agent_sessions`]: bearer tokens of agents

pub mod agent_sessions;
pub mod mcp;
pub mod tool_sets;
