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

#![expect(
    missing_docs,
    reason = "a comment on a member is its description in the API's document, and clear names need none"
)]

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

pub use self::agent_sessions::*;
pub use self::calls::*;
pub use self::connect::*;
pub use self::connectors::*;
pub use self::console::*;
pub use self::gateways::*;
pub use self::integrations::*;
pub use self::jobs::*;
pub use self::operator::*;
pub use self::problems::*;
pub use self::settings::{FindingsRecord, SamplesRecord, SettingsRecord};
pub use self::system::*;
pub use self::tenants::*;
pub use self::tool_sets::*;
pub use self::triggers::*;
pub use self::usage::*;
pub use self::webhooks::*;
