//! The HTTP interface that callers see.
//!
//! - [`server`] takes the connections; [`router`] answers each request by the table of [`routes`]
//! - [`route`]: the types of the table; [`authorize`]: who may call an endpoint
//! - [`operations`], [`jobs`], [`integrations`], [`webhooks`], [`connectors`], [`admin`], [`system`]: the handlers, one file for each family of routes
//! - [`idempotency`]: calls with an idempotency key; [`cors`]: calls from pages in a browser; [`compression`]: smaller answers
//! - [`body`], [`headers`]: parts of a call; [`answer`]: what goes back
//! - [`openapi`]: the API's description; [`docs`]: the same as a page for browsers

mod admin;
mod answer;
mod authorize;
mod body;
mod compression;
mod connectors;
mod cors;
mod docs;
mod headers;
mod idempotency;
mod integrations;
mod jobs;
mod openapi;
mod operations;
mod pagination;
mod record_schema;
pub mod records;
mod route;
mod router;
mod routes;
pub mod server;
mod system;
mod webhooks;

use serde_json::Value;

pub use self::admin::SIGNATURE;
pub use self::connectors::connectors_record;
pub use self::integrations::callback_parameters;

use crate::config::Config;
use crate::registry::Registry;

/// The API's description with the connectors that are live now: an OpenAPI 3.1 document.
pub fn description(config: &Config, registry: &Registry) -> Value {
    openapi::document(config, &registry.live(), routes::ROUTES)
}
