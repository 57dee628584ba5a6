//! The HTTP interface that callers see.
//!
//! - [`server`]: accepts connections
//! - [`router`]: finds the route of each request and calls its handler
//! - [`routes`]: the table of routes
//! - [`route`]: the types of the table
//! - [`authorize`]: who may call an endpoint
//! - [`caller_address`]: the address of a caller, which may be behind a proxy
//! - [`admin_host`]: the host names by which the routes of the operator may be called
//!
//! The handlers, one file for each family of routes:
//!
//! - [`operations`]: calls of operations
//! - [`jobs`]: operations that run in the background
//! - [`integrations`]: accounts that users connect
//! - [`connect`]: links to a page on which a user connects accounts, and that page
//! - [`console`]: the console of operators: its sessions, and its files
//! - [`webhooks`]: the secrets that webhooks are signed with
//! - [`hooks`]: notifications of services
//! - [`connectors`]: the list of connectors
//! - [`admin`]: changes of connectors
//! - [`system`]: health, metrics and the API's description
//! - [`mcp`]: operations as tools of agents
//! - [`tool_sets`]: the operations that agents get at one address
//! - [`agent_sessions`]: bearer tokens of agents
//! - [`triggers`]: events of services that callers want to know of
//! - [`docs`]: the description as a page for browsers
//! - [`home`]: the page at the root, which leads browsers to the others
//!
//! Shared by handlers:
//!
//! - [`headers`]: headers of a call
//! - [`body`]: the body of a call
//! - [`idempotency`]: calls with an idempotency key
//! - [`answer`]: answers with status 200
//! - [`recorded`]: the record of a call
//! - [`records`]: the JSON of the gateway's own routes
//! - [`record_schema`]: its schemas
//! - [`lists`]: lists that have pages, and their filters
//! - [`page`]: the pages of lists
//! - [`allowed_names`]: names of connectors and operations in the limits of keys, tool sets and
//!   sessions
//! - [`pagination`]: the pages of an operation
//! - [`openapi`]: the API's description
//! - [`compression`]: compressed answers
//! - [`cors`]: calls from pages in a browser

#![expect(unreachable_pub, reason = "in a private module, `pub` marks what the crate's other modules may use")]

mod admin;
mod admin_host;
mod agent_sessions;
mod allowed_names;
mod answer;
mod authorize;
mod body;
mod caller_address;
mod compression;
mod connect;
mod connectors;
mod console;
mod cors;
mod docs;
mod headers;
mod home;
mod hooks;
mod idempotency;
mod integrations;
mod jobs;
pub mod lists;
mod mcp;
mod openapi;
mod operations;
mod page;
mod pagination;
mod proxy;
mod record_schema;
mod recorded;
pub mod records;
mod route;
mod router;
mod routes;
pub mod server;
mod spool;
mod system;
mod tool_sets;
mod triggers;
mod webhooks;

use serde_json::Value;

pub use self::admin::{SIGNATURE, audit_page};
pub use self::connectors::connectors_record;
pub use self::integrations::callback_parameters;

use config::Config;
use registry::Registry;

/// The lists of the operator, for commands.
pub mod operator_lists {
    pub use crate::admin::{AnyIntegrations, AnyJobs, AnyTriggers, AnyWebhooks, Audit, Calls, HookRequests, Usage};
}

/// The API's description with the connectors that are live now: an OpenAPI 3.1 document.
pub fn description(config: &Config, registry: &Registry) -> Value {
    openapi::document(config, &registry.live(), routes::ROUTES, openapi::Answers::Plain)
}
