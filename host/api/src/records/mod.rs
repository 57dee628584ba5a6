//! The JSON that the gateway's own routes read and write.
//!
//! - [`agent_sessions`]: bearer tokens of agents
//! - [`calls`]: records of calls
//! - [`connect`]: links to the page on which an end user connects accounts
//! - [`connectors`]: connectors, their versions, grants and history
//! - [`console`]: sessions of operators at the console
//! - [`declared_events`]: the inboxes and types of events of connectors
//! - [`gateways`]: the gateways of the service, and what they serve
//! - [`integrations`]: bodies and answers about integrations
//! - [`jobs`]: jobs of operations that run in the background
//! - [`operator`]: keys, integrations and jobs of all tenants, and the audit
//! - [`settings`]: the settings, the findings and the samples of the gateway that answers
//! - [`tenants`]: tenants and their OAuth clients
//! - [`tool_sets`]: the operations that agents get at one address
//! - [`triggers`]: triggers, inboxes and requests of services
//! - [`usage`]: usage of tenants
//! - [`webhooks`]: secrets of webhooks
//! - [`system`]: the health of the gateway
//! - [`problems`]: the members of problem documents
//!
//! The API's description has the schema of each record. It is made from the type: a documentation
//! comment is the description in the schema, and is written for callers. The records of an
//! integration, of a job, of an event and of a trigger are next to the code that makes them, in
//! `integrations`, `jobs`, `webhooks` and `triggers`.

mod agent_sessions;
mod calls;
mod connect;
pub mod connectors;
mod console;
mod declared_events;
pub mod gateways;
mod integrations;
mod jobs;
pub mod operator;
mod problems;
mod settings;
mod system;
mod tenants;
mod tool_sets;
mod triggers;
mod usage;
mod webhooks;

pub(crate) use self::agent_sessions::*;
pub(crate) use self::calls::*;
pub(crate) use self::connect::*;
pub(crate) use self::connectors::*;
pub(crate) use self::console::*;
pub(crate) use self::gateways::*;
pub(crate) use self::integrations::*;
pub(crate) use self::jobs::*;
pub(crate) use self::operator::*;
pub(crate) use self::problems::*;
pub(crate) use self::settings::*;
pub(crate) use self::system::*;
pub(crate) use self::tenants::*;
pub(crate) use self::tool_sets::*;
pub(crate) use self::triggers::*;
pub(crate) use self::usage::*;
pub(crate) use self::webhooks::*;
